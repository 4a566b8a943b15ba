package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mailer/app/kit/clock"
	"mailer/db/pgtest"
)

// clockTolerance is how far a time may be off where clocks differ by an hour.
const clockTolerance = 10 * time.Minute

// clockOf is a database of several servers whose clock differs from that of this machine.
type clockOf struct {
	*testCluster
	conn *pgx.Conn
}

func newClockOf(t *testing.T) *clockOf {
	g := &testCluster{t, pgtest.Database(t, pgtest.Server(t), ""), quickHeartbeat}
	c, err := pgx.Connect(t.Context(), g.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	sign := "?"
	if strings.Contains(g.dsn, "?") {
		sign = "&"
	}
	g.dsn += sign + "search_path=clocks,pg_catalog"
	t.Cleanup(clock.Unfollow)
	return &clockOf{g, c}
}

func (c *clockOf) ahead(by time.Duration) {
	c.t.Helper()
	text := fmt.Sprintf(`CREATE SCHEMA IF NOT EXISTS clocks; CREATE OR REPLACE FUNCTION clocks.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
		AS $$ SELECT pg_catalog.clock_timestamp() + interval '%d seconds' $$`, int(by.Seconds()))
	if _, err := c.conn.Exec(c.t.Context(), text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clockOf) keep() *DB {
	c.t.Helper()
	opts := c.options()
	opts.Clock = true
	d, err := Open(c.t.Context(), opts)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = d.Close() })
	return d
}

// wantTime checks the time of a write to d.
func (c *clockOf) wantTime(d *DB, ahead time.Duration) {
	c.t.Helper()
	err := writeSoon(d, func(tx *Tx) error {
		if off := time.Until(tx.Now) - ahead; off.Abs() > clockTolerance {
			c.t.Errorf("for a write it is %s ahead, want %s", time.Until(tx.Now), ahead)
		}
		return nil
	})
	if err != nil {
		c.t.Error(err)
	}
}

func TestWritesUseDatabaseClock(t *testing.T) {
	g := newClockOf(t)
	g.ahead(time.Hour)
	d := g.keep()
	g.wantTime(d, time.Hour)
	var made int64
	if err := g.conn.QueryRow(t.Context(), `SELECT created_at FROM clocks.teams`).Scan(&made); err != nil {
		t.Fatal(err)
	}
	if ahead := time.Until(time.UnixMilli(made)); ahead < 59*time.Minute {
		t.Errorf("the first team is of a time that is %s ahead", ahead)
	}
}

func TestClockChangeCausesNoTakeover(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			g := newClockOf(t)
			g.heartbeat = 2 * time.Second // a quick one would be missed on a busy machine
			g.ahead(0)
			leads, follows := g.keep(), g.keep()
			g.wantTime(leads, 0)
			g.ahead(by)
			for end := time.Now().Add(patience); (clock.Until(time.Now()) + by).Abs() > clockTolerance; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("they are %s ahead", time.Until(clock.Now()))
				}
			}
			g.wantTime(leads, by)
			g.wantTime(follows, by)
			if !leads.Cluster().Leads() || follows.Cluster().Leads() {
				t.Errorf("%v %v lead", leads.Cluster().Leads(), follows.Cluster().Leads())
			}
		})
	}
}

func TestDatabaseClockIsOptional(t *testing.T) {
	g := newClockOf(t)
	g.ahead(time.Hour)
	g.wantTime(g.open(), 0)
}
