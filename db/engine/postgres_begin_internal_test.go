package engine

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/iotest"
)

// waiting counts round trips: a write that is followed by a read.
type waiting struct {
	net.Conn
	sent  *atomic.Bool
	waits *atomic.Int64
}

func (w waiting) Write(p []byte) (int, error) {
	w.sent.Store(true)
	return w.Conn.Write(p)
}

func (w waiting) Read(p []byte) (int, error) {
	if w.sent.Swap(false) {
		w.waits.Add(1)
	}
	return w.Conn.Read(p)
}

// count returns a function that returns the number of round trips since its last call.
func count(d *DB) func() int64 {
	var sent atomic.Bool
	var waits atomic.Int64
	e := d.engine.(*postgresEngine)
	e.conns.mu.Lock()
	defer e.conns.mu.Unlock()
	for k := range e.conns.open {
		k.Conn = waiting{k.Conn, &sent, &waits}
	}
	return func() int64 {
		sent.Store(false)
		return waits.Swap(0)
	}
}

// oneReader leaves d a single reader, which has prepared the query.
func oneReader(t *testing.T, d *DB, query string) {
	t.Helper()
	for range readers - 1 {
		<-d.readers.free
		r := d.readers.take()
		t.Cleanup(func() { d.readers.put(r) })
	}
	readOnce(t, d, query)
}

func readOnce(t *testing.T, d *DB, queries ...string) {
	t.Helper()
	err := d.Read(context.Background(), func(r *Reader) error {
		for _, query := range queries {
			var n int64
			if err := r.Row(query, nil, &n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

const (
	countTeams = `SELECT count(*) FROM teams`
	readsOnly  = `SELECT CASE WHEN current_setting('transaction_read_only') = 'on' AND current_setting('transaction_isolation') = 'repeatable read' THEN 1 END`
)

func TestPostgresReadRoundTrips(t *testing.T) {
	t.Parallel()
	d := postgresForTest(t)
	oneReader(t, d, countTeams)
	waits := count(d)
	waits()
	for range 5 {
		readOnce(t, d, countTeams)
		if n := waits(); n != 1 {
			t.Errorf("a read of one statement waits %d times", n)
		}
		readOnce(t, d, countTeams, countTeams, countTeams)
		if n := waits(); n != 3 {
			t.Errorf("a read of three statements waits %d times", n)
		}
		readOnce(t, d) // its ROLLBACK is still unanswered
		waits()
	}
}

func TestPostgresReadSnapshot(t *testing.T) {
	t.Parallel()
	d := postgresForTest(t)
	readOnce(t, d, readsOnly, countTeams)
	read := func(fn func(r *Reader)) {
		t.Helper()
		if err := d.Read(context.Background(), func(r *Reader) error { fn(r); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	length := func(r *Reader) (n int) {
		if err := r.Row(`SELECT count(*) FROM settings`, nil, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	read(func(r *Reader) {
		before := length(r)
		if err := d.Write(context.Background(), func(tx *Tx) error { return tx.Write(`INSERT INTO settings (name, value) VALUES ('n', '')`) }); err != nil {
			t.Fatal(err)
		}
		if after := length(r); after != before {
			t.Errorf("%d rows, then %d in one read", before, after)
		}
		read(func(r *Reader) {
			if n := length(r); n != before+1 {
				t.Errorf("%d rows in a read that began later, want %d", n, before+1)
			}
		})
	})
}

func TestPostgresReadAfterLostConnection(t *testing.T) {
	t.Parallel()
	d := postgresForTest(t)
	oneReader(t, d, readsOnly)
	for range 3 {
		if err := d.Write(context.Background(), func(tx *Tx) error {
			return tx.Write(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		}); err != nil {
			t.Fatal(err)
		}
		readOnce(t, d, readsOnly)
		err := d.Read(context.Background(), func(r *Reader) error {
			var n int
			return r.Row(`SELECT 1 / (count(*) - count(*)) FROM teams`, nil, &n)
		})
		if err == nil {
			t.Error("a division by zero is no error")
		}
		readOnce(t, d, readsOnly)
	}
}

func message(kind byte, body string) string {
	return string([]byte{kind, 0, 0, 0, byte(4 + len(body))}) + body
}

func TestBeginFilter(t *testing.T) {
	t.Parallel()
	begin := message('1', "") + message('2', "") + message('C', "BEGIN\x00")
	notice, row, refusal := message('N', "n"), message('2', "")+message('D', "dd")+message('C', "SELECT 1\x00")+message('Z', "T"), message('E', "e")+message('Z', "E")
	for _, test := range []struct{ sent, want string }{
		{begin + row, row},
		{begin + row + begin, row + begin}, // only the first BEGIN is removed
		{notice + message('1', "") + notice + message('2', "") + message('C', "BEGIN\x00") + row, notice + notice + row},
		{refusal + row, refusal + row},
		{message('1', "") + refusal, refusal},
	} {
		for _, r := range []io.Reader{bytes.NewReader([]byte(test.sent)), iotest.OneByteReader(bytes.NewReader([]byte(test.sent)))} {
			got, err := io.ReadAll(&beginFilter{r: bufio.NewReader(r), skipBegin: true})
			if err != nil || string(got) != test.want {
				t.Errorf("%q is read as %q, %v, want %q", test.sent, got, err, test.want)
			}
		}
	}
}
