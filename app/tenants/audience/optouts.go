package audience

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/db"
)

// addOptedOut adds to blocked who gets no mail of a topic: contacts that
// unsubscribed from everything, and addresses that opted out of the topic or
// never opted in where they must. keys are those of all recipients.
func addOptedOut(r *db.Reader, teamID, topicID string, keys map[app.AddressHash]app.AddressKey, blocked app.Blocked) error {
	for hash, key := range keys {
		if blocked[key] != "" {
			continue
		}
		s, err := r.Subscription(teamID, topicID, hash)
		if errors.Is(err, db.ErrNotFound) { // a topic can't be deleted while its mail waits
			blocked[key] = "Not sent to this recipient: the topic of this email was deleted"
			continue
		}
		if err != nil {
			return fmt.Errorf("look up opt-outs: %w", err)
		}
		if reason := s.Reason(); reason != "" {
			blocked[key] = reason
		}
	}
	return nil
}
