package db

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"mailer/app"
	"mailer/db/engine"
)

const domainColumns = `d.id, d.team_id, d.name, d.status, d.trusted, d.region, d.return_path, d.open_tracking, d.click_tracking,
	coalesce(d.tracking_subdomain, ''), d.checks, d.checked_at, d.check_at, d.pending_since, d.created_at, d.receiving, d.receives, d.receives_at`

func scanDomain(s scanner) (app.Domain, error) {
	var d app.Domain
	var checks sql.NullString
	var checked, due, pending, received sql.NullInt64
	var receiving, receives sql.NullBool
	var created int64
	err := s.Scan(&d.ID, &d.TeamID, &d.Name, &d.Status, &d.Trusted, &d.Region, &d.ReturnPath, &d.OpenTracking, &d.ClickTracking,
		&d.TrackingSubdomain, &checks, &checked, &due, &pending, &created, &receiving, &receives, &received)
	if err != nil {
		return d, err
	}
	d.Receiving, d.Receives, d.ReceivesAt = receiving.Bool, receives.Bool, fromMilli(received.Int64)
	d.CheckedAt, d.CheckAt, d.PendingSince, d.CreatedAt = fromMilli(checked.Int64), fromMilli(due.Int64), fromMilli(pending.Int64), fromMilli(created)
	return d, fromJSON(checks, &d.Checks)
}

// InsertDomain adds a domain with its keys. Error: ErrConflict if the team already has it.
func (tx *Tx) InsertDomain(d *app.Domain) error {
	tx.Changed(engine.Control)
	n, err := tx.Exec(`INSERT INTO domains (id, team_id, name, status, trusted, region, return_path, open_tracking, click_tracking,
		tracking_subdomain, pending_since, check_at, created_at, receiving) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, name) DO NOTHING`,
		d.ID, d.TeamID, d.Name, string(d.Status), d.Trusted, d.Region, d.ReturnPath, d.OpenTracking, d.ClickTracking,
		nullText(d.TrackingSubdomain), nullTime(d.PendingSince), nullTime(d.CheckAt), milli(d.CreatedAt), trueOrNull(d.Receiving))
	if err := oneRow(n, err, ErrConflict); err != nil {
		return err
	}
	for i := range d.Keys {
		if err := tx.InsertDKIMKey(d.ID, &d.Keys[i]); err != nil {
			return err
		}
	}
	return nil
}

// trueOrNull returns the value of a column that is 1 or NULL.
func trueOrNull(b bool) any {
	if b {
		return true
	}
	return nil
}

// InsertDKIMKey adds a key pair to a domain. Error: ErrConflict if the domain has the
// selector.
func (tx *Tx) InsertDKIMKey(domainID string, k *app.DKIMPair) error {
	tx.Changed(engine.Control)
	n, err := tx.Exec(`INSERT INTO dkim_keys (domain_id, selector, state, public, sealed, created_at, retired_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, domainID, k.Selector, string(k.State), k.Public, k.Sealed, milli(k.CreatedAt), nullTime(k.RetiredAt))
	return oneRow(n, err, ErrConflict)
}

// PromoteDKIMKey makes the next key of a domain the signing key and retires the current
// one. Error: ErrNotFound without a next key.
func (tx *Tx) PromoteDKIMKey(domainID string) error {
	tx.Changed(engine.Control)
	err := tx.Write(`UPDATE dkim_keys SET state = 'retired', retired_at = ?1 WHERE domain_id = ?2 AND state = 'signing'
		AND EXISTS (SELECT 1 FROM dkim_keys AS k WHERE k.domain_id = ?2 AND k.state = 'next')`, milli(tx.Now), domainID)
	if err != nil {
		return fmt.Errorf("retire DKIM key: %w", err)
	}
	return tx.WriteOne(`UPDATE dkim_keys SET state = 'signing' WHERE domain_id = ? AND state = 'next'`, domainID)
}

// PurgeDKIMKeys deletes the keys of a domain that were retired at or before a time.
func (tx *Tx) PurgeDKIMKeys(domainID string, until time.Time) error {
	tx.Changed(engine.Control)
	err := tx.Write(`DELETE FROM dkim_keys WHERE domain_id = ? AND state = 'retired' AND retired_at <= ?`, domainID, milli(until))
	return err
}

// SetDomainChecks stores the result of a check and the resulting status.
func (tx *Tx) SetDomainChecks(d *app.Domain) error {
	tx.Changed(engine.Control)
	checks, err := asJSON(d.Checks)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE domains SET status = ?, checks = ?, no_dmarc = ?, checked_at = ?, check_at = ?, pending_since = ?, receives = ?, receives_at = ? WHERE team_id = ? AND id = ?`,
		string(d.Status), checks, d.LacksDMARC(), nullTime(d.CheckedAt), nullTime(d.CheckAt), nullTime(d.PendingSince), trueOrNull(d.Receives), nullTime(d.ReceivesAt), d.TeamID, d.ID)
}

