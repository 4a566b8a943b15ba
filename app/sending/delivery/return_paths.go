package delivery

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/kit/cache"
	"mailer/db"
)

const (
	// returnPathTTL is how long the return path host of a domain is used before the
	// database is asked again.
	returnPathTTL = 10 * time.Second
	// maxCachedHosts is of how many domains hosts are remembered.
	maxCachedHosts = 10_000
)

// returnPathHosts remembers where bounces of domains arrive, by team and domain;
// empty: not here.
type returnPathHosts = *cache.Cache[string, string]

// emailReturnPath is returnPath of a transaction for open, those of an email's
// recipients that still wait.
func (c *composer) emailReturnPath(ctx context.Context, teamID string, email *app.Email, open []string) string {
	return c.returnPath(ctx, teamID, email.ID, email.From, func() (int, error) { return c.recipientNumber(ctx, email, open) })
}

// onlyRecipient is the number of a recipient who has the email for himself.
func onlyRecipient() (int, error) { return 0, nil }

// returnPath returns the envelope sender of a transaction: id is that of its email,
// or of its recipient in a broadcast, and number finds whom in its envelope it is
// for. It is a signed return path where bounces come to this server: the listener
// is on, the relay's provider does not want them itself, and
// app.Domain.TakesBounces. Everywhere else it is the From address, also when the
// database can't tell: mail goes before bounces.
func (c *composer) returnPath(ctx context.Context, teamID, id string, from app.Address, number func() (int, error)) string {
	if c.s.Settings.BounceHost == "" || c.s.Settings.Capture || c.relay.Needs().Feedback != "" {
		return from.Mailbox()
	}
	host, err := c.returnPathHost(ctx, teamID, from.Domain)
	if err != nil || host == "" {
		return from.Mailbox()
	}
	n, err := number()
	if err != nil {
		return from.Mailbox()
	}
	return c.s.Sealer.ReturnPath(host, app.ReturnPath{EmailID: id, Recipient: n})
}

// returnPathHost returns the host that bounces of a domain's mail go to; empty:
// they do not come here.
func (c *composer) returnPathHost(ctx context.Context, teamID, domain string) (string, error) {
	return c.s.returnPaths.Load(ctx, teamID+" "+domain, func(ctx context.Context) (string, error) {
		d, err := c.s.domains.DomainByName(ctx, teamID, domain)
		if err != nil || !d.ReceivesBounces() {
			return "", err
		}
		return d.ReturnPathName(), nil
	})
}

// recipientNumber returns the number in the envelope of the one recipient that a
// transaction is for.
func (c *composer) recipientNumber(ctx context.Context, email *app.Email, open []string) (int, error) {
	switch {
	case len(open) != 1:
		return app.AllRecipients, nil
	case len(email.To)+len(email.Cc)+len(email.Bcc) == 1:
		return 0, nil
	}
	return db.Get(ctx, c.s.DB, func(r *db.Reader) (int, error) { return r.RecipientNumber(email.ID, open[0]) })
}
