package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"mailer/app"
	"mailer/db"
	"mailer/db/dbtest"
)

// emailsVariable names the environment variable with the number of emails in the database of
// BenchmarkSearch, and before BenchmarkEndToEnd.
const (
	emailsVariable = "MAILER_BENCH_EMAILS"
	searchedEmails = 1_000_000
)

// emailsBefore returns the number in the environment.
func emailsBefore(b *testing.B, otherwise int) int {
	b.Helper()
	text := os.Getenv(emailsVariable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	must(b, err)
	return n
}

// fillEmails writes n emails into the database in dir and returns the address of one in the
// middle.
func fillEmails(b *testing.B, dir string, n int) (to string) {
	b.Helper()
	store, err := db.Open(b.Context(), db.Options{Path: filepath.Join(dir, "bench.db"), Schema: dbtest.Schema(b), Lock: true, Gather: -1})
	must(b, err)
	defer func() { must(b, store.Close()) }()
	var team app.Team
	must(b, store.Read(b.Context(), func(r *db.Reader) (err error) {
		team, err = r.FindTeam("")
		return err
	}))
	for from := 0; from < n; from += batchItems {
		must(b, store.Write(b.Context(), func(tx *db.Tx) error {
			for i := from; i < min(from+batchItems, n); i++ {
				e := anEmail(i, team.ID)
				if err := tx.InsertEmail(e, e.Recipients()); err != nil {
					return err
				}
				if i == n/2 {
					to = e.To[0].Mailbox()
				}
			}
			return nil
		}))
	}
	return to
}

// anEmail returns the i-th email of a typical archive.
func anEmail(i int, team string) *app.Email {
	id := app.NewID()
	e := &app.Email{ID: id, TeamID: team, Relay: "eu", MessageID: app.EmailMessageID(id, "example.com"), CreatedAt: time.Now(), LastEvent: app.Delivered,
		Mail: app.Mail{From: app.Address{Name: "Mailer", Local: "hello", Domain: "example.com"}, Subject: fmt.Sprintf("Order %07d", i), Text: "Hello",
			To:   []app.Address{{Local: fmt.Sprintf("you.%08d", rand.IntN(100_000_000)), Domain: "example.org"}},
			Tags: []app.Tag{{Name: "kind", Value: []string{"order", "welcome", "reset"}[i%3]}}}}
	if i%1000 == 0 {
		e.LastEvent = app.Bounced
	}
	return e
}

// BenchmarkSearch searches a million emails (MAILER_BENCH_EMAILS) of one team over HTTP: by a
// whole address, by the beginning of one, and by a text that only a scan finds.
func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	startServer(b, dir, "").stop() // makes database and master key
	to := fillEmails(b, dir, emailsBefore(b, searchedEmails))
	indexEmails(b, dir)
	a := &audience{B: b, server: startServer(b, dir, "")}
	trickle(b, slowRuns, func() {
		for name, query := range map[string]string{
			"address": "to=" + to, "beginning": "to=" + to[:9] + "*", "unknown": "to=nobody@example.org",
			"status": "status=bounced", "nothing": "subject=nothing+has+this", "tag": "tag=kind:order&limit=100",
		} {
			var all []time.Duration
			for range pageReads {
				_, took, _ := a.get("GET", "/emails?"+query, "")
				all = append(all, took)
			}
			a.report(name, all)
		}
	})
}

// indexEmails indexes the recipients of all emails, as the server does in the background.
func indexEmails(b *testing.B, dir string) {
	b.Helper()
	store, err := db.Open(b.Context(), db.Options{Path: filepath.Join(dir, "bench.db"), Schema: dbtest.Schema(b), Lock: true, Gather: -1})
	must(b, err)
	defer func() { must(b, store.Close()) }()
	for after := ""; ; {
		last := ""
		must(b, store.Write(b.Context(), func(tx *db.Tx) (err error) {
			for range 20 { // several batches in one write: no client waits
				if last, err = tx.IndexRecipients(after, "~"); err != nil || last == "" {
					return err
				}
				after = last
			}
			return nil
		}))
		if last == "" {
			return
		}
	}
}
