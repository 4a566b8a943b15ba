package broadcasts

import (
	"context"

	"mailer/app"
	"mailer/app/sending/mail"
)

// Exports for the external tests of this package.

func (x *broadcaster) Claim(id string) bool { return x.claim(id) }

func (x *broadcaster) Done(id string) { x.done(id) }

func (s *Service) AppendRecipients(ctx context.Context, b *app.Broadcast, content *mail.BroadcastMail, contacts []app.Contact) error {
	return s.appendRecipients(ctx, b, content, contacts)
}

func (s *Service) Broadcaster() *broadcaster { return s.broadcaster }
