package engine

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestPostgresOpenErrors checks the errors for typical mistakes of operators.
func TestPostgresOpenErrors(t *testing.T) {
	for _, tc := range []struct {
		err  error
		kind error
		want string
	}{
		{&pgconn.PgError{Code: "28P01", Message: "password authentication failed"}, ErrUnreachable, "user and password"},
		{&pgconn.PgError{Code: "3D000", Message: "no such"}, ErrUnreachable, "CREATE DATABASE"},
		{&pgconn.PgError{Code: "42704", Message: "unrecognized"}, ErrNotDatabase, "an option"},
		{&pgconn.PgError{Code: "42501", Message: "permission denied"}, ErrSchema, "the owner"},
		{&pgconn.PgError{Code: "53300", Message: "too many clients"}, ErrUnreachable, "max_connections"},
		{&pgconn.PgError{Code: "57P03", Message: "starting up"}, ErrUnreachable, "starting up"},
		{&net.DNSError{Name: "nowhere.test", Err: "no such host"}, ErrUnreachable, "no host nowhere.test"},
		{&pgconn.PgError{Code: "42P05", Message: "prepared statement already exists"}, ErrUnreachable, "a pooler"},
		{errors.New("one\n\ttwo"), ErrUnreachable, "one two;"},
	} {
		err := openError("postgres://h/d", tc.err)
		if !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "postgres://h/d") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v", tc.err, err)
		}
	}
}

// TestConnectionSettingsAreRefused opens connection strings of libpq, which contain a password.
func TestConnectionSettingsAreRefused(t *testing.T) {
	schema := SmallSchema(t)
	t.Chdir(t.TempDir())
	for _, name := range []string{"host=db user=mailer password=sesame dbname=mailer", "dbname=mailer", " user = mailer password=sesame", "service=mailer"} {
		d, err := Open(t.Context(), Options{Path: name, Schema: schema, Lazy: true, Create: true})
		if err == nil {
			d.Close()
		}
		if !errors.Is(err, ErrNotDatabase) || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "postgres://") {
			t.Errorf("%s: %v", name, err)
		}
	}
	d, err := Open(t.Context(), Options{Path: "team=a.db", Schema: schema, Lazy: true, Create: true})
	if err != nil {
		t.Fatalf("another name with a sign of equality: %v", err)
	}
	d.Close()
	if left, err := filepath.Glob("*=*"); err != nil || len(left) == 0 || !strings.HasPrefix(left[0], "team=a.db") {
		t.Errorf("%q, %v", left, err)
	}
}

// TestMalformedURLsHidePassword opens mistyped URLs.
func TestMalformedURLsHidePassword(t *testing.T) {
	for _, name := range []string{"postgre://u:sesame@h/d", "postgres:/u:sesame@h/d", "mysql://u:sesame@h/d", "postgres://u:sesame@h", "postgres://u:sesame@h/d?sslmode=xx", "postgres://u:ses/ame@pw@h/d"} {
		d, err := Open(t.Context(), Options{Path: name, Schema: SmallSchema(t), Lazy: true, Create: true})
		if err == nil {
			d.Close()
		}
		if !errors.Is(err, ErrNotDatabase) || strings.Contains(err.Error(), "ses") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTooManyConnections runs a command whose first connection is the last that the server
// accepts.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	dsn := newRemote(t)
	const user = "mailer_test_crowded"
	onServer(t, dsn, `DO $$ BEGIN CREATE ROLE `+user+` LOGIN CONNECTION LIMIT 1; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`, `GRANT ALL ON ALL TABLES IN SCHEMA public TO `+user)
	d, err := Open(t.Context(), Options{Path: "postgres://" + user + "@" + dsn[strings.LastIndex(dsn, "@")+1:], Schema: SmallSchema(t), Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, sizes := d.FileSizes()
	_, nodes := d.Cluster().Nodes(t.Context())
	for name, err := range map[string]error{"a read": d.Read(t.Context(), func(*Reader) error { return nil }), "sizes": sizes, "servers": nodes} {
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "raise max_connections") || strings.Contains(err.Error(), "tls error") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
