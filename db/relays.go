package db

import (
	"database/sql"
	"slices"
	"time"

	"mailer/db/engine"
)

// Relay is a relay stored in the database.
type Relay struct {
	Region    string
	Sealed    []byte // its sealed URL
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Relays returns the relays in the order in which they were added.
func (r *Reader) Relays() ([]Relay, error) {
	rows, err := list(r, scanRelay, `SELECT region, sealed, created_at, updated_at FROM relays ORDER BY region`)
	slices.SortStableFunc(rows, func(a, b Relay) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return rows, err
}

// Relay returns one relay. Error: ErrNotFound.
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

// SetRelay adds a relay or changes its URL.
func (tx *Tx) SetRelay(region string, sealed []byte) error {
	tx.Changed(engine.Control)
	err := tx.Write(`INSERT INTO relays (region, sealed, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)
		ON CONFLICT (region) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at`, region, sealed, milli(tx.Now))
	return err
}

// DeleteRelay removes a relay. Error: ErrNotFound.
func (tx *Tx) DeleteRelay(region string) error {
	tx.Changed(engine.Control)
	return tx.WriteOne(`DELETE FROM relays WHERE region = ?`, region)
}

// RelayPause is a pause of a relay by the operator.
type RelayPause struct {
	Region   string
	PausedAt time.Time
	Until    time.Time // zero: until it is resumed
}

// RelayPauses returns the pauses of all relays.
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

// PauseRelay pauses a relay until a time, or with no limit for the zero time. A paused
// relay keeps the start of its pause.
func (tx *Tx) PauseRelay(region string, until time.Time) error {
	tx.Changed(engine.Control)
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
	tx.Changed(engine.Control)
	return tx.WriteOne(`DELETE FROM relay_pauses WHERE region = ?`, region)
}

// EndPauses ends the pauses that are over.
func (tx *Tx) EndPauses() error {
	tx.Changed(engine.Control)
	err := tx.Write(`DELETE FROM relay_pauses WHERE until <= ?`, milli(tx.Now))
	return err
}

// RelayState is the state of a relay as the server last stored it.
type RelayState struct {
	Region string
	State  []byte // JSON
	Sealed []byte // sealed URL of a relay from flags, for its test; nil: stored in relays
}

// RelayStates returns the states of all relays.
func (r *Reader) RelayStates() ([]RelayState, error) {
	return list(r, func(s scanner) (RelayState, error) {
		var st RelayState
		var state string
		err := s.Scan(&st.Region, &state, &st.Sealed)
		st.State = []byte(state)
		return st, err
	}, `SELECT region, state, sealed FROM relay_states ORDER BY region`)
}

// SetRelayState stores the state of a relay.
func (tx *Tx) SetRelayState(s RelayState) error {
	err := tx.Write(`INSERT INTO relay_states (region, state, sealed, updated_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (region) DO UPDATE SET state = excluded.state, sealed = excluded.sealed, updated_at = excluded.updated_at`,
		s.Region, string(s.State), s.Sealed, milli(tx.Now))
	return err
}

// DeleteRelayState deletes the state of a relay.
func (tx *Tx) DeleteRelayState(region string) error {
	err := tx.Write(`DELETE FROM relay_states WHERE region = ?`, region)
	return err
}

// RegionRow is a region of which something is stored: what the operator chose, and which relay is
// active.
type RegionRow struct {
	Name     string
	Settings []byte // JSON
	State    []byte // JSON
}

// RegionRows returns the stored regions.
func (r *Reader) RegionRows() ([]RegionRow, error) {
	return list(r, scanRegion, `SELECT name, settings, state FROM regions ORDER BY name`)
}

// RegionRow returns a stored region. Error: ErrNotFound.
func (r *Reader) RegionRow(name string) (RegionRow, error) {
	return one(r, scanRegion, `SELECT name, settings, state FROM regions WHERE name = ?`, name)
}

func scanRegion(s scanner) (RegionRow, error) {
	var row RegionRow
	var settings, state string
	err := s.Scan(&row.Name, &settings, &state)
	row.Settings, row.State = []byte(settings), []byte(state)
	return row, err
}

// SetRegion stores a region.
func (tx *Tx) SetRegion(row RegionRow) error {
	tx.Changed(engine.Control)
	return tx.Write(`INSERT INTO regions (name, settings, state, updated_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET settings = excluded.settings, state = excluded.state, updated_at = excluded.updated_at`,
		row.Name, string(row.Settings), string(row.State), milli(tx.Now))
}

// MergeQueue moves the waiting units of a queue to another one.
func (tx *Tx) MergeQueue(from, to string) error {
	err := tx.Write(`UPDATE recipients SET queue = ?1 WHERE queue = ?2 AND email_id IN (
		SELECT email_id FROM units WHERE relay = ?2 AND bulk = 0 AND state = 'due' AND part IS NOT NULL
		UNION ALL SELECT email_id FROM units WHERE relay = ?2 AND bulk = 0 AND state = 'later' AND part IS NOT NULL)`, to, from)
	if err != nil {
		return err
	}
	return tx.Write(`UPDATE units SET relay = ?1, part = CASE part WHEN ?2 THEN ?1 ELSE part END WHERE email_id IN (
		SELECT email_id FROM units WHERE relay = ?2 AND bulk IN (0, 1) AND state = 'due'
		UNION ALL SELECT email_id FROM units WHERE relay = ?2 AND bulk IN (0, 1) AND state = 'later')`, to, from)
}

// MoveDoubts moves the waiting units of a queue that are in doubt to another one. It scans the
// open doubts.
func (tx *Tx) MoveDoubts(from, to string) error {
	return tx.Write(`UPDATE units SET relay = ?1 WHERE relay = ?2 AND part IS NULL AND state IN ('due', 'later', 'held')
		AND email_id IN (SELECT email_id FROM doubts WHERE settled_at IS NULL)`, to, from)
}
