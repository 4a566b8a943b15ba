package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"mailer/db/pgtest"
)

// BenchmarkPostgres sends unsigned emails with a server on SQLite, one on PostgreSQL, and two on
// one PostgreSQL, with the same number of clients. It measures the processor time of servers and
// PostgreSQL for each email, and the round trips between them. Connections to PostgreSQL pass
// through this process, which counts round trips and adds about the latency of a local network.
func BenchmarkPostgres(b *testing.B) {
	for servers, name := range []string{"file", "one", "two"} {
		for _, clients := range []int{1, 16, 64} {
			if servers == 2 && clients == 1 {
				continue
			}
			b.Run(fmt.Sprintf("%s/clients=%d", name, clients), func(b *testing.B) { measurePostgres(b, servers, clients) })
		}
	}
}

// postgresSetup is a set of servers on one database.
type postgresSetup struct {
	tb       testing.TB
	sink     *sink
	servers  []*server
	postgres *group        // nil: SQLite
	wire     *pgtest.Proxy // nil: none
}

// startPostgresSetup starts servers on a PostgreSQL database; 0: one on SQLite.
func startPostgresSetup(tb testing.TB, servers int) *postgresSetup {
	tb.Helper()
	e := &postgresSetup{tb: tb, sink: newSink(tb)}
	relay := "smtp://" + e.sink.addr() + "?tls=off&connections=16&dkim=off"
	if servers == 0 {
		e.servers = []*server{startServer(tb, tb.TempDir(), relay)}
		return e
	}
	if _, err := postgresPrograms(); err != nil {
		tb.Skip(err)
	}
	base, err := os.MkdirTemp("", "mailer-elsewhere-") // tb.TempDir is in a folder that only its owner enters
	must(tb, err)
	tb.Cleanup(func() { os.RemoveAll(base) })
	must(tb, os.Chmod(base, 0o755))
	e.postgres = newGroup(tb)
	p := startPostgres(newPrograms(tb, e.postgres, base, "PostgreSQL"))
	_, err = p.query("CREATE DATABASE mailer TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'")
	must(tb, err)
	url := "postgres://postgres@" + p.host + ":" + p.port + "/mailer?sslmode=disable"
	e.wire = pgtest.NewProxy(tb, url)
	key := filepath.Join(tb.TempDir(), "master.key")
	for n := range servers {
		e.servers = append(e.servers, startServerOn(tb, nil, e.wire.DSN(url), tb.TempDir(), relay, n == 0, "--master-key-file", key))
	}
	return e
}

// load posts n emails to all servers and waits until they are sent.
func (e *postgresSetup) load(n, clients int) {
	e.tb.Helper()
	all := e.sink.messages.Load() + int64(n/len(e.servers)*len(e.servers))
	var wg sync.WaitGroup
	for _, s := range e.servers {
		wg.Go(func() { s.load(n/len(e.servers), max(1, clients/len(e.servers))) })
	}
	wg.Wait()
	e.sink.waitFor(all)
}

// cpu returns the processor time of the servers and PostgreSQL so far.
func (e *postgresSetup) cpu() (servers, postgres time.Duration) {
	for _, s := range e.servers {
		servers += s.cpu()
	}
	if e.postgres != nil {
		postgres = e.postgres.cpu()
	}
	return servers, postgres
}

// roundTrips returns the round trips and statements since the last call.
func (e *postgresSetup) roundTrips() (roundTrips, statements int) {
	if e.wire == nil {
		return 0, 0
	}
	for _, t := range e.wire.RoundTrips() {
		roundTrips, statements = roundTrips+1, statements+len(t)
	}
	return roundTrips, statements
}

func measurePostgres(b *testing.B, servers, clients int) {
	e := startPostgresSetup(b, servers)
	e.load(500, clients) // warm up
	e.roundTrips()
	before, beforePostgres := e.cpu()
	b.ResetTimer()
	e.load(b.N, clients)
	b.StopTimer()
	after, afterPostgres := e.cpu()
	trips, statements := e.roundTrips()
	n := float64(b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "messages/s")
	b.ReportMetric(float64((after-before).Microseconds())/n, "cpu-us/message")
	b.ReportMetric(float64((afterPostgres-beforePostgres).Microseconds())/n, "postgres-us/message")
	b.ReportMetric(float64(trips)/n, "trips/message")
	b.ReportMetric(float64(statements)/n, "statements/message")
}
