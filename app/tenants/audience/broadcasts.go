package audience

import (
	"mailer/app"
	"mailer/db"
)

// FrozenAudience returns the audience of a queued broadcast. Its segment and topic can't be deleted
// while the broadcast is open.
func FrozenAudience(r *db.Reader, b *app.Broadcast) (app.Audience, error) {
	a := app.Audience{TeamID: b.TeamID, SegmentID: b.SegmentID, TopicID: b.TopicID, Default: app.OptIn, MaxContactID: b.MaxContactID}
	if b.Snapshot != nil {
		a.Filter = b.Snapshot.Filter
	}
	if b.TopicID == "" {
		return a, nil
	}
	t, err := r.Topic(b.TeamID, b.TopicID)
	a.Default = t.Default
	return a, err
}

// RecipientOf returns the broadcast and the recipient of an email. Error: db.ErrNotFound.
func RecipientOf(r *db.Reader, teamID, emailID string) (app.Broadcast, app.BroadcastRecipient, error) {
	b, err := r.BroadcastOfMail(teamID, emailID)
	if err != nil {
		return b, app.BroadcastRecipient{}, err
	}
	rec, err := r.BroadcastRecipient(emailID)
	return b, rec, err
}

// checkUnused refuses to delete a segment or topic that an unsent broadcast uses. Errors:
// CodeConflict.
func checkUnused(tx *db.Tx, kind, id string) error {
	used, err := tx.InOpenBroadcasts(id)
	if err != nil || !used {
		return err
	}
	return app.Errorf(app.CodeConflict, "A draft, scheduled or queued broadcast uses this %s; cancel or delete the broadcast, or choose another %s for it", kind, kind)
}
