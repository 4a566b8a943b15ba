package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"
)

// Environment variables for the size of BenchmarkVersus.
const (
	messagesVariable = "MAILER_BENCH_MESSAGES" // for each peer in each round
	roundsVariable   = "MAILER_BENCH_ROUNDS"
	queuedVariable   = "MAILER_BENCH_QUEUED" // 0: do not measure memory with a long queue and accepts
)

const (
	connections = 16 // to each peer, and from each peer to the sink
	warmUp      = 320
	lowRate     = 100 // messages in a second when delays are measured without a queue
	lowRateTime = 300
)

// peer is a running mail server.
type peer interface {
	// deliver sends all messages of a round to the peer and returns the sorted latencies.
	deliver(m *marks, clients int) []time.Duration
	// peak is the peak memory in MB.
	peak(sampled float64) float64
	// dkimRecord is the record of the peer's key.
	dkimRecord() string
	stop()
}

// contender is a peer that is started for each round.
type contender struct {
	name   string
	signed bool
	start  func(c *contest, g *group) peer
}

// contenders returns the peers in the order of their turns, signing peers next to each other.
func contenders() []contender {
	all := []contender{
		{"Mailer, DKIM", true, func(c *contest, g *group) peer { return c.mailer(g, "dkim=on") }},
		{"Postfix + OpenDKIM", true, func(c *contest, g *group) peer { return c.postfix(g, true) }},
		{"maddy, DKIM", true, func(c *contest, g *group) peer { return c.maddy(g, true) }},
		{"Mailer", false, func(c *contest, g *group) peer { return c.mailer(g, "dkim=off") }},
		{"Postfix", false, func(c *contest, g *group) peer { return c.postfix(g, false) }},
		{"maddy", false, func(c *contest, g *group) peer { return c.maddy(g, false) }},
	}
	if os.Getenv(maddyVariable) != "" {
		return all
	}
	return slices.DeleteFunc(all, func(who contender) bool { return strings.HasPrefix(who.name, "maddy") })
}

// contest is a comparison with the same messages, sink and disk.
type contest struct {
	tb       testing.TB
	dir      string // for databases and queues
	sink     *sink
	messages int
	// sample is the message as Mailer sends it without a signature: the input of Postfix.
	sample []byte
}

// newSite returns a contest without a sample, which only peers fed by SMTP need.
func newSite(tb testing.TB, messages int) *contest {
	tb.Helper()
	dir, err := os.MkdirTemp("", "mailer-versus-") // Postfix's user can't read tb.TempDir
	must(tb, err)
	tb.Cleanup(func() { os.RemoveAll(dir) })
	must(tb, os.Chmod(dir, 0o755))
	return &contest{tb: tb, dir: dir, sink: newSink(tb), messages: messages}
}

func newContest(tb testing.TB, messages int) *contest {
	tb.Helper()
	c := newSite(tb, messages)
	p := c.mailer(nil, "dkim=off")
	m := c.sink.expect(1)
	p.deliver(m, 1)
	must(tb, m.wait(10*time.Second))
	must(tb, m.check(false))
	p.stop()
	c.sample = m.sample()
	return c
}

// mailerPeer is the built binary, fed by POST /emails.
type mailerPeer struct {
	*server
	dir    string
	record string
}

func (c *contest) mailer(g *group, mode string) peer {
	c.tb.Helper()
	dir, err := os.MkdirTemp(c.dir, "mailer-")
	must(c.tb, err)
	s := startServerIn(c.tb, g, dir, c.relay(mode))
	return &mailerPeer{server: s, dir: dir, record: dkimValue(s.run("domains", "records", "example.com", "--db", s.db))}
}

// relay returns the sink as Mailer's relay.
func (c *contest) relay(mode string) string {
	return fmt.Sprintf("smtp://%s?tls=off&connections=%d&%s", c.sink.addr(), connections, mode)
}

// dkimValue finds the record in the output of the command.
func dkimValue(records string) string {
	_, value, _ := strings.Cut(records, "v=DKIM1")
	value, _, _ = strings.Cut(value, "\n")
	return "v=DKIM1" + strings.TrimSpace(value)
}

