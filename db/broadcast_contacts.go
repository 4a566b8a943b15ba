package db

import (
	"cmp"

	"mailer/app"
)

// BroadcastsBefore returns the broadcasts of a team that were queued, those whose mails
// begin lower or equal first, newest first, at most limit and without contents. mails is
// what the ids of a broadcast's emails begin with, or of any email; empty: from the newest.
func (r *Reader) BroadcastsBefore(teamID, mails string, limit int) ([]app.Broadcast, error) {
	return list(&r.session, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b
		WHERE b.team_id = ? AND b.mails IS NOT NULL AND b.mails <= ? ORDER BY b.mails DESC LIMIT ?`, teamID, cmp.Or(mails, lastID), limit)
}

// RecipientByContact returns the recipient of a broadcast that is a contact. Recipients
// stand in the order of their contacts' ids, so a few of them are looked at. Error:
// ErrNotFound.
func (r *Reader) RecipientByContact(b *app.Broadcast, contactID string) (app.BroadcastRecipient, error) {
	low, high := int64(1), b.Written
	for low <= high {
		rec, err := one(&r.session, scanRecipient, `SELECT id, contact_id, email, fields, seen FROM broadcast_recipients
			WHERE id >= ? AND id <= ? ORDER BY id LIMIT 1`, app.MailID(b.Mails, (low+high)/2), app.MailID(b.Mails, high))
		if err != nil {
			if high = (low+high)/2 - 1; ignoreNotFound(err) != nil { // those above were deleted for their age
				return rec, err
			}
			continue
		}
		n, _ := app.MailNumber(rec.ID)
		switch cmp.Compare(rec.ContactID, contactID) {
		case 0:
			return rec, nil
		case -1:
			low = n + 1
		default:
			high = (low+high)/2 - 1
		}
	}
	return app.BroadcastRecipient{}, ErrNotFound
}
