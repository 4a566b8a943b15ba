package db

import "context"

// dialect is how an engine wants statements and what is bound to them. The texts of this
// package are in SQLite's words, as far as possible in those that both engines take.
type dialect interface {
	words(text string) string
	bind(args []any) []any
}

// engine is what differs between the databases that a store may stand on. Only engineOf
// asks which one it is.
type engine interface {
	dialect
	// open connects d's readers and returns the session of its writer. Errors: those of
	// Open.
	open(ctx context.Context, d *DB, opts Options) (session, error)
	// beginRead begins a transaction that sees one snapshot.
	beginRead() string
	// begin begins the transaction of a group of writes, and finds out whether others
	// wrote.
	begin(d *DB, s *session) error
}

// engineOf is the engine of a database by its name.
func engineOf(string) engine { return sqliteEngine{} }