// SetDomainTracking stores the fields that a PATCH can change.
func (tx *Tx) SetDomainTracking(d *app.Domain) error {
	tx.Changed(engine.Control)
	return tx.WriteOne(`UPDATE domains SET open_tracking = ?, click_tracking = ?, tracking_subdomain = ?, receiving = ?, receives = ? WHERE team_id = ? AND id = ?`,
		d.OpenTracking, d.ClickTracking, nullText(d.TrackingSubdomain), trueOrNull(d.Receiving), trueOrNull(d.Receives), d.TeamID, d.ID)
}

// SetDomainTrust stores whether the operator trusts a domain, and the resulting status.
func (tx *Tx) SetDomainTrust(d *app.Domain) error {
	tx.Changed(engine.Control)
	return tx.WriteOne(`UPDATE domains SET trusted = ?, status = ?, pending_since = ?, check_at = ?, receives = ? WHERE team_id = ? AND id = ?`,
		d.Trusted, string(d.Status), nullTime(d.PendingSince), nullTime(d.CheckAt), trueOrNull(d.Receives && d.Status == app.DomainVerified), d.TeamID, d.ID)
}

// DeleteDomain deletes a domain with its DKIM keys and the API keys restricted to it.
func (tx *Tx) DeleteDomain(teamID, id string) error {
	tx.Changed(engine.Control)
	return tx.WriteOne(`DELETE FROM domains WHERE team_id = ? AND id = ?`, teamID, id)
}

// Domain returns one domain of a team with its key pairs.
func (r *Reader) Domain(teamID, id string) (app.Domain, error) {
	return r.withKeys(one(r, scanDomain, `SELECT `+domainColumns+` FROM domains AS d WHERE d.team_id = ? AND d.id = ?`, teamID, id))
}

// DomainByName returns the team's domain of that name with its key pairs.
func (r *Reader) DomainByName(teamID, name string) (app.Domain, error) {
	return r.withKeys(one(r, scanDomain, `SELECT `+domainColumns+` FROM domains AS d WHERE d.team_id = ? AND d.name = ?`, teamID, name))
}

func (r *Reader) withKeys(d app.Domain, err error) (app.Domain, error) {
	if err != nil {
		return d, err
	}
	d.Keys, err = list(r, scanDKIMPair, `SELECT selector, state, public, sealed, created_at, retired_at FROM dkim_keys WHERE domain_id = ? ORDER BY selector`, d.ID)
	if err != nil {
		return d, fmt.Errorf("read DKIM keys: %w", err)
	}
	d.DNS, err = r.RememberedDNS(d.ID)
	return d, err
}

func scanDKIMPair(s scanner) (app.DKIMPair, error) {
	var k app.DKIMPair
	var created int64
	var retired sql.NullInt64
	err := s.Scan(&k.Selector, &k.State, &k.Public, &k.Sealed, &created, &retired)
	k.CreatedAt, k.RetiredAt = fromMilli(created), fromMilli(retired.Int64)
	return k, err
}

