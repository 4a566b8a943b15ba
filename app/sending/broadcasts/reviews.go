package broadcasts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/insights"
	"mailer/app/rules/mergetags"
	"mailer/app/rules/pacing"
	"mailer/app/rules/render"
	"mailer/app/sending/mail"
	"mailer/db"
)

// LeftOut counts those whom a broadcast does not go to, by why.
type LeftOut = db.LeftOut

// Reviews is what people look at before they send a broadcast: whom it goes to and when,
// and what one of them would see. It changes nothing.
type Reviews struct{ service *Service }

// Planned is what would become of a broadcast that is sent now, or at its time.
type Planned struct {
	Recipients int64
	LeftOut    LeftOut
	StartsAt   time.Time
	FinishesAt time.Time // zero: nobody can say
	Waves      []pacing.Wave
	Warning    *pacing.PlanWarning // nil: all of it leaves at once
	Insights   *app.Insights
	RawTags    []mergetags.RawTag // of other services in its content; it can't be sent with those that are certain
}

// PlanBroadcast foretells what SendBroadcast would do with a draft, by the same checks
// and the same planner, but that it names tags of other services and does not refuse them.
// Errors: the other ones of SendBroadcast but for idempotency.
func (s *Reviews) PlanBroadcast(ctx context.Context, key *app.Key, id, scheduledAt string) (*Planned, error) {
	at, err := app.ParseBroadcastTime(scheduledAt, clock.Now())
	if err != nil {
		return nil, err
	}
	b, err := s.service.readBroadcast(ctx, key, id)
	if err != nil {
		return nil, err
	}
	if err := checkDraft(b, "planned"); err != nil {
		return nil, err
	}
	b.ScheduledAt = at
	plan, err := s.service.forecast(ctx, b)
	if err != nil {
		return nil, err
	}
	out := &Planned{Recipients: b.Audience, StartsAt: base.Later(at, clock.Now()), FinishesAt: plan.FinishesAt, Waves: plan.Waves, Warning: plan.Warning, RawTags: rawTags(b)}
	if len(out.Waves) == 0 && b.Audience > 0 && plan.Warning == nil {
		out.Waves = []pacing.Wave{{At: out.StartsAt, Count: b.Audience}}
	}
	recipients, err := s.checkAndInspect(ctx, b, out)
	if err != nil {
		return nil, base.Unavailable(err)
	}
	out.LeftOut, err = s.service.audience.Previews.CountLeftOut(ctx, recipients)
	return out, base.Unavailable(err)
}

// checkAndInspect does the last checks of a send and notes what was found in its content. It
// returns whom it goes to.
func (s *Reviews) checkAndInspect(ctx context.Context, b *app.Broadcast, out *Planned) (recipients *app.Audience, err error) {
	err = s.service.DB.Read(ctx, func(r *db.Reader) error {
		if err := base.CapBroadcasts.Check(r, b.TeamID); err != nil {
			return err
		}
		if err := s.service.checkPeriodQuota(r, clock.Now(), b); err != nil {
			return err
		}
		if recipients, err = audienceOf(r, b); err != nil {
			return err
		}
		b.Snapshot, err = s.service.snapshot(r, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	out.Insights, err = insights.OfBroadcast(s.service.Sealer, b)
	return recipients, err
}

// PreviewBroadcast returns what a broadcast in any state says to a contact, named by id
// or address; empty: to one of its segment, or to somebody of whom nothing is known. With
// clicks set its HTML shows the share of the clicks behind each link. Errors: CodeNotFound,
// for the contact too.
func (s *Reviews) PreviewBroadcast(ctx context.Context, key *app.Key, id, contact string, clicks bool) (b *app.Broadcast, out *render.Preview, err error) {
	if b, err = s.service.readBroadcast(ctx, key, id); err != nil {
		return nil, nil, err
	}
	var recipients *app.Contact
	var links []app.BroadcastLink
	err = s.service.DB.Read(ctx, func(r *db.Reader) (err error) {
		if clicks {
			if links, err = r.ClickedLinks(id); err != nil {
				return fmt.Errorf("read links: %w", err)
			}
		}
		b.Snapshot = &app.BroadcastSnapshot{Pages: s.service.Settings.BaseURL}
		if b.Snapshot.Fallbacks, err = r.PropertyFallbacks(key.TeamID); err != nil {
			return fmt.Errorf("read properties: %w", err)
		}
		recipients, err = s.previewContact(ctx, r, b, contact)
		return err
	})
	if err != nil {
		return nil, nil, base.Unavailable(err)
	}
	permits := s.service.mail.NewRenderer(key)
	defer permits.Close()
	if len(b.HTML) > mail.SmallRender {
		if err := permits.TakePermit(ctx); err != nil {
			return nil, nil, err
		}
	}
	out, err = render.PreviewOf(b, recipients, s.service.Settings.BaseURL+mail.PreviewPage, render.ClicksOf(links))
	return b, out, err
}

// previewContact reads the contact whom a preview is for.
func (s *Reviews) previewContact(ctx context.Context, r *db.Reader, b *app.Broadcast, contact string) (*app.Contact, error) {
	if contact != "" {
		c, err := s.findContact(r, b.TeamID, contact)
		return &c, base.Lookup("contact", err)
	}
	var segment *app.Segment
	if b.SegmentID != "" {
		found, err := r.Segment(b.TeamID, b.SegmentID)
		switch {
		case errors.Is(err, db.ErrNotFound): // it was deleted since
			return &app.Contact{Email: sampleAddress}, nil
		case err != nil:
			return nil, err
		}
		segment = &found
	}
	c, err := s.service.audience.Previews.SampleContact(ctx, r, b.TeamID, segment)
	if err != nil || c != nil {
		return c, err
	}
	return &app.Contact{Email: sampleAddress}, nil
}

// sampleAddress is the address of a recipient of whom nothing is known.
const sampleAddress = "reader@example.com"

func (s *Reviews) findContact(r *db.Reader, teamID, idOrEmail string) (app.Contact, error) {
	if id, ok := app.ParseID(idOrEmail); ok {
		return r.Contact(teamID, id)
	}
	_, key, err := app.ParseBareAddress(idOrEmail)
	if err != nil {
		return app.Contact{}, db.ErrNotFound
	}
	return r.ContactByAddress(teamID, s.service.Sealer.AddressHash(teamID, key))
}
