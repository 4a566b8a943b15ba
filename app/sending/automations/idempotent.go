package automations

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/db"
)

// routeSend is the operation in the idempotency table.
const routeSend = "POST /events/send"

// SendOnce is Send for a request with an idempotency key, and returns the name of the event. A repeated
// request stores nothing. Errors: those of Send and of idempotency.
func (s *Service) SendOnce(ctx context.Context, key *app.Key, in Sent, opts mail.SendOptions) (string, error) {
	if opts.IdempotencyKey == "" {
		return in.Event, s.Send(ctx, key, in)
	}
	if err := in.Validate(); err != nil {
		return "", err
	}
	return mail.Once(ctx, s.mail, key, routeSend, opts, func(keep mail.Keeper[string]) (string, error) {
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			if err := s.SendIn(tx, key, in); err != nil {
				return err
			}
			return keep(tx, &in.Event)
		})
		return in.Event, base.Unavailable(err)
	})
}
