package sdktest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// Times of the policy in these tests, and what the promises add to them.
const (
	switchAfter   = 10 * time.Second
	returnAfter   = 10 * time.Second
	switchPromise = switchAfter + 10*time.Second
	returnPromise = returnAfter + 30*time.Second
)

// reserved is a server whose only region has a primary and a reserve.
type reserved struct {
	*loadTest
	primary, reserve *sink // the primary is also relay of the loadTest
}

// newReserved starts a server. primary is the URL of the relay first; policy are further flags of
// mailer relays failover.
func newReserved(t *testing.T, first *sink, primary string, policy ...string) *reserved {
	t.Helper()
	second := newSink(t, sinkOptions{})
	second.set(behaviour{dotDelay: 15 * time.Millisecond})
	in := startBare(t, "--relay", primary, "--relay", "us-east-1/second="+relayURL(second), "--doubt-delay", "2s", "--rate-limit", "0", "--log-format", "json")
	in.failover(t, policy...)
	return &reserved{newLoadTest(t, in, first), first, second}
}

func (in *instance) failover(t *testing.T, more ...string) {
	t.Helper()
	in.run(t, append([]string{"relays", "failover", "us-east-1", "auto", "--after", switchAfter.String(), "--back-after", returnAfter.String()}, more...)...)
}

func relayURL(s *sink) string {
	return fmt.Sprintf("smtp://%s?tls=off&connections=%d&timeout=2s", s.addr, killConnections)
}

// active is the relay through which mail leaves, as relays list says.
func (in *instance) active(t *testing.T) string {
	t.Helper()
	for _, row := range rows(t, in.run(t, "relays", "list", "--json")) {
		if active, ok := row["active"].(string); ok {
			return active
		}
	}
	return ""
}

// waitSwitch waits until mail that arrived at a relay since a moment shows that it carries mail.
func waitSwitch(t *testing.T, to *sink, since time.Time, promise time.Duration) (took time.Duration) {
	t.Helper()
	eventually(t, promise+30*time.Second, "mail leaves through the other relay", func() (bool, string) {
		for _, m := range to.messages() {
			if m.At.After(since) {
				took = m.At.Sub(since)
				return true, ""
			}
		}
		return false, ""
	})
	return took
}

// waitReturn waits until a relay carries mail again, beside the few messages in doubt that leave
// through it before.
func waitReturn(t *testing.T, to *sink, since time.Time) (took time.Duration) {
	t.Helper()
	const inDoubt = 4 * killConnections
	before := to.count()
	eventually(t, returnPromise+30*time.Second, "mail leaves through the primary again", func() (bool, string) {
		took = time.Since(since)
		return to.count() > before+inDoubt, ""
	})
	return took
}

// evidence gathers what arrived at both relays and adds doubles that crossed from one to the other.
func (s *reserved) evidence(t *testing.T, within time.Duration, maxDoubts int) (evidence, []string) {
	t.Helper()
	e := s.ledger.gather(t, s.in, s.api, s.primary, within, maxDoubts)
	e.arrived = append(s.primary.messages(), s.reserve.messages()...)
	return e, crossed(s.primary, s.reserve)
}

// crossed returns the marks that arrived at both relays.
func crossed(a, b *sink) (both []string) {
	at := map[string]bool{}
	for _, m := range a.messages() {
		at[m.header("Subject")] = true
	}
	for _, m := range b.messages() {
		if mark := m.header("Subject"); at[mark] {
			both = append(both, mark)
		}
	}
	return both
}

// deadRelay closes each connection immediately.
var deadRelay = behaviour{conn: func(net.Conn) {}}

// deaths are ways in which a primary dies while it has mail in work.
var deaths = []fault{
	{name: "port closed", broken: deadRelay},
	{name: "black hole", broken: scripted("", silence)},
	{name: "TLS broken", starttls: true, broken: scripted("STARTTLS", "454 4.7.0 TLS not available", "STARTTLS")}, // a session of the former certificate would be resumed
	{name: "wrong password", secure: true, broken: scripted("AUTH", "535 5.7.8 bad credentials", "AUTH PLAIN LOGIN")},
	{name: "421 to all", broken: scripted("", "421 4.3.2 closed for now")},
	{name: "5xx to all", broken: scripted("MAIL", "550 5.7.1 not you")},
}

