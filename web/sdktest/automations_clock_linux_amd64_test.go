package sdktest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// TestAutomationsFollowClock moves the clock of a running server over ends of pauses, changes to and from summer time,
// and birthdays on a leap day, and back. No mail leaves early, and none twice.
func TestAutomationsFollowClock(t *testing.T) {
	part(t, "clocks")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := newInstance(t, "--relay", "smtp://"+relay.addr+"?tls=off", "--rate-limit", "0")
	c := movableClock(in)
	to := func(moment string) {
		t.Helper()
		at, err := time.Parse(time.RFC3339, moment)
		must(t, err)
		c.step(t, at.Sub(c.now()))
	}
	to("2027-02-26T12:00:00Z")
	in.serve(t)
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	ask := func(path string, body map[string]any) string {
		t.Helper()
		var made struct{ ID string }
		if status, b := api.do(t, "POST", path, body); status/100 != 2 || json.Unmarshal(b, &made) != nil {
			t.Fatalf("POST %s: %d %s", path, status, b)
		}
		return made.ID
	}
	mail := func(subject string) map[string]any {
		id := ask("/templates", map[string]any{"name": subject, "subject": subject, "from": "a@example.test", "html": "x"})
		ask("/templates/"+id+"/publish", nil)
		return map[string]any{"key": "mail", "type": "send_email", "config": map[string]any{"template": map[string]any{"id": id}, "transactional": true}}
	}
	automation := func(name string, trigger map[string]any, pauses ...any) (id string) {
		steps := append([]any{map[string]any{"key": "start", "type": "trigger", "config": trigger}}, pauses...)
		steps = append(steps, mail(name))
		var connections []any
		for i := range len(steps) - 1 {
			connections = append(connections, map[string]any{"from": steps[i].(map[string]any)["key"], "to": steps[i+1].(map[string]any)["key"]})
		}
		return ask("/automations", map[string]any{"name": name, "status": "enabled", "steps": steps, "connections": connections, "re_entry": map[string]any{"mode": "always"}})
	}
	ids, started := map[string]string{}, map[string]int{} // by event
	ids["go"] = automation("half past two", map[string]any{"event_name": "go"}, map[string]any{"key": "until", "type": "wait_until", "config": map[string]any{"hour": 2, "minute": 30, "time_zone": "Europe/Berlin"}})
	ids["wait"] = automation("two days", map[string]any{"event_name": "wait"}, map[string]any{"key": "pause", "type": "delay", "config": map[string]any{"duration": "2 days"}})
	automation("birthday", map[string]any{"event_name": "mailer:date", "property": "birthday", "hour": 9, "yearly": true})
	person := func(email, event string, properties map[string]any) {
		t.Helper()
		ask("/contacts", map[string]any{"email": email, "properties": properties})
		if event == "" {
			return
		}
		ask("/events/send", map[string]any{"event": event, "email": email})
		started[event]++
		eventually(t, time.Minute, "the run of "+email+" starts before the clock moves", func() (bool, string) {
			var report struct{ Started int }
			api.get(t, "/automations/"+ids[event]+"/report", &report)
			return report.Started == started[event], fmt.Sprint(report.Started, " runs started")
		})
	}
	here := map[string]int{}
	// want waits until the mails of here have left, and checks that no others have.
	want := func(moment string) {
		t.Helper()
		got := func() map[string]int {
			n := map[string]int{}
			for _, m := range relay.matching(func(*message) bool { return true }) {
				n[m.header("Subject")+" to "+m.To[0]]++
			}
			return n
		}
		eventually(t, 3*time.Minute, "the mails that are due at "+moment+" leave", func() (bool, string) {
			n := got()
			for what, times := range here {
				if n[what] < times {
					return false, fmt.Sprint(what, " is missing: ", n)
				}
			}
			return true, ""
		})
		after(t, 12*time.Second) // longer than a step of the clock needs to be noticed
		for what, n := range got() {
			if n != here[what] {
				t.Errorf("at %s: %s left %d times, want %d", moment, what, n, here[what])
			}
		}
	}
	at := func(moment string, left ...string) {
		t.Helper()
		to(moment)
		for _, what := range left {
			here[what]++
		}
		want(moment)
	}

	person("leap@example.com", "", map[string]any{"birthday": "2000-02-29"})
	person("winter@example.com", "go", nil)
	person("pause@example.com", "wait", nil)
	at("2027-02-27T01:28:00Z")
	at("2027-02-27T01:30:01Z", "half past two to winter@example.com")
	at("2027-02-26T01:00:00Z") // the clock was wrong
	at("2027-02-28T08:58:00Z")
	at("2027-02-28T09:00:01Z", "birthday to leap@example.com")
	at("2027-02-28T12:30:00Z", "two days to pause@example.com")
	at("2027-03-01T09:00:01Z")

	to("2027-03-27T12:00:00Z")
	person("spring@example.com", "go", nil)
	at("2027-03-28T00:58:00Z")
	at("2027-03-28T01:00:01Z", "half past two to spring@example.com") // 02:30 does not exist, the next time is 03:00
	to("2027-10-30T12:00:00Z")
	person("autumn@example.com", "go", nil)
	at("2027-10-31T00:28:00Z")
	at("2027-10-31T00:30:01Z", "half past two to autumn@example.com") // the first of two
	at("2027-10-31T01:30:01Z")

	at("2028-02-28T09:00:01Z")
	at("2028-02-29T08:58:00Z")
	at("2028-02-29T09:00:01Z", "birthday to leap@example.com")
}
