package bench

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"
)

// listmonkRecipients is the default number of contacts of BenchmarkVersusListmonk
// (MAILER_BENCH_RECIPIENTS).
const listmonkRecipients = 40_000

// sender is a peer with contacts, ready to send.
type sender interface {
	// send starts to send a newsletter to all contacts.
	send()
	// finished reports whether the peer says that everything is sent.
	finished() bool
	// peak is the peak memory in MB.
	peak(sampled float64) float64
	stop()
}

// senderKind is a sender that is started for each round.
type senderKind struct {
	name  string
	start func(c *contest, g *group) sender
}

const mailerCampaign, listmonkCampaign = "Mailer", "listmonk + PostgreSQL"

var senders = []senderKind{
	{mailerCampaign, func(c *contest, g *group) sender { return c.broadcaster(g) }},
	{listmonkCampaign, func(c *contest, g *group) sender { return c.listmonk(g) }},
}

// campaign holds further measurements of a broadcast. Its rate is from the first arrival to the
// last.
type campaign struct {
	begun            time.Duration // from the request to the first arrival
	lost, duplicated int
	bytes            int // of a message
}

// recipientRows returns a file of n contacts. The name of each is the mark of its mail.
func recipientRows(nameColumn string, n int) []byte {
	var rows bytes.Buffer
	fmt.Fprintf(&rows, "email,%s\n", nameColumn)
	for i := range n {
		fmt.Fprintf(&rows, "subscriber.%0*d@example.org,%0*d\n", markDigits, i, markDigits, i)
	}
	return rows.Bytes()
}

// broadcaster is the binary with contacts.
type broadcaster struct {
	*server
	dir, id string
}

// broadcaster imports contacts and restarts the server with the sink as its relay, so that its
// peak memory is that of sending.
func (c *contest) broadcaster(g *group) sender {
	c.tb.Helper()
	dir, err := os.MkdirTemp(c.dir, "mailer-")
	must(c.tb, err)
	s := startServer(c.tb, dir, "")
	body, contentType := upload(c.tb, recipientRows("first_name", c.messages), "")
	var created importAnswer
	s.call("POST", "/contacts/imports", contentType, bytes.NewReader(body), &created)
	if done := s.waitImport(created.ID); done.Counts.Created != c.messages {
		c.tb.Fatalf("import %+v", done)
	}
	s.stop()
	return &broadcaster{server: startServerIn(c.tb, g, dir, c.relay("dkim=off")), dir: dir}
}

func (p *broadcaster) send() { p.id = p.broadcastOf("Hello "+firstName, newsletter) }

func (p *broadcaster) finished() bool {
	var n int
	return p.isSent(p.id, &n)
}

func (p *broadcaster) peak(float64) float64 { return p.memory("VmHWM") }

func (p *broadcaster) stop() {
	p.server.stop()
	must(p.tb, os.RemoveAll(p.dir))
}

// broadcast sends to all contacts once.
func (c *contest) broadcast(who senderKind) outcome {
	c.tb.Helper()
	g := newGroup(c.tb)
	p := who.start(c, g)
	g.settle()
	cpu, own, before := g.cpu(), ownCPU(), g.programs()
	peak := g.watchMemory()
	m := c.sink.expect(c.messages)
	p.send()
	c.follow(p, m)
	g.settle()
	n := time.Duration(c.messages)
	o := outcome{cpu: (g.cpu() - cpu) / n, harness: (ownCPU() - own) / n, memory: p.peak(peak()), programs: g.programs()}
	for name, used := range before {
		o.programs[name] -= used
	}
	p.stop()
	if strangers, signed := m.unknown.Load(), m.signed.Load(); strangers+signed > 0 {
		c.tb.Errorf("%s: %d messages are not of this round, %d are signed", who.name, strangers, signed)
	}
	first, last := m.span()
	o.cast = campaign{begun: first, lost: int(m.open.Load()), duplicated: int(m.duplicates.Load()), bytes: len(m.sample())}
	o.rate = float64(c.messages-o.cast.lost-1) / max(time.Nanosecond, last-first).Seconds()
	return o
}

// follow waits until a sender is finished. If messages are missing then, they are lost. The sender
// is only asked while nothing arrives.
func (c *contest) follow(p sender, m *marks) {
	c.tb.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	limit := time.Now().Add(2*time.Minute + time.Duration(c.messages)*50*time.Millisecond)
	for before := int64(-1); ; <-tick.C {
		open := m.open.Load()
		if (open == 0 || open == before) && p.finished() {
			return
		}
		if time.Now().After(limit) {
			p.stop()
			c.tb.Fatalf("not through in time, %d of %d messages did not arrive", open, c.messages)
		}
		before = open
	}
}

