// Package pgtest lends a PostgreSQL to tests of any package: one server a process, of the
// programs that Debian installs, on a free port of the loopback, without fsync. The
// environment variable MAILER_TEST_POSTGRES names another one by its DSN.
//
// Tests alone import it; a program never does. What fails here fails the test that asked
// for it. Where there is no PostgreSQL the test is skipped, but fails where CI is "true".
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

// Environment variables: named names a server which is there, and lent says that it is Lend's.
const (
	serverVar = "MAILER_TEST_POSTGRES"
	sharedVar = "MAILER_TEST_POSTGRES_LENT"
)

// Lent reports whether one Lend lends the server, so that all that use it are of one build.
func Shared() bool { return os.Getenv(sharedVar) != "" }

// Build tells one build of the tests from another in the key of a template, since another build
// may make tables otherwise. It is empty where all tests are of one build.
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

// Server returns the DSN, a URL, of a superuser of the process's server. The server ends
// with the process, however that ends, and what it stored goes with it.
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

// Template makes a database of a schema, to copy by Database, and returns its name. It is
// made once a server and stays there.
func Template(t testing.TB, server, schema string) string {
	t.Helper()
	return TemplateBy(t, server, schema, func(dsn string) error { return fill(t.Context(), dsn, schema) })
}

// TemplateBy is Template for a database that fill fills; key tells one from another.
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

// templates are those that this process has seen, by server and name.
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
	// Held until the connection ends: another process waits rather than make it too.
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

// Database makes a database that goes at the end of the test, and returns its DSN: a copy
// of a template, or with none an empty one that orders texts by their bytes. It needs
// PostgreSQL 15.
func Database(t testing.TB, server, template string) string {
	t.Helper()
	name := newName()
	if err := execOn(t.Context(), server, append(takePendingDrops(), createDatabase(name, template))...); err != nil {
		t.Fatalf("make a database: %v", err)
	}
	dropOnCleanup(t, server, name)
	return WithDatabase(server, name)
}

// Copy makes a copy of a database as all connections to it leave it that end at this moment,
// has each statement done there, and returns its DSN. Others may connect to the old one again.
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

// dropOnCleanup drops a database once the test is over: of a server that ends with the tests
// on the connection that makes the next one, since to connect costs as much as that.
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

// left has what tests that are over left to be done.
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

// Named returns the DSN of another database of the same server.
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
		return `CREATE DATABASE ` + name + ` TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'`
	}
	return `CREATE DATABASE ` + name + ` TEMPLATE ` + template + ` STRATEGY file_copy` // half the time of the other, without fsync
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
