package engine

import (
	"time"

	"github.com/go-json-experiment/json"
)

// CopiedAt returns when Copy made this database; the zero time if it is not a copy.
func (r *Reader) CopiedAt() (time.Time, error) {
	value, err := r.Setting(markSetting)
	if err != nil {
		return time.Time{}, ignoreNotFound(err)
	}
	var m mark
	if err := json.Unmarshal(value, &m); err != nil || m.At == 0 {
		return time.Time{}, err
	}
	return time.UnixMilli(m.At).UTC(), nil
}

// ForgetCopied removes the mark of a copy, so that a server can use the database.
func (tx *Tx) ForgetCopied() error {
	tx.Changed(Control)
	err := tx.Write(`DELETE FROM settings WHERE name = ?`, markSetting)
	return err
}