// BenchmarkVersusListmonk compares a broadcast of Mailer with a campaign of listmonk
// (MAILER_BENCH_LISTMONK), unsigned, in turns on one sink, and prints a table (see doc.go). It
// runs once, whatever -benchtime is.
func BenchmarkVersusListmonk(b *testing.B) {
	path, err := programFrom(listmonkVariable)
	must(b, err)
	if path == "" {
		b.Skip(listmonkVariable, " is not set")
	}
	trickle(b, 1, func() { versusListmonk(b) })
}

func versusListmonk(b *testing.B) {
	_, err := postgresPrograms()
	must(b, err)
	rounds := sizeFrom(b, roundsVariable, 5, 1)
	c := newSite(b, sizeFrom(b, recipientsVariable, listmonkRecipients, 2))
	r := newReport(os.Stdout)
	r.castHead(c, rounds)
	for range rounds {
		r.limits(c.limits())
		for _, who := range senders {
			r.cast(who, c.broadcast(who))
		}
	}
	r.castTable(c.messages)
	b.ReportMetric(0, "ns/op") // one run is one operation, which is meaningless
	b.ReportMetric(r.ratio(mailerCampaign, listmonkCampaign, rateOf), "broadcast-x-rate")
	b.ReportMetric(r.ratio(mailerCampaign, listmonkCampaign, cpuOf), "broadcast-x-cpu")
	b.ReportMetric(r.ratio(mailerCampaign, listmonkCampaign, memoryOf), "broadcast-x-memory")
	if lost, doubled := r.faults(mailerCampaign); lost+doubled > 0 {
		b.Errorf("Mailer lost %d and doubled %d", lost, doubled)
	}
}

func (r *report) castHead(c *contest, rounds int) {
	r.printf("%d rounds of a broadcast to %d, unsigned, %d connections to the sink; PostgreSQL %s%s; %s\n",
		rounds, c.messages, connections, postgresVersion(), versionOf(listmonkVariable, "--version"), surroundings(c.tb, c.dir))
}

func postgresVersion() string {
	bin, err := postgresPrograms()
	if err != nil {
		return "missing"
	}
	return answer(bin+"/postgres", "--version")
}

func (r *report) cast(who senderKind, o outcome) {
	r.outcomes[who.name] = append(r.outcomes[who.name], o)
	r.printf("%4.0f s  %-21s  %5.0f messages/s of %d bytes, the first after %.1f s, CPU %.2f s/1000 (sink %.2f), %.0f MB, %d lost, %d doubled;%s\n",
		time.Since(r.start).Seconds(), who.name, o.rate, o.cast.bytes, o.cast.begun.Seconds(), o.cpu.Seconds()*1000, o.harness.Seconds()*1000,
		o.memory, o.cast.lost, o.cast.duplicated, shares(o.programs))
}

// faults returns how many messages a contender lost and duplicated in all rounds.
func (r *report) faults(name string) (lost, doubled int) {
	for _, o := range r.outcomes[name] {
		lost, doubled = lost+o.cast.lost, doubled+o.cast.duplicated
	}
	return lost, doubled
}

func (r *report) castTable(recipients int) {
	r.printf("\n| Broadcast to %d, medians of %d rounds (least to most) | Mailer | %s | ratio |\n|---|---|---|---|\n",
		recipients, len(r.outcomes[mailerCampaign]), listmonkCampaign)
	row := func(what, format string, of func(outcome) float64) {
		r.row(mailerCampaign, listmonkCampaign, what, format, of)
	}
	row("messages a second, first to last arrival", "%.0f", rateOf)
	row("CPU seconds for 1,000 messages", "%.2f", cpuOf)
	row("memory at its peak, MB", "%.0f", memoryOf)
	row("CPU seconds of the sink for 1,000", "%.2f", harnessOf)
	row("first arrival after, seconds", "%.1f", func(o outcome) float64 { return o.cast.begun.Seconds() })
	row("bytes of a message", "%.0f", func(o outcome) float64 { return float64(o.cast.bytes) })
	ourLost, ourDoubled := r.faults(mailerCampaign)
	theirLost, theirDoubled := r.faults(listmonkCampaign)
	r.printf("| lost / doubled, in all rounds | %d / %d | %d / %d | |\n", ourLost, ourDoubled, theirLost, theirDoubled)
	r.printf("\n%.0f s in all\n", time.Since(r.start).Seconds())
}
