package db

import (
	"database/sql"
	"slices"
	"time"
)

// Relay is one that was added to the database.
type Relay struct {
	Region    string
	Sealed    []byte // its URL
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Relays returns the relays of the database, in the order in which they were added.
func (r *Reader) Relays() ([]Relay, error) {
	rows, err := list(r, scanRelay, `SELECT region, sealed, created_at, updated_at FROM relays ORDER BY region`)
	slices.SortStableFunc(rows, func(a, b Relay) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return rows, err
}

// Relay returns one of them.
func (r *Reader) Relay(region string) (Relay, error) {
	return one(r, scanRelay, `SELECT region, sealed, created_at, updated_at FROM relays WHERE region = ?`, region)
}

func scanRelay(s scanner) (Relay, error) {
	var r Relay
	var created, updated int64
	err := s.Scan(&r.Region, &r.Sealed, &created, &updated)
	r.CreatedAt, r.UpdatedAt = fromMilli(created), fromMilli(updated)
	return r, err
}

// SetRelay adds a relay, or gives one another URL.
func (tx *Tx) SetRelay(region string, sealed []byte) error {
	err := tx.Write(`INSERT INTO relays (region, sealed, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)
		ON CONFLICT (region) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at`, region, sealed, milli(tx.Now))
	return err
}

// DeleteRelay removes a relay. Error: ErrNotFound.
func (tx *Tx) DeleteRelay(region string) error {
	return tx.WriteOne(`DELETE FROM relays WHERE region = ?`, region)
}

// RelayPause is the operator's word that nothing leaves through a relay.
type RelayPause struct {
	Region   string
	PausedAt time.Time
	Until    time.Time // zero: until it is resumed
}

// RelayPauses returns those of all relays.
func (r *Reader) RelayPauses() ([]RelayPause, error) {
	return list(r, func(s scanner) (RelayPause, error) {
		var p RelayPause
		var at int64
		var until sql.NullInt64
		err := s.Scan(&p.Region, &at, &until)
		p.PausedAt, p.Until = fromMilli(at), fromMilli(until.Int64)
		return p, err
	}, `SELECT region, paused_at, until FROM relay_pauses ORDER BY region`)
}

// PauseRelay pauses a relay, until a time unless that is zero. One that is paused
// already stays so since when it was.
func (tx *Tx) PauseRelay(region string, until time.Time) error {
	var end any
	if !until.IsZero() {
		end = milli(until)
	}
	err := tx.Write(`INSERT INTO relay_pauses (region, paused_at, until) VALUES (?, ?, ?)
		ON CONFLICT (region) DO UPDATE SET until = excluded.until`, region, milli(tx.Now), end)
	return err
}

// ResumeRelay ends the pause of a relay. Error: ErrNotFound.
func (tx *Tx) ResumeRelay(region string) error {
	return tx.WriteOne(`DELETE FROM relay_pauses WHERE region = ?`, region)
}

// EndPauses ends those whose time is over.
func (tx *Tx) EndPauses() error {
	err := tx.Write(`DELETE FROM relay_pauses WHERE until <= ?`, milli(tx.Now))
	return err
}

// RelayState is how a relay is, as the server last said it.
type RelayState struct {
	Region string
	State  []byte // JSON
	Sealed []byte // a relay of its flags, for the test of it; nil: it is of the database
}

// RelayStates returns those of all relays.
func (r *Reader) RelayStates() ([]RelayState, error) {
	return list(r, func(s scanner) (RelayState, error) {
		var st RelayState
		var state string
		err := s.Scan(&st.Region, &state, &st.Sealed)
		st.State = []byte(state)
		return st, err
	}, `SELECT region, state, sealed FROM relay_states ORDER BY region`)
}

// SetRelayState says how a relay is.
func (tx *Tx) SetRelayState(s RelayState) error {
	err := tx.Write(`INSERT INTO relay_states (region, state, sealed, updated_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (region) DO UPDATE SET state = excluded.state, sealed = excluded.sealed, updated_at = excluded.updated_at`,
		s.Region, string(s.State), s.Sealed, milli(tx.Now))
	return err
}

// DeleteRelayState forgets how a relay was.
func (tx *Tx) DeleteRelayState(region string) error {
	err := tx.Write(`DELETE FROM relay_states WHERE region = ?`, region)
	return err
}
