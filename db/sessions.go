package db

import (
	"time"

	"mailer/app"
)

// Session is a sign-in of a person in one browser.
type Session struct {
	ID        string
	UserID    string
	Hash      []byte // SHA-256 of the token in its cookie
	Half      bool   // waits for the second factor
	Device    string // the browser's description of itself
	Address   string // IP address
	CreatedAt time.Time
	SeenAt    time.Time
	ProvedAt  time.Time // the person's last authentication
}

const sessionColumns = `s.id, s.user_id, s.hash, s.half, s.device, s.address, s.created_at, s.seen_at, s.proved_at`

func scanSession(s scanner) (v Session, err error) {
	var created, seen, proved int64
	err = s.Scan(&v.ID, &v.UserID, &v.Hash, &v.Half, &v.Device, &v.Address, &created, &seen, &proved)
	v.CreatedAt, v.SeenAt, v.ProvedAt = fromMilli(created), fromMilli(seen), fromMilli(proved)
	return v, err
}

// FindSession returns the session with the token hash.
func (r *Reader) FindSession(hash []byte) (Session, error) {
	return one(r, scanSession, `SELECT `+sessionColumns+` FROM sessions AS s WHERE s.hash = ?`, hash)
}

// Session returns one session of a person.
func (r *Reader) Session(userID, id string) (Session, error) {
	return one(r, scanSession, `SELECT `+sessionColumns+` FROM sessions AS s WHERE s.user_id = ? AND s.id = ?`, userID, id)
}

// Sessions returns a page of a person's sessions, newest first, and whether there are
// more. Half sessions are left out. Error: ErrNotFound for an unknown cursor.
func (r *Reader) Sessions(userID string, page app.Page) ([]Session, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Session(userID, cursor)) }, scanSession,
		`SELECT `+sessionColumns+` FROM sessions AS s WHERE s.user_id = ? AND s.half = 0 AND s.id < ? ORDER BY s.id DESC LIMIT ?`,
		`SELECT `+sessionColumns+` FROM sessions AS s WHERE s.user_id = ? AND s.half = 0 AND s.id > ? ORDER BY s.id LIMIT ?`, userID)
}

const (
	// maxSessions is the number of complete sessions that a person can have.
	maxSessions = 100
	// maxHalf is the number of half sessions that a person can have.
	maxHalf = 5
)

// InsertSession adds a session and ends the person's oldest sessions above maxSessions, or
// half sessions above maxHalf. Half sessions never end complete ones, because they need
// only the password.
func (tx *Tx) InsertSession(s *Session) error {
	err := tx.Write(`INSERT INTO sessions (id, user_id, hash, half, device, address, created_at, seen_at, proved_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.UserID, s.Hash, s.Half, s.Device, s.Address, milli(s.CreatedAt), milli(s.SeenAt), milli(s.ProvedAt))
	if err != nil {
		return err
	}
	maxRows := maxSessions
	if s.Half {
		maxRows = maxHalf
	}
	return tx.Write(`DELETE FROM sessions WHERE user_id = ?1 AND id IN
		(SELECT id FROM sessions WHERE user_id = ?1 AND half = ?2 ORDER BY id DESC LIMIT 1000 OFFSET ?3)`, s.UserID, s.Half, maxRows)
}

// TouchSession records the use of a session, unless one was recorded after before.
func (tx *Tx) TouchSession(id string, before time.Time) error {
	err := tx.Write(`UPDATE sessions SET seen_at = ? WHERE id = ? AND seen_at <= ?`, milli(tx.Now), id, milli(before))
	return err
}

// EndSession ends a session of a person. Error: ErrNotFound.
func (tx *Tx) EndSession(userID, id string) error {
	return tx.WriteOne(`DELETE FROM sessions WHERE user_id = ? AND id = ?`, userID, id)
}

// EndSessionOf ends the session with the token hash, if there is one.
func (tx *Tx) EndSessionOf(hash []byte) error {
	err := tx.Write(`DELETE FROM sessions WHERE hash = ?`, hash)
	return err
}

// EndSessions ends the sessions of a person except exceptID, and returns their number.
func (tx *Tx) EndSessions(userID, exceptID string) (int64, error) {
	return tx.Exec(`DELETE FROM sessions WHERE user_id = ? AND id <> ?`, userID, exceptID)
}

// PurgeSignIns deletes at most limit expired rows each of sessions, codes and devices, and
// reports whether there may be more. Sessions expire if last seen before idle or created
// before begun; half sessions and devices have their own limits.
func (tx *Tx) PurgeSignIns(idle, begun, half, devices time.Time, limit int) (more bool, err error) {
	for _, p := range []struct {
		statement string
		before    time.Time
	}{
		{`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE seen_at <= ? LIMIT ?)`, idle},
		{`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE half = 0 AND created_at <= ? LIMIT ?)`, begun},
		{`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE half = 1 AND created_at <= ? LIMIT ?)`, half},
		{`DELETE FROM sign_in_codes WHERE hash IN (SELECT hash FROM sign_in_codes WHERE expires_at <= ? LIMIT ?)`, tx.Now},
		{`DELETE FROM devices WHERE (user_id, hash) IN (SELECT user_id, hash FROM devices WHERE seen_at <= ? LIMIT ?)`, devices},
	} {
		n, err := tx.Exec(p.statement, milli(p.before), limit)
		if err != nil {
			return false, err
		}
		more = more || n == int64(limit)
	}
	return more, nil
}
