package sdktest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// noticing bounds how long a server takes to react to a moved clock.
const noticing = time.Minute

// The longest delays between two attempts.
const (
	longestMailDelay    = 8 * time.Hour * 12 / 10
	longestWebhookDelay = 24 * time.Hour
)

// clockStorm returns a load test with a movable clock that is wrong by off from the start.
func clockStorm(t *testing.T, relay *sink, options string, off time.Duration, args ...string) (*loadTest, *clock) {
	t.Helper()
	in := newInstance(t, append([]string{"--relay", "smtp://" + relay.addr + "?tls=off&timeout=5s" + options,
		"--rate-limit", "0", "--doubt-delay", "2s", "--webhook-allow", "127.0.0.0/8"}, args...)...)
	c := movableClock(in)
	c.step(t, off)
	in.serve(t)
	return newLoadTest(t, in, relay), c
}

// evidence gathers without the day's numbers: the server's day is another.
func (s *loadTest) evidence(t *testing.T, within time.Duration) evidence {
	t.Helper()
	e := s.ledger.gather(t, s.in, s.api, s.relay, within, 0)
	e.counts = slices.DeleteFunc(e.counts, func(c count) bool { return strings.Contains(c.what, "today") })
	return e
}

// TestClockIsSetBack: a machine starts with its clock three years ahead while the relay and an
// endpoint are down; mail is accepted, deferred and tried meanwhile. After the clock is set right,
// mail that was not tried leaves immediately, and retries take place within the longest delay.
func TestClockIsSetBack(t *testing.T) {
	part(t, "clocks")
	t.Parallel()
	const ahead = 3 * 365 * 24 * time.Hour
	relay := newSink(t, sinkOptions{})
	var healed atomic.Bool
	wrong := behaviour{rcpt: func(to string) error {
		if strings.HasPrefix(to, "later") && !healed.Load() {
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later"}
		}
		return nil
	}}
	relay.set(wrong)
	s, c := clockStorm(t, relay, "", ahead)
	errs := deadHook(t, s.api, &healed)
	s.post(t, "later", nil)
	s.api.waitEvent(t, s.ledger.idOf("later"), time.Minute, "deferred")
	relay.set(scripted("", "421 4.3.2 closed for now"))
	for i := range 40 {
		s.post(t, fmt.Sprintf("ahead-%d", i), nil)
	}
	due := s.post(t, "at-its-time", map[string]any{"scheduled_at": c.now().Add(time.Hour).UTC().Format(time.RFC3339)})
	eventually(t, time.Minute, "the endpoint was tried", func() (bool, string) { return errs.Load() > 0, "" })
	c.step(t, -ahead)
	relay.set(wrong)
	healed.Store(true)

	tries := errs.Load()
	relay.wait(t, 40, noticing, func(m *message) bool { return strings.HasPrefix(m.header("Subject"), "ahead-") })
	s.post(t, "with-the-right-clock", nil)
	relay.wait(t, 1, time.Minute, subjectIs("with-the-right-clock"))
	checkPacemaker(t, s)
	s.ledger.wantProblem(t, s.evidence(t, 0), stuck) // control: the deferred email waits
	c.step(t, longestMailDelay)
	relay.wait(t, 1, noticing, subjectIs("later"))
	c.step(t, longestWebhookDelay-longestMailDelay)
	eventually(t, noticing, "the endpoint hears of it again", func() (bool, string) {
		return errs.Load() > tries, fmt.Sprintf("%d tries", errs.Load())
	})
	if got := s.api.email(t, due).LastEvent; got != "scheduled" || relay.here("at-its-time") > 0 {
		t.Errorf("what is scheduled for three years from now is %s", got)
	}
	c.step(t, ahead+time.Hour-longestWebhookDelay)
	s.ledger.wantNoProblems(t, s.evidence(t, noticing))
}

// checkPacemaker fails the test unless the jobs that run every so often still do: one
// of them notes when a key was last used.
func checkPacemaker(t *testing.T, s *loadTest) {
	t.Helper()
	late := client{s.in.url, s.in.run(t, "keys", "create", "--permission", "full_access", "--name", "late")}
	eventually(t, noticing, "the use of a key is noted", func() (bool, string) {
		var keys struct {
			Data []struct {
				Name       string
				LastUsedAt *string `json:"last_used_at"`
			}
		}
		late.get(t, "/api-keys", &keys)
		for _, k := range keys.Data {
			if k.Name == "late" && k.LastUsedAt != nil {
				return true, ""
			}
		}
		return false, fmt.Sprintf("%+v", keys)
	})
}

