package db

import (
	"database/sql"
	"errors"
	"time"

	"mailer/app"
)

const mailRouteColumns = `id, team_id, position, match, actions, created_at`

func scanMailRoute(s scanner) (m app.MailRoute, err error) {
	var actions sql.NullString
	var created int64
	if err = s.Scan(&m.ID, &m.TeamID, &m.Position, &m.Match, &actions, &created); err != nil {
		return m, err
	}
	m.CreatedAt = fromMilli(created)
	return m, fromJSON(actions, &m.Actions)
}

// MailRoutes returns the routes of a team in order, without destinations.
func (r *Reader) MailRoutes(teamID string) ([]app.MailRoute, error) {
	return list(r, scanMailRoute, `SELECT `+mailRouteColumns+` FROM mail_routes WHERE team_id = ? ORDER BY position LIMIT ?`, teamID, app.MaxMailRoutes)
}

// InsertMailRoute adds a route.
func (tx *Tx) InsertMailRoute(m *app.MailRoute) error {
	actions, err := jsonText(m.Actions)
	if err != nil {
		return err
	}
	return tx.Write(`INSERT INTO mail_routes (`+mailRouteColumns+`) VALUES (?, ?, ?, ?, ?, ?)`, m.ID, m.TeamID, m.Position, m.Match, actions, milli(m.CreatedAt))
}

// UpdateMailRoute stores position, match and actions. Error: ErrNotFound.
func (tx *Tx) UpdateMailRoute(m *app.MailRoute) error {
	actions, err := jsonText(m.Actions)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE mail_routes SET position = ?, match = ?, actions = ? WHERE team_id = ? AND id = ?`, m.Position, m.Match, actions, m.TeamID, m.ID)
}

// DeleteMailRoute deletes a route. Error: ErrNotFound.
func (tx *Tx) DeleteMailRoute(teamID, id string) error {
	return tx.WriteOne(`DELETE FROM mail_routes WHERE team_id = ? AND id = ?`, teamID, id)
}

const forwardAddressColumns = `id, team_id, address, asked_at, agreed_at, stopped_at, refusals, accepted_at, created_at`

func scanForwardAddress(s scanner) (a app.ForwardAddress, err error) {
	var agreed, stopped, accepted sql.NullInt64
	var asked, created int64
	err = s.Scan(&a.ID, &a.TeamID, &a.Address, &asked, &agreed, &stopped, &a.Refusals, &accepted, &created)
	a.AskedAt, a.AgreedAt, a.StoppedAt, a.AcceptedAt, a.CreatedAt = fromMilli(asked), fromMilli(agreed.Int64), fromMilli(stopped.Int64), fromMilli(accepted.Int64), fromMilli(created)
	return a, err
}

// ForwardAddresses returns the addresses that a team asked to receive forwarded mail, at most limit.
func (r *Reader) ForwardAddresses(teamID string, limit int) ([]app.ForwardAddress, error) {
	return list(r, scanForwardAddress, `SELECT `+forwardAddressColumns+` FROM forward_addresses WHERE team_id = ? ORDER BY address LIMIT ?`, teamID, limit)
}

// ForwardAddress returns one of them. Error: ErrNotFound.
func (r *Reader) ForwardAddress(teamID, id string) (app.ForwardAddress, error) {
	return one(r, scanForwardAddress, `SELECT `+forwardAddressColumns+` FROM forward_addresses WHERE team_id = ? AND id = ?`, teamID, id)
}

// ForwardAddressNamed returns the one with an address in lower case with A-labels. Error: ErrNotFound.
func (r *Reader) ForwardAddressNamed(teamID, address string) (app.ForwardAddress, error) {
	return one(r, scanForwardAddress, `SELECT `+forwardAddressColumns+` FROM forward_addresses WHERE team_id = ? AND address = ?`, teamID, address)
}

// PutForwardAddress adds a destination, or stores all but address and creation of an existing one.
func (tx *Tx) PutForwardAddress(a *app.ForwardAddress) error {
	return tx.Write(`INSERT INTO forward_addresses (`+forwardAddressColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET asked_at = excluded.asked_at, agreed_at = excluded.agreed_at,
		stopped_at = excluded.stopped_at, refusals = excluded.refusals, accepted_at = excluded.accepted_at`,
		a.ID, a.TeamID, a.Address, milli(a.AskedAt), nullTime(a.AgreedAt), nullTime(a.StoppedAt), a.Refusals, nullTime(a.AcceptedAt), milli(a.CreatedAt))
}

// DeleteForwardAddress deletes a destination. Error: ErrNotFound.
func (tx *Tx) DeleteForwardAddress(teamID, id string) error {
	return tx.WriteOne(`DELETE FROM forward_addresses WHERE team_id = ? AND id = ?`, teamID, id)
}

// RouteWork is what is left to do for a received email.
type RouteWork struct {
	TeamID    string    `json:"-"`
	Effect    []byte    `json:"-"`
	CreatedAt time.Time `json:"-"`

	ReceivedID string `json:"received_id"`
	N          int    `json:"n"`         // index in app.Received.Effects
	Recipient  int    `json:"recipient"` // index in app.Received.Recipients: the address that received it
	TemplateID string `json:"template_id,omitzero"`
}

func scanRouteWork(s scanner) (w RouteWork, err error) {
	var text sql.NullString
	var created int64
	if err = s.Scan(&w.TeamID, &w.Effect, &text, &created); err != nil {
		return w, err
	}
	w.CreatedAt = fromMilli(created)
	return w, fromJSON(text, &w)
}

