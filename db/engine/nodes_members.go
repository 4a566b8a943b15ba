package engine

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

func (e *postgresEngine) endCleanly() { e.node.endCleanly.Store(true) }

func (e *postgresEngine) partition() Partition {
	p := e.node.peers.Load()
	if p == nil {
		return Partition{Count: 1}
	}
	return Partition{Count: max(1, len(p.ids)), Index: max(0, p.index), Warming: len(p.ids) > 1 && time.Since(p.since) < leaseHeartbeats*e.node.interval}
}

// answer notes that this process is there, and has it take the lead once nobody has it.
func (n *node) joinAsMember(ctx context.Context, d *DB, id string, opts Options) error {
	if _, err := d.ro.ExecContext(ctx, upsertNode, id, 0, hostAndPID()); err != nil {
		return fmt.Errorf("join those that work on %s: %w", d.name, err)
	}
	n.opts = opts
	d.log.Info("another server leads on the database; this one works beside it", "db", Name(opts.Path))
	return n.start(ctx, d, id)
}

// renewMember renews the row of a process that does not lead, and returns for how long nothing
// was heard of the one that does; NULL: there is none.
const renewMember = `UPDATE nodes SET seen_at = ` + postgresNow + ` WHERE id = $1 AND dead IS NULL
	RETURNING ` + renewReturning + `, (SELECT ` + postgresNow + ` - seen_at FROM nodes WHERE leads = 1 AND dead IS NULL)`

// stand is the beat of a process that does not lead: it takes the lead where nobody has it. Once
// the database is back from being away, who leads is to have time for a beat before.
func (n *node) memberHeartbeat(d *DB) error {
	var silent sql.NullInt64
	if err := n.renew(d, renewMember, []any{n.id}, &silent); err != nil {
		return err
	}
	if n.leaderTimeLeft = deadHeartbeats*n.interval - time.Duration(silent.Int64)*time.Millisecond; silent.Valid && n.leaderTimeLeft > 0 {
		return nil
	}
	holder, err := n.takeLead(context.Background(), d, n.id, n.opts, time.Since(n.lastFailure) < leaseHeartbeats*n.interval)
	if err == nil && holder == nil {
		n.lastFailure = time.Now() // who waited for the lead too could not say that it is there
		n.leads.Store(true)
	}
	return err
}

func (*postgresEngine) nodes(ctx context.Context, d *DB) (found []Node, err error) {
	rows, err := d.ro.QueryContext(ctx, `SELECT address, leads = 1, started_at, `+postgresNow+` - seen_at FROM nodes
		WHERE dead IS NULL AND (leads = 1 OR seen_at > `+postgresNow+` - $1) ORDER BY leads DESC, started_at, id`, (deadHeartbeats * DefaultHeartbeat).Milliseconds())
	if err != nil {
		return nil, tooManyConnections(d, err)
	}
	defer rows.Close()
	for rows.Next() {
		var n Node
		var started, silent int64
		if err := rows.Scan(&n.Address, &n.Leads, &started, &silent); err != nil {
			return nil, err
		}
		n.Started, n.Silent = time.UnixMilli(started).UTC(), time.Duration(max(0, silent))*time.Millisecond
		found = append(found, n)
	}
	return found, rows.Err()
}

// DeadNodes are servers whose work is to be taken over.
type DeadNodes struct {
	live  []string // ids of those that are not dead; nil: a file, where nobody else is
	dead  []string // whose work is not free yet
	clean []string // of all that are dead, those that ended in order
}

// IsDead reports whether a unit's owner is gone.
func (g DeadNodes) IsDead(owner string) bool { return owner == "" || !slices.Contains(g.live, owner) }

// CleanShutdown reports whether it had ended in order.
func (g DeadNodes) CleanShutdown(owner string) bool {
	return owner != "" && slices.Contains(g.clean, owner)
}

// DeadNodes returns the servers that are gone as of this transaction.
func (tx *Tx) DeadNodes() (g DeadNodes, err error) {
	if tx.Owner() == nil {
		return g, nil
	}
	rows, err := List(&tx.Conn, func(s Scanner) (n struct {
		id               string
		dead, well, free bool
	}, err error) {
		err = s.Scan(&n.id, &n.dead, &n.well, &n.free)
		return n, err
	}, `SELECT id, dead IS NOT NULL, well = 1, freed = 1 FROM nodes`)
	for _, n := range rows {
		switch {
		case !n.dead:
			g.live = append(g.live, n.id)
			continue
		case !n.free:
			g.dead = append(g.dead, n.id)
		}
		if n.well {
			g.clean = append(g.clean, n.id)
		}
	}
	return g, err
}

// MarkFreed notes that what servers had in work that are gone was taken over.
func (tx *Tx) MarkFreed(g DeadNodes) error {
	for _, id := range g.dead {
		if err := tx.Write(`UPDATE nodes SET freed = 1 WHERE id = ?`, id); err != nil {
			return err
		}
	}
	return nil
}

// Owner is this server as what it has in work names it; nil: there is no other one.
func (tx *Tx) Owner() any {
	if tx.db == nil {
		return nil
	}
	if name := tx.db.engine.owner(); name != "" {
		return name
	}
	return nil
}

func (e *postgresEngine) owner() string { return e.node.id }
