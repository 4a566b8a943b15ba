package engine

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"
)

// IsRemote reports whether a name is the URL of a PostgreSQL database, and not the path of a
// file.
func IsRemote(name string) bool { return postgresName(name) != "" }

// Name returns the name of a database for messages, without a password.
func Name(name string) string {
	if IsRemote(name) {
		return postgresName(name)
	}
	return name
}

// withoutPassword returns the name of a database as an argument of another command, without the
// passwords in it.
func withoutPassword(name string) string {
	if !IsRemote(name) {
		return name
	}
	scheme, rest, _ := strings.Cut(name, "://")
	rest, query, _ := strings.Cut(rest, "?")
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		user, _, _ := strings.Cut(rest[:at], ":")
		rest = user + rest[at:]
	}
	given := slices.DeleteFunc(strings.Split(query, "&"), func(p string) bool {
		return p == "" || strings.HasPrefix(p, "password=") || strings.HasPrefix(p, "sslpassword=")
	})
	if len(given) > 0 {
		rest += "?" + strings.Join(given, "&")
	}
	return scheme + "://" + rest
}

// FilePrefix returns the prefix of the paths of files that belong to a database: its path, or for
// PostgreSQL "mailer", in the working directory.
func FilePrefix(name string) string {
	if IsRemote(name) {
		return "mailer"
	}
	return name
}

// Folder returns the directory of the files that belong to a database.
func Folder(name string) string { return filepath.Dir(FilePrefix(name)) }

// OnlyFiles returns an error for PostgreSQL, for operations that only a database file supports.
func OnlyFiles(name string) error {
	if !IsRemote(name) {
		return nil
	}
	return refuse(ErrNotDatabase, "%s is not a file: copies, restores and checks of it are made with PostgreSQL's own tools, like pg_dump, pg_restore and pg_amcheck; after a restore mailer restore --mark holds what waited there", Name(name))
}

// openBriefly returns a pool for a single query to a PostgreSQL database.
func openBriefly(name string) (*sql.DB, error) {
	e := &postgresEngine{}
	if err := e.configure(name); err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*e.config), nil
}

// remoteInUse reports whether a server works on a PostgreSQL database.
func remoteInUse(name string) bool {
	pool, err := openBriefly(name)
	if err != nil {
		return false
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return false
	}
	defer func() { _ = tx.Rollback() }() // it only read
	w, err := currentLeader(ctx, tx, Options{}, deadHeartbeats*DefaultHeartbeat)
	return err == nil && w != nil && w.silent < deadHeartbeats*DefaultHeartbeat
}
