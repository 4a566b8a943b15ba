package sdktest

import (
	"bytes"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"
)

// fixture is a running service with a verified domain, a key, Postfix as its
// relay and a sink behind it.
type fixture struct {
	in      *instance
	key     string
	sink    *sink
	postfix *postfix // nil: the sink is the relay
}

type fixtureOptions struct {
	direct   bool // no Postfix in between
	startTLS bool // between the service and Postfix
	compat   compat
	bare     bool // nothing holds requests and answers against the document
	args     []string
}

func newFixture(t *testing.T, opts *fixtureOptions) *fixture {
	t.Helper()
	if opts == nil {
		opts = &fixtureOptions{}
	}
	w := &fixture{sink: newSink(t, sinkOptions{})}
	relay := "smtp://" + w.sink.addr + "?tls=off"
	if !opts.direct {
		relay = w.usePostfix(t, opts.startTLS)
	}
	begin := start
	if opts.bare {
		begin = startBare
	}
	w.in = begin(t, slices.Concat([]string{"--relay", relay}, opts.compat.flags(), opts.args)...)
	w.in.addDomain(t, "example.test")
	w.key = w.in.newKey(t)
	return w
}

// usePostfix puts Postfix before the sink and returns its relay URL.
func (w *fixture) usePostfix(t *testing.T, startTLS bool) string {
	t.Helper()
	if !startTLS {
		w.postfix = startPostfix(t, w.sink, nil)
		return "smtp://" + w.postfix.addr + "?tls=off"
	}
	ca := newAuthority(t)
	w.postfix = startPostfix(t, w.sink, ca.issue(t))
	return "smtp://" + w.postfix.addr + "?ca=" + ca.file
}

// arrival is what must be at the sink of one email.
type arrival struct {
	id       string
	subject  string
	from     string            // bare address
	envelope []string          // bare addresses
	header   map[string]string // addresses bare, separated by spaces
	html     string
	text     string
	files    map[string][]byte
}

// checkArrived fails the test unless exactly one such message is at the sink,
// good in all its parts.
func (w *fixture) checkArrived(t *testing.T, want arrival) {
	t.Helper()
	mine := func(m *message) bool { return m.header("X-Mailer-Email-ID") == want.id }
	w.sink.wait(t, 1, time.Minute, mine)
	if w.postfix != nil {
		w.postfix.waitEmpty(t)
	}
	found := w.sink.matching(mine)
	if len(found) != 1 {
		t.Fatalf("%d messages of %s at the sink, want exactly one", len(found), want.id)
	}
	m := &found[0]
	_, domain, _ := strings.Cut(want.from, "@")
	if got, wanted := m.header("Message-ID"), "<"+want.id+"@"+domain+">"; got != wanted {
		t.Errorf("Message-ID %s, want %s", got, wanted)
	}
	if got := sorted(m.To); !slices.Equal(got, sorted(want.envelope)) {
		t.Errorf("envelope %v, want %v", got, want.envelope)
	}
	checkHeader(t, m, want)
	checkParts(t, m, want)
	checkDKIM(t, w.in, m, domain)
}

func checkHeader(t *testing.T, m *message, want arrival) {
	t.Helper()
	p := m.parsed()
	if got := m.header("Subject"); got != want.subject {
		t.Errorf("Subject %q, want %q", got, want.subject)
	}
	if got := bareAddresses(p.Header.Get("From")); got != want.from {
		t.Errorf("From %q, want %q", got, want.from)
	}
	for name, value := range want.header {
		got := m.header(name)
		if strings.Contains(value, "@") {
			got = bareAddresses(p.Header.Get(name))
		}
		if got != value {
			t.Errorf("%s %q, want %q", name, got, value)
		}
	}
	if date, err := p.Header.Date(); err != nil || time.Since(date).Abs() > 10*time.Minute {
		t.Errorf("Date %q: %v", p.Header.Get("Date"), err)
	}
	if p.Header.Get("Bcc") != "" {
		t.Error("there is a Bcc header")
	}
	head, _, _ := bytes.Cut(m.Raw, []byte("\r\n\r\n"))
	for _, address := range want.envelope {
		shown := strings.Contains(bareAddresses(p.Header.Get("To"))+" "+bareAddresses(p.Header.Get("Cc")), address)
		// Postfix names the recipient in Received only where there is just one.
		if !shown && bytes.Contains(head, []byte(address)) {
			t.Errorf("the blind recipient %s stands in the header:\n%s", address, head)
		}
	}
}

func checkParts(t *testing.T, m *message, want arrival) {
	t.Helper()
	parts := m.leaves(t)
	if got := content(parts, "text/plain"); got != want.text {
		t.Errorf("text %q, want %q", got, want.text)
	}
	if got := content(parts, "text/html"); got != want.html {
		t.Errorf("html %q, want %q", got, want.html)
	}
	for name, data := range want.files {
		if got := file(t, parts, name); !bytes.Equal(got.body, data) {
			t.Errorf("attachment %s: %d bytes %x, want %d", name, len(got.body), got.body[:min(40, len(got.body))], len(data))
		}
	}
	for line := range bytes.Lines(m.Raw) {
		if len(line) > 1000 { // 998 and CRLF, RFC 5322 2.1.1
			t.Errorf("a line of %d bytes", len(line))
		}
		if bytes.Contains(bytes.TrimSuffix(line, []byte("\r\n")), []byte("\r")) || !bytes.HasSuffix(line, []byte("\r\n")) {
			t.Errorf("a bare CR or LF in %q", line)
		}
	}
}

func bareAddresses(list string) string {
	parsed, err := mail.ParseAddressList(list)
	if err != nil {
		return list
	}
	var out []string
	for _, a := range parsed {
		out = append(out, a.Address)
	}
	return strings.Join(out, " ")
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func TestRelayOverStartTLS(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	needPythonDKIM(t)
	w := newFixture(t, &fixtureOptions{startTLS: true})
	api := client{w.in.url, w.key}
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "over TLS", "text": "hello"})
	api.waitLast(t, id, time.Minute, "sent")
	w.checkArrived(t, arrival{id: id, subject: "over TLS", from: "a@example.test", envelope: []string{"b@example.com"}, text: "hello"})
	m := w.sink.messages()[0]
	if !strings.Contains(m.header("Received"), "ESMTPS") {
		t.Errorf("Postfix got it without TLS: %s", m.header("Received"))
	}
}
