package engine

import (
	"context"
	"fmt"
	"time"
)

// Cluster is the set of servers that work on one PostgreSQL database. All of them send mail.
// One of them leads: it runs the scheduled jobs. The first server that finds no leader takes
// the lead. A database in a file has one server, which leads.
type Cluster struct{ db *DB }

// Cluster returns the servers that work on the database.
func (d *DB) Cluster() Cluster { return Cluster{d} }

// Leading is closed once this process leads: mostly from the start. A server that was started
// beside another one (Options.JoinCluster) may lead later, or never.
func (c Cluster) Leading() <-chan struct{} { return c.db.lead }

// Leads reports whether Leading is closed.
func (c Cluster) Leads() bool {
	select {
	case <-c.db.lead:
		return true
	default:
		return false
	}
}

// Shared reports whether other servers may write to the database while this one runs.
func (c Cluster) Shared() bool { return c.db.path == "" }

// Partition is this server's part of the work that all servers of a cluster do.
type Partition struct {
	Count   int  // servers in the cluster; 1 on a file
	Index   int  // of this server, from 0
	Warming bool // other servers may not know of this one yet: it must not take any of the work
}

// Partition returns the part of this server.
func (c Cluster) Partition() Partition { return c.db.engine.partition() }

// OnChange registers a function that is called whenever Partition may have changed. It must not
// block. Register it before the first use of Partition.
func (c Cluster) OnChange(fn func()) { c.db.onClusterChange = append(c.db.onClusterChange, fn) }

// Orphaned receives a value when a dead server still owns work that no other server has taken
// over. Only the leader uses it.
func (c Cluster) Orphaned() <-chan struct{} { return c.db.orphaned }

// EndCleanly notes that this server has no work in progress, for the server that takes over.
func (c Cluster) EndCleanly() { c.db.engine.endCleanly() }

// Owner returns the name by which units record this server as their owner; empty on a file.
func (c Cluster) Owner() string { return c.db.engine.owner() }

// Changed receives a value when another process has written to the PostgreSQL database; Version
// then differs. Changes of a file show only in Version.
func (c Cluster) Changed() <-chan struct{} { return c.db.externalWrites }

// LeaseValid reports whether no other server can have taken over the work since this server last
// renewed its heartbeat. While it is false, nothing may be sent, because the other server may be
// sending it. On a file it is always true.
func (c Cluster) LeaseValid() bool { return c.db.engine.leaseValid() }

// Node is a server on a PostgreSQL database.
type Node struct {
	Address string
	Leads   bool
	Started time.Time
	Silent  time.Duration // since its last heartbeat
}

// Nodes returns the servers with a recent heartbeat, the leader first. A file has none.
func (c Cluster) Nodes(ctx context.Context) ([]Node, error) {
	rows, err := c.db.engine.nodes(ctx, c.db)
	if err != nil {
		return nil, fmt.Errorf("list servers: %w", err)
	}
	return rows, nil
}
