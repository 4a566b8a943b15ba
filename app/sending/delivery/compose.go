package delivery

import (
	"context"
	"fmt"
	"strings"

	"mailer/app"
	"mailer/app/rules/counters"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/tracking"
	"mailer/app/sending/mail"
	"mailer/db"
)

// composer composes the messages of units for a relay.
type composer struct {
	s      *Service
	relay  relayurl.Relay
	region string
}

// compose returns the message of a unit, addressed to its open recipients.
func (c *composer) compose(ctx context.Context, j *job) (*message, error) {
	read := c.email
	if j.bulk() {
		read = c.broadcast
	}
	m, err := read(ctx, j)
	if err != nil {
		return nil, err
	}
	m.TeamID = j.unit.TeamID
	if c.relay.Profile == relayurl.ProfileSES && strings.Contains(strings.ToLower(m.Signature), "message-id") { // made for another relay: Amazon SES writes that field itself
		m.Signature = ""
	}
	m.countKey = counters.Key{TeamID: j.unit.TeamID, Domain: j.unit.Domain, BroadcastID: j.unit.BroadcastID, Region: c.region}
	return m, nil
}

// email composes the message of an email.
func (c *composer) email(ctx context.Context, j *job) (*message, error) {
	read, err := c.content(ctx, j)
	if err != nil {
		return nil, err
	}
	email, err := c.s.mail.Accounts.Outgoing(ctx, read.email)
	if err != nil {
		return nil, err
	}
	key, err := c.s.domains.DKIMKey(ctx, j.unit.TeamID, email.From.Domain)
	if err != nil {
		return nil, err
	}
	sent := tracking.Track(c.s.Sealer, email.FinalMail(), email.TeamID, email.ID, email.Tracking)
	return &message{private: email.Source == mail.SourceAccount, hidden: email.ForOptIn != "", forward: email.ForwardID, insights: email.Insights, blocked: read.blocked, Outgoing: &app.Outgoing{
		EmailID: email.ID, EnvelopeFrom: c.emailReturnPath(ctx, j.unit.TeamID, email, read.open), Recipients: read.open, MessageID: email.MessageID,
		Date: email.CreatedAt, Mail: c.relay.Identify(sent, email.ID), DKIM: key, Signature: j.unit.Signature,
	}}, nil
}

// content returns the email of a unit and its open recipients: from the cache of recently accepted
// mail if no attempt began before on any server, else prefetched or from the database.
func (c *composer) content(ctx context.Context, j *job) (*readEmail, error) {
	email, cached := c.s.mail.TakeRecent(j.unit.EmailID)
	if email != nil && j.unit.Attempts == 1 && j.unit.Since.IsZero() {
		j.checkedVersion = cached.AsOf
		return &readEmail{email: email, open: cached.Recipients}, nil
	}
	if j.prefetched != nil {
		return j.prefetched, nil
	}
	read, err := db.Get(ctx, c.s.DB, func(r *db.Reader) (*readEmail, error) { return c.s.readUnit(r, j.unit) })
	if err != nil {
		return nil, fmt.Errorf("read email: %w", err)
	}
	return read, nil
}

// broadcast composes the message of a broadcast's unit. It has no recipient if that one is settled.
func (c *composer) broadcast(ctx context.Context, j *job) (*message, error) {
	content, err := c.s.mail.BroadcastMail(ctx, j.unit.TeamID, j.unit.BroadcastID)
	if err != nil {
		return nil, err
	}
	m := &message{insights: content.Insights}
	to := j.recipient
	if to == nil {
		if to, m.blocked, err = c.recipient(ctx, j.unit); err != nil {
			return nil, err
		}
	}
	key, err := c.s.domains.DKIMKey(ctx, j.unit.TeamID, content.From.Domain)
	if err != nil {
		return nil, err
	}
	m.Outgoing = &app.Outgoing{
		EmailID: to.ID, EnvelopeFrom: c.returnPath(ctx, j.unit.TeamID, to.ID, content.From, onlyRecipient), MessageID: app.EmailMessageID(to.ID, content.From.Domain),
		Date: j.unit.MessageDate, DKIM: key, Bulk: true, Signature: j.unit.Signature,
	}
	if to.Seen&app.SeenEnded == 0 {
		whole, err := content.Mail(c.s.Sealer, to)
		if err != nil {
			return nil, err
		}
		m.Recipients, m.Mail = []string{to.Email}, c.relay.Identify(whole, to.ID)
		if m.Mail.Attachments, err = content.Files(ctx); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// recipient reads the recipient of a broadcast's unit, and whether it is blocked.
func (c *composer) recipient(ctx context.Context, u app.Unit) (*app.BroadcastRecipient, app.Blocked, error) {
	var to app.BroadcastRecipient
	blocked, err := db.Get(ctx, c.s.DB, func(r *db.Reader) (_ app.Blocked, err error) {
		if to, err = r.BroadcastRecipient(u.EmailID); err != nil {
			return nil, err
		}
		return c.s.blockedAmong(r, u, []string{to.Email})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read recipient: %w", err)
	}
	return &to, blocked, nil
}
