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

var started = sync.OnceValues(start)

// Server returns the DSN, a URL, of a superuser of the process's server. The server ends
// with the process, however that ends, and what it stored goes with it.
func Server(t testing.TB) string {
	t.Helper()
	if dsn := os.Getenv("MAILER_TEST_POSTGRES"); dsn != "" {
		return dsn
	}
	if programs() == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no PostgreSQL: apt-get install postgresql")
		}
		t.Skip("there is no PostgreSQL: apt-get install postgresql, or name one in MAILER_TEST_POSTGRES")
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
	if err := makeTemplate(t.Context(), server, name, fill); err != nil {
		t.Fatalf("make a template: %v", err)
	}
	return name
}

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
	half := name + "_half"
	if err := each(ctx, admin, `DROP DATABASE IF EXISTS `+half+` WITH (FORCE)`, create(half, "")); err != nil {
		return err
	}
	if err := fill(Named(server, half)); err != nil {
		return err
	}
	return each(ctx, admin, `ALTER DATABASE `+half+` RENAME TO `+name)
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
	name := "mailer_test_" + strings.ToLower(rand.Text())
	if err := asAdmin(t.Context(), server, create(name, template)); err != nil {
		t.Fatalf("make a database: %v", err)
	}
	t.Cleanup(func() {
		if err := asAdmin(context.WithoutCancel(t.Context()), server, `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Errorf("drop a database: %v", err)
		}
	})
	return Named(server, name)
}

// Named returns the DSN of another database of the same server.
func Named(dsn, database string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return err.Error()
	}
	u.Path = "/" + database
	return u.String()
}

func create(name, template string) string {
	if template == "" {
		return `CREATE DATABASE ` + name + ` TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'`
	}
	return `CREATE DATABASE ` + name + ` TEMPLATE ` + template + ` STRATEGY file_copy` // half the time of the other, without fsync
}

func asAdmin(ctx context.Context, server string, statements ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return each(ctx, c, statements...)
}

func each(ctx context.Context, c *pgx.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := c.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
