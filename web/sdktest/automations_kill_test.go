package sdktest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// automationWait bounds the time until all runs are over.
const automationWait = 3 * time.Minute

// runsToKill is an automation with two mails and a pause, and the events that were accepted.
type runsToKill struct {
	id     string
	people int
	sent   atomic.Int64
}

// newRunsToKill makes and enables the automation.
func newRunsToKill(t *testing.T, api client, people int) *runsToKill {
	t.Helper()
	var template, made struct{ ID string }
	status, body := api.do(t, "POST", "/templates", map[string]any{"name": "Series", "subject": "Hello", "from": "News <series@example.test>", "html": "<p>Hello</p>"})
	if status/100 != 2 || json.Unmarshal(body, &template) != nil {
		t.Fatalf("POST /templates: %d %s", status, body)
	}
	if status, body = api.do(t, "POST", "/templates/"+template.ID+"/publish", nil); status != http.StatusOK {
		t.Fatalf("publish: %d %s", status, body)
	}
	mail := map[string]any{"template": map[string]any{"id": template.ID}}
	step := func(key, kind string, config map[string]any) map[string]any {
		return map[string]any{"key": key, "type": kind, "config": config}
	}
	status, body = api.do(t, "POST", "/automations", map[string]any{"name": "Series", "status": "enabled",
		"steps": []any{step("start", "trigger", map[string]any{"event_name": "signed_up"}), step("one", "send_email", mail), step("pause", "delay", map[string]any{"duration": "1 second"}),
			step("note", "contact_update", map[string]any{"properties": map[string]any{"seen": "yes"}}), step("two", "send_email", mail)},
		"connections": []any{map[string]any{"from": "start", "to": "one"}, map[string]any{"from": "one", "to": "pause"}, map[string]any{"from": "pause", "to": "note"}, map[string]any{"from": "note", "to": "two"}}})
	if status != http.StatusCreated || json.Unmarshal(body, &made) != nil {
		t.Fatalf("POST /automations: %d %s", status, body)
	}
	return &runsToKill{id: made.ID, people: people}
}

// start sends an event of each person, again and again until it is accepted: the automation starts once for each.
func (r *runsToKill) start(t *testing.T, api client, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; n < r.people && ctx.Err() == nil; n++ {
			for ctx.Err() == nil {
				status, _, err := api.try("POST", "/events/send", map[string]any{"event": "signed_up", "email": fmt.Sprintf("person-%d@example.com", n)})
				if err == nil && status == http.StatusAccepted {
					r.sent.Add(1)
					break
				}
				pause(ctx, 20*time.Millisecond)
			}
			pause(ctx, every)
		}
	})
	return func() { cancel(); wg.Wait() }
}

// wait waits until each person got both mails, and checks that nobody got one twice unless its outcome was in doubt.
func (r *runsToKill) wait(t *testing.T, api client, relays []*sink, doubts func() map[string]int) {
	t.Helper()
	var report struct{ Started, Running, Completed, Failed, Cancelled int }
	eventually(t, automationWait, "all runs are over", func() (bool, string) {
		api.get(t, "/automations/"+r.id+"/report", &report)
		return int(r.sent.Load()) == r.people && report.Completed == r.people, fmt.Sprintf("%d of %d events accepted; %+v", r.sent.Load(), r.people, report)
	})
	mails := map[string]int{}
	count := func() (total int) {
		clear(mails)
		for _, relay := range relays {
			for _, m := range relay.matching(func(*message) bool { return true }) {
				for _, to := range m.To {
					mails[to]++
					total++
				}
			}
		}
		return total
	}
	eventually(t, automationWait, "all mails have left", func() (bool, string) {
		total := count()
		return total >= 2*r.people, fmt.Sprintf("%d mails", total)
	})
	total, twice := 0, 0
	for n := range r.people {
		to := fmt.Sprintf("person-%d@example.com", n)
		if mails[to] < 2 {
			t.Errorf("%s got %d mails, want 2", to, mails[to])
		}
		total += mails[to]
		twice += max(mails[to]-2, 0)
	}
	listed := doubts()
	if twice > len(listed) {
		t.Errorf("%d mails were sent twice, and %d are listed as doubts", twice, len(listed))
	}
	t.Logf("%d runs, %d mails, %d of them twice, %d doubts", report.Completed, total, twice, len(listed))
	if report.Started != r.people || report.Running != 0 || report.Failed != 0 || report.Cancelled != 0 {
		t.Errorf("%+v", report)
	}
}

// TestKillDuringAutomations kills the server again and again while runs send mails. Each step is done once: each
// person gets both mails, and only a mail whose outcome is in doubt leaves twice.
func TestKillDuringAutomations(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{dotDelay: 5 * time.Millisecond})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	rounds := killCount()
	r := newRunsToKill(t, api, 20*rounds)
	stop := r.start(t, api, time.Duration(rounds)*time.Second/time.Duration(r.people))
	for range rounds {
		afterRandom(time.Second)
		in.kill(t)
		in.serve(t)
	}
	t.Logf("%d kills", rounds)
	r.wait(t, api, []*sink{relay}, func() map[string]int { return doubtCounts(t, in) })
	stop()
	in.checkFiles(t)
}

// TestPostgresKillDuringAutomations kills one of two servers on PostgreSQL again and again, alternately the one
// that leads.
func TestPostgresKillDuringAutomations(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p := &pair{shares: true}
	onOne(t, p, "")
	rounds := min(cmp.Or(*takeovers, 3), 10)
	r := newRunsToKill(t, p.api, 20*rounds)
	stop := r.start(t, p.api, time.Duration(rounds)*5*time.Second/time.Duration(r.people))
	for round := range rounds {
		afterRandom(2 * time.Second)
		n, led := p.victim(t, round)
		killed := time.Now()
		p.nodes[n].kill(t)
		if led {
			p.waitTakeOver(t, 1-n, killed)
		}
		p.again(t, n)
	}
	t.Logf("%d kills", rounds)
	r.wait(t, p.api, p.relays[:], func() map[string]int { return doubtCounts(t, p.nodes[p.working()]) })
	stop()
}
