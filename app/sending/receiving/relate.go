package receiving

import (
	"errors"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/inbound"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// sender returns the address of the From and its hash; empty: it has none that can be read.
func (s *Service) sender(e *app.Received) (from app.Address, hash app.AddressHash) {
	from, err := app.ParseAddress(e.FromEmail)
	if err != nil {
		return app.Address{}, hash
	}
	return from, s.Sealer.AddressHash(e.TeamID, from.Key())
}

// candidates returns the ids that a message may answer, the most certain first: those of the reply addresses that it
// was sent to, and those in the Message-IDs that it refers to, the last one first.
func (s *Service) candidates(recipients []string, m *inbound.Message) (ids []string) {
	for _, address := range recipients {
		a, err := app.ParseAddress(address)
		if err != nil {
			continue
		}
		if p, ok := s.Sealer.ReadReplyAddress(a.Mailbox()); ok {
			ids = append(ids, p.EmailID)
		}
	}
	for _, ref := range slices.Backward(append(slices.Clone(m.References), m.InReplyTo...)) {
		id, _ := app.CutEmailMessageID(ref)
		if id, ok := app.ParseID(id); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// relate finds the contact of the sender, and the email that a message answers: the first of some that the team sent.
// broadcastID is that of the email; empty: none.
func relate(tx *db.Tx, e *app.Received, candidates []string, from app.Address, hash app.AddressHash) (broadcastID string, err error) {
	if from.Domain != "" {
		c, err := tx.ContactByAddress(e.TeamID, hash)
		if base.IgnoreNotFound(err) != nil {
			return "", err
		}
		e.ContactID = c.ID
	}
	for _, id := range candidates {
		to, broadcastID, err := recipientsOf(tx, e.TeamID, id)
		if errors.Is(err, db.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		sentTo := from.Domain != "" && slices.ContainsFunc(to, func(key app.AddressKey) bool { return key == from.Key() })
		e.Answers, e.Proven = id, sentTo && vouched(e.Auth, from.Domain)
		return broadcastID, nil
	}
	return "", nil
}

// recipientsOf returns the recipients of an email of a team, or of one of its broadcasts. Error: db.ErrNotFound.
func recipientsOf(tx *db.Tx, teamID, id string) (to []app.AddressKey, broadcastID string, err error) {
	sent, err := tx.EmailRow(teamID, id)
	if errors.Is(err, db.ErrNotFound) {
		b, rec, err := audience.RecipientOf(&tx.Reader, teamID, id)
		return []app.AddressKey{app.KeyOf(rec.Email)}, b.ID, err
	}
	if err != nil {
		return nil, "", err
	}
	for _, list := range [][]app.Address{sent.To, sent.Cc, sent.Bcc} {
		for i := range list {
			to = append(to, list[i].Key())
		}
	}
	return to, "", nil
}

// vouched reports whether DMARC, or a DKIM signature of the domain itself, passes.
func vouched(auth app.ReceivedAuth, domain string) bool {
	return auth.DMARC == app.AuthPass || slices.ContainsFunc(auth.DKIMDomains, func(d string) bool { return strings.EqualFold(d, domain) })
}