// deadHook adds a webhook whose endpoint fails until healed, and counts its attempts.
func deadHook(t *testing.T, api client, healed *atomic.Bool) *atomic.Int64 {
	t.Helper()
	var tries atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tries.Add(1)
		if !healed.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	status, b := api.do(t, "POST", "/webhooks", map[string]any{"endpoint": server.URL, "events": []string{"email.sent", "email.delivery_delayed", "contact.created"}})
	if status != http.StatusCreated {
		t.Fatalf("POST /webhooks: %d %s", status, b)
	}
	if status, b := api.do(t, "POST", "/contacts", map[string]any{"email": "somebody@example.com"}); status != http.StatusCreated {
		t.Fatalf("POST /contacts: %d %s", status, b)
	}
	return &tries
}

// TestStartAfterClockAhead: the clock is put right while the server is down.
func TestStartAfterClockAhead(t *testing.T) {
	part(t, "clocks")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(scripted("", "421 4.3.2 closed for now"))
	s, c := clockStorm(t, relay, "", 30*24*time.Hour)
	for i := range 5 {
		s.post(t, fmt.Sprintf("ahead-%d", i), nil)
	}
	s.in.kill(t)
	c.step(t, -30*24*time.Hour)
	s.in.serve(t)
	relay.set(behaviour{})
	s.ledger.wantNoProblems(t, s.evidence(t, noticing))
}

// TestClockJumpsUnderLoad: the clock jumps ahead, as after a pause of the machine, and back, while
// mail flows at the relay's rate. Scheduled mail leaves at its time by the current clock; the flow
// neither stops nor bursts; used idempotency keys stay used.
func TestClockJumpsUnderLoad(t *testing.T) {
	part(t, "clocks", judged)
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	const rate = 40
	s, c := clockStorm(t, relay, fmt.Sprintf("&rate=%d", rate), 0)
	at := func(d time.Duration) map[string]any {
		return map[string]any{"scheduled_at": time.Now().Add(d).UTC().Format(time.RFC3339)}
	}
	s.post(t, "in-three-hours", at(3*time.Hour))
	s.post(t, "in-fifty-hours", at(50*time.Hour))
	id := s.post(t, "once", nil)
	stop := s.steady(t, time.Second*10/(rate*9))
	jump := func(by time.Duration, here ...string) {
		t.Helper()
		c.step(t, by)
		before := len(relay.messages())
		after(t, 1500*time.Millisecond)
		eventually(t, time.Minute, fmt.Sprintf("mail goes on to leave after a jump by %s", by), func() (bool, string) {
			n, due := len(relay.messages())-before, relay.here(here...)
			return n >= rate/2 && due == len(here), fmt.Sprintf("%d messages, %d that were due", n, due)
		})
		if n := relay.here("in-three-hours", "in-fifty-hours"); n != len(here) || relay.here(here...) != n {
			t.Errorf("after a jump by %s %d of the scheduled emails are here, want %v", by, n, here)
		}
	}
	again := func() {
		t.Helper()
		if got := s.post(t, "once", nil); got != id {
			t.Errorf("the same request again became %s", got)
		}
	}
	jump(2 * time.Hour)
	again()
	jump(-8 * time.Hour)
	again()
	jump(9*time.Hour+5*time.Second, "in-three-hours")
	jump(-3*time.Hour, "in-three-hours")
	jump(50*time.Hour, "in-three-hours", "in-fifty-hours")
	stop()
	s.ledger.wantNoProblems(t, s.evidence(t, time.Minute))
	if n := busiest(relay.arrivals(func(*message) bool { return true }), time.Second); *perf && n > rate*3/2 {
		t.Errorf("%d messages came within a second, the rate is %d", n, rate)
	}
}

// TestRelayDayFollowsClock: a relay accepts ten messages in 24 hours.
func TestRelayDayFollowsClock(t *testing.T) {
	part(t, "clocks")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	s, c := clockStorm(t, relay, "&daily=10", 0)
	send := func(n int, name string) {
		for i := range n {
			s.post(t, fmt.Sprintf("%s-%d", name, i), nil)
		}
	}
	wait := func(n int) {
		t.Helper()
		relay.wait(t, n, noticing, func(*message) bool { return true })
		after(t, 2*time.Second)
		if got := len(relay.messages()); got != n {
			t.Errorf("%d messages left, want %d", got, n)
		}
	}
	send(15, "first")
	wait(10)
	c.step(t, 25*time.Hour) // the machine slept
	wait(15)
	c.step(t, -3*time.Hour) // its clock is put right: the five of the last minute count
	after(t, 12*time.Second)
	send(7, "second")
	wait(20)
	s.ledger.wantProblem(t, s.evidence(t, 0), stuck)
	c.step(t, 24*time.Hour+2*time.Minute)
	wait(22)
	s.ledger.wantNoProblems(t, s.evidence(t, noticing))
}
