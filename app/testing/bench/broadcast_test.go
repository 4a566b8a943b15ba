package bench

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/db"
	"mailer/db/dbtest"
)

// recipientsVariable names the environment variable with the number of contacts of
// BenchmarkBroadcast.
const (
	recipientsVariable = "MAILER_BENCH_RECIPIENTS"
	broadcastSize      = 100_000
)

// otherEmails is how many emails are posted on an idle server, and again during a broadcast.
const otherEmails = 400

func benchSize(b *testing.B, variable string, size int) int {
	text := os.Getenv(variable)
	if text == "" {
		return size
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 2*batchItems {
		b.Fatalf("%s=%s is no number from %d", variable, text, 2*batchItems)
	}
	return n
}

// BenchmarkBroadcast sends 5 KB of HTML with a name and an unsubscribe link to 100,000 contacts
// (MAILER_BENCH_RECIPIENTS), signed and unsigned. It measures the rate from the send to the end
// beside the signing limit of the cores, the peak memory, the database bytes for each recipient,
// and the latency of POST /emails during the broadcast and on an idle server.
func BenchmarkBroadcast(b *testing.B) {
	for _, mode := range []string{"dkim=on", "dkim=off"} {
		b.Run(mode, func(b *testing.B) {
			n := benchSize(b, recipientsVariable, broadcastSize)
			trickle(b, slowRuns, func() { measureBroadcast(b, n, mode, newsletter) })
		})
	}
}

// document is the content of a broadcast. An empty syntax is left out of the request.
type document struct{ syntax, html string }

// newsletter is a plain document with a name and an unsubscribe link.
var newsletter = document{html: newsletterHTML(firstName, unsubscribeLink)}

// BenchmarkBroadcastContent is BenchmarkBroadcast for ten placeholders, for the same in Liquid, and
// beside that with a condition and with a loop of 20 items.
func BenchmarkBroadcastContent(b *testing.B) {
	outputs := strings.Repeat(`<i>{{ contact.first_name | default: "you" }}</i>`, 10)
	with := func(more string) string { return newsletterHTML(more, unsubscribeLink) }
	for _, c := range []struct {
		name string
		document
	}{
		{"placeholders", document{"plain", with(strings.Repeat("<i>"+firstName+"</i>", 10))}},
		{"outputs", document{"liquid", with(outputs)}},
		{"condition", document{"liquid", with(outputs + `{% if contact.first_name == "Ann" %}<p>Hello Ann</p>{% else %}<p>Hello</p>{% endif %}`)}},
		{"loop", document{"liquid", with(outputs + `{% for i in (1..20) %}<p>{{ forloop.index }}: {{ contact.first_name }}</p>{% endfor %}`)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := benchSize(b, recipientsVariable, broadcastSize)
			trickle(b, slowRuns, func() { measureBroadcast(b, n, "dkim=on", c.document) })
		})
	}
}

func measureBroadcast(b *testing.B, n int, mode string, d document) {
	dir := b.TempDir()
	startServer(b, dir, "").stop() // makes database and master key
	a := fillAudience(b, dir, n)
	limit, each := signingLimit(b)
	sink := newSink(b)
	s := startServer(b, dir, "smtp://"+sink.addr()+"?tls=off&connections=16&"+mode)
	a.server = s
	alone := quantile(s.load(otherEmails, 4), 0.99)
	before, cpu := sizeOf(b, s.db), s.cpu()
	start := time.Now()
	id := s.broadcastOf("News for "+firstName, d)
	b.ReportMetric(float64(time.Since(start).Milliseconds()), "answer-ms")
	sink.waitFor(int64(n/4 + otherEmails))
	busy := quantile(s.load(otherEmails, 4), 0.99)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !s.isSent(id, &n) { // some of the contacts are unsubscribed
		<-tick.C
	}
	took := time.Since(start)
	rate := float64(n) / took.Seconds()
	b.ReportMetric(rate, "messages/s")
	b.ReportMetric(rate/limit, "x-signing")
	b.ReportMetric((s.cpu()-cpu).Seconds()/float64(n)/each.Seconds(), "cpu-x-signature")
	b.ReportMetric(s.memory("VmHWM"), "peak-MB")
	b.ReportMetric(float64(alone.Microseconds())/1000, "quiet-p99-ms")
	b.ReportMetric(float64(busy.Microseconds())/1000, "busy-p99-ms")
	s.stop()
	b.ReportMetric(float64(sizeOf(b, s.db)-before)/float64(n), "bytes/recipient")
}

// Placeholders of a broadcast.
const (
	firstName       = "{{{FIRST_NAME|you}}}"
	unsubscribeLink = "{{{UNSUBSCRIBE_URL}}}"
)

// broadcastOf sends a document to all contacts and returns the id.
func (s *server) broadcastOf(subject string, d document) string {
	s.tb.Helper()
	fields := map[string]any{"from": broadcastFrom, "subject": subject, "send": true, "html": d.html}
	if d.syntax != "" {
		fields["syntax"] = d.syntax
	}
	body, err := json.Marshal(fields)
	if err != nil {
		s.tb.Fatal(err)
	}
	var answer struct{ ID string }
	s.call("POST", "/broadcasts", "application/json", bytes.NewReader(body), &answer)
	return answer.ID
}

const broadcastFrom = "News <news@example.com>"

// newsletterHTML returns 5 KB of HTML with a name and a link in the placeholder syntax of the
// renderer.
func newsletterHTML(name, unsubscribe string) string {
	html := strings.Repeat("<p>Hello, this is a paragraph of a usual newsletter.</p>\n", 90)
	return "<html><body><h1>Dear " + name + "</h1>" + html + `<p><a href="` + unsubscribe + `">No more of this</a></p></body></html>`
}

// isSent reports whether a broadcast is finished, and sets n to its number of recipients.
func (s *server) isSent(id string, n *int) bool {
	s.tb.Helper()
	var answer struct {
		Status string
		Sent   int `json:"sent_count"`
	}
	s.call("GET", "/broadcasts/"+id, "", http.NoBody, &answer)
	if answer.Status != "sent" {
		return false
	}
	*n = answer.Sent
	return true
}

// sizeOf returns the size of a database without its log.
func sizeOf(b *testing.B, path string) int64 {
	b.Helper()
	info, err := os.Stat(path)
	must(b, err)
	return info.Size()
}

// BenchmarkExpand expands the recipients of a broadcast to 1,000,000 contacts
// (MAILER_BENCH_RECIPIENTS) while none is sent.
func BenchmarkExpand(b *testing.B) {
	n := benchSize(b, recipientsVariable, 1_000_000)
	trickle(b, slowRuns, func() {
		dir := b.TempDir()
		startServer(b, dir, "").stop()
		fillAudience(b, dir, n)
		s := startServer(b, dir, "smtp://127.0.0.1:9?tls=off") // nothing listens there
		before := sizeOf(b, s.db)
		start := time.Now()
		id := s.broadcastOf("News for "+firstName, newsletter)
		b.ReportMetric(time.Since(start).Seconds(), "answer-s")
		awaitExpansion(b, s.db, id)
		b.ReportMetric(time.Since(start).Seconds(), "expanded-s")
		b.ReportMetric(s.memory("VmHWM"), "peak-MB")
		s.stop()
		b.ReportMetric(float64(sizeOf(b, s.db)-before)/float64(n), "bytes/recipient")
	})
}

// awaitExpansion polls the database until all recipients of a broadcast are expanded, for at most
// two minutes.
func awaitExpansion(b *testing.B, path, id string) {
	b.Helper()
	store, err := db.Open(b.Context(), db.Options{Path: path, Schema: dbtest.Schema(b)})
	must(b, err)
	defer func() { must(b, store.Close()) }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 2400 {
		var open []app.Broadcast
		must(b, store.Read(b.Context(), func(r *db.Reader) (err error) {
			open, err = r.OpenBroadcasts(app.QueuedBroadcast)
			return err
		}))
		if len(open) == 1 && open[0].ID == id && open[0].Expanded {
			return
		}
		<-tick.C
	}
	b.Fatal("the recipients are not written down after two minutes")
}
