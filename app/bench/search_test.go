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
)

// emailsVariable names the environment variable that says how many emails, to as many
// addresses, stand in the database of BenchmarkEndToEnd beforehand, and in that of
// BenchmarkSearch.
const (
	emailsVariable = "MAILER_BENCH_EMAILS"
	searchedEmails = 1_000_000
)

// emailsBefore is how many emails the environment asks for.
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

// fillEmails writes n emails into the database in dir that were sent in the last days.
func fillEmails(b *testing.B, dir string, n int) {
	b.Helper()
	schema, err := os.ReadFile("../../schema.sql")
	must(b, err)
	store, err := db.Open(b.Context(), db.Options{Path: filepath.Join(dir, "bench.db"), Schema: string(schema), Lock: true, Gather: -1})
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
			}
			return nil
		}))
	}
}

// anEmail is the i-th email of a usual archive.
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
