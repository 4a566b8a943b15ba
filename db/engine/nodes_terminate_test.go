package engine

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// cutOff leaves an open transaction of a silent server, in the middle of a message, which holds
// the locks that all groups need. leads is 1 for the leader.
func (g *testCluster) cutOff(leads int) {
	g.t.Helper()
	config, err := pgconn.ParseConfig(g.dsn)
	if err != nil {
		g.t.Fatal(err)
	}
	const id = "11111111-2222-7333-8444-555555555555"
	config.RuntimeParams["application_name"] = applicationName(id)
	conn, err := pgconn.ConnectConfig(g.t.Context(), config)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server closed it
	for _, result := range []error{
		conn.Exec(g.t.Context(), `DELETE FROM nodes`).Close(),
		conn.ExecParams(g.t.Context(), `INSERT INTO nodes (id, started_at, seen_at, leads, address) VALUES ('`+id+`', 0, 0, $1, 'gone')`,
			[][]byte{{'0' + byte(leads)}}, nil, nil, nil).Read().Err,
	} {
		if result != nil {
			g.t.Fatal(result)
		}
	}
	f := conn.Frontend()
	for _, text := range []string{beginGroup, lockGroups} {
		f.SendParse(&pgproto3.Parse{Query: text})
		f.SendBind(&pgproto3.Bind{})
		f.SendExecute(&pgproto3.Execute{})
	}
	f.Send(&pgproto3.Flush{}) // without the Sync that would make the transaction idle
	if err := f.Flush(); err != nil {
		g.t.Fatal(err)
	}
	for done := 0; done < 2; {
		m, err := f.Receive()
		if err != nil {
			g.t.Fatal(err)
		}
		if _, ok := m.(*pgproto3.CommandComplete); ok {
			done++
		}
	}
}

// waitWritten waits until d has written, for which it needs the locks of the silent server.
func (g *testCluster) waitWritten(d *DB) {
	g.t.Helper()
	done := make(chan error, 1)
	go func() { done <- putSettingSoon(d, "x") }()
	select {
	case err := <-done:
		if err != nil {
			g.t.Error(err)
		}
	case <-time.After(patience):
		g.t.Fatal("a write waits for a server that is gone")
	}
}

func TestTakeoverFromHalfSentTransaction(t *testing.T) {
	t.Parallel()
	g := newTestCluster(t)
	g.heartbeat = quickHeartbeat
	g.cutOff(1)
	d := g.open()
	g.waitLeading(d)
	g.waitWritten(d)
}

func TestHalfSentTransactionIsTerminated(t *testing.T) {
	t.Parallel()
	g := newTestCluster(t)
	g.heartbeat = quickHeartbeat
	g.cutOff(0)
	g.waitWritten(g.open())
}