func (p *mailerPeer) deliver(m *marks, clients int) []time.Duration {
	p.tb.Helper()
	request := p.request("/emails", strings.Replace(oneEmail(), `"Hello"`, `"`+markZero+`"`, 1))
	at, err := stampAt(request)
	must(p.tb, err)
	return spread(p.tb, len(m.sent), clients, func(share int) ([]time.Duration, error) {
		own := bytes.Clone(request)
		return p.connection(own, share, func() { m.send(own[at : at+markDigits]) })
	})
}

func (p *mailerPeer) peak(float64) float64 { return p.memory("VmHWM") }

func (p *mailerPeer) dkimRecord() string { return p.record }

func (p *mailerPeer) stop() {
	p.server.stop()
	must(p.tb, os.RemoveAll(p.dir))
}

func (c *contest) postfix(g *group, signed bool) peer {
	c.tb.Helper()
	return startPostfix(c.tb, g, c.dir, c.sink.addr(), c.sample, signed)
}

func (c *contest) maddy(g *group, signed bool) peer {
	c.tb.Helper()
	return startMaddy(c.tb, g, c.dir, c.sink.addr(), c.sample, signed)
}

// outcome is the result of one peer in one round.
type outcome struct {
	rate          float64       // messages in a second, from the first request to the last arrival
	cpu           time.Duration // for each message
	harness       time.Duration // for each message, of load and sink
	memory        float64       // MB
	busy, lowRate delays
	programs      map[string]time.Duration // processor time by program
	cast          campaign                 // for a broadcast
}

// delays are the times until the peer accepted messages, and until they arrived at the sink.
type delays struct{ accepted, arrived percentiles }

type percentiles struct{ p50, p99 time.Duration }

func percentilesOf(sorted []time.Duration) percentiles {
	return percentiles{quantile(sorted, 0.50), quantile(sorted, 0.99)}
}

// measure measures one round of a peer. It fails if the figures are invalid.
func (c *contest) measure(who contender) outcome {
	c.tb.Helper()
	g := newGroup(c.tb)
	p := who.start(c, g)
	c.round(p, g, c.sink.expect(min(warmUp, c.messages)), who.signed)
	cpu, own, before := g.cpu(), ownCPU(), g.programs()
	peak := g.watchMemory()
	m := c.sink.expect(c.messages)
	accepted := c.round(p, g, m, who.signed)
	n := time.Duration(c.messages)
	o := outcome{
		rate:   float64(c.messages) / m.elapsed().Seconds(),
		memory: p.peak(peak()),
		busy:   delays{percentilesOf(accepted), percentilesOf(m.delays())},
		cpu:    (g.cpu() - cpu) / n, harness: (ownCPU() - own) / n,
		programs: g.programs(),
	}
	for name, used := range before {
		o.programs[name] -= used
	}
	if who.signed {
		must(c.tb, verify(m.sample(), p.dkimRecord()))
	}
	m = c.sink.expect(min(lowRateTime, c.messages))
	m.every = time.Second / lowRate
	accepted = c.round(p, g, m, who.signed)
	o.lowRate = delays{percentilesOf(accepted), percentilesOf(m.delays())}
	p.stop()
	return o
}

// round sends the messages of m to a peer and waits until it has nothing left to do. It returns
// the sorted times of acceptance.
func (c *contest) round(p peer, g *group, m *marks, signed bool) []time.Duration {
	c.tb.Helper()
	n := len(m.sent)
	accepted := p.deliver(m, connections)
	if len(accepted) != n {
		p.stop()
		c.tb.Fatalf("%d of %d messages were accepted", len(accepted), n)
	}
	if err := m.wait(time.Minute + time.Duration(n)*50*time.Millisecond); err != nil {
		c.tb.Error(err) // shows the peer's log
		p.stop()
		c.tb.FailNow()
	}
	g.settle()
	must(c.tb, m.check(signed))
	return accepted
}

