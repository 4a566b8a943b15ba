package engine

// Setting returns an internal value of the server. Error: ErrNotFound.
func (r *Reader) Setting(name string) ([]byte, error) {
	var value []byte
	err := r.Row(`SELECT value FROM settings WHERE name = ?`, []any{name}, &value)
	return value, err
}

// SetSetting stores an internal value of the server.
func (tx *Tx) SetSetting(name string, value []byte) error {
	tx.Changed(Control)
	err := tx.Write(`INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}