// DomainStatus returns the fields that a send needs of a team's domain: region, status,
// NoDMARC, ReplyAddresses and tracking. It reads the checks only if tracking is on.
func (r *Reader) DomainStatus(teamID, name string) (app.Domain, error) {
	d := app.Domain{TeamID: teamID, Name: name}
	var checks sql.NullString
	err := r.Row(`SELECT region, status, open_tracking, click_tracking, coalesce(tracking_subdomain, ''), no_dmarc,
			CASE WHEN open_tracking = 1 OR click_tracking = 1 THEN checks END,
			CASE WHEN receiving = 1 AND receives = 1 THEN coalesce((SELECT t.reply_addresses FROM teams AS t WHERE t.id = domains.team_id), 0) ELSE 0 END
		FROM domains WHERE team_id = ? AND name = ?`, []any{teamID, name},
		&d.Region, &d.Status, &d.OpenTracking, &d.ClickTracking, &d.TrackingSubdomain, &d.NoDMARC, &checks, &d.ReplyAddresses)
	if err != nil {
		return d, err
	}
	return d, fromJSON(checks, &d.Checks)
}

// ListDomains returns a page of a team's domains, newest first, without key pairs. Error:
// ErrNotFound for an unknown cursor.
func (r *Reader) ListDomains(teamID string, page app.Page) ([]app.Domain, bool, error) {
	return listPage(r, page, func(cursor string) error {
		return r.Exists(`SELECT 1 FROM domains WHERE team_id = ? AND id = ?`, teamID, cursor)
	}, scanDomain,
		`SELECT `+domainColumns+` FROM domains AS d WHERE d.team_id = ? AND d.id < ? ORDER BY d.id DESC LIMIT ?`,
		`SELECT `+domainColumns+` FROM domains AS d WHERE d.team_id = ? AND d.id > ? ORDER BY d.id LIMIT ?`, teamID)
}

// TrackedDomains returns the domains of a team that have a tracking subdomain, oldest first, without
// key pairs. Those that are not verified are included, since mail that was sent refers to the host,
// unless another team has verified the domain.
func (r *Reader) TrackedDomains(teamID string) ([]app.Domain, error) {
	return list(r, scanDomain, `SELECT `+domainColumns+` FROM domains AS d WHERE d.team_id = ? AND d.tracking_subdomain IS NOT NULL
		AND (d.status = 'verified' OR (SELECT o.id FROM domains AS o WHERE o.name = d.name AND o.status = 'verified' LIMIT 1) IS NULL) ORDER BY d.id`, teamID)
}

// DueDomains returns at most limit domains of all teams with a due check, longest due
// first, without key pairs.
func (r *Reader) DueDomains(now time.Time, limit int) ([]app.Domain, error) {
	return list(r, scanDomain, `SELECT `+domainColumns+` FROM domains AS d
		WHERE d.check_at <= ? ORDER BY d.check_at, d.id LIMIT ?`, milli(now), limit)
}

// CountDomains returns the number of a team's domains, at most limit.
func (r *Reader) CountDomains(teamID string, limit int) (n int, err error) {
	ids, err := list(r, scanText, `SELECT id FROM domains WHERE team_id = ? ORDER BY id LIMIT ?`, teamID, limit)
	return len(ids), err
}

// VerifiedAbove reports whether a host is a verified domain of a team, or below one.
func (r *Reader) VerifiedAbove(teamID, host string) (bool, error) {
	for {
		err := r.Exists(`SELECT 1 FROM domains WHERE team_id = ? AND name = ? AND status = 'verified'`, teamID, host)
		if !errors.Is(err, ErrNotFound) {
			return err == nil, err
		}
		_, above, found := strings.Cut(host, ".")
		if !found {
			return false, nil
		}
		host = above
	}
}

// VerifiedDomain returns the name of a team's oldest verified domain.
func (r *Reader) VerifiedDomain(teamID string) (name string, err error) {
	err = r.Row(`SELECT name FROM domains WHERE team_id = ? AND status = 'verified' ORDER BY id LIMIT 1`, []any{teamID}, &name)
	return name, err
}
