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

// LeftOut counts the contacts that a broadcast leaves out, by reason.
type LeftOut = db.LeftOut

// Reviews implements the reviews of a broadcast before it is sent: audience, forecast and previews,
// and its versions.
type Reviews struct{ service *Service }

// Planned is the forecast of a broadcast that is sent now, or at its time.
type Planned struct {
	Recipients int64
	LeftOut    LeftOut
	StartsAt   time.Time
	FinishesAt time.Time // zero: unknown
	Waves      []pacing.Wave
	Warning    *pacing.PlanWarning // nil: all of it leaves immediately
	Insights   *app.Insights
	Size       int64              // approximate size of one mail with its attachments, in bytes
	RawTags    []mergetags.RawTag // merge tags of other services in its content; certain ones prevent sending
}

// PlanBroadcast returns what SendBroadcast would do with a draft, by the same checks and the same
// planner. It lists raw tags instead of refusing them. Errors: those of SendBroadcast except for
// idempotency and raw tags.
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
	if b.Syntax != app.PlainSyntax {
		if err := s.service.checkComplete(ctx, b); err != nil {
			return nil, err
		}
	}
	b.ScheduledAt = at
	plan, err := s.service.forecast(ctx, b)
	if err != nil {
		return nil, err
	}
	out := &Planned{Recipients: b.Audience, StartsAt: base.Later(at, clock.Now()), FinishesAt: plan.FinishesAt, Waves: plan.Waves, Warning: plan.Warning, Size: sizeOf(b), RawTags: rawTags(b)}
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

// sizeOf returns the approximate size of one mail of a broadcast, in bytes.
func sizeOf(b *app.Broadcast) int64 {
	m := app.Mail{HTML: b.HTML, Attachments: b.Attachments}
	if b.Text != nil {
		m.Text = *b.Text
	}
	return m.Size()
}

// checkAndInspect makes the last checks of a send and sets the insights of its content. It returns
// the audience.
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

// Look is how a preview shows a broadcast.
type Look struct {
	Contact  string // id or address; empty: a contact of the segment, or an unknown recipient
	Language string // BCP 47; empty: the contact's; "und": that of the broadcast itself
	Clicks   bool   // with the share of clicks of each link in the HTML
}

// BroadcastPreview is a broadcast as one recipient would get it.
type BroadcastPreview struct {
	*render.Preview
	Broadcast *app.Broadcast
	Language  string // of the variant; empty: the broadcast itself
}

// PreviewBroadcast renders a broadcast in any state. Errors: CodeNotFound, also for the contact,
// CodeValidation.
func (s *Reviews) PreviewBroadcast(ctx context.Context, key *app.Key, id string, look Look) (*BroadcastPreview, error) {
	if err := checkLanguage(look.Language); err != nil {
		return nil, err
	}
	b, err := s.service.readBroadcast(ctx, key, id)
	if err != nil {
		return nil, err
	}
	var recipients *app.Contact
	var links []app.BroadcastLink
	err = s.service.DB.Read(ctx, func(r *db.Reader) (err error) {
		if look.Clicks {
			if links, err = r.ClickedLinks(id); err != nil {
				return fmt.Errorf("read links: %w", err)
			}
		}
		b.Snapshot = &app.BroadcastSnapshot{Pages: s.service.Settings.BaseURL}
		if err = freeze(r, b, b.Snapshot); err != nil {
			return err
		}
		recipients, err = s.previewContact(ctx, r, b, look.Contact)
		return err
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	permits := s.service.mail.NewRenderer(key)
	defer permits.Close()
	language := render.LanguageOf(b.Variants, recipients)
	if look.Language != "" {
		language = render.Language(b.Variants, look.Language)
	}
	b = b.In(language)
	if len(b.HTML) > mail.SmallRender {
		if err := permits.TakePermit(ctx); err != nil {
			return nil, err
		}
	}
	out, err := render.PreviewOf(b, recipients, s.service.Settings.BaseURL+mail.PreviewPage, s.service.Settings.BaseURL+mail.PreviewView, render.ClicksOf(links))
	return &BroadcastPreview{Preview: out, Broadcast: b, Language: language}, err
}

// previewContact reads the contact of a preview.
func (s *Reviews) previewContact(ctx context.Context, r *db.Reader, b *app.Broadcast, contact string) (*app.Contact, error) {
	if contact != "" {
		c, err := s.findContact(r, b.TeamID, contact)
		return &c, base.Lookup("contact", err)
	}
	var segment *app.Segment
	if b.SegmentID != "" {
		found, err := r.Segment(b.TeamID, b.SegmentID)
		switch {
		case errors.Is(err, db.ErrNotFound): // the segment was deleted
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

// sampleAddress is the address of an unknown recipient.
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
