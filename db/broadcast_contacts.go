package db

import (
	"cmp"
	"errors"

	"mailer/app"
)

// BroadcastsBefore returns the broadcasts of a team that were queued, those whose mails
// begin lower or equal first, newest first, at most limit and without contents. mails is
// what the ids of a broadcast's emails begin with, or of any email; empty: from the newest.
func (r *Reader) BroadcastsBefore(teamID, mails string, limit int) ([]app.Broadcast, error) {
	return list(r, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b
		WHERE b.team_id = ? AND b.mails IS NOT NULL AND b.mails <= ? ORDER BY b.mails DESC LIMIT ?`, teamID, cmp.Or(mails, lastID), limit)
}

// BroadcastsFrom returns a team's broadcasts that were begun, without contents, the oldest
// first: from the one on whose mails have ids that begin with mails.
func (r *Reader) BroadcastsFrom(teamID, mails string, limit int) ([]app.Broadcast, error) {
	return list(r, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b
		WHERE b.team_id = ? AND b.mails IS NOT NULL AND b.mails >= ? ORDER BY b.mails LIMIT ?`, teamID, mails, limit)
}

// RecipientByContact returns the recipient of a broadcast that is a contact. Recipients
// stand in the order of their contacts' ids, so a few of them are looked at. Error:
// ErrNotFound.
func (r *Reader) RecipientByContact(b *app.Broadcast, contactID string) (app.BroadcastRecipient, error) {
	low, high := int64(1), b.Stored
	for low <= high {
		rec, err := one(r, scanRecipient, `SELECT id, contact_id, email, fields, seen FROM broadcast_recipients
			WHERE id >= ? AND id <= ? ORDER BY id LIMIT 1`, app.BroadcastEmailID(b.EmailIDPrefix, (low+high)/2), app.BroadcastEmailID(b.EmailIDPrefix, high))
		if err != nil {
			if high = (low+high)/2 - 1; ignoreNotFound(err) != nil { // those above were deleted for their age
				return rec, err
			}
			continue
		}
		n, _ := app.BroadcastEmailNumber(rec.ID)
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

// OwnsMail is nil when an email of the team has that id, or mail of a broadcast of it
// may. Error: ErrNotFound.
func (r *Reader) OwnsMail(teamID, id string) error {
	err := r.OwnsEmail(teamID, id)
	if errors.Is(err, ErrNotFound) {
		_, err = r.BroadcastOfMail(teamID, id)
	}
	return err
}

// examinedEvents is how many of the newest lines of a timeline EventsAbout looks at.
const examinedEvents = 200

// EventsAbout returns of the newest lines of a timeline those that are about the whole
// email or one recipient, newest first, at most limit; an empty address: about any.
func (r *Reader) EventsAbout(emailID, address string, limit int) ([]app.Event, error) {
	return list(r, scanEvent, `SELECT email_id, id, type, recipient, detail, created_at FROM
		(SELECT * FROM events WHERE email_id = ?1 ORDER BY id DESC LIMIT ?2) AS newest_open
		WHERE ?3 = '' OR coalesce(recipient, '') = '' OR lower(recipient) = ?3 ORDER BY id DESC LIMIT ?4`,
		emailID, examinedEvents, lowerASCII(address), limit)
}
