package db

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mailer/app"
	"mailer/app/kit/mailbox"
)

const (
	idLength      = 36 // of an id as text
	keywordLength = 40 // limit of states, routes, regions and other fixed words
)

// maxColumnBytes is the largest size of values in indexed columns, as validated on input:
// by table and column, or by column. Columns named id hold an id.
var maxColumnBytes = map[string]int{
	"hash": 32, "domain": mailbox.MaxDomain, "relay": keywordLength, "region": keywordLength, "status": keywordLength, "kind": keywordLength,
	"address":                      16,            // a hash
	"action":                       keywordLength, // of the audit log
	"aged.kind":                    keywordLength, // content, email or recipient
	"audit_logs.actor":             256,           // an id, or the name of a system user
	"audit_logs.target":            1000,          // base.Audit truncates it
	"automation_counts.step_key":   app.MaxStepKey * utf8.UTFMax,
	"automation_entries.entry_key": 64, // a hash
	"automation_listeners.name":    app.MaxEventName * utf8.UTFMax,
	"automation_signals.name":      app.MaxEventName * utf8.UTFMax,
	"custom_events.name":           app.MaxEventName * utf8.UTFMax,
	"received_days.day":            10, // a date
	"mail_reports.day":             10,
	"mail_reports.reporter":        255,
	"mail_reports.report_id":       255,
	"mail_report_days.day":         10,
	"mail_report_days.reporter":    255,
	"mail_report_days.policy":      keywordLength,
	"mail_report_sources.day":      10,
	"mail_report_sources.source":   255,
	"mail_report_sources.policy":   keywordLength,
	"mail_report_warnings.warning": keywordLength,
	"reverse_names.address":        45, // of IPv6
	"received_emails.answers":      idLength,
	"received_emails.digest":       32,
	"received_emails.from_email":   mailbox.MaxLength,
	"route_effects.effect":         32, // a hash
	"blocks.name":                  app.MaxBlockName * utf8.UTFMax,
	"broadcasts.mails":             idLength,      // prefix of an id
	"broadcast_languages.language": keywordLength, // a tag
	"certificate_states.host":      mailbox.MaxDomain,
	"certificates.name":            2 * mailbox.MaxDomain, // host or challenge token, with a suffix
	"dkim_keys.selector":           keywordLength,
	"dns_published.name":           mailbox.MaxDomain,
	"dns_published.type":           keywordLength,
	"dns_published.value":          app.MaxPublishedValue,
	"confirmations.person":         16, // a hash
	"opt_ins.ip_range":             50, // of IPv6 addresses
	"regions.name":                 40,
	"images.name":                  32,
	"domains.name":                 mailbox.MaxDomain,
	"feedback.source":              keywordLength,
	"webhook_events.type":          keywordLength,
	"idempotency.key":              app.MaxIdempotencyKey * utf8.UTFMax,
	"idempotency.route":            keywordLength,
	"idempotency.scope":            idLength,
	"invitations.address":          mailbox.MaxLength,
	"invitations.mailed":           32, // a hash
	"keys.made_by":                 idLength,
	"keys.public":                  keywordLength,
	"pages_hosts.name":             mailbox.MaxDomain,
	"passkeys.credential_id":       1023, // Web Authentication Level 3, 4
	"properties.key":               app.MaxPropertyKey,
	"provider_ids.id":              128,                   // feedback.ProviderIDIn
	"recipients.address":           3 * mailbox.MaxLength, // bytes that are not UTF-8 become three
	"settings.name":                keywordLength,
	"suppressions.origin":          keywordLength,
	"teams.name":                   100 * utf8.UTFMax, // teams.MaxName
	"templates.alias":              app.MaxTemplateAlias,
	"topics.name":                  app.MaxTopicName * utf8.UTFMax,
	"users.address":                mailbox.MaxLength,
}

// TestIndexedValuesFitPostgreSQLIndex fills each index with the largest values of its
// columns. PostgreSQL refuses index rows above some 2,700 bytes, so a write of larger
// values would always fail. A new indexed column needs a bound.
func TestIndexedValuesFitPostgreSQLIndex(t *testing.T) {
	t.Parallel()
	c := postgresConn(t)
	rows, err := c.Query(t.Context(), `SELECT tablename::text, indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY indexname`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (x postgresIndex, err error) { return x, r.Scan(&x.table, &x.def) })
	if err != nil || len(all) < 100 {
		t.Fatalf("%d indexes: %v", len(all), err)
	}
	seen := map[string]bool{}
	for _, x := range all {
		err := x.fill(t, c, func(column string) int {
			name := x.table + "." + column
			if maxColumnBytes[name] == 0 {
				name = column
			}
			seen[name] = true
			if maxColumnBytes[name] == 0 && column != "id" && !strings.HasSuffix(column, "_id") {
				t.Errorf("%s.%s is indexed: say how long it can be", x.table, column)
			}
			return cmp.Or(maxColumnBytes[name], idLength)
		})
		if err != nil {
			t.Errorf("%s: %v", x.def, err)
		}
	}
	for name := range maxColumnBytes {
		if !seen[name] {
			t.Errorf("%s is not indexed", name)
		}
	}
	// Control: larger values are refused.
	var refused *pgconn.PgError
	if err := all[0].fill(t, c, func(string) int { return 2800 }); !errors.As(err, &refused) || refused.Code != "54000" {
		t.Errorf("2,800 bytes: %v", err)
	}
}

// postgresIndex is an index and the statement that makes it.
type postgresIndex struct{ table, def string }

// fill inserts a row into an index like x. Each text has the size that most returns.
func (x postgresIndex) fill(t *testing.T, c *pgx.Conn, maxRows func(column string) int) error {
	t.Helper()
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}()
	_, on, _ := strings.Cut(x.def, " USING ")
	on, _, _ = strings.Cut(on, " WHERE ") // also partial indexes
	for _, text := range []string{`CREATE TEMPORARY TABLE probe AS SELECT * FROM ` + x.table + ` WITH NO DATA`, `CREATE INDEX ON probe USING ` + on} {
		if _, err := tx.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	rows, err := tx.Query(t.Context(), `SELECT attname::text, format_type(atttypid, -1) FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0`, x.table)
	if err != nil {
		t.Fatal(err)
	}
	var names, values []string
	var args []any
	var name, kind string
	_, err = pgx.ForEachRow(rows, []any{&name, &kind}, func() error {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(on) {
			return nil
		}
		switch kind {
		case "text":
			args = append(args, incompressible(maxRows(name)))
		case "bytea":
			args = append(args, []byte(incompressible(maxRows(name))))
		default:
			args = append(args, math.MaxInt32)
		}
		names, values = append(names, name), append(values, fmt.Sprint("$", len(args)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	args = append([]any{pgx.QueryExecModeExec}, args...) // column types may differ from an earlier row
	_, err = tx.Exec(t.Context(), `INSERT INTO probe (`+strings.Join(names, ", ")+`) VALUES (`+strings.Join(values, ", ")+`)`, args...)
	return err
}

// incompressible returns random text of the given size.
func incompressible(bytes int) string {
	b := make([]byte, bytes)
	for i := range b {
		b[i] = ' ' + 1 + byte(rand.IntN('~'-' '))
	}
	return string(b)
}