// ownCPU returns the processor time of load and sink: of this process.
func ownCPU() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use) // fails only for other arguments
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// verify checks the DKIM signature of a message as received.
func verify(onWire []byte, record string) error {
	message := bytes.ReplaceAll(onWire, []byte("\r\n.."), []byte("\r\n."))
	found, err := dkim.VerifyWithOptions(bytes.NewReader(message), &dkim.VerifyOptions{
		LookupTXT: func(string) ([]string, error) { return []string{record}, nil },
	})
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("%d signatures instead of one", len(found))
	}
	if s := found[0]; s.Err != nil || s.Domain != "example.com" {
		return fmt.Errorf("signature of %q: %w", s.Domain, s.Err)
	}
	for _, name := range []string{"from", "to", "subject", "date", "message-id", "mime-version", "content-type"} {
		if !slices.ContainsFunc(found[0].HeaderKeys, func(key string) bool { return strings.EqualFold(strings.TrimSpace(key), name) }) {
			return fmt.Errorf("%s is not signed", name)
		}
	}
	return nil
}

// limits are the maximum rates of the machine, measured between the peers.
type limits struct {
	syncs   float64       // sequential fsyncs in a second
	signing float64       // RSA-2048 signatures in a second on all cores
	each    time.Duration // processor time of one signature
}

func (c *contest) limits() (l limits) {
	c.tb.Helper()
	l.syncs = syncLimit(c.tb, c.dir)
	l.signing, l.each = signingLimit(c.tb)
	return l
}

// sizeFrom reads a number from the environment.
func sizeFrom(tb testing.TB, variable string, usual, least int) int {
	tb.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		tb.Fatalf("%s=%s is no number from %d", variable, text, least)
	}
	return n
}

// BenchmarkVersus compares Mailer with Postfix and OpenDKIM, and both without signatures, in
// alternating rounds on one sink, and prints a table (see doc.go). It runs once, whatever
// -benchtime is.
func BenchmarkVersus(b *testing.B) {
	if what := missing(true); what != "" {
		b.Skip("missing: ", what)
	}
	trickle(b, 1, func() { versus(b) })
}

func versus(b *testing.B) {
	checkPrograms(b)
	messages := sizeFrom(b, messagesVariable, 5000, 1)
	rounds := sizeFrom(b, roundsVariable, 5, 1)
	queue := sizeFrom(b, queuedVariable, queued, 0)
	r := newReport(os.Stdout)
	c := newContest(b, messages)
	r.head(c, rounds)
	for range rounds {
		r.limits(c.limits())
		for _, who := range contenders() {
			r.outcome(who, c.measure(who))
		}
	}
	r.limits(c.limits())
	if queue > 0 {
		r.accepts(acceptDuringBroadcast(b))
		loading, restarted := queuedMemory(b, queue)
		r.queue(queue, loading, restarted)
	}
	r.table()
	b.ReportMetric(0, "ns/op") // one run is one operation, which is meaningless
	r.metrics(b)
}

// acceptDuringBroadcast returns how many emails are durably accepted in a second from 64 clients
// while the server also sends, unsigned.
func acceptDuringBroadcast(b *testing.B) float64 {
	b.Helper()
	const n, clients = 20_000, 64
	sink := newSink(b)
	s := startServer(b, b.TempDir(), "smtp://"+sink.addr()+"?tls=off&connections=16&dkim=off")
	defer s.stop()
	s.load(200, clients)
	start := time.Now()
	s.load(n, clients)
	return n / time.Since(start).Seconds()
}

// queuedMemory returns the peak memory in MB of a server that accepts n emails for an unreachable
// relay, and of one that starts with them.
func queuedMemory(b *testing.B, n int) (loading, restarted float64) {
	b.Helper()
	dir := b.TempDir()
	relay := "smtp://" + freeAddr(b) + "?tls=off"
	s := startServer(b, dir, relay)
	s.load(n, 64)
	loading = s.memory("VmHWM")
	s.stop()
	s = startServer(b, dir, relay)
	restarted = s.memory("VmHWM")
	s.stop()
	return loading, restarted
}

// fileSystem returns the type of the file system of dir.
func fileSystem(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	mounts, readErr := os.ReadFile("/proc/self/mounts")
	if err != nil || readErr != nil {
		return "unknown"
	}
	name, longest := "unknown", -1
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		at := strings.TrimSuffix(fields[1], "/")
		if len(at) >= longest && (dir == at || strings.HasPrefix(dir, at+"/")) {
			name, longest = fields[2], len(at)
		}
	}
	return name
}
