package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Where several servers are told to share a database elsewhere, one of them works: what
// happens by itself is its own, above all that mail leaves. The others answer beside it, and
// write as commands do; the first that finds nobody at work takes over.

// Working is closed once this process is the one that works on d, which it mostly is from the
// start: only beside another server (Options.Several) it may come later, or never.
func Working(d *DB) <-chan struct{} { return d.work }

// Works reports whether Working is closed.
func Works(d *DB) bool {
	select {
	case <-d.work:
		return true
	default:
		return false
	}
}

// Shared reports whether other servers may write to d while this one works.
func Shared(d *DB) bool { return d.path == "" }

// hear has Heard tell that others wrote.
func hear(d *DB) {
	select {
	case d.heard <- struct{}{}:
	default:
	}
}

// answer notes that this process is there, and has it take over once nobody works.
func (n *node) answer(ctx context.Context, d *DB, id string, opts Options) error {
	if _, err := d.ro.ExecContext(ctx, noteNode, id, 0, address()); err != nil {
		return fmt.Errorf("join those that work on %s: %w", d.name, err)
	}
	n.id, n.opts = id, opts
	d.log.Info("another server works on the database; this one answers beside it", "db", Name(opts.Path))
	n.start(d)
	return nil
}

// sayThere renews the row of a process that does not work, and returns for how long nothing
// was heard of the one that does; NULL: there is none.
const sayThere = `INSERT INTO nodes (id, started_at, seen_at, works, address) VALUES ($1, ` + postgresNow + `, ` + postgresNow + `, 0, $2)
	ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, dead = NULL
	RETURNING (SELECT n FROM changes), ` + postgresNow + `, (SELECT ` + postgresNow + ` - seen_at FROM nodes WHERE works = 1 AND dead IS NULL)`

// stand is the beat of a process that does not work: it takes over where nobody does. Once the
// database is back from being away, who works is to have time for a beat before.
func (n *node) stand(d *DB) error {
	var silent sql.NullInt64
	if err := n.say(d, sayThere, []any{n.id, address()}, &silent); err != nil {
		n.away = time.Now()
		return err
	}
	if n.left = deadAfter*n.beat - time.Duration(silent.Int64)*time.Millisecond; silent.Valid && n.left > 0 {
		return nil
	}
	holder, err := n.take(context.Background(), d, n.id, n.opts, time.Since(n.away) < unsureAfter*n.beat)
	if err == nil && holder == nil {
		n.works.Store(true)
	}
	return err
}

// Node is a server on a database elsewhere.
type Node struct {
	Address string
	Works   bool
	Started time.Time
	Silent  time.Duration // since it was heard of last
}

// Nodes returns the servers on a database elsewhere that were heard of lately, the one that
// works first. Of a file there are none.
func Nodes(ctx context.Context, d *DB) ([]Node, error) {
	rows, err := d.engine.nodes(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("look which servers there are: %w", err)
	}
	return rows, nil
}

func (*postgresEngine) nodes(ctx context.Context, d *DB) (found []Node, err error) {
	rows, err := d.ro.QueryContext(ctx, `SELECT address, works = 1, started_at, `+postgresNow+` - seen_at FROM nodes
		WHERE dead IS NULL AND (works = 1 OR seen_at > `+postgresNow+` - $1) ORDER BY works DESC, started_at, id`, (deadAfter * DefaultBeat).Milliseconds())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n Node
		var started, silent int64
		if err := rows.Scan(&n.Address, &n.Works, &started, &silent); err != nil {
			return nil, err
		}
		n.Started, n.Silent = fromMilli(started), time.Duration(max(0, silent))*time.Millisecond
		found = append(found, n)
	}
	return found, rows.Err()
}
