package metrics

import (
	"strings"
	"time"

	vm "github.com/VictoriaMetrics/metrics"

	_ "mailer/app/kit/quiet"
)

// Result is the result of delivery for a recipient.
type Result string

// The results.
const (
	Sent     Result = "sent"
	Deferred Result = "deferred"
	Bounced  Result = "bounced"
	Failed   Result = "failed"
)

// Results returns all results.
func Results() []Result { return []Result{Sent, Deferred, Bounced, Failed} }

// Upper bounds of histogram buckets, in seconds.
var (
	commitBounds  = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	requestBounds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	sendBounds    = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
)

// Metrics holds the counters of a process, which start at 0. All methods are safe for concurrent
// use and do nothing on a nil Metrics, so that callers need not know whether metrics are enabled.
type Metrics struct {
	accepted, doubts         *vm.Counter
	commits, requests, sends *vm.PrometheusHistogram
	results, attempts, codes *vm.Set // one series for each set of labels
	switches, optIns         *vm.Set
	received                 *vm.Set
	receivedBytes            *vm.Counter
	counted                  []counted
	watch                    watch
}

// counted is a metric family that this package counts itself.
type counted struct {
	name string
	set  *vm.Set
}

// New returns counters at 0.
func New() *Metrics {
	m := &Metrics{}
	set := func(name string) *vm.Set {
		s := vm.NewSet()
		m.counted = append(m.counted, counted{name, s})
		return s
	}
	m.accepted = set(nameAccepted).NewCounter(nameAccepted)
	m.results = set(nameResults)
	m.sends = set(nameSends).NewPrometheusHistogramExt(nameSends, sendBounds)
	m.doubts = set(nameDoubts).NewCounter(nameDoubts)
	m.requests = set(nameRequests).NewPrometheusHistogramExt(nameRequests, requestBounds)
	m.codes = set(nameCodes)
	for _, class := range codeClasses {
		if class != "" {
			m.ofCode(class)
		}
	}
	m.switches = set(nameSwitches)
	m.attempts = set(nameAttempts)
	m.Attempt(true, 0)
	m.Attempt(false, 0)
	m.optIns = set(nameOptIns)
	for _, result := range OptInResults() {
		m.OptIns(result, 0)
	}
	m.received, m.receivedBytes = set(nameReceived), set(nameReceivedB).NewCounter(nameReceivedB)
	for _, result := range ReceivedResults() {
		m.Received(result, 0, 0)
	}
	m.commits = set(nameCommits).NewPrometheusHistogramExt(nameCommits, commitBounds)
	return m
}

// Accepted counts n accepted emails.
func (m *Metrics) Accepted(n int) {
	if m != nil {
		m.accepted.Add(n)
	}
}

// Result counts n recipients with a final or deferred result.
func (m *Metrics) Result(relay string, r Result, n int) {
	if m != nil {
		m.results.GetOrCreateCounter(series(nameResults, "relay", relay, "result", string(r))).Add(n)
	}
}

// Send counts a transaction with a relay and its duration, whatever its result.
func (m *Metrics) Send(took time.Duration) {
	if m != nil {
		m.sends.Update(took.Seconds())
	}
}

// Doubt counts a transaction with an unknown outcome.
func (m *Metrics) Doubt() {
	if m != nil {
		m.doubts.Inc()
	}
}

// Switch counts n switches of a region to another relay.
func (m *Metrics) Switch(region string, n int) {
	if m != nil {
		m.switches.GetOrCreateCounter(series(nameSwitches, "region", region)).Add(n)
	}
}

// codeClasses are the classes of status codes, by their first digit.
var codeClasses = [...]string{2: "2xx", 3: "3xx", 4: "4xx", 5: "5xx"}

// Request counts an HTTP API request with its status and duration. Status 0 means that the client
// was gone before the answer.
func (m *Metrics) Request(status int, took time.Duration) {
	if m == nil {
		return
	}
	m.requests.Update(took.Seconds())
	if class := status / 100; class < len(codeClasses) && codeClasses[class] != "" {
		m.ofCode(codeClasses[class]).Inc()
	}
}

func (m *Metrics) ofCode(class string) *vm.Counter {
	return m.codes.GetOrCreateCounter(series(nameCodes, "code", class))
}

// Attempt counts n delivery attempts to webhooks.
func (m *Metrics) Attempt(success bool, n int) {
	if m == nil {
		return
	}
	result := "failed"
	if success {
		result = "success"
	}
	m.attempts.GetOrCreateCounter(series(nameAttempts, "result", result)).Add(n)
}

// OptInResults returns the results of opt-ins that are counted.
func OptInResults() []string {
	return []string{"requested", "stopped", "sent", "confirmed", "refused", "expired"}
}

// OptIns counts n opt-ins with a result, one of OptInResults.
func (m *Metrics) OptIns(result string, n int) {
	if m != nil {
		m.optIns.GetOrCreateCounter(series(nameOptIns, "result", result)).Add(n)
	}
}

// ReceivedResults returns the results of mail of other servers that are counted.
func ReceivedResults() []string {
	return []string{"stored", "unknown", "not_now", "full", "busy", "malformed", "incomplete", "failed"}
}

// Received counts n emails of other servers with a result, one of ReceivedResults, and the bytes of those stored.
func (m *Metrics) Received(result string, n int, bytes int64) {
	if m == nil {
		return
	}
	m.received.GetOrCreateCounter(series(nameReceived, "result", result)).Add(n)
	if result == "stored" {
		m.receivedBytes.Add(int(bytes))
	}
}

// Commit counts a database transaction and the time until it was on disk.
func (m *Metrics) Commit(took time.Duration) {
	if m != nil {
		m.commits.Update(took.Seconds())
	}
}

// escapes escapes label values in Prometheus' text format.
var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// series returns the name of one series of a family. labels alternates names and values.
func series(family string, labels ...string) string {
	if len(labels) == 0 {
		return family
	}
	var b strings.Builder
	b.WriteString(family)
	for i := 0; i < len(labels); i += 2 {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		b.WriteString(labels[i] + `="` + escapes.Replace(labels[i+1]) + `"`)
	}
	b.WriteString("}")
	return b.String()
}
