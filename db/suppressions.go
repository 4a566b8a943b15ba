package db

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"mailer/app"
	"mailer/db/engine"
)

const suppressionColumns = `id, team_id, coalesce(email, ''), address, origin, source_id, created_at`

func scanSuppression(s scanner) (app.Suppression, error) {
	var v app.Suppression
	var source sql.NullString
	var created int64
	err := s.Scan(&v.ID, &v.TeamID, &v.Email, (*hashColumn)(&v.Hash), &v.Origin, &source, &created)
	v.SourceID, v.CreatedAt = source.String, fromMilli(created)
	return v, err
}

// AddSuppression adds an address to its team's suppression list and returns the stored
// suppression: an existing one wins. An erased suppression is listed again, because its
// address is known again. A suppression without Email blocks but is not listed.
func (tx *Tx) AddSuppression(s app.Suppression) (app.Suppression, error) {
	tx.Changed(engine.Suppressions)
	n, err := tx.Exec(`INSERT INTO suppressions (id, team_id, email, address, origin, source_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, address) DO NOTHING`,
		s.ID, s.TeamID, nullText(s.Email), s.Hash[:], string(s.Origin), nullText(s.SourceID), milli(s.CreatedAt))
	if err != nil {
		return s, fmt.Errorf("insert suppression: %w", err)
	}
	if n == 0 {
		n, err := tx.Exec(`UPDATE suppressions SET email = ? WHERE team_id = ? AND address = ? AND email IS NULL`, nullText(s.Email), s.TeamID, s.Hash[:])
		if err != nil {
			return s, fmt.Errorf("show suppression again: %w", err)
		}
		tx.countListed(&s, int(n))
		return tx.SuppressionByAddress(s.TeamID, s.Hash)
	}
	tx.countListed(&s, 1)
	return s, nil
}

// countListed adds n, which may be negative, to the number of listed suppressions, unless s
// is not listed.
func (tx *Tx) countListed(s *app.Suppression, n int) {
	if s.Email == "" || n == 0 {
		return
	}
	if tx.increments.listed == nil {
		tx.increments.listed = map[string]int{}
	}
	tx.increments.listed[s.TeamID] += n
}

func (tx *Tx) storeListed(group []*increments) error {
	all := map[string]int{}
	for _, added := range group {
		for team, n := range added.listed {
			all[team] += n
		}
	}
	for _, team := range slices.Sorted(maps.Keys(all)) {
		if err := tx.Write(`UPDATE teams SET suppressions = suppressions + ? WHERE id = ?`, all[team], team); err != nil {
			return fmt.Errorf("count suppressions: %w", err)
		}
	}
	return nil
}

// SuppressionCount returns a team's counter of listed suppressions.
func (r *Reader) SuppressionCount(teamID string) (n int, err error) {
	err = r.Row(`SELECT suppressions FROM teams WHERE id = ?`, []any{teamID}, &n)
	return n, err
}

// ReplaceOrigin changes the origin of a suppression.
func (tx *Tx) ReplaceOrigin(teamID, id string, origin app.SuppressionOrigin, sourceID string) error {
	tx.Changed(engine.Suppressions)
	err := tx.Write(`UPDATE suppressions SET origin = ?, source_id = ? WHERE team_id = ? AND id = ?`, string(origin), nullText(sourceID), teamID, id)
	return err
}

// RehashSuppression changes the address hash of a suppression.
func (tx *Tx) RehashSuppression(teamID, id string, address app.AddressHash) error {
	tx.Changed(engine.Suppressions)
	return tx.Write(`UPDATE suppressions SET address = ? WHERE team_id = ? AND id = ?`, address[:], teamID, id)
}

// Suppression returns one suppression of a team that was not erased.
func (r *Reader) Suppression(teamID, id string) (app.Suppression, error) {
	return one(r, scanSuppression, `SELECT `+suppressionColumns+` FROM suppressions WHERE team_id = ? AND id = ? AND email IS NOT NULL`, teamID, id)
}

