package engine

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/db"
)

// linkToPage fixes the address of the page that an email leads to, where it
// needs one: the same for all its attempts. With one recipient the link stands
// for that address, with several for each of them. Errors: CodeValidation where
// no server of this database told yet where its pages are. Then the mail is whole,
// and is looked at for its score.
func (e *Engine) linkToPage(email *app.Email) error {
	if !email.LeadsToPage() {
		e.inspect(email)
		return nil
	}
	base := e.server.BaseURL
	if base == "" {
		return app.Errorf(app.CodeValidation, "This email needs an unsubscribe link, and where the pages of this server are reached is not known before `mailer serve` ran on its database")
	}
	link := app.PageLink{TeamID: email.TeamID, TopicID: email.TopicID, Source: email.ID}
	if recipients := email.Recipients(); len(recipients) == 1 {
		link.Address = e.cfg.Sealer.AddressHash(email.TeamID, app.FoldAddress(recipients[0]))
	}
	email.Unsubscribe = e.cfg.Sealer.UnsubscribeURL(base, link)
	e.inspect(email)
	return nil
}

// optedOutAmong adds to blocked who gets no mail of a topic: contacts that
// unsubscribed from everything, and addresses that opted out of the topic or
// never opted in where they must. folded are all recipients.
func optedOutAmong(r *db.Reader, teamID, topicID string, folded map[app.AddressHash]string, blocked app.Blocked) error {
	for hash, address := range folded {
		if blocked[address] != "" {
			continue
		}
		s, err := r.Standing(teamID, topicID, hash)
		if errors.Is(err, db.ErrNotFound) { // a topic can't be deleted while its mail waits
			blocked[address] = "Not sent to this recipient: the topic of this email was deleted"
			continue
		}
		if err != nil {
			return fmt.Errorf("look up opt-outs: %w", err)
		}
		if reason := s.Reason(); reason != "" {
			blocked[address] = reason
		}
	}
	return nil
}
