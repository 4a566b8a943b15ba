package db

import (
	"fmt"

	"mailer/db/engine"
)

// SealedTable is a table with one sealed value in each row.
type SealedTable string

// The tables with sealed values. SealedSettings are the settings whose names begin with
// SealedSetting.
const (
	SealedDKIMKeys SealedTable = "dkim_keys"
	SealedDNS      SealedTable = "dns_credentials"
	SealedWebhooks SealedTable = "webhooks"
	SealedErasures SealedTable = "erasures"
	SealedRelays   SealedTable = "relays"
	SealedFlags    SealedTable = "relay_states"
	SealedTOTP     SealedTable = "totp"
	SealedAccounts SealedTable = "account_texts"
	SealedCerts    SealedTable = "certificates"
	SealedSettings SealedTable = "settings"
)

// SealedSetting is the name prefix of settings with sealed values.
const SealedSetting = "sealed."

// SealedRow is a sealed value with its primary key of one or two parts.
type SealedRow struct {
	ID, Part string
	Sealed   []byte
}

// sealedStatements read a page of a table and replace one value if it is unchanged. paired
// means that the key has two parts.
var sealedStatements = map[SealedTable]struct {
	paired       bool
	list, update string
}{
	SealedDKIMKeys: {true,
		`SELECT domain_id, selector, sealed FROM dkim_keys WHERE (domain_id, selector) > (?, ?) ORDER BY domain_id, selector LIMIT ?`,
		`UPDATE dkim_keys SET sealed = ? WHERE domain_id = ? AND selector = ? AND sealed = ?`},
	SealedDNS: {false,
		`SELECT domain_id, '', sealed FROM dns_credentials WHERE domain_id > ? ORDER BY domain_id LIMIT ?`,
		`UPDATE dns_credentials SET sealed = ? WHERE domain_id = ? AND sealed = ?`},
	SealedWebhooks: {false,
		`SELECT id, '', secrets FROM webhooks WHERE id > ? ORDER BY id LIMIT ?`,
		`UPDATE webhooks SET secrets = ? WHERE id = ? AND secrets = ?`},
	SealedErasures: {false,
		`SELECT id, '', addresses FROM erasures WHERE id > ? ORDER BY id LIMIT ?`,
		`UPDATE erasures SET addresses = ? WHERE id = ? AND addresses = ?`},
	SealedRelays: {false,
		`SELECT region, '', sealed FROM relays WHERE region > ? ORDER BY region LIMIT ?`,
		`UPDATE relays SET sealed = ? WHERE region = ? AND sealed = ?`},
	SealedFlags: {false,
		`SELECT region, '', sealed FROM relay_states WHERE region > ? AND sealed IS NOT NULL ORDER BY region LIMIT ?`,
		`UPDATE relay_states SET sealed = ? WHERE region = ? AND sealed = ?`},
	SealedTOTP: {false,
		`SELECT user_id, '', sealed FROM totp WHERE user_id > ? ORDER BY user_id LIMIT ?`,
		`UPDATE totp SET sealed = ? WHERE user_id = ? AND sealed = ?`},
	SealedAccounts: {false,
		`SELECT email_id, '', sealed FROM account_texts WHERE email_id > ? ORDER BY email_id LIMIT ?`,
		`UPDATE account_texts SET sealed = ? WHERE email_id = ? AND sealed = ?`},
	SealedCerts: {false,
		`SELECT name, '', sealed FROM certificates WHERE name > ? ORDER BY name LIMIT ?`,
		`UPDATE certificates SET sealed = ? WHERE name = ? AND sealed = ?`},
	SealedSettings: {false,
		`SELECT name, '', value FROM settings WHERE name > ? AND name >= 'sealed.' AND name < 'sealed/' ORDER BY name LIMIT ?`,
		`UPDATE settings SET value = ? WHERE name = ? AND value = ?`},
}

// Sealed returns up to limit sealed values of a table after a row, in primary key order.
func (r *Reader) Sealed(table SealedTable, after SealedRow, limit int) ([]SealedRow, error) {
	of := sealedStatements[table]
	args := []any{after.ID, limit}
	if of.paired {
		args = []any{after.ID, after.Part, limit}
	}
	rows, err := list(r, func(s scanner) (row SealedRow, err error) {
		err = s.Scan(&row.ID, &row.Part, &row.Sealed)
		return row, err
	}, of.list, args...)
	if err != nil {
		return nil, fmt.Errorf("read sealed values in %s: %w", table, err)
	}
	return rows, nil
}

// Reseal replaces the sealed value of a row if it is unchanged; else it does nothing.
func (tx *Tx) Reseal(table SealedTable, row SealedRow, sealed []byte) error {
	tx.Changed(engine.Control, engine.Webhooks, engine.Erasures)
	of := sealedStatements[table]
	args := []any{sealed, row.ID, row.Sealed}
	if of.paired {
		args = []any{sealed, row.ID, row.Part, row.Sealed}
	}
	if err := tx.Write(of.update, args...); err != nil {
		return fmt.Errorf("reseal in %s: %w", table, err)
	}
	return nil
}
