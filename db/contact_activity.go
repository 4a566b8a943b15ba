package db

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/filter"
)

// activityKind is a time column of contacts that only increases.
type activityKind int

// The kinds, in the order in which they are written.
const (
	activitySent activityKind = iota
	activityOpened
	activityClicked
	activityReplied
)

// activity is an event about a contact, named by an address or by a broadcast email. It is
// ignored if no contact has the address.
type activity struct {
	teamID  string
	address app.AddressHash
	emailID string // of a broadcast recipient; empty: use address
	kind    activityKind
}

// NoteActivity records the contact activity of an email event: sent, opened or clicked.
// Other events are ignored. For broadcasts, BeginRecipients and InsertEvent do this.
func (tx *Tx) NoteActivity(teamID string, address app.AddressHash, kind app.EventType, at time.Time) {
	tx.noteEvent(activity{teamID: teamID, address: address}, kind, at)
}

// NoteReply records that a contact answered an email. emailID is that of a broadcast's recipient; empty: another email.
func (tx *Tx) NoteReply(teamID string, address app.AddressHash, emailID string, at time.Time) error {
	tx.noteActivity(activity{teamID: teamID, address: address, kind: activityReplied}, at)
	if emailID == "" {
		return nil
	}
	return tx.Write(`UPDATE broadcast_recipients SET seen = seen | ?1 WHERE id = ?2 AND seen & ?1 = 0`, int64(app.SeenReplied), emailID)
}

func (tx *Tx) noteEvent(a activity, kind app.EventType, at time.Time) {
	switch app.LastEvent(kind) {
	case app.Sent, app.Delivered:
		tx.noteActivity(a, at)
	case app.Clicked:
		a.kind = activityClicked
		tx.noteActivity(a, at)
		a.kind = activityOpened
		tx.noteActivity(a, at)
	case app.Opened:
		a.kind = activityOpened
		tx.noteActivity(a, at)
	}
}

func (tx *Tx) noteActivity(a activity, at time.Time) {
	if at.IsZero() {
		return
	}
	if tx.increments.activity == nil {
		tx.increments.activity = map[activity]int64{}
	}
	tx.increments.activity[a] = max(tx.increments.activity[a], min(milli(at), milli(tx.Now))) // a reported time in the future is now
}

// storeActivity writes the activity noted by the closures of a commit. All commits use the
// same order, so that two of them do not deadlock.
func (tx *Tx) storeActivity(group []*increments) error {
	all := map[activity]int64{}
	for _, added := range group {
		for a, at := range added.activity {
			all[a] = max(all[a], at)
		}
	}
	if len(all) == 0 {
		return nil
	}
	keys := make([]activity, 0, len(all))
	for a := range all {
		keys = append(keys, a)
	}
	slices.SortStableFunc(keys, func(a, b activity) int {
		return cmp.Or(cmp.Compare(a.teamID, b.teamID), cmp.Compare(a.emailID, b.emailID), cmp.Compare(string(a.address[:]), string(b.address[:])), cmp.Compare(a.kind, b.kind))
	})
	for _, a := range keys {
		if err := tx.raiseActivity(&a, all[a]); err != nil {
			return fmt.Errorf("note the activity of a contact: %w", err)
		}
	}
	return nil
}

// raiseActivity raises a time column to at if at is later. It does not call Changed:
// counts of segments that depend on activity are not cached by generation
// (app.Filter.IsLive).
func (tx *Tx) raiseActivity(a *activity, at int64) error {
	if a.emailID == "" {
		return tx.Write([]string{
			`UPDATE contacts SET last_sent_at = ?1 WHERE team_id = ?2 AND address = ?3 AND coalesce(last_sent_at, 0) < ?1`,
			`UPDATE contacts SET last_opened_at = ?1 WHERE team_id = ?2 AND address = ?3 AND coalesce(last_opened_at, 0) < ?1`,
			`UPDATE contacts SET last_clicked_at = ?1 WHERE team_id = ?2 AND address = ?3 AND coalesce(last_clicked_at, 0) < ?1`,
			`UPDATE contacts SET last_replied_at = ?1 WHERE team_id = ?2 AND address = ?3 AND coalesce(last_replied_at, 0) < ?1`,
		}[a.kind], at, a.teamID, a.address[:])
	}
	return tx.Write([]string{
		`UPDATE contacts SET last_opened_at = ?1 WHERE team_id = ?2 AND id = (SELECT r.contact_id FROM broadcast_recipients AS r WHERE r.id = ?3) AND coalesce(last_opened_at, 0) < ?1`,
		`UPDATE contacts SET last_clicked_at = ?1 WHERE team_id = ?2 AND id = (SELECT r.contact_id FROM broadcast_recipients AS r WHERE r.id = ?3) AND coalesce(last_clicked_at, 0) < ?1`,
	}[a.kind-activityOpened], at, a.teamID, a.emailID)
}

// raiseSent sets last_sent_at of the contacts of a broadcast's recipients in (from, to]
// that are sent to.
func (tx *Tx) raiseSent(b *app.Broadcast, from, to string) error {
	err := tx.Write(`UPDATE contacts SET last_sent_at = ?1 WHERE team_id = ?2 AND id IN
		(SELECT r.contact_id FROM broadcast_recipients AS r WHERE r.id > ?3 AND r.id <= ?4 AND r.seen & ?5 = 0)`,
		milli(tx.Now), b.TeamID, from, to, int64(app.SeenSuppressed|app.SeenFailed|app.SeenCanceled))
	if err != nil {
		return fmt.Errorf("note that contacts are sent to: %w", err)
	}
	return nil
}

// Picks reports whether a filter matches a contact. The contact need not be stored.
func (r *Reader) Picks(f *app.Filter, c *app.Contact) (bool, error) {
	var failed error
	note := func(err error) bool {
		if err != nil && !errors.Is(err, ErrNotFound) {
			failed = err
		}
		return err == nil
	}
	picks := filter.Matches(f, c, filter.Facts{
		Now: clock.Now(),
		Topic: func(id string) (s app.Subscription) {
			note(r.Row(subscriptionOf, []any{c.Hash[:], id, c.TeamID}, &s))
			return s
		},
		Broadcast: func(id string) (seen app.Seen, ok, complete bool) {
			ok = note(r.Row(`SELECT coalesce((SELECT r.seen FROM broadcast_recipients AS r WHERE substr(r.id, 1, 28) = b.mails || '' AND r.contact_id = ?), 0),
				`+broadcastComplete+` FROM broadcasts AS b WHERE b.id = ? AND b.team_id = ?`, []any{c.ID, id, c.TeamID}, &seen, &complete))
			return seen, ok, complete
		},
	})
	return picks, failed
}

// subscriptionOf selects the subscription of an address to topic t.
const subscriptionOf = `SELECT coalesce((SELECT ch.subscription FROM choices AS ch WHERE ch.topic_id = t.id AND ch.address = ?), t.subscription)
	FROM topics AS t WHERE t.id = ? AND t.team_id = ?`
