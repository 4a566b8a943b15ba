package broadcasts

import (
	"context"

	"mailer/app"
	"mailer/app/mail"
)

// What the tests of this package from outside reach into it for.

func (x *Service) AppendRecipients(a0 context.Context, a1 *app.Broadcast, a2 *mail.BroadcastMail, a3 []app.Contact) error {
	return x.appendRecipients(a0, a1, a2, a3)
}

func (x *Service) Broadcaster() *broadcaster { return x.broadcaster }

func (x *broadcaster) Claim(a0 string) bool { return x.claim(a0) }

func (x *broadcaster) Done(a0 string) { x.done(a0) }
