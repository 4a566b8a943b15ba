package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// testCluster is a set of servers that share a database.
type testCluster struct {
	t         *testing.T
	dsn       string
	heartbeat time.Duration
}

// slowHeartbeat is so long that no server is marked dead on a busy machine. quickHeartbeat is for
// tests in which a server is.
const (
	slowHeartbeat  = 2 * time.Second
	quickHeartbeat = time.Second
)

// patience is how long a test waits for an expected event.
const patience = time.Minute

func newTestCluster(t *testing.T) *testCluster {
	return &testCluster{t, newRemote(t), slowHeartbeat}
}

func (g *testCluster) options() Options {
	return Options{Path: g.dsn, Schema: SmallSchema(g.t), Lazy: true, Create: true, Lock: true, JoinCluster: true, Heartbeat: g.heartbeat, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

func (g *testCluster) open() *DB {
	g.t.Helper()
	d, err := Open(g.t.Context(), g.options())
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = d.Close() }) // the test may have closed it
	return d
}

func (g *testCluster) waitLeading(d *DB) {
	g.t.Helper()
	select {
	case <-d.Cluster().Leading():
	case <-time.After(patience):
		g.t.Fatal("the server does not take over")
	}
}

func putSetting(d *DB, name string) error {
	return d.Write(context.Background(), func(tx *Tx) error { return tx.SetSetting(name, []byte("1")) })
}

// writeSoon writes and retries while the lease of the server is not valid, as may happen on a
// busy machine with quick heartbeats.
func writeSoon(d *DB, fn func(*Tx) error) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := d.Write(context.Background(), fn)
		if !errors.Is(err, ErrUnreachable) || time.Now().After(deadline) {
			return err
		}
	}
}

// putSettingSoon is putSetting with the retries of writeSoon.
func putSettingSoon(d *DB, name string) error {
	return writeSoon(d, func(tx *Tx) error { return tx.SetSetting(name, []byte("1")) })
}

func TestClusterHasOneLeader(t *testing.T) {
	t.Parallel()
	g := newTestCluster(t)
	first := g.open()
	others := []*DB{g.open(), g.open()}
	if !first.Cluster().Leads() || others[0].Cluster().Leads() || others[1].Cluster().Leads() {
		t.Fatalf("%v %v %v work", first.Cluster().Leads(), others[0].Cluster().Leads(), others[1].Cluster().Leads())
	}
	for i, d := range append(others, first) {
		if err := putSetting(d, string(rune('a'+i))); err != nil {
			t.Fatal(err)
		}
	}
	there, err := others[0].Cluster().Nodes(t.Context())
	if err != nil || len(there) != 3 || !there[0].Leads || there[1].Leads || there[2].Leads {
		t.Fatalf("servers: %+v, %v", there, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-others[0].Cluster().Leading():
	case <-others[1].Cluster().Leading():
	case <-time.After(patience):
		t.Fatal("nobody takes over")
	}
	time.Sleep(300 * time.Millisecond)
	if others[0].Cluster().Leads() == others[1].Cluster().Leads() {
		t.Fatalf("%v and %v work", others[0].Cluster().Leads(), others[1].Cluster().Leads())
	}
	for _, d := range others {
		if err := putSetting(d, "z"); err != nil {
			t.Error(err)
		}
	}
}

func TestMemberTakesOverFromSilentLeader(t *testing.T) {
	t.Parallel()
	g := newTestCluster(t)
	g.heartbeat = quickHeartbeat
	first, second := g.open(), g.open()
	err := writeSoon(second, func(tx *Tx) error { return tx.Write(`UPDATE nodes SET id = 'another' WHERE leads = 1`) })
	if err != nil { // the heartbeats of the leader no longer find its row
		t.Fatal(err)
	}
	g.waitLeading(second)
	deadline := time.After(patience)
	for putSetting(first, "late") == nil {
		select {
		case <-deadline:
			t.Fatal("the old leader still writes")
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := putSettingSoon(second, "new"); err != nil {
		t.Error(err)
	}
}

func TestNewLeaderWritesImmediately(t *testing.T) {
	t.Parallel()
	g := newTestCluster(t)
	g.heartbeat = quickHeartbeat
	g.open()
	second := g.open()
	config, err := pgconn.ParseConfig(g.dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	do := func(text string) {
		t.Helper()
		if err := conn.Exec(t.Context(), text).Close(); err != nil {
			t.Fatal(err)
		}
	}
	do(`UPDATE nodes SET id = 'another' WHERE leads = 1`) // the heartbeats of the leader no longer find its row
	do(`BEGIN`)
	do(`LOCK TABLE nodes IN ROW EXCLUSIVE MODE`) // heartbeats go on, but no server can take the lead
	time.Sleep(2 * deadHeartbeats * g.heartbeat)
	do(`COMMIT`)
	g.waitLeading(second)
	if err := putSettingSoon(second, "new"); err != nil {
		t.Error(err)
	}
}

// TestIncompatibleStepRefusedWhileMemberRuns: the refusal names the server.
func TestIncompatibleStepRefusedWhileMemberRuns(t *testing.T) {
	t.Parallel()
	g := newTestCluster(t)
	first := g.open()
	second := g.open()
	alone := g.options()
	alone.JoinCluster = false
	if d, err := Open(t.Context(), alone); !errors.Is(err, ErrInUse) {
		t.Fatalf("%v, %v", d, err)
	}
	first.engine.(*postgresEngine).node.leads.Store(false) // no server leads, but a member runs
	if err := second.Write(t.Context(), func(tx *Tx) error { return tx.Write(`UPDATE nodes SET dead = 1 WHERE leads = 1`) }); err != nil {
		t.Fatal(err)
	}
	const drop = `DROP TABLE caps;`
	_, err := migrate(t.Context(), alone, Migrating{Dumped: true}, nextStep(t, drop))
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), hostAndPID()) {
		t.Errorf("migrate: %v", err)
	}
}

func TestExternalWritesAreNoticed(t *testing.T) {
	t.Parallel()
	g := newTestCluster(t)
	first, second := g.open(), g.open()
	for _, d := range []*DB{first, second} {
		other := map[*DB]*DB{first: second, second: first}[d]
		for len(d.externalWrites) > 0 {
			<-d.externalWrites
		}
		before := d.Generation("team", "")
		if err := putSetting(other, "x"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-d.Cluster().Changed():
		case <-time.After(patience):
			t.Fatal("the server does not notice the write")
		}
		if d.Generation("team", "") == before {
			t.Error("the generation did not change")
		}
	}
}
