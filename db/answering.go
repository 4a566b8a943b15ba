package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// Several servers may share a database elsewhere: mail leaves through all of them, and one of
// them leads, where all else happens that happens by itself. The first that finds nobody in
// the lead takes it.

// Leading is closed once this process is the one that leads on d, which it mostly is from the
// start: only beside another server (Options.Several) it may come later, or never.
func Leading(d *DB) <-chan struct{} { return d.lead }

// Leads reports whether Leading is closed.
func Leads(d *DB) bool {
	select {
	case <-d.lead:
		return true
	default:
		return false
	}
}

// Shared reports whether other servers may write to d while this one works.
func Shared(d *DB) bool { return d.path == "" }

// Share is the part that a server has in what all servers on a database may do together.
type Share struct {
	Of    int  // how many there are; 1 on a file
	Place int  // which one this is of them, from 0 on
	Early bool // the others may not have heard of it yet: it may do nothing of that
}

// ShareOf returns the part of this process.
func ShareOf(d *DB) Share { return d.engine.share() }

// OnPeers has fn called whenever ShareOf may have changed. It must not wait, and is to be set
// before anything relies on it.
func OnPeers(d *DB, fn func()) { d.onPeers = append(d.onPeers, fn) }

// Orphaned has a value once a server on d is gone whose work nobody has taken over yet, for the
// one that leads.
func Orphaned(d *DB) <-chan struct{} { return d.orphaned }

// EndsWell notes that nothing of this server is in work any more, for the one that takes over
// from it.
func EndsWell(d *DB) { d.engine.endsWell() }

func (e *postgresEngine) endsWell() { e.me.endsWell.Store(true) }

func (e *postgresEngine) share() Share {
	p := e.me.peers.Load()
	if p == nil {
		return Share{Of: 1}
	}
	return Share{Of: max(1, len(p.ids)), Place: max(0, p.place), Early: len(p.ids) > 1 && time.Since(p.since) < unsureAfter*e.me.beat}
}

// answer notes that this process is there, and has it take the lead once nobody has it.
func (n *node) answer(ctx context.Context, d *DB, id string, opts Options) error {
	if _, err := d.ro.ExecContext(ctx, noteNode, id, 0, whereabouts()); err != nil {
		return fmt.Errorf("join those that work on %s: %w", d.name, err)
	}
	n.opts = opts
	d.log.Info("another server leads on the database; this one works beside it", "db", Name(opts.Path))
	return n.start(ctx, d, id)
}

// sayThere renews the row of a process that does not lead, and returns for how long nothing
// was heard of the one that does; NULL: there is none.
const sayThere = `UPDATE nodes SET seen_at = ` + postgresNow + ` WHERE id = $1 AND dead IS NULL
	RETURNING ` + saidBack + `, (SELECT ` + postgresNow + ` - seen_at FROM nodes WHERE leads = 1 AND dead IS NULL)`

// stand is the beat of a process that does not lead: it takes the lead where nobody has it. Once
// the database is back from being away, who leads is to have time for a beat before.
func (n *node) stand(d *DB) error {
	var silent sql.NullInt64
	if err := n.say(d, sayThere, []any{n.id}, &silent); err != nil {
		return err
	}
	if n.left = deadAfter*n.beat - time.Duration(silent.Int64)*time.Millisecond; silent.Valid && n.left > 0 {
		return nil
	}
	holder, err := n.take(context.Background(), d, n.id, n.opts, time.Since(n.away) < unsureAfter*n.beat)
	if err == nil && holder == nil {
		n.away = time.Now() // who waited for the lead too could not say that it is there
		n.leads.Store(true)
	}
	return err
}

// Node is a server on a database elsewhere.
type Node struct {
	Address string
	Leads   bool
	Started time.Time
	Silent  time.Duration // since it was heard of last
}

// Nodes returns the servers on a database elsewhere that were heard of lately, the one that
// leads first. Of a file there are none.
func Nodes(ctx context.Context, d *DB) ([]Node, error) {
	rows, err := d.engine.nodes(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("look which servers there are: %w", err)
	}
	return rows, nil
}

func (*postgresEngine) nodes(ctx context.Context, d *DB) (found []Node, err error) {
	rows, err := d.ro.QueryContext(ctx, `SELECT address, leads = 1, started_at, `+postgresNow+` - seen_at FROM nodes
		WHERE dead IS NULL AND (leads = 1 OR seen_at > `+postgresNow+` - $1) ORDER BY leads DESC, started_at, id`, (deadAfter * DefaultBeat).Milliseconds())
	if err != nil {
		return nil, noRoomFor(d, err)
	}
	defer rows.Close()
	for rows.Next() {
		var n Node
		var started, silent int64
		if err := rows.Scan(&n.Address, &n.Leads, &started, &silent); err != nil {
			return nil, err
		}
		n.Started, n.Silent = fromMilli(started), time.Duration(max(0, silent))*time.Millisecond
		found = append(found, n)
	}
	return found, rows.Err()
}

// Gone are servers whose work is to be taken over.
type Gone struct {
	live []string // ids of those that are not dead; nil: a file, where nobody else is
	dead []string // whose work is not free yet
	well []string // of all that are dead, those that ended in order
}

// Left reports whether a unit's owner is gone.
func (g Gone) Left(owner string) bool { return owner == "" || !slices.Contains(g.live, owner) }

// Well reports whether it had ended in order.
func (g Gone) Well(owner string) bool { return owner != "" && slices.Contains(g.well, owner) }

// Gone returns the servers that are gone as of this transaction.
func (tx *Tx) Gone() (g Gone, err error) {
	if tx.owner() == nil {
		return g, nil
	}
	rows, err := list(&tx.session, func(s scanner) (n struct {
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
			g.well = append(g.well, n.id)
		}
	}
	return g, err
}

// Free notes that what servers had in work that are gone was taken over.
func (tx *Tx) Free(g Gone) error {
	for _, id := range g.dead {
		if err := tx.write(`UPDATE nodes SET freed = 1 WHERE id = ?`, id); err != nil {
			return err
		}
	}
	return nil
}

// owner is this server as what it has in work names it; nil: there is no other one.
func (tx *Tx) owner() any {
	if tx.db == nil {
		return nil
	}
	return nullText(tx.db.engine.owner())
}

func (e *postgresEngine) owner() string { return e.me.id }
