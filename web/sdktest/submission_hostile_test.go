package sdktest

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

var hugeMail = flag.Int("huge", 1, "MiB of a hostile message by SMTP")

// dialFrom is dialSMTP from a loopback address.
func dialFrom(local, addr string) (*smtpConn, answer, error) {
	d := net.Dialer{Timeout: time.Minute, LocalAddr: &net.TCPAddr{IP: net.ParseIP(local)}}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, answer{}, err
	}
	s := newSMTPConn(c)
	a, err := s.answer()
	return s, a, err
}

// latencies are how long n messages took, one after another every so often, sorted: as
// many of them as went within ten seconds.
func (h *submissionFixture) latencies(t *testing.T, n int, every time.Duration) (took []time.Duration) {
	t.Helper()
	c := h.signedIn(t, h.api.key)
	tick := time.NewTicker(every)
	defer tick.Stop()
	first := time.Now()
	for i := range n {
		began := time.Now()
		if began.Sub(first) > 10*time.Second {
			break
		}
		c.want(t, "250 2.0.0", note("ann@example.test", fmt.Sprint("well ", i)), "zofia@example.org")
		took = append(took, time.Since(began))
		<-tick.C
	}
	c.Close()
	slices.Sort(took)
	return took
}

func quantiles(took []time.Duration) string {
	return fmt.Sprintf("p50 %s, p99 %s, worst %s", took[len(took)/2].Round(time.Millisecond), p99(took).Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
}

// TestSlowAndHugeMail: twenty connections of one team, ten of which trickle and ten send huge
// messages without a pause.
func TestSlowAndHugeMail(t *testing.T) {
	part(t, "submission", judged)
	t.Parallel()
	h := newSubmissionFixture(t, "off")
	h.run(t, "teams", "create", "Bad")
	h.run(t, "domains", "add", otherTeamsDomain, "--trust", "--team", "Bad")
	key := h.newKey(t, "--team", "Bad")
	alone := h.latencies(t, 20, 50*time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	begun := make(chan struct{}, 20)
	line := strings.Repeat("x", 900) + "\r\n"
	huge := note("x@"+otherTeamsDomain, "huge") + strings.Repeat(line, *hugeMail<<20/len(line))
	var taken, refused int
	var mu sync.Mutex
	for i := range 20 {
		wg.Go(func() {
			c, a, err := dialFrom("127.0.0.2", h.smtp)
			if err == nil {
				a, err = c.signIn(key)
			}
			if err != nil || a.code != 235 {
				t.Errorf("connection %d: %s, %v", i, a, err)
				begun <- struct{}{}
				return
			}
			stop := context.AfterFunc(ctx, func() { c.Close() })
			defer stop()
			defer c.Close()
			if a, err = c.begin("", "a@example.org"); err != nil || a.code != 354 {
				t.Errorf("connection %d: %s, %v", i, a, err)
			}
			begun <- struct{}{}
			for i%2 == 0 && err == nil {
				after(t, 50*time.Millisecond)
				_, err = io.WriteString(c, "drip\r\n")
			}
			for i%2 == 1 && err == nil {
				if a, err = c.cmd(huge + "."); err == nil {
					mu.Lock()
					if a.code == 250 {
						taken++
					} else {
						refused++
					}
					mu.Unlock()
					a, err = c.begin("", "a@example.org")
				}
			}
		})
	}
	for range 20 {
		<-begun
	}
	among := h.latencies(t, 40, 50*time.Millisecond)
	cancel()
	wg.Wait()
	t.Logf("alone: %s; beside the other team: %s; of it %d huge messages were taken and %d refused", quantiles(alone), quantiles(among), taken, refused)
	if tooSlow(p99(among), p99(alone), 5*time.Second) || taken == 0 {
		t.Error("the other team's mail was delayed, or nothing of the huge was taken")
	}
}

// TestSocketsPerAddress: twenty are accepted, the others get 421; another address is not affected.
func TestSocketsPerAddress(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	h := newSubmissionFixture(t, "off")
	in, out := 0, 0
	var open []*smtpConn
	for range 500 {
		c, a, err := dialFrom("127.0.0.3", h.smtp)
		must(t, err)
		open = append(open, c)
		switch {
		case a.code == 220:
			in++
		case a.is("421 4.7.0"):
			out++
		default:
			t.Errorf("greeting %s", a)
		}
	}
	if in != 20 || out != 480 {
		t.Errorf("%d were let in and %d were not", in, out)
	}
	took := h.latencies(t, 5, time.Millisecond)
	t.Logf("beside 500 sockets: %s", quantiles(took))
	for _, c := range open {
		c.Close()
	}
	eventually(t, time.Minute, "there is room again", func() (bool, string) {
		c, a, err := dialFrom("127.0.0.3", h.smtp)
		if err == nil {
			c.Close()
		}
		return a.code == 220, fmt.Sprint(a, err)
	})
}

// TestKeyGuessesPerAddress: after twenty wrong keys in a minute the address gets 421; a right key
// still signs in, and another address is not affected.
func TestKeyGuessesPerAddress(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	h := newSubmissionFixture(t, "off")
	wrong, dials := 0, 0
	var last answer
	for last.code != 421 && wrong < 60 {
		c, a, err := dialFrom("127.0.0.4", h.smtp)
		must(t, err)
		dials++
		for a.code != 421 && err == nil {
			if a, err = c.signIn(fmt.Sprintf("mlr_%032d", wrong)); a.code == 535 {
				wrong++
			}
		}
		last = a
		c.Close()
	}
	if !last.is("421 4.7.0") || wrong > 20 {
		t.Errorf("%d wrong keys over %d connections were answered, at last %s", wrong, dials, last)
	}
	c, a, err := dialFrom("127.0.0.4", h.smtp)
	must(t, err)
	if a.code == 220 {
		a, err = c.signIn(h.api.key)
	}
	if err != nil || a.code != 235 { // wrong keys from the same address lock nobody out
		t.Errorf("the right key from there: %s, %v", a, err)
	}
	c.Close()
	h.signedIn(t, h.api.key).want(t, "250 2.0.0", note("ann@example.test", "honest"), "a@example.org")
	if status, _ := h.api.do(t, "GET", "/emails", nil); status != http.StatusOK {
		t.Errorf("the API from elsewhere: %d", status)
	}
}

// TestDeletedKeyEndsSessions: at the next message, and at the end of a message that was begun
// before.
func TestDeletedKeyEndsSessions(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	h := newSubmissionFixture(t, "off")
	key := h.run(t, "keys", "create", "--name", "leaves")
	idle, busy := h.signedIn(t, key), h.signedIn(t, key)
	idle.want(t, "250 2.0.0", note("ann@example.test", "before"), "a@example.org")
	if a, err := busy.begin("", "a@example.org"); err != nil || a.code != 354 {
		t.Fatalf("%s, %v", a, err)
	}
	var list struct{ Data []struct{ ID, Name string } }
	h.api.get(t, "/api-keys", &list)
	for _, k := range list.Data {
		if k.Name == "leaves" {
			status, b := h.api.do(t, "DELETE", "/api-keys/"+k.ID, nil)
			if status != http.StatusOK {
				t.Fatalf("DELETE: %d %s", status, b)
			}
		}
	}
	after(t, time.Second)
	if a, err := busy.cmd(note("ann@example.test", "amid") + "."); err != nil || !a.is("535 5.7.8") {
		t.Errorf("a message that was begun: %s, %v", a, err)
	}
	if a, err := idle.cmd("MAIL FROM:<a@example.test>"); err != nil || !a.is("535 5.7.8") {
		t.Errorf("the next message: %s, %v", a, err)
	}
	for _, c := range []*smtpConn{idle, busy} {
		if _, err := c.r.ReadByte(); err != io.EOF {
			t.Errorf("the connection stays: %v", err)
		}
	}
	if n := len(h.relay.matching(subjectIs("amid"))); n > 0 {
		t.Error("the message that was begun arrived")
	}
}

// TestBouncesAndMailOnOnePort: signed-in clients send mail, mail to a signed return path is a
// bounce, everything else is refused.
func TestBouncesAndMailOnOnePort(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	s := newSink(t, sinkOptions{})
	addr := freeAddr(t)
	in := startBare(t, append(killArgs(s), "--smtp-listen", addr, "--bounce-listen", addr)...)
	in.addDomain(t, "example.test")
	h := &submissionFixture{instance: in, relay: s, smtp: addr}
	h.api = client{h.url, h.newKey(t)}
	c := h.signedIn(t, h.api.key)
	a := c.want(t, "250 2.0.0", note("ann@example.test", "to bounce"), "reader@example.com")
	m := s.wait(t, 1, time.Minute, subjectIs("to bounce"))[0]
	if !strings.HasPrefix(m.From, "bounce+") {
		t.Fatalf("it was sent from %s", m.From)
	}
	must(t, handOver(addr, "", m.From, abuse(a.id())))
	h.api.waitLast(t, a.id(), time.Minute, "complained")
	c.want(t, "550 5.7.1 All recipients are suppressed", note("ann@example.test", "again"), "reader@example.com")
	forged := strings.Replace(m.From, "bounce+", "bounce+x", 1)
	for _, to := range []string{"somebody@example.test", forged} {
		err := handOver(addr, "", to, abuse(a.id()))
		refusal, ok := err.(*smtp.SMTPError)
		if !ok || refusal.Code != 550 || refusal.EnhancedCode != (smtp.EnhancedCode{5, 7, 1}) && refusal.EnhancedCode != (smtp.EnhancedCode{5, 1, 1}) {
			t.Errorf("to %s: %v", to, err)
		}
	}
	// A bounce grants no access.
	guest, _, err := dialSMTP(addr)
	must(t, err)
	defer guest.Close()
	for _, step := range []struct{ say, want string }{{"EHLO x.test", "250"}, {"MAIL FROM:<>", "250"}, {"RCPT TO:<" + m.From + ">", "250"}, {"RCPT TO:<victim@example.org>", "550 5.7.1"}} {
		if a, err := guest.cmd(step.say); err != nil || !a.is(step.want) {
			t.Errorf("%s: %s, %v", step.say, a, err)
		}
	}
}

// TestStopDuringMessage: a message that is being sent when the server stops is answered with 250,
// and arrives, or with 421; idle clients get 421.
func TestStopDuringMessage(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	h := newSubmissionFixture(t, "off")
	idle, busy := h.signedIn(t, h.api.key), h.signedIn(t, h.api.key)
	if a, err := busy.begin("", "a@example.org"); err != nil || a.code != 354 {
		t.Fatalf("%s, %v", a, err)
	}
	_, err := io.WriteString(busy, note("ann@example.test", "on its way"))
	must(t, err)
	must(t, h.cmd.Process.Signal(syscall.SIGTERM))
	if a, err := idle.answer(); err != nil || !a.is("421 4.3.2") {
		t.Errorf("who waits hears %s, %v", a, err)
	}
	a, err := busy.cmd("the rest\r\n.")
	if err != nil || a.code != 250 && a.code != 421 {
		t.Errorf("the message on its way: %s, %v", a, err)
	}
	<-h.done
	if h.err != nil {
		t.Errorf("serve: %v", h.err)
	}
	h.cmd = nil
	h.serve(t)
	if a.code == 250 {
		h.relay.wait(t, 1, time.Minute, subjectIs("on its way"))
		h.api.waitLast(t, a.id(), time.Minute, "sent")
	}
	t.Logf("answered %s", a)
}

// TestDevSMTPWithoutKey: with --dev mail is captured without any configuration, is in the list, and
// is a live event.
func TestDevSMTPWithoutKey(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	h := &submissionFixture{relay: newSink(t, sinkOptions{}), smtp: "127.0.0.1:2525"}
	if c, err := net.Dial("tcp", h.smtp); err == nil {
		c.Close()
		h.smtp = freeAddr(t) // another program has it
	}
	args := []string{"--dev"}
	if h.smtp != "127.0.0.1:2525" {
		args = append(args, "--smtp-listen", h.smtp)
	}
	h.instance = newInstance(t, args...)
	h.args = slices.DeleteFunc(h.args, func(a string) bool { return a == "--capture" })
	h.serve(t)
	h.api = client{h.url, h.newKey(t)}
	live := h.listen(t)
	c, a, err := dialSMTP(h.smtp)
	must(t, err)
	defer c.Close()
	if a, err = c.cmd("EHLO app.test"); err != nil || a.code != 250 {
		t.Fatalf("%s, %v", a, err)
	}
	a = c.want(t, "250 2.0.0", note("Shop <shop@my-app.test>", "caught"), "zofia@example.org")
	if s, err := c.cmd("AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00any\x00thing"))); err != nil || s.code != 235 {
		t.Errorf("any password: %s, %v", s, err)
	}
	var list struct {
		Data []struct{ ID, Subject string }
	}
	var shown struct{ Source string }
	h.api.get(t, "/emails/"+a.id(), &shown)
	h.api.get(t, "/emails", &list)
	if len(list.Data) != 2 || list.Data[0].ID != a.id() || list.Data[0].Subject != "caught" || list.Data[1].Subject != "Welcome to Mailer" || shown.Source != "smtp" {
		t.Errorf("the list shows %+v, the email %+v", list.Data, shown)
	}
	select {
	case <-live(a.id()):
	case <-time.After(time.Minute):
		t.Error("nothing was told live")
	}
}

// listen reads live events; the result returns a channel that is closed when an email's event
// arrives.
func (h *submissionFixture) listen(t *testing.T) func(id string) <-chan struct{} {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", h.url+"/live", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+h.api.key)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET /live: %s", res.Status)
	}
	var mu sync.Mutex
	var text string
	changed := make(chan struct{}, 100)
	go func() {
		defer res.Body.Close()
		b := make([]byte, 4096)
		for {
			n, err := res.Body.Read(b)
			mu.Lock()
			text += string(b[:n])
			mu.Unlock()
			changed <- struct{}{}
			if err != nil {
				return
			}
		}
	}()
	return func(id string) <-chan struct{} {
		found := make(chan struct{})
		go func() {
			for range changed {
				mu.Lock()
				seen := strings.Contains(text, id)
				mu.Unlock()
				if seen {
					close(found)
					return
				}
			}
		}()
		return found
	}
}
