package engine

import "context"

// dialect is how an engine wants statements and what is bound to them. The texts of this
// package are in SQLite's words, as far as possible in those that both engines take.
type dialect interface {
	translate(text string) string
	bind(args []any) []any
	postgres() bool
}

// engine is what differs between the databases that a store may stand on. Only engineOf
// asks which one it is.
type engine interface {
	dialect
	// open connects d's readers and returns the session of its writer. Errors: those of
	// Open.
	open(ctx context.Context, d *DB, opts Options) (Conn, error)
	// beginRead begins a transaction that sees one snapshot, endRead ends it.
	beginRead(ctx context.Context, d *DB, s *Conn) error
	endRead(s *Conn) error
	// begin begins the transaction of a group of writes, and finds out whether others
	// wrote.
	begin(d *DB, s *Conn) error
	// commit ends it.
	commit(s *Conn) error
	// lost reports whether the connection of s is gone, and renew makes another one for d's
	// writer.
	lost(s *Conn) bool
	renew(ctx context.Context, d *DB, s *Conn) error
	// committed asks whether the transaction of the last group became one, where no answer to
	// its commit came.
	committed(ctx context.Context, s *Conn) (bool, error)
	// sure is Sure, share ShareOf and endCleanly EndsWell.
	leaseValid() bool
	partition() Partition
	endCleanly()
	// Owner is what units that this server has in work name it; empty: there is no other one.
	owner() string
	// version and foreign are Version and Foreign.
	version(d *DB) Version
	externalVersion(s *Conn) (int64, error)
	// sizes and space are FileSizes and Space.
	sizes(d *DB) (FileSizes, error)
	space(ctx context.Context, d *DB) (Space, error)
	// cut breaks the connections of a database elsewhere.
	closeConns()
	// nodes is Nodes.
	nodes(ctx context.Context, d *DB) ([]Node, error)
	// close is called once nothing is written any more.
	close(d *DB) error
}

// engineOf is the engine of a database by its name.
func engineOf(name string) engine {
	if postgresName(name) != "" {
		return &postgresEngine{}
	}
	return sqliteEngine{}
}
