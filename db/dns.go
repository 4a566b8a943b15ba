package db

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/rules/dnsplan"
)

// SetDNSCredentials stores what opens the DNS zone of a domain, in place of what was stored before.
func (tx *Tx) SetDNSCredentials(domainID, provider string, sealed []byte) error {
	return tx.Write(`INSERT INTO dns_credentials (domain_id, provider, sealed, created_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (domain_id) DO UPDATE SET provider = excluded.provider, sealed = excluded.sealed, created_at = excluded.created_at`,
		domainID, provider, sealed, milli(tx.Now))
}

// DeleteDNSCredentials deletes what opens the DNS zone of a domain. Error: ErrNotFound if nothing is
// stored.
func (tx *Tx) DeleteDNSCredentials(domainID string) error {
	return tx.WriteOne(`DELETE FROM dns_credentials WHERE domain_id = ?`, domainID)
}

// DNSCredentials returns what opens the DNS zone of a domain, sealed. Error: ErrNotFound.
func (r *Reader) DNSCredentials(domainID string) (sealed []byte, err error) {
	err = r.Row(`SELECT sealed FROM dns_credentials WHERE domain_id = ?`, []any{domainID}, &sealed)
	return sealed, err
}

// RememberedDNS says whether what opens the DNS zone of a domain is stored.
func (r *Reader) RememberedDNS(domainID string) (app.RememberedDNS, error) {
	var out app.RememberedDNS
	var since int64
	err := r.Row(`SELECT provider, created_at FROM dns_credentials WHERE domain_id = ?`, []any{domainID}, &out.Provider, &since)
	if errors.Is(err, ErrNotFound) {
		return app.RememberedDNS{}, nil
	}
	out.Since = fromMilli(since)
	return out, err
}

// AddPublished stores that this server published a DNS record.
func (tx *Tx) AddPublished(domainID string, p dnsplan.Record) error {
	return tx.Write(`INSERT INTO dns_published (domain_id, name, type, value, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		domainID, p.Name, p.Type, p.Value, milli(tx.Now))
}

// DeletePublished forgets a DNS record that this server published, if it did.
func (tx *Tx) DeletePublished(domainID string, p dnsplan.Record) error {
	return tx.Write(`DELETE FROM dns_published WHERE domain_id = ? AND name = ? AND type = ? AND value = ?`, domainID, p.Name, p.Type, p.Value)
}

// Published returns the DNS records of a domain that this server published.
func (r *Reader) Published(domainID string) ([]dnsplan.Record, error) {
	out, err := list(r, func(s scanner) (p dnsplan.Record, err error) {
		err = s.Scan(&p.Name, &p.Type, &p.Value)
		return p, err
	}, `SELECT name, type, value FROM dns_published WHERE domain_id = ? ORDER BY name, type, value`, domainID)
	if err != nil {
		return nil, fmt.Errorf("read published DNS records: %w", err)
	}
	return out, nil
}
