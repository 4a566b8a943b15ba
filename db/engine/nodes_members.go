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

// joinAsMember joins the cluster without leading. The server takes the lead when no other server
// has it.
func (n *node) joinAsMember(ctx context.Context, d *DB, id string, opts Options) error {
	if _, err := d.ro.ExecContext(ctx, upsertNode, id, 0, hostAndPID()); err != nil {
		return fmt.Errorf("join those that work on %s: %w", d.name, err)
	}
	if err := refuseNew(ctx, d.ro, opts); err != nil { // migrated since Open looked
		_, _ = d.ro.ExecContext(ctx, `DELETE FROM nodes WHERE id = $1`, id) // others would take it for dead soon
		return err
	}
	n.opts = opts
	d.log.Info("another server leads on the database; this one works beside it", "db", Name(opts.Path))
	return n.start(ctx, d, id)
}

// renewMember renews the row of a process that does not lead, and returns how long the leader has
// been silent; NULL: there is no leader.
const renewMember = `UPDATE nodes SET seen_at = ` + postgresNow + ` WHERE id = $1 AND dead IS NULL
	RETURNING ` + renewReturning + `, (SELECT ` + postgresNow + ` - seen_at FROM nodes WHERE leads = 1 AND dead IS NULL)`

// memberHeartbeat sends the heartbeat of a process that does not lead, and takes the lead if no
// live server has it. After an outage of the database the leader gets time for a heartbeat first.
func (n *node) memberHeartbeat(d *DB) error {
	var silent sql.NullInt64
	if err := n.renew(d, renewMember, []any{n.id}, &silent); err != nil {
		return err
	}
	if n.leaderTimeLeft = n.deadAfter - time.Duration(silent.Int64)*time.Millisecond; silent.Valid && n.leaderTimeLeft > 0 {
		return nil
	}
	holder, err := n.takeLead(context.Background(), d, n.id, n.opts, time.Since(n.lastFailure) < leaseHeartbeats*n.interval)
	if err == nil && holder == nil {
		n.lastFailure = time.Now() // others that waited for the lock could not send heartbeats
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
	live  []string // ids; nil: a file, which has no other servers
	dead  []string // ids of dead servers whose work is not taken over
	clean []string // ids of dead servers that were shut down cleanly
}

// IsDead reports whether the owner of a unit is no live server.
func (g DeadNodes) IsDead(owner string) bool { return owner == "" || !slices.Contains(g.live, owner) }

// CleanShutdown reports whether a server was shut down cleanly.
func (g DeadNodes) CleanShutdown(owner string) bool {
	return owner != "" && slices.Contains(g.clean, owner)
}

// DeadNodes returns the dead servers as of this transaction.
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

// MarkFreed stores that the work of the dead servers was taken over.
func (tx *Tx) MarkFreed(g DeadNodes) error {
	for _, id := range g.dead {
		if err := tx.Write(`UPDATE nodes SET freed = 1 WHERE id = ?`, id); err != nil {
			return err
		}
	}
	return nil
}

// Owner returns the value of columns that record this server as an owner; nil: there is only one
// server.
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
