package db

import (
	"testing"
	"time"

	"mailer/app"
)

func TestHalfSessionsDoNotEndWholeOnes(t *testing.T) {
	d := openFile(t)
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	u := User{ID: app.NewID(), Address: "ann@example.com", CreatedAt: now}
	session := func(half bool) *Session {
		id := app.NewID()
		return &Session{ID: id, UserID: u.ID, Hash: []byte(id), Half: half, CreatedAt: now, SeenAt: now, ProvedAt: now}
	}
	whole := session(false)
	write(t, d, func(tx *Tx) error {
		if err := tx.InsertUser(&u); err != nil {
			return err
		}
		return tx.InsertSession(whole)
	})
	for range maxSessions + 1 {
		write(t, d, func(tx *Tx) error { return tx.InsertSession(session(true)) })
	}
	read(t, d, func(r *Reader) (err error) {
		if _, err := r.Session(u.ID, whole.ID); err != nil {
			t.Errorf("the whole session: %v", err)
		}
		n := 0
		err = r.Row(`SELECT count(*) FROM sessions WHERE half = 1`, nil, &n)
		if n != maxHalf {
			t.Errorf("%d half sessions, want %d", n, maxHalf)
		}
		return err
	})
}