// TestPrimaryDies: the primary dies under 200 messages a second, each way, and comes back.
func TestPrimaryDies(t *testing.T) {
	part(t, "failover")
	for _, f := range deaths {
		t.Run(f.name, func(t *testing.T) {
			ca := newAuthority(t)
			primary, address := f.relay(t, ca)
			f.heal(t, primary, ca)
			primary.set(behaviour{dotDelay: 15 * time.Millisecond})
			s := newReserved(t, primary, address+"&connections=4")
			stop := s.steady(t, 5*time.Millisecond)
			s.waitAccepted(t, 200)
			primary.set(f.broken)
			died := time.Now()
			primary.drop()
			took := waitSwitch(t, s.reserve, died, switchPromise)
			s.waitAccepted(t, 200)
			f.heal(t, primary, ca)
			healed := time.Now()
			back := waitReturn(t, primary, healed)
			s.waitAccepted(t, 50)
			stop()
			t.Logf("first message through the reserve after %v, back after %v; %d and %d messages", took, back, primary.count(), s.reserve.count())
			if took > switchPromise || back > returnPromise {
				t.Errorf("later than promised: %v, %v", switchPromise, returnPromise)
			}
			e, both := s.evidence(t, 2*time.Minute, 3*killConnections)
			s.ledger.wantNoProblems(t, e)
			if len(both) > 0 {
				t.Errorf("at both relays: %q", both)
			}
		})
	}
}

// TestControlOfFailover: a policy that sends what is in doubt through the reserve shows as doubles
// there.
func TestControlOfFailover(t *testing.T) {
	part(t, "failover")
	primary := newSink(t, sinkOptions{})
	s := newReserved(t, primary, relayURL(primary), "--doubts", "send")
	stop := s.steady(t, 10*time.Millisecond)
	s.waitAccepted(t, 50)
	primary.set(behaviour{dotDelay: time.Hour})
	primary.drop()
	s.waitAccepted(t, 100) // new connections wait for the reply to a dot
	primary.set(deadRelay)
	died := time.Now()
	primary.drop()
	waitSwitch(t, s.reserve, died, switchPromise)
	s.waitAccepted(t, 50)
	stop()
	_, both := s.evidence(t, time.Minute, 1000)
	if len(both) == 0 {
		t.Error("nothing crossed: the test would not see it")
	}
}

// TestKillsDuringSwitch kills the server at random moments while its region switches to and fro.
func TestKillsDuringSwitch(t *testing.T) {
	part(t, "failover", "kills")
	primary := newSink(t, sinkOptions{})
	primary.set(behaviour{dotDelay: 15 * time.Millisecond})
	s := newReserved(t, primary, relayURL(primary))
	stop := s.steady(t, 20*time.Millisecond)
	rounds := 10
	if *killRounds > 0 {
		rounds = *killRounds
	}
	kills := 0
	for round := range rounds {
		s.waitAccepted(t, 20)
		primary.set(deadRelay)
		died := time.Now()
		primary.drop()
		for time.Since(died) < switchAfter-time.Second { // kills do not end the wait: the trouble is met anew
			afterRandom(time.Second)
			if round%2 == 0 && kills <= round {
				break
			}
		}
		afterRandom(2 * time.Second)
		s.in.kill(t)
		s.in.serve(t)
		kills++
		waitSwitch(t, s.reserve, time.Now(), 2*switchPromise)
		primary.set(behaviour{dotDelay: 15 * time.Millisecond})
		afterRandom(time.Second)
		s.in.kill(t)
		s.in.serve(t)
		kills++
		s.in.run(t, "relays", "switch", "us-east-1", "us-east-1")
		s.in.run(t, "relays", "switch", "us-east-1", "--auto")
		waitReturn(t, primary, time.Now())
	}
	stop()
	t.Logf("%d kills, %d and %d messages", kills, primary.count(), s.reserve.count())
	e, both := s.evidence(t, killPatience(), (kills+2*rounds)*killConnections)
	s.ledger.wantNoProblems(t, e)
	if len(both) > 0 {
		t.Errorf("at both relays: %q", both)
	}
}