// SuppressionByAddress returns a team's suppression of an address, including an erased one.
func (r *Reader) SuppressionByAddress(teamID string, address app.AddressHash) (app.Suppression, error) {
	return one(r, scanSuppression, `SELECT `+suppressionColumns+` FROM suppressions WHERE team_id = ? AND address = ?`, teamID, address[:])
}

// Suppressions returns hash, origin and time of a team's suppressions of the given
// addresses: those of one send. Each address costs one index look-up.
func (r *Reader) Suppressions(teamID string, addresses []app.AddressHash) ([]app.Suppression, error) {
	switch n := len(addresses); {
	case n == 0:
		return nil, nil
	case n == 1: // most emails
		return list(r, scanBlock, `SELECT address, origin, created_at FROM suppressions
			WHERE team_id = ? AND address = ?`, teamID, addresses[0][:])
	case n <= fewAddresses: // most others: setKeys parameters cost more than a few look-ups
		return list(r, scanBlock, `SELECT address, origin, created_at FROM suppressions
			WHERE team_id = ? AND address IN (?, ?, ?, ?, ?)`, padded(teamID, addresses, fewAddresses)...)
	}
	return r.SuppressionsAmong(teamID, addresses)
}

func scanBlock(s scanner) (app.Suppression, error) {
	var v app.Suppression
	var created int64
	err := s.Scan((*hashColumn)(&v.Hash), &v.Origin, &created)
	v.CreatedAt = fromMilli(created)
	return v, err
}

// fewAddresses is the number of addresses of the statement for few addresses.
const fewAddresses = 5

// padded returns the arguments of a query for a team and n addresses, padded with the last
// address.
func padded(teamID string, addresses []app.AddressHash, n int) []any {
	args := make([]any, 1, 1+n)
	args[0] = teamID
	for i := range n {
		args = append(args, addresses[min(i, len(addresses)-1)][:])
	}
	return args
}

// DeleteSuppression deletes a suppression. Error: ErrNotFound.
func (tx *Tx) DeleteSuppression(teamID, id string) error {
	tx.Changed(engine.Suppressions)
	deleted, err := list(&tx.Reader, scanText, `DELETE FROM suppressions WHERE team_id = ? AND id = ? RETURNING coalesce(email, '')`, teamID, id)
	if err != nil {
		return fmt.Errorf("delete suppression: %w", err)
	}
	if len(deleted) == 0 {
		return ErrNotFound
	}
	tx.countListed(&app.Suppression{TeamID: teamID, Email: deleted[0]}, -1)
	return nil
}

// ListSuppressions returns a page of a team's listed suppressions, newest first, and whether
// there are more in the direction of the page. An empty origin selects all. Error:
// ErrNotFound for a cursor that is not in that list.
func (r *Reader) ListSuppressions(teamID string, origin app.SuppressionOrigin, page app.Page) ([]app.Suppression, bool, error) {
	exists := func(cursor string) error {
		s, err := r.Suppression(teamID, cursor)
		if err == nil && origin != "" && s.Origin != origin {
			return ErrNotFound
		}
		return err
	}
	if origin != "" {
		return listPage(r, page, exists, scanSuppression,
			`SELECT `+suppressionColumns+` FROM suppressions WHERE team_id = ? AND email IS NOT NULL AND origin = ? AND id < ? ORDER BY id DESC LIMIT ?`,
			`SELECT `+suppressionColumns+` FROM suppressions WHERE team_id = ? AND email IS NOT NULL AND origin = ? AND id > ? ORDER BY id LIMIT ?`, teamID, string(origin))
	}
	return listPage(r, page, exists, scanSuppression,
		`SELECT `+suppressionColumns+` FROM suppressions WHERE team_id = ? AND email IS NOT NULL AND id < ? ORDER BY id DESC LIMIT ?`,
		`SELECT `+suppressionColumns+` FROM suppressions WHERE team_id = ? AND email IS NOT NULL AND id > ? ORDER BY id LIMIT ?`, teamID)
}
