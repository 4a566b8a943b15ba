package broadcasts

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/render"
	"mailer/db"
)

const (
	// MaxInspected is how many recipients an inspection renders the mail for, the first ones.
	MaxInspected = 10_000
	// inspectChunk is how many it reads in one query.
	inspectChunk = 500
	// maxMissing is how many distinct values it names.
	maxMissing = 100
)

// Inspection says what would be remarkable about the mails of a draft.
type Inspection struct {
	Inspected int            // recipients whose mail was rendered
	Complete  bool           // they are all
	Missing   []MissingValue // most recipients first
	Removed   int            // recipients whose mail lacks a link, because its address is none
	Limit     int            // recipients whose mail can't be rendered
}

// MissingValue is a value that the content uses without a fallback.
type MissingValue struct {
	Name       string // as in the content, like contact.city or FIRST_NAME
	Recipients int    // that do not have it
}

// InspectBroadcast renders a draft for its recipients as they are now. Errors: CodeNotFound, also for the
// segment and the topic, CodeInvalidParameter if it is no draft, CodeValidation.
func (s *Reviews) InspectBroadcast(ctx context.Context, key *app.Key, id string) (*Inspection, error) {
	b, err := s.service.readBroadcast(ctx, key, id)
	if err != nil {
		return nil, err
	}
	if err := checkDraft(b, "inspected"); err != nil {
		return nil, err
	}
	if _, err := s.service.checkTexts(ctx, b); err != nil {
		return nil, err
	}
	permits := s.service.mail.NewRenderer(key)
	defer permits.Close()
	if err := permits.TakePermit(ctx); err != nil {
		return nil, err
	}
	var recipients *app.Audience
	b.Snapshot = &app.BroadcastSnapshot{Pages: s.service.Settings.BaseURL}
	err = s.service.DB.Read(ctx, func(r *db.Reader) (err error) {
		if err := freeze(r, b, b.Snapshot); err != nil {
			return err
		}
		recipients, err = audienceOf(r, b)
		return err
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	mail, err := render.Compile(b)
	if err != nil {
		return nil, err
	}
	if !mail.NeedsInspection() {
		return &Inspection{Complete: true}, nil
	}
	return s.inspect(ctx, mail, recipients)
}

func (s *Reviews) inspect(ctx context.Context, mail *render.Broadcast, recipients *app.Audience) (*Inspection, error) {
	out, missing, cursor := &Inspection{}, map[string]int{}, ""
	for out.Inspected < MaxInspected && !out.Complete {
		contacts, err := db.Get(ctx, s.service.DB, func(r *db.Reader) ([]app.Contact, error) {
			return r.AudienceContacts(ctx, recipients, cursor, min(inspectChunk, MaxInspected-out.Inspected))
		})
		if err != nil {
			return nil, base.Unavailable(fmt.Errorf("read audience: %w", err))
		}
		if len(contacts) == 0 {
			out.Complete = true
			break
		}
		cursor = contacts[len(contacts)-1].ID
		for i := range contacts {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			found := mail.Inspect(s.service.Sealer, &contacts[i])
			out.Inspected++
			for _, name := range found.Missing {
				missing[name]++
			}
			if found.Removed > 0 {
				out.Removed++
			}
			if found.Limit {
				out.Limit++
			}
		}
	}
	for _, name := range app.SortedKeys(missing) {
		out.Missing = append(out.Missing, MissingValue{name, missing[name]})
	}
	slices.SortStableFunc(out.Missing, func(a, b MissingValue) int { return cmp.Compare(b.Recipients, a.Recipients) })
	out.Missing = out.Missing[:min(len(out.Missing), maxMissing)]
	return out, nil
}