// TestBothRelaysDown: everything waits, and the first that recovers takes it.
func TestBothRelaysDown(t *testing.T) {
	part(t, "failover")
	primary := newSink(t, sinkOptions{})
	s := newReserved(t, primary, relayURL(primary))
	down := deadRelay
	primary.set(down)
	s.reserve.set(down)
	stop := s.steady(t, 20*time.Millisecond)
	s.waitAccepted(t, 200)
	<-time.After(switchPromise)
	stop()
	if primary.count()+s.reserve.count() > 0 {
		t.Fatal("mail left through a relay that was down")
	}
	s.reserve.set(behaviour{})
	healed := time.Now()
	took := waitSwitch(t, s.reserve, healed, switchPromise)
	t.Logf("the reserve took it after %v", took)
	e, both := s.evidence(t, 2*time.Minute, 0)
	s.ledger.wantNoProblems(t, e)
	if len(both) > 0 || primary.count() > 0 {
		t.Errorf("at both relays: %q; %d at the primary", both, primary.count())
	}
}

// TestRefusedDomainKeepsRelay: a primary that refuses one team's domain is no reason to switch while
// it takes the mail of another one.
func TestRefusedDomainKeepsRelay(t *testing.T) {
	part(t, "failover")
	primary := newSink(t, sinkOptions{})
	s := newReserved(t, primary, relayURL(primary))
	s.in.addDomain(t, "blocked.test")
	primary.set(behaviour{mail: func(from string) error {
		if strings.Contains(from, "blocked.test") {
			return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "this domain is blocked"}
		}
		return nil
	}})
	stop := s.steady(t, 50*time.Millisecond)
	for n := range 20 {
		s.api.send(t, map[string]any{"from": "a@blocked.test", "to": "b@example.com", "subject": fmt.Sprint("blocked ", n), "text": "hello"})
		<-time.After(time.Second)
	}
	stop()
	if got := s.in.active(t); got != "us-east-1" || s.reserve.count() > 0 {
		t.Errorf("mail leaves through %s; %d at the reserve", got, s.reserve.count())
	}
}

// TestTwoServersSwitchTogether: two servers on one PostgreSQL agree within seconds.
func TestTwoServersSwitchTogether(t *testing.T) {
	part(t, "failover", "postgres")
	pg := newPostgres(t)
	pg.database(t, "mailer")
	primary, reserve := newSink(t, sinkOptions{}), newSink(t, sinkOptions{})
	primary.set(behaviour{dotDelay: 15 * time.Millisecond})
	reserve.set(behaviour{dotDelay: 15 * time.Millisecond})
	p := &pair{shares: true, pg: pg}
	p.fit = func(n int, in *instance) {
		at := slices.Index(in.args, "--relay")
		in.args[at+1] = relayURL(primary)
		in.args = append(in.args, "--relay", "us-east-1/second="+relayURL(reserve))
	}
	url := urlOf("mailer", pg.addr)
	startPair(t, p, "", []string{url, url})
	p.relays = [2]*sink{primary, reserve}
	p.nodes[0].failover(t)
	stop := p.start(t)
	p.waitAccepted(t, 100)
	primary.set(deadRelay)
	died := time.Now()
	primary.drop()
	took := waitSwitch(t, reserve, died, switchPromise)
	p.waitAccepted(t, 100)
	var states []string
	for _, in := range p.nodes {
		states = append(states, in.active(t))
	}
	primary.set(behaviour{dotDelay: 15 * time.Millisecond})
	healed := time.Now()
	back := waitReturn(t, primary, healed)
	settled := time.Now().Add(5 * time.Second)
	<-time.After(10 * time.Second)
	stop()
	for _, m := range reserve.messages() {
		if m.At.After(settled) {
			t.Error("a server used the reserve 5 s after the other one had returned")
			break
		}
	}
	t.Logf("through the reserve after %v, back after %v; active %q", took, back, states)
	e := p.ledger.gather(t, p.nodes[0], p.api, primary, 2*time.Minute, 6*killConnections)
	e.arrived = append(primary.messages(), reserve.messages()...)
	p.ledger.wantNoProblems(t, e)
}
