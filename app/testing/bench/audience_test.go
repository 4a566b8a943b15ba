package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
	"mailer/db/dbtest"
	"mailer/db/engine"
)

// sizeVariable names the environment variable with the number of contacts of BenchmarkAudience.
const (
	sizeVariable = "MAILER_BENCH_CONTACTS"
	audienceSize = 1_000_000
)

const (
	pageReads  = 50   // of each page
	batchItems = 1000 // contacts of one batch, the maximum
	countRuns  = 5
)

// threeConditions is a typical filter; it selects about a seventh of the contacts.
const threeConditions = `{"match":"all","conditions":[{"field":"property:plan","op":"equals","value":"pro"},` +
	`{"field":"property:age","op":"greater_than","value":"40"},{"field":"email","op":"ends_with","value":"@example.org"}]}`

// threeProperties has the most expensive typical conditions.
const threeProperties = `{"match":"any","conditions":[{"field":"property:plan","op":"contains","value":"nterpris"},` +
	`{"field":"property:age","op":"less_than","value":"19"},{"field":"property:city","op":"not_equals","value":"Rome"}]}`

// rare selects one contact in a hundred thousand.
const rare = `{"match":"all","conditions":[{"field":"property:age","op":"is_set"},{"field":"email","op":"contains","value":"00000@"}]}`

// BenchmarkAudience measures a team of a million contacts (MAILER_BENCH_CONTACTS)
// over HTTP: pages of all contacts, counts and pages of live filters, an upsert
// of 1,000 contacts, and the memory that all of it took.
func BenchmarkAudience(b *testing.B) {
	n := audienceSize
	if text := os.Getenv(sizeVariable); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 2*batchItems {
			b.Fatalf("%s=%s is no number from %d", sizeVariable, text, 2*batchItems)
		}
	}
	dir := b.TempDir()
	startServer(b, dir, "").stop() // makes database and master key
	start := time.Now()
	a := fillAudience(b, dir, n)
	filled := float64(n) / time.Since(start).Seconds()
	a.server = startServer(b, dir, "")
	trickle(b, slowRuns, func() {
		a.pages("first", "/contacts?limit=100", pageReads)
		a.pages("middle", "/contacts?limit=100&after="+a.middle, pageReads)
		a.pages("end", "/contacts?limit=100&after="+a.oldest, pageReads)
		a.segment("filter3", threeConditions, pageReads)
		a.segment("properties3", threeProperties, pageReads)
		a.segment("rare", rare, countRuns) // each page reads all contacts
		a.upserts()
	})
	b.ReportMetric(filled, "filled/s")
	b.ReportMetric(a.server.memory("VmHWM"), "peak-MB")
}

// audience is a server with contacts. middle and oldest are cursors; after oldest there is one
// page.
type audience struct {
	*testing.B
	server         *server
	n              int
	middle, oldest string
	changed        int // upserts so far
}

