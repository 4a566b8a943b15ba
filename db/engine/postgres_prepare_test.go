package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mailer/db/pgtest"
)

// onServer runs statements on a PostgreSQL server.
func onServer(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	for _, text := range statements {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// TestUnsafePostgresSettingsAreRefused checks settings that an operator or a provider may have
// made.
func TestUnsafePostgresSettingsAreRefused(t *testing.T) {
	good := postgresFacts{version: "PostgreSQL 17.1", number: 170001, provider: "c", collation: "C", characters: "POSIX", encoding: "UTF8", commit: "on", readOnly: "off"}
	for name, tc := range map[string]struct {
		set  func(*postgresFacts)
		want string
	}{
		"as it should be":                     {func(*postgresFacts) {}, ""},
		"standbys, and all wait for them":     {func(f *postgresFacts) { f.standbys, f.commit = "one", "remote_apply" }, ""},
		"no standby, so local is on":          {func(f *postgresFacts) { f.commit = "local" }, ""},
		"standbys, and no commit waits":       {func(f *postgresFacts) { f.standbys, f.commit = "one", "local" }, "synchronous_commit = local"},
		"no commit waits":                     {func(f *postgresFacts) { f.commit = "off" }, "synchronous_commit = off"},
		"ICU, with the locale C beside it":    {func(f *postgresFacts) { f.provider = "i" }, "LOCALE_PROVIDER libc"},
		"PostgreSQL's own provider":           {func(f *postgresFacts) { f.provider = "b" }, "LOCALE_PROVIDER libc"},
		"the order of a language":             {func(f *postgresFacts) { f.collation = "en_US.UTF-8" }, "LOCALE_PROVIDER libc"},
		"bytes in another encoding than ours": {func(f *postgresFacts) { f.encoding = "LATIN1" }, "LOCALE_PROVIDER libc"},
		"old":                                 {func(f *postgresFacts) { f.number = 140001 }, "at least 15"},
	} {
		f := good
		tc.set(&f)
		err := f.refusal("postgres://h/d")
		if (err == nil) != (tc.want == "") || err != nil && (!errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestICUCollationIsRefused opens a database whose order is not that of its LC_COLLATE.
func TestICUCollationIsRefused(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	const name = "mailer_test_icu"
	onServer(t, server, `DROP DATABASE IF EXISTS `+name, `CREATE DATABASE `+name+` TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en' LC_COLLATE 'C' LC_CTYPE 'C'`)
	t.Cleanup(func() {
		c, err := pgx.Connect(context.WithoutCancel(t.Context()), server)
		if err == nil {
			_, err = c.Exec(context.WithoutCancel(t.Context()), `DROP DATABASE `+name)
			err = errors.Join(err, c.Close(context.WithoutCancel(t.Context())))
		}
		if err != nil {
			t.Error(err)
		}
	})
	d, err := Open(t.Context(), Options{Path: pgtest.WithDatabase(server, name), Schema: SmallSchema(t), Lazy: true, Create: true})
	if err == nil {
		d.Close()
	}
	if !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), "LOCALE_PROVIDER libc") {
		t.Errorf("it is opened: %v", err)
	}
}

// TestWritesAreReadCommitted opens a database with another default isolation, with which groups
// of two servers would fail, because each sees the state before it waited for the other.
func TestWritesAreReadCommitted(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"repeatable read", "serializable"} {
		dsn := newRemote(t)
		onServer(t, dsn, `ALTER DATABASE `+databaseName(t, dsn)+` SET default_transaction_isolation = '`+isolation+`'`)
		d, err := Open(t.Context(), Options{Path: dsn, Schema: SmallSchema(t), Lazy: true})
		if err != nil {
			t.Fatal(err)
		}
		var group, other string
		const ask = `SELECT current_setting('transaction_isolation')`
		err = errors.Join(d.Write(t.Context(), func(tx *Tx) error { return tx.Row(ask, nil, &group) }), d.ro.QueryRowContext(t.Context(), ask).Scan(&other), d.Close())
		if err != nil || group != "read committed" || other != "read committed" {
			t.Errorf("%s: a group is %s, other statements are %s, %v", isolation, group, other, err)
		}
	}
}

func databaseName(t *testing.T, dsn string) string {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return config.Database
}
