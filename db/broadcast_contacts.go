package db

import (
	"cmp"
	"errors"

	"mailer/app"
)

// BroadcastsBefore returns at most limit queued broadcasts of a team, newest first and
// without contents, whose email id prefix is at most mails. mails may be a prefix or an
// email id; empty starts from the newest.
func (r *Reader) BroadcastsBefore(teamID, mails string, limit int) ([]app.Broadcast, error) {
	return list(r, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b
		WHERE b.team_id = ? AND b.mails IS NOT NULL AND b.mails <= ? ORDER BY b.mails DESC LIMIT ?`, teamID, cmp.Or(mails, lastID), limit)
}

// BroadcastsFrom returns started broadcasts of a team, oldest first and without contents,
// whose email id prefix is at least mails.
func (r *Reader) BroadcastsFrom(teamID, mails string, limit int) ([]app.Broadcast, error) {
	return list(r, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b
		WHERE b.team_id = ? AND b.mails IS NOT NULL AND b.mails >= ? ORDER BY b.mails LIMIT ?`, teamID, mails, limit)
}

// RecipientByContact returns the recipient of a broadcast with the given contact.
// Recipients are stored in contact id order, so it does a binary search. Error:
// ErrNotFound.
func (r *Reader) RecipientByContact(b *app.Broadcast, contactID string) (app.BroadcastRecipient, error) {
	low, high := int64(1), b.Stored
	for low <= high {
		rec, err := one(r, scanRecipient, `SELECT id, contact_id, email, fields, seen, recipient_language FROM broadcast_recipients
			WHERE id >= ? AND id <= ? ORDER BY id LIMIT 1`, app.BroadcastEmailID(b.EmailIDPrefix, (low+high)/2), app.BroadcastEmailID(b.EmailIDPrefix, high))
		if err != nil {
			if high = (low+high)/2 - 1; ignoreNotFound(err) != nil { // recipients above were deleted by retention
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

// OwnsMail returns nil if an email or broadcast email with that id belongs, or may belong,
// to the team. Error: ErrNotFound.
func (r *Reader) OwnsMail(teamID, id string) error {
	err := r.OwnsEmail(teamID, id)
	if errors.Is(err, ErrNotFound) {
		_, err = r.BroadcastOfMail(teamID, id)
	}
	if errors.Is(err, ErrNotFound) {
		_, err = r.Received(teamID, id)
	}
	return err
}

// examinedEvents is the number of newest timeline events that EventsAbout reads.
const examinedEvents = 200

// EventsAbout returns the newest events about one recipient or the whole email, newest
// first, at most limit. An empty address selects all events.
func (r *Reader) EventsAbout(emailID, address string, limit int) ([]app.Event, error) {
	return list(r, scanEvent, `SELECT email_id, id, type, recipient, detail, created_at FROM
		(SELECT * FROM events WHERE email_id = ?1 ORDER BY id DESC LIMIT ?2) AS newest_open
		WHERE ?3 = '' OR coalesce(recipient, '') = '' OR lower(recipient) = ?3 ORDER BY id DESC LIMIT ?4`,
		emailID, examinedEvents, lowerASCII(address), limit)
}
