package delivery

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/kit/cache"
	"mailer/db"
)

const (
	// returnPathTTL is how long the return path host of a domain is cached.
	returnPathTTL = 10 * time.Second
	// maxCachedHosts is how many domains' hosts are cached.
	maxCachedHosts = 10_000
)

// returnPathHosts caches the host for bounces by team and domain; empty: bounces do not come to
// this server.
type returnPathHosts = *cache.Cache[string, string]

// emailReturnPath is returnPath for a transaction to the open recipients of an email.
func (c *composer) emailReturnPath(ctx context.Context, teamID string, email *app.Email, open []string) string {
	return c.returnPath(ctx, teamID, email.ID, email.From, func() (int, error) { return c.recipientNumber(ctx, email, open) })
}

// onlyRecipient is the number of the single recipient of an email.
func onlyRecipient() (int, error) { return 0, nil }

// returnPath returns the envelope sender of a transaction: id is the email, or the recipient of a
// broadcast, and number returns the recipient's number in the envelope. If bounces come to this
// server, it is a signed return path: the bounce listener is on, the relay's provider does not take
// bounces, and app.Domain.TakesBounces. Otherwise, and if the database can't be read, it is the
// From address, because sending matters more than bounces.
func (c *composer) returnPath(ctx context.Context, teamID, id string, from app.Address, number func() (int, error)) string {
	if c.s.Settings.BounceHost == "" || c.s.Settings.Capture || c.relay.Needs().Feedback != "" || c.feedback() {
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

// feedback reports whether the MX of return paths leads to a provider: that of the region's primary.
func (c *composer) feedback() bool {
	for _, r := range c.s.Settings.Relays().Regions {
		if r.Name == c.region {
			return r.Needs.Feedback != ""
		}
	}
	return false
}

// returnPathHost returns the host for bounces of a domain's mail; empty: bounces do not come to
// this server.
func (c *composer) returnPathHost(ctx context.Context, teamID, domain string) (string, error) {
	return c.s.returnPaths.Load(ctx, teamID+" "+domain, func(ctx context.Context) (string, error) {
		d, err := c.s.domains.DomainByName(ctx, teamID, domain)
		if err != nil || !d.ReceivesBounces() {
			return "", err
		}
		return d.ReturnPathName(), nil
	})
}

// recipientNumber returns the number of a transaction's only recipient in its email.
func (c *composer) recipientNumber(ctx context.Context, email *app.Email, open []string) (int, error) {
	switch {
	case len(open) != 1:
		return app.AllRecipients, nil
	case len(email.To)+len(email.Cc)+len(email.Bcc) == 1:
		return 0, nil
	}
	return db.Get(ctx, c.s.DB, func(r *db.Reader) (int, error) { return r.RecipientNumber(email.ID, open[0]) })
}
