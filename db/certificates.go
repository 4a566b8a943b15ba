package db

import (
	"database/sql"
	"fmt"
	"slices"
	"sort"
	"time"

	"mailer/app"
	"mailer/app/rules/tracking"
)

// Certificate is one value stored by the ACME library: a certificate, a key or an account.
type Certificate struct {
	Name      string
	Sealed    []byte
	ExpiresAt time.Time // zero: not a certificate
}

// Certificate returns the value with a name. Error: ErrNotFound.
func (r *Reader) Certificate(name string) (Certificate, error) {
	c := Certificate{Name: name}
	var expires sql.NullInt64
	err := r.Row(`SELECT sealed, expires_at FROM certificates WHERE name = ?`, []any{name}, &c.Sealed, &expires)
	c.ExpiresAt = fromMilli(expires.Int64)
	return c, err
}

// CertificateEnds returns the expiry times of all certificates by name.
func (r *Reader) CertificateEnds() (map[string]time.Time, error) {
	ends := map[string]time.Time{}
	_, err := list(r, func(s scanner) (none struct{}, err error) {
		var name string
		var expires int64
		err = s.Scan(&name, &expires)
		ends[name] = fromMilli(expires)
		return none, err
	}, `SELECT name, expires_at FROM certificates WHERE expires_at IS NOT NULL`)
	if err != nil {
		return nil, fmt.Errorf("read until when certificates are good: %w", err)
	}
	return ends, nil
}

// SetCertificate stores a value.
func (tx *Tx) SetCertificate(c *Certificate) error {
	err := tx.Write(`INSERT INTO certificates (name, sealed, expires_at, updated_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at, updated_at = excluded.updated_at`,
		c.Name, c.Sealed, nullTime(c.ExpiresAt), milli(tx.Now))
	if err != nil {
		return fmt.Errorf("keep a certificate: %w", err)
	}
	return nil
}

// DeleteCertificate deletes a value, if it exists.
func (tx *Tx) DeleteCertificate(name string) error {
	err := tx.Write(`DELETE FROM certificates WHERE name = ?`, name)
	return err
}

// PurgeCertificates deletes certificates that expired before a time.
func (tx *Tx) PurgeCertificates(before time.Time) error {
	err := tx.Write(`DELETE FROM certificates WHERE expires_at < ?`, milli(before))
	return err
}

// PurgeChallenges deletes challenge tokens stored before a time.
func (tx *Tx) PurgeChallenges(before time.Time) error {
	err := tx.Write(`DELETE FROM certificates WHERE expires_at IS NULL AND updated_at < ? AND (name LIKE '%+token' OR name LIKE '%+http-01')`, milli(before))
	return err
}

// CertificateState is the state of a host's certificate.
type CertificateState struct {
	Host      string
	ExpiresAt time.Time // zero: none
	LookAt    time.Time // when to warn that it was not renewed
	Failures  int       // consecutive
	FailedAt  time.Time
	Failure   string
}

// CertificateStates returns the states of all hosts, earliest expiry first.
func (r *Reader) CertificateStates() ([]CertificateState, error) {
	all, err := list(r, func(s scanner) (c CertificateState, err error) {
		var expires, look, failed sql.NullInt64
		var failure sql.NullString
		err = s.Scan(&c.Host, &expires, &look, &c.Failures, &failed, &failure)
		c.ExpiresAt, c.LookAt, c.FailedAt, c.Failure = fromMilli(expires.Int64), fromMilli(look.Int64), fromMilli(failed.Int64), failure.String
		return c, err
	}, `SELECT host, expires_at, look_at, failures, failed_at, failure FROM certificate_states ORDER BY host`)
	sort.SliceStable(all, func(i, j int) bool { return all[i].ExpiresAt.Before(all[j].ExpiresAt) })
	return all, err
}

// SetCertificateState stores the state of a host's certificate.
func (tx *Tx) SetCertificateState(c *CertificateState) error {
	err := tx.Write(`INSERT INTO certificate_states (host, expires_at, look_at, failures, failed_at, failure) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (host) DO UPDATE SET expires_at = excluded.expires_at, look_at = excluded.look_at, failures = excluded.failures,
			failed_at = excluded.failed_at, failure = excluded.failure`,
		c.Host, nullTime(c.ExpiresAt), nullTime(c.LookAt), c.Failures, nullTime(c.FailedAt), nullText(c.Failure))
	if err != nil {
		return fmt.Errorf("say how the certificate of %s is: %w", c.Host, err)
	}
	return nil
}

// DeleteCertificateState deletes the state of a host that needs no certificate any more.
func (tx *Tx) DeleteCertificateState(host string) error {
	err := tx.Write(`DELETE FROM certificate_states WHERE host = ?`, host)
	return err
}

// TenantHosts returns the tracking hosts and own hosts for pages with a working DNS record. Tracking
// hosts belong to verified domains, or had a certificate before, because links in old mail still point
// to them.
func (r *Reader) TenantHosts() (hosts []string, err error) {
	_, err = list(r, func(s scanner) (none struct{}, err error) {
		var d app.Domain
		var checks sql.NullString
		if err = s.Scan(&d.Name, &d.TrackingSubdomain, &checks); err != nil {
			return none, err
		}
		if err = fromJSON(checks, &d.Checks); err != nil {
			return none, err
		}
		if tracking.HostIsLive(&d) {
			hosts = append(hosts, d.TrackingName())
		}
		return none, nil
	}, `SELECT name, tracking_subdomain, checks FROM domains
		WHERE tracking_subdomain IS NOT NULL AND (status = 'verified' OR EXISTS (SELECT 1 FROM certificates AS c WHERE c.name = tracking_subdomain || '.' || domains.name))`)
	if err != nil {
		return nil, fmt.Errorf("read the hosts of tracked links: %w", err)
	}
	own, err := r.PagesHosts()
	for i := range own {
		if own[i].PointsHere && !slices.Contains(hosts, own[i].Name) {
			hosts = append(hosts, own[i].Name)
		}
	}
	return hosts, err
}
