package db

import (
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
)

// OpenUnits returns up to limit units behind one in the order of their ids (empty: from
// the first) that are not held.
func (r *Reader) OpenUnits(after string, limit int) ([]app.Unit, error) {
	return list(&r.session, scanUnit, `SELECT `+unitColumns+` FROM units WHERE email_id > ? AND state <> 'held' ORDER BY email_id LIMIT ?`, after, limit)
}

// HoldOpenUnits is HoldUnit for all units that are not held, or only because their
// broadcast is paused, since a time at which the
// clocks of their expiry stopped.
func (tx *Tx) HoldOpenUnits(why app.HoldReason, since time.Time) error {
	err := tx.write(`UPDATE units SET held = ?, held_at = coalesce(held_at, ?), attempts = CASE WHEN state = 'begun' AND attempts > 0 THEN attempts - 1 ELSE attempts END, state = 'held'
		WHERE state <> 'held' OR held = 'paused'`, string(why), milli(since))
	return err
}

// HoldOpenBroadcasts is HoldBroadcast for all that are scheduled or queued. It returns
// how many recipients wait in them.
func (tx *Tx) HoldOpenBroadcasts(why app.HoldReason, since time.Time) (recipients int64, err error) {
	err = tx.row(`SELECT coalesce(sum(open + CASE WHEN expanded = 1 OR written > audience THEN written ELSE audience END - begun), 0)
		FROM broadcasts WHERE status IN ('scheduled', 'queued') AND held IS NULL`, nil, &recipients)
	if err != nil {
		return 0, err
	}
	err = tx.write(`UPDATE broadcasts SET held = ?, held_at = ? WHERE status IN ('scheduled', 'queued') AND held IS NULL`, string(why), milli(since))
	return recipients, err
}

// CopiedAt returns when this database was copied by Copy; zero: it is no such copy.
func (r *Reader) CopiedAt() (time.Time, error) {
	value, err := r.Setting(markSetting)
	if err != nil {
		return time.Time{}, ignoreNotFound(err)
	}
	var m mark
	if err := json.Unmarshal(value, &m); err != nil || m.At == 0 {
		return time.Time{}, err
	}
	return fromMilli(m.At), nil
}

// ForgetCopied has this database be no copy any more, but the one that works.
func (tx *Tx) ForgetCopied() error {
	err := tx.write(`DELETE FROM settings WHERE name = ?`, markSetting)
	return err
}