// InsertRouteWork stores work unless its effect was there since a time: then it returns ErrConflict. routeID is the
// route of an answer; empty: the work forwards.
func (tx *Tx) InsertRouteWork(w *RouteWork, routeID string, since time.Time) error {
	text, err := jsonText(w)
	if err != nil {
		return err
	}
	n, err := tx.Exec(`INSERT INTO route_effects (team_id, effect, route_id, work, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (team_id, effect) DO UPDATE SET route_id = excluded.route_id, work = excluded.work, created_at = excluded.created_at WHERE route_effects.created_at < ?`,
		w.TeamID, w.Effect, nullText(routeID), text, milli(w.CreatedAt), milli(since))
	return oneRow(n, err, ErrConflict)
}

// askedRoute stands for the route of an effect: an address was asked whether mail may be forwarded to it.
const askedRoute = "asked"

// InsertAsked stores that a team asks an address, by its hash, unless the team did since a time: then it returns
// ErrConflict. What is erased and deleted does not count anew.
func (tx *Tx) InsertAsked(teamID string, address []byte, since time.Time) error {
	n, err := tx.Exec(`INSERT INTO route_effects (team_id, effect, route_id, created_at) VALUES (?, ?, 'asked', ?)
		ON CONFLICT (team_id, effect) DO UPDATE SET created_at = excluded.created_at WHERE route_effects.created_at <= ?`, teamID, address, milli(tx.Now), milli(since))
	return oneRow(n, err, ErrConflict)
}

// CountAsked returns how many addresses a team asked since a time, and how many teams asked the address with a hash,
// at most limit each.
func (r *Reader) CountAsked(teamID string, address []byte, since time.Time, limit int) (byTeam, ofAddress int, err error) {
	if byTeam, err = r.CountAnswers(teamID, askedRoute, since, limit); err != nil {
		return 0, 0, err
	}
	err = r.Row(`SELECT count(*) FROM (SELECT 1 FROM route_effects WHERE route_id = 'asked' AND effect = ? AND created_at >= ? LIMIT ?) AS rows_open`, []any{address, milli(since), limit}, &ofAddress)
	return byTeam, ofAddress, err
}

// NextTeamWithRouteWork returns the first team after another that has work. Error: ErrNotFound.
func (r *Reader) NextTeamWithRouteWork(after string) (teamID string, err error) {
	err = r.Row(`SELECT team_id FROM route_effects WHERE work IS NOT NULL AND team_id > ? ORDER BY team_id LIMIT 1`, []any{after}, &teamID)
	return teamID, err
}

// DueRouteWork returns work of a team that follows another, oldest first, at most limit. A team that is suspended or
// being deleted has none.
func (r *Reader) DueRouteWork(teamID string, after *RouteWork, limit int) ([]RouteWork, error) {
	return list(r, scanRouteWork, `SELECT w.team_id, w.effect, w.work, w.created_at FROM route_effects AS w
		WHERE w.team_id = ? AND w.work IS NOT NULL AND (w.created_at, w.effect) > (?, ?)
		AND EXISTS (SELECT 1 FROM teams AS t WHERE t.id = ? AND t.suspended_at IS NULL)
		ORDER BY w.created_at, w.effect LIMIT ?`, teamID, milli(after.CreatedAt), after.Effect, teamID, limit)
}

// EndRouteWork marks work as done. Error: ErrNotFound if it was done before.
func (tx *Tx) EndRouteWork(w *RouteWork) error {
	return tx.WriteOne(`UPDATE route_effects SET work = NULL WHERE team_id = ? AND effect = ? AND work IS NOT NULL`, w.TeamID, w.Effect)
}

// SetRouteEffect stores what became of work with the received email, unless that was deleted.
func (tx *Tx) SetRouteEffect(w *RouteWork, effect app.RouteEffect) error {
	m, err := tx.Received(w.TeamID, w.ReceivedID)
	if err != nil || w.N >= len(m.Effects) {
		return ignoreNotFound(err)
	}
	m.Effects[w.N] = effect
	text, err := jsonText(m.Effects)
	if err != nil {
		return err
	}
	return tx.Write(`UPDATE received_emails SET effects = ? WHERE team_id = ? AND id = ?`, text, w.TeamID, w.ReceivedID)
}

// CountAnswers returns how often a route answered since a time, at most limit.
func (r *Reader) CountAnswers(teamID, routeID string, since time.Time, limit int) (n int, err error) {
	err = r.Row(`SELECT count(*) FROM (SELECT 1 FROM route_effects WHERE team_id = ? AND route_id = ? AND created_at >= ? LIMIT ?) AS rows_open`, []any{teamID, routeID, milli(since), limit}, &n)
	return n, err
}

// PurgeRouteEffects deletes effects without work from before a time, at most limit, and reports whether there may be
// more.
func (tx *Tx) PurgeRouteEffects(before time.Time, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM route_effects WHERE (team_id, effect) IN (SELECT e.team_id, e.effect FROM route_effects AS e WHERE e.created_at < ? AND e.work IS NULL ORDER BY e.created_at, e.team_id, e.effect LIMIT ?)`, milli(before), limit)
	return n == int64(limit), err
}

// IsOwnDomain reports whether a team has added a domain, in A-labels.
func (r *Reader) IsOwnDomain(teamID, name string) (bool, error) {
	_, err := r.DomainID(teamID, name)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
