// Package pgtest provides a PostgreSQL server to tests: one for each process, from the programs that
// Debian installs, on a free loopback port, without fsync. The environment variable
// MAILER_TEST_POSTGRES selects another server by its DSN.
//
// Only tests import the package. If a helper fails, it ends the test that called it. Without
// PostgreSQL the test is skipped; with CI=true it fails.
package pgtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Environment variables: serverVar is the DSN of an existing server, and sharedVar is set if
// RunShared started it.
const (
	serverVar = "MAILER_TEST_POSTGRES"
	sharedVar = "MAILER_TEST_POSTGRES_LENT"
)

// Shared reports whether RunShared started the server, so that all tests that use it are of one
// build.
func Shared() bool { return os.Getenv(sharedVar) != "" }

// Build returns a text for the key of a template that distinguishes builds of the tests, because
// another build may create other tables. It is empty if all tests are of one build.
func Build(t testing.TB) string {
	t.Helper()
	if Shared() {
		return ""
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(exe)
	if err != nil {
		t.Fatal(err)
	}
	return "built at " + info.ModTime().String() + "\n"
}

var started = sync.OnceValues(start)

// Server returns the URL of a superuser of the server of this process. The server ends with the
// process, however it ends, and its data is removed.
func Server(t testing.TB) string {
	t.Helper()
	if dsn := os.Getenv(serverVar); dsn != "" {
		return dsn
	}
	if programs() == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no PostgreSQL: apt-get install postgresql")
		}
		t.Skip("there is no PostgreSQL: apt-get install postgresql, or name one in " + serverVar)
	}
	s, err := started()
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	return s.dsn
}

// Template creates a database with a schema, for Database to copy, and returns its name. It is
// created once for each server and kept.
func Template(t testing.TB, server, schema string) string {
	t.Helper()
	return TemplateBy(t, server, schema, func(dsn string) error { return fill(t.Context(), dsn, schema) })
}

// TemplateBy is Template for a database that fill fills. key distinguishes templates.
func TemplateBy(t testing.TB, server, key string, fill func(dsn string) error) string {
	t.Helper()
	name := fmt.Sprintf("mailer_template_%x", sha256.Sum256([]byte(key)))[:48]
	templates.Lock()
	defer templates.Unlock()
	if templates.seen[server+name] {
		return name
	}
	if err := makeTemplate(t.Context(), server, name, fill); err != nil {
		t.Fatalf("make a template: %v", err)
	}
	templates.seen[server+name] = true
	return name
}

// templates are the templates that this process has used, by server and name.
var templates = struct {
	sync.Mutex
	seen map[string]bool
}{seen: map[string]bool{}}

func makeTemplate(ctx context.Context, server, name string, fill func(dsn string) error) error {
	admin, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer admin.Close(ctx)
	var exists bool
	const there = `SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)`
	if err := admin.QueryRow(ctx, there, name).Scan(&exists); err != nil || exists {
		return err
	}
	// The lock is held until the connection closes: another process waits instead of creating the same template.
	if _, err := admin.Exec(ctx, `SELECT pg_advisory_lock(hashtext($1))`, name); err != nil {
		return err
	}
	if err := admin.QueryRow(ctx, there, name).Scan(&exists); err != nil || exists {
		return err
	}
	partial := name + "_half"
	if err := execAll(ctx, admin, `DROP DATABASE IF EXISTS `+partial+` WITH (FORCE)`, createDatabase(partial, "")); err != nil {
		return err
	}
	if err := fill(WithDatabase(server, partial)); err != nil {
		return err
	}
	return execAll(ctx, admin, `ALTER DATABASE `+partial+` RENAME TO `+name)
}

func fill(ctx context.Context, dsn, schema string) error {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, schema)
	return err
}

// Database creates a database that is dropped when the test ends, and returns its DSN. It is a
// copy of a template or, if template is empty, an empty database that sorts texts by bytes. It
// requires PostgreSQL 15.
func Database(t testing.TB, server, template string) string {
	t.Helper()
	name := newName()
	if err := execOn(t.Context(), server, append(takePendingDrops(), createDatabase(name, template))...); err != nil {
		t.Fatalf("make a database: %v", err)
	}
	dropOnCleanup(t, server, name)
	return WithDatabase(server, name)
}

// Copy closes all connections to a database, copies it, runs statements on the copy and returns
// the DSN of the copy. The original accepts connections again.
func Copy(t testing.TB, dsn string, statements ...string) string {
	t.Helper()
	old, name := databaseName(dsn), newName()
	ctx := t.Context()
	err := execOn(ctx, WithDatabase(dsn, "postgres"),
		`ALTER DATABASE `+old+` ALLOW_CONNECTIONS false`,
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '`+old+`'`,
		`DO $$ BEGIN -- sooner than CREATE DATABASE, which looks ten times a second
			WHILE EXISTS (SELECT FROM pg_stat_activity WHERE datname = '`+old+`') LOOP
				PERFORM pg_sleep(0.002), pg_stat_clear_snapshot();
			END LOOP;
		END $$`,
		createDatabase(name, old),
		`ALTER DATABASE `+old+` ALLOW_CONNECTIONS true`)
	if err == nil {
		err = execOn(ctx, WithDatabase(dsn, name), statements...)
	}
	if err != nil {
		t.Fatalf("copy a database: %v", err)
	}
	dropOnCleanup(t, dsn, name)
	return WithDatabase(dsn, name)
}

func newName() string { return "mailer_test_" + strings.ToLower(rand.Text()) }

func databaseName(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return err.Error()
	}
	return strings.TrimPrefix(u.Path, "/")
}

// dropOnCleanup drops a database when the test ends. On a server that ends with the tests the
// drop is left to the connection that creates the next database, because connecting is as
// expensive as dropping.
func dropOnCleanup(t testing.TB, server, name string) {
	drop := `DROP DATABASE ` + name + ` WITH (FORCE)`
	t.Cleanup(func() {
		if os.Getenv(serverVar) == "" || Shared() {
			pendingDrops.Lock()
			defer pendingDrops.Unlock()
			pendingDrops.drops = append(pendingDrops.drops, drop)
			return
		}
		if err := execOn(context.WithoutCancel(t.Context()), WithDatabase(server, "postgres"), drop); err != nil {
			t.Errorf("drop a database: %v", err)
		}
	})
}

// pendingDrops are the DROP statements of tests that have ended.
var pendingDrops struct {
	sync.Mutex
	drops []string
}

func takePendingDrops() []string {
	pendingDrops.Lock()
	defer pendingDrops.Unlock()
	drops := pendingDrops.drops
	pendingDrops.drops = nil
	return drops
}

// WithDatabase returns the DSN of another database on the same server.
func WithDatabase(dsn, database string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return err.Error()
	}
	u.Path = "/" + database
	return u.String()
}

func createDatabase(name, template string) string {
	if template == "" {
		template = `template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'`
	}
	return `CREATE DATABASE ` + name + ` TEMPLATE ` + template + ` STRATEGY file_copy` // without fsync, twice as fast as wal_log
}

func execOn(ctx context.Context, server string, statements ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return execAll(ctx, c, statements...)
}

func execAll(ctx context.Context, c *pgx.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := c.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
