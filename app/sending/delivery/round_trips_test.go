package delivery_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db/pgtest"
)

// countTrips runs fn with a server on PostgreSQL and the connection to it. The clock of the bubble
// stands still while anything runs, so that groups of writes have the same size on slow machines.
func countTrips(t *testing.T, fn func(t *testing.T, w *testserver.Server, wire *pgtest.Proxy)) {
	testserver.PostgresOnly(t)
	wire := pgtest.NewProxy(t, pgtest.Server(t)) // outside the bubble: it waits for the network
	testserver.Synctest(t, func(t *testing.T) {
		testserver.UseProxy(t, wire)
		fn(t, testserver.Start(t, testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 16}, nil)), wire)
	})
}

// wantTrips checks the number of round trips and statements for each of n emails.
func wantTrips(t *testing.T, trips []pgtest.RoundTrip, n int, most, mostStatements float64) {
	t.Helper()
	statements := 0
	for _, trip := range trips {
		statements += len(trip)
	}
	each, eachStatements := float64(len(trips))/float64(n), float64(statements)/float64(n)
	t.Logf("%.2f round trips and %.1f statements an email", each, eachStatements)
	if each > most || eachStatements > mostStatements {
		t.Errorf("%.2f round trips and %.1f statements an email, at most %.2f and %.1f are meant to be:\n%s", each, eachStatements, most, mostStatements, kindsOf(trips))
	}
}

// kindsOf groups equal trips, the most frequent first.
func kindsOf(trips []pgtest.RoundTrip) string {
	times := map[string]int{}
	for _, trip := range trips {
		var words []string
		for _, text := range trip {
			text = strings.Join(strings.Fields(text), " ")
			if text = text[:min(len(text), 100)]; !slices.Contains(words, text) {
				words = append(words, text)
			}
		}
		times[strings.Join(words, "\n\t")]++
	}
	var kinds []string
	for kind, n := range times {
		kinds = append(kinds, fmt.Sprintf("%6d times\n\t%s", n, kind))
	}
	slices.Sort(kinds)
	slices.Reverse(kinds)
	return strings.Join(kinds[:min(len(kinds), 20)], "\n")
}

func TestRoundTripsPerEmail(t *testing.T) {
	countTrips(t, func(t *testing.T, w *testserver.Server, wire *pgtest.Proxy) {
		const clients, each = 16, 30
		send := func(n int) {
			var all sync.WaitGroup
			for c := range clients {
				all.Go(func() {
					for i := range n {
						opts := mail.SendOptions{}
						if i%2 == 0 {
							opts.IdempotencyKey = app.NewID()
						}
						_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message(fmt.Sprintf("n%d@c%d.example.net", i, c)), opts)
						testserver.Must(t, err)
					}
				})
			}
			all.Wait()
			synctest.Wait()
			time.Sleep(time.Second) // writes that are still buffered
			synctest.Wait()
		}
		send(10) // preparing statements takes extra round trips once
		wire.RoundTrips()
		send(each)
		trips := wire.RoundTrips()
		if open := w.SQL(`SELECT count(*)::text FROM units`)[0]; open != "0" {
			t.Errorf("%s emails wait", open)
		}
		wantTrips(t, trips, clients*each, 0.4, 18) // one statement stores the contact's last mail
	})
}

func TestRoundTripsOneClient(t *testing.T) {
	countTrips(t, func(t *testing.T, w *testserver.Server, wire *pgtest.Proxy) {
		const n = 60
		send := func(n int) {
			for i := range n {
				_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message(fmt.Sprintf("n%d@c.example.net", i)), mail.SendOptions{})
				testserver.Must(t, err)
			}
			synctest.Wait()
			time.Sleep(time.Second) // writes that are still buffered
			synctest.Wait()
		}
		send(10) // preparing statements takes extra round trips once
		wire.RoundTrips()
		send(n)
		wantTrips(t, wire.RoundTrips(), n, 4.4, 30)
	})
}

func TestRoundTripsPerBroadcastRecipient(t *testing.T) {
	countTrips(t, func(t *testing.T, w *testserver.Server, wire *pgtest.Proxy) {
		const n = 600
		w.AddSubscribers(n)
		send := func() {
			b := w.AddDraft()
			w.Queue(b)
			for range 60 {
				time.Sleep(time.Second)
				if w.Broadcast(b.ID).Status == app.SentBroadcast {
					return
				}
			}
			t.Fatal("it is not sent in a minute")
		}
		send() // preparing statements takes extra round trips once
		wire.RoundTrips()
		send()
		wantTrips(t, wire.RoundTrips(), n, 0.6, 9)
	})
}
