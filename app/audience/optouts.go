package audience

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/db"
)

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
