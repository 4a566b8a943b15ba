package broadcasts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/membudget"
	"mailer/app/rules/render"
	"mailer/app/sending/mail"
	"mailer/db"
)

// TestBroadcast sends a broadcast in any state to 1 to app.MaxBroadcastTests addresses, as ordinary
// emails, and returns their ids in the order of the addresses. Each is rendered with the values of
// the contact with its address, if there is one, and in that contact's language or, if one is given,
// in that language. Opt-outs of the topic do not count. All are sent
// or none. Errors: CodeValidation, those of idempotency, CodeNotFound, CodeAllRecipientsSuppressed,
// CodeServiceUnavailable.
func (s *Service) TestBroadcast(ctx context.Context, key *app.Key, id string, to []string, language string, opts mail.SendOptions) ([]string, error) {
	if err := s.Ready(); err != nil {
		return nil, err
	}
	recipients, err := parseTestAddresses(to)
	if err != nil {
		return nil, err
	}
	if err := checkLanguage(language); err != nil {
		return nil, err
	}
	return mail.Once(ctx, s.mail, key, mail.RouteBroadcastTest, opts, func(keep mail.Keeper[[]string]) ([]string, error) {
		return s.sendTests(ctx, key, id, recipients, language, keep)
	})
}

func (s *Service) sendTests(ctx context.Context, key *app.Key, id string, recipients []app.Address, language string, keep mail.Keeper[[]string]) ([]string, error) {
	b, err := s.readTestedBroadcast(ctx, key, id, recipients)
	if err != nil {
		return nil, err
	}
	if language != "" {
		b.Broadcast = b.In(render.Language(b.Variants, language))
	}
	if err := checkSender(b.Broadcast); err != nil {
		return nil, err
	}
	permits := s.mail.NewRenderer(key)
	defer permits.Close()
	if size := len(b.HTML) + b.textSize() + b.Variants.Size(); len(recipients)*size > mail.SmallRender {
		if err := permits.TakePermit(ctx); err != nil {
			return nil, err
		}
	}
	emails, err := s.fillTests(key, b, recipients)
	if err != nil {
		return nil, err
	}
	return s.acceptTests(ctx, emails, keep)
}

// checkLanguage refuses a text that is no language tag; an empty one is none. Errors: CodeValidation.
func checkLanguage(language string) error {
	if _, ok := app.WantedLanguage(language); language != "" && !ok {
		return app.Invalid("language", "is not a language tag like de or pt-BR")
	}
	return nil
}

// testBroadcast is a broadcast and the contacts of its test recipients.
type testBroadcast struct {
	*app.Broadcast
	contacts []*app.Contact // by index of the recipient; nil: none
}

func (b *testBroadcast) textSize() int {
	if b.Text == nil {
		return 0
	}
	return len(*b.Text)
}

func parseTestAddresses(to []string) ([]app.Address, error) {
	if len(to) == 0 {
		return nil, app.Invalid("to", "is required")
	}
	if len(to) > app.MaxBroadcastTests {
		return nil, app.Invalid("to", "can hold at most %d addresses", app.MaxBroadcastTests)
	}
	out := make([]app.Address, len(to))
	seen := map[app.AddressKey]bool{}
	for i, s := range to {
		field := fmt.Sprintf("to[%d]", i)
		a, err := app.ParseAddress(s)
		if err != nil {
			return nil, app.Invalid(field, "%v", err)
		}
		key := a.Key()
		if seen[key] {
			return nil, app.Invalid(field, "is given twice")
		}
		seen[key], out[i] = true, a
	}
	return out, nil
}

// readTestedBroadcast reads a broadcast with its current fallbacks, and the contacts of the
// recipients.
func (s *Service) readTestedBroadcast(ctx context.Context, key *app.Key, id string, recipients []app.Address) (*testBroadcast, error) {
	b := &testBroadcast{contacts: make([]*app.Contact, len(recipients))}
	err := s.reserveAttachments(ctx, key.TeamID, id)
	if err != nil {
		return nil, err
	}
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if b.Broadcast, err = r.Broadcast(key.TeamID, id); err != nil {
			return base.Lookup("broadcast", err)
		}
		if b.Attachments, err = r.BroadcastFiles(key.TeamID, id); err != nil {
			return err
		}
		b.Snapshot = &app.BroadcastSnapshot{Pages: s.Settings.BaseURL}
		if err = freeze(r, b.Broadcast, b.Snapshot); err != nil {
			return err
		}
		for i, a := range recipients {
			c, err := r.ContactByAddress(key.TeamID, s.Sealer.AddressHash(key.TeamID, a.Key()))
			switch {
			case errors.Is(err, db.ErrNotFound):
			case err != nil:
				return fmt.Errorf("read contact: %w", err)
			default:
				b.contacts[i] = &c
			}
		}
		return nil
	})
	return b, base.Unavailable(err)
}

// reserveAttachments reserves memory for the attachments of a broadcast in the budget of the
// request. Error: that of membudget.Reserve.
func (s *Service) reserveAttachments(ctx context.Context, teamID, id string) error {
	files, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Attachment, error) {
		if _, err := r.BroadcastHead(teamID, id); err != nil {
			return nil, base.Lookup("broadcast", err)
		}
		return r.BroadcastAttachments(id)
	})
	if err != nil {
		return base.Unavailable(err)
	}
	return membudget.Reserve(ctx, app.SumSizes(files))
}

// fillTests makes an email for each recipient.
func (s *Service) fillTests(key *app.Key, b *testBroadcast, recipients []app.Address) ([]*app.Email, error) {
	content, err := render.Compile(b.Broadcast)
	if err != nil {
		return nil, err
	}
	out := make([]*app.Email, len(recipients))
	for i, a := range recipients {
		recipient := app.BroadcastRecipient{ID: app.NewID(), Email: a.Mailbox()}
		if c := b.contacts[i]; c != nil {
			recipient.ContactID, recipient.Fields, recipient.Language = c.ID, content.Fields(c), content.Language(c)
		}
		whole, err := content.Mail(s.Sealer, &recipient)
		if err != nil {
			return nil, app.Invalid("html", "can't be rendered for %s: %s", a.Mailbox(), err)
		}
		email := &app.Email{
			ID: recipient.ID, TeamID: key.TeamID, KeyID: key.ID, MessageID: app.EmailMessageID(recipient.ID, b.From.Domain),
			CreatedAt: clock.Now(), LastEvent: app.Queued, Mail: *whole.Flatten(),
		}
		email.Attachments = slices.Clone(b.Attachments) // with the same contents
		for i := range email.Attachments {
			email.Attachments[i].ID = app.NewID()
		}
		s.mail.Inspect(email)
		email.TopicID = "" // a test goes to the team itself, so opt-outs do not apply
		out[i] = email
	}
	return out, nil
}

// acceptTests accepts all emails or none.
func (s *Service) acceptTests(ctx context.Context, emails []*app.Email, keep mail.Keeper[[]string]) (ids []string, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		ids = nil
		for i, email := range emails {
			var refusal *app.Error
			if err := s.mail.Accept(tx, email); errors.As(err, &refusal) && refusal.Code == app.CodeAllRecipientsSuppressed {
				return app.Errorf(refusal.Code, "`to[%d]` is on the suppression list", i)
			} else if err != nil {
				return err
			}
			ids = append(ids, email.ID)
		}
		return keep(tx, &ids)
	})
	return ids, s.mail.Explain(ctx, base.Unavailable(err))
}
