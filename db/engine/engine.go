package engine

import "context"

// dialect translates statements and arguments for an engine. The statements of packages db and
// engine are written in SQLite's SQL, as far as possible in the part that PostgreSQL shares.
type dialect interface {
	translate(text string) string
	bind(args []any) []any
	postgres() bool
}

// engine is the difference between SQLite and PostgreSQL. Only engineOf chooses one.
type engine interface {
	dialect
	// open connects the readers of d and returns the session of its writer. Errors: those of
	// Open.
	open(ctx context.Context, d *DB, opts Options) (Conn, error)
	// beginRead begins a read transaction that sees one snapshot; endRead ends it.
	beginRead(ctx context.Context, d *DB, s *Conn) error
	endRead(s *Conn) error
	// begin begins the transaction of a group of writes, detects writes of other processes, and
	// prefetches queries.
	begin(d *DB, s *Conn, prefetch []query) error
	// commit commits the transaction.
	commit(s *Conn) error
	// lost reports whether the connection of s is broken. renew replaces the connection of the
	// writer.
	lost(s *Conn) bool
	renew(ctx context.Context, d *DB, s *Conn) error
	// committed reports whether the last group was committed, after its COMMIT got no answer.
	committed(ctx context.Context, s *Conn) (bool, error)
	// leaseValid, partition and endCleanly implement the methods of Cluster.
	leaseValid() bool
	partition() Partition
	endCleanly()
	// owner returns the name of this server in the units that it owns; empty: there is only one
	// server.
	owner() string
	// version and externalVersion implement DB.Version and DB.ExternalVersion.
	version(d *DB) Version
	externalVersion(s *Conn) (int64, error)
	// sizes and space implement DB.FileSizes and DB.Space.
	sizes(d *DB) (FileSizes, error)
	space(ctx context.Context, d *DB) (Space, error)
	// closeConns breaks all connections to PostgreSQL.
	closeConns()
	// nodes implements Cluster.Nodes.
	nodes(ctx context.Context, d *DB) ([]Node, error)
	// close is called when nothing is written any more.
	close(d *DB) error
}

// engineOf returns the engine of a database, by its path or URL.
func engineOf(name string) engine {
	if postgresName(name) != "" {
		return &postgresEngine{}
	}
	return sqliteEngine{}
}
