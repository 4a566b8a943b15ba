package rekey

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mailer/app/base"
	"mailer/app/kit/seal"
	"mailer/app/operate/certificates"
	"mailer/app/sending/mail"
	"mailer/app/tenants/accounts"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/webhooks"
	"mailer/db"
)

// kind is a kind of sealed values.
type kind struct {
	table   db.SealedTable
	purpose string // empty: the name of the setting, without context
}

// kinds returns all kinds of sealed values. The settings come last: a start opens the seed among
// them, which proves that all other values can be opened.
func kinds() []kind {
	return []kind{
		{db.SealedDKIMKeys, domains.DKIMPurpose},
		{db.SealedDNS, domains.DNSPurpose},
		{db.SealedWebhooks, webhooks.WebhookPurpose},
		{db.SealedErasures, audience.ErasePurpose},
		{db.SealedRelays, base.RelayPurpose},
		{db.SealedFlags, base.RelayPurpose},
		{db.SealedTOTP, accounts.TOTPPurpose},
		{db.SealedAccounts, mail.AccountPurpose},
		{db.SealedCerts, certificates.Purpose},
		{db.SealedSettings, ""},
	}
}

// binding returns the purpose and the context of a row.
func (k kind) binding(row db.SealedRow) (purpose, context string) {
	if k.purpose == "" {
		return strings.TrimPrefix(row.ID, db.SealedSetting), ""
	}
	return k.purpose, row.ID
}

// batchSize is how many sealed values one read returns and one write changes.
const batchSize = 50

// walk calls fn with all sealed values, a batch of one kind at a time.
func (s *Service) walk(ctx context.Context, fn func(k kind, rows []db.SealedRow) error) error {
	for _, k := range kinds() {
		var after db.SealedRow
		for {
			rows, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]db.SealedRow, error) { return r.Sealed(k.table, after, batchSize) })
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				break
			}
			if err := fn(k, rows); err != nil {
				return err
			}
			after = rows[len(rows)-1]
		}
	}
	return ctx.Err()
}

// counts holds how many values are sealed with each key.
type counts map[seal.Fingerprint]int

// left returns how many values are sealed with other keys than newest.
func (c counts) left(newest seal.Fingerprint) (n int) {
	for print, values := range c {
		if print != newest {
			n += values
		}
	}
	return n
}

func (s *Service) count(ctx context.Context) (counts, error) {
	c := counts{}
	err := s.walk(ctx, func(_ kind, rows []db.SealedRow) error {
		for _, row := range rows {
			c[seal.SealedWith(row.Sealed)]++
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count sealed values: %w", err)
	}
	return c, nil
}

// reseal seals values of older keys with the newest key and returns how many. A value that can't
// be opened is logged and left.
func (s *Service) reseal(ctx context.Context, did func(n int)) (n int, err error) {
	newest := s.Sealer.Newest()
	err = s.walk(ctx, func(k kind, rows []db.SealedRow) error {
		done, err := s.resealBatch(ctx, newest, k, rows)
		if n += done; done > 0 {
			did(n)
		}
		return err
	})
	if err != nil {
		return n, fmt.Errorf("reseal: %w", err)
	}
	return n, nil
}

// resealBatch opens and seals outside of the write, then pauses for as long as it took.
func (s *Service) resealBatch(ctx context.Context, newest seal.Fingerprint, k kind, rows []db.SealedRow) (int, error) {
	began := time.Now()
	var old []db.SealedRow
	var anew [][]byte
	for _, row := range rows {
		if seal.SealedWith(row.Sealed) == newest {
			continue
		}
		purpose, context := k.binding(row)
		sealed, err := s.Sealer.Reseal(purpose, context, row.Sealed)
		if err != nil {
			s.Log.Error("a sealed value can't be opened, and is left as it is", "table", string(k.table), "id", row.ID, "key", seal.SealedWith(row.Sealed).String(), "err", err)
			continue
		}
		old, anew = append(old, row), append(anew, sealed)
	}
	if len(old) == 0 {
		return 0, nil
	}
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		for i := range old {
			if err := tx.Reseal(k.table, old[i], anew[i]); err != nil {
				return err
			}
		}
		return nil
	})
	base.Sleep(ctx, time.Since(began), nil)
	return len(old), err
}