// fillAudience writes n contacts into the database in dir, as the server does.
func fillAudience(b *testing.B, dir string, n int) *audience {
	b.Helper()
	path := filepath.Join(dir, "bench.db")
	store, err := db.Open(b.Context(), db.Options{Path: path, Schema: dbtest.Schema(b), Lock: true, Gather: -1})
	must(b, err)
	defer func() { must(b, store.Close()) }()
	keys, err := engine.MasterKeys(path+".key", false)
	must(b, err)
	sealer, err := app.NewSealer(keys...)
	must(b, err)
	base, err := base.NewBase(b.Context(), store, sealer, nil, nil, base.Settings{}) // it reads the seed
	must(b, err)
	base.StopClaiming()
	base.Abort()
	a := &audience{B: b, n: n}
	var team app.Team
	must(b, store.Read(b.Context(), func(r *db.Reader) (err error) {
		team, err = r.FindTeam("")
		return err
	}))
	for from := 0; from < n; from += batchItems {
		to := min(from+batchItems, n)
		must(b, store.Write(b.Context(), func(tx *db.Tx) error {
			for i := from; i < to; i++ {
				c := aContact(i)
				c.ID, c.TeamID, c.CreatedAt, c.UpdatedAt = app.NewID(), team.ID, tx.Now, tx.Now
				c.Hash = sealer.AddressHash(team.ID, app.KeyOf(c.Email))
				if i == n/2 {
					a.middle = c.ID
				}
				if i == 100 {
					a.oldest = c.ID
				}
				if err := tx.InsertContact(&c); err != nil {
					return err
				}
			}
			return tx.CountContacts(team.ID, to-from)
		}))
	}
	return a
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// aContact returns the i-th contact of a typical audience: with names and four properties.
func aContact(i int) app.Contact {
	text := func(s string) app.PropertyValue { return app.PropertyValue{Type: app.StringProperty, Text: s} }
	return app.Contact{
		Email:        fmt.Sprintf("subscriber.%07d@%s", i, []string{"example.org", "mail.example.com"}[i%2]),
		FirstName:    []string{"Ann", "Bob", "Chloé", "Dan", "Eve"}[i%5],
		LastName:     fmt.Sprintf("Miller-%d", i%10_000),
		Unsubscribed: i%20 == 0,
		Properties: app.Properties{
			"plan":    text([]string{"free", "pro"}[i/2%2]),
			"age":     {Type: app.NumberProperty, Number: float64(18 + i/4%60)},
			"city":    text([]string{"Berlin", "Paris", "Rome", "Madrid", "Lisbon", "Oslo", "Vienna"}[i%7]),
			"company": text(fmt.Sprintf("Example Industries %d", i%5000)),
		},
	}
}

// get makes a request and returns the answer and its duration. known is false for an unknown
// route, which is then skipped.
func (a *audience) get(method, path, body string) (answer []byte, took time.Duration, known bool) {
	a.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, "http://"+a.server.addr+path, strings.NewReader(body))
	must(a, err)
	request.Header.Set("Authorization", "Bearer "+a.server.key)
	start := time.Now()
	res, err := http.DefaultClient.Do(request)
	must(a, err)
	defer res.Body.Close()
	answer, err = io.ReadAll(bufio.NewReader(res.Body))
	took = time.Since(start)
	must(a, err)
	switch {
	case res.StatusCode == http.StatusNotFound:
		a.Logf("NOT MEASURED: %s %s is not served", method, path)
		return nil, 0, false
	case res.StatusCode >= 300:
		a.Fatalf("%s %s: %d %s", method, path, res.StatusCode, answer)
	}
	return answer, took, true
}

// pages reads one page many times.
func (a *audience) pages(name, path string, reads int) {
	a.Helper()
	var all []time.Duration
	for range reads {
		answer, took, known := a.get("GET", path, "")
		if !known {
			return
		}
		all = append(all, took)
		var page struct{ Data []struct{ ID string } }
		must(a, json.Unmarshal(answer, &page))
		if len(page.Data) == 0 {
			a.Fatalf("GET %s: an empty page", path)
		}
	}
	a.report(name+"-page", all)
}

func (a *audience) report(name string, all []time.Duration) {
	slices.Sort(all)
	a.ReportMetric(float64(quantile(all, 0.5).Microseconds())/1000, name+"-p50-ms")
	a.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, name+"-worst-ms")
}

// segment creates a segment and measures uncached and cached counts and the first page. The
// processor time is the server's.
func (a *audience) segment(name, filter string, pageReads int) {
	a.Helper()
	answer, _, _ := a.get("POST", "/segments", `{"name":"`+name+`","filter":`+filter+`}`)
	var s struct {
		ID           string
		ContactCount int `json:"contact_count"`
	}
	must(a, json.Unmarshal(answer, &s))
	var counts []time.Duration
	cpu := a.server.cpu()
	for range countRuns {
		a.get("PATCH", "/segments/"+s.ID, `{"filter":`+filter+`}`) // clears the cached count
		answer, took, _ := a.get("GET", "/segments/"+s.ID, "")
		must(a, json.Unmarshal(answer, &s))
		counts = append(counts, took)
	}
	a.report(name+"-count", counts)
	a.ReportMetric(float64((a.server.cpu()-cpu).Milliseconds())/countRuns, name+"-count-cpu-ms")
	_, took, _ := a.get("GET", "/segments/"+s.ID, "")
	a.ReportMetric(float64(took.Microseconds())/1000, name+"-known-ms")
	a.ReportMetric(float64(s.ContactCount), name+"-contacts")
	a.pages(name, "/segments/"+s.ID+"/contacts?limit=100", pageReads)
}

// upserts sends batches of existing contacts, spread over all.
func (a *audience) upserts() {
	a.Helper()
	var all []time.Duration
	for range countRuns {
		a.changed++
		var items []string
		for i := range batchItems {
			email := aContact(i * (a.n / batchItems)).Email
			items = append(items, fmt.Sprintf(`{"email":%q,"last_name":"Changed %d","properties":{"seen":%d}}`, email, a.changed, a.changed))
		}
		_, took, known := a.get("POST", "/contacts/batch?on_conflict=upsert", "["+strings.Join(items, ",")+"]")
		if !known {
			return
		}
		all = append(all, took)
	}
	a.report("upsert1000", all)
}
