package automation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// flowOf returns a checked flow of a trigger and further steps, each "key type {config}", and connections,
// each "from to" or "from to type". Without connections each step leads to the next by default.
func flowOf(t *testing.T, steps []string, connections ...string) *Flow {
	t.Helper()
	in := app.AutomationFlow{Steps: []app.AutomationStep{{Key: "start", Type: app.StepTrigger, Config: jsontext.Value(`{"event_name":"signed_up"}`)}}}
	for _, s := range steps {
		p := strings.SplitN(s, " ", 3)
		if len(p) == 2 {
			p = append(p, "{}")
		}
		in.Steps = append(in.Steps, app.AutomationStep{Key: p[0], Type: app.StepType(p[1]), Config: jsontext.Value(p[2])})
	}
	if connections == nil {
		for i := 1; i < len(in.Steps); i++ {
			connections = append(connections, in.Steps[i-1].Key+" "+in.Steps[i].Key)
		}
	}
	for _, c := range connections {
		p := append(strings.Fields(c), "")
		in.Connections = append(in.Connections, app.AutomationConnection{From: p[0], To: p[1], Type: app.ConnectionType(p[2])})
	}
	flow, err := Parse(&in)
	if err != nil {
		t.Fatal(err)
	}
	return flow
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

// event returns an event of "name time payload".
func event(t *testing.T, text string) WalkEvent {
	t.Helper()
	p := strings.SplitN(text, " ", 3)
	e := WalkEvent{Name: p[0], At: at(t, p[1])}
	if len(p) == 3 {
		e.Payload = jsontext.Value(p[2])
	}
	return e
}

// shown returns a path as "key status time [output]" per step, then status and reason of the run. A step
// that waits has no time.
func shown(p *Path) string {
	var b strings.Builder
	for _, s := range p.Steps[1:] {
		fmt.Fprintf(&b, "%s %s", s.Key, s.Status)
		if !s.CompletedAt.IsZero() {
			fmt.Fprintf(&b, " %s", s.CompletedAt.UTC().Format("01-02T15:04"))
		}
		b.WriteString("; ")
	}
	fmt.Fprintf(&b, "%s %s", p.Status, p.Reason)
	return strings.TrimSpace(b.String())
}

const (
	mail1   = `mail send_email {"template":{"id":"t"}}`
	mail2   = `mail2 send_email {"template":{"id":"t"}}`
	topicA  = "0190a000-0000-7000-8000-00000000000a"
	segment = "0190a000-0000-7000-8000-00000000000b"
)

func TestWalkFollowsTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, zone, at string
		step           string
		want           string
	}{
		{"delay of days is a span, not a local time", "Europe/Berlin", "2026-03-28T09:00:00Z", `d delay {"duration":"1 day"}`, "03-29T09:00"},
		{"delay over the leap day", "UTC", "2028-02-28T10:00:00Z", `d delay {"duration":"2 days"}`, "03-01T10:00"},
		{"delay without a leap day", "UTC", "2027-02-28T10:00:00Z", `d delay {"duration":"2 days"}`, "03-02T10:00"},
		{"hour today", "Europe/Berlin", "2026-06-01T06:00:00Z", `d wait_until {"hour":9}`, "06-01T07:00"},
		{"hour that is now", "Europe/Berlin", "2026-06-01T07:00:00Z", `d wait_until {"hour":9}`, "06-01T07:00"},
		{"hour tomorrow", "Europe/Berlin", "2026-06-01T07:00:01Z", `d wait_until {"hour":9}`, "06-02T07:00"},
		{"hour across the change to summer time", "Europe/Berlin", "2026-03-28T12:00:00Z", `d wait_until {"hour":9}`, "03-29T07:00"},
		{"hour across the change to winter time", "Europe/Berlin", "2026-10-24T12:00:00Z", `d wait_until {"hour":9}`, "10-25T08:00"},
		{"hour that does not exist", "Europe/Berlin", "2026-03-28T12:00:00Z", `d wait_until {"hour":2,"minute":30}`, "03-29T01:00"},
		{"hour that exists twice", "Europe/Berlin", "2026-10-24T12:00:00Z", `d wait_until {"hour":2,"minute":30}`, "10-25T00:30"},
		{"hour that exists twice, between both", "Europe/Berlin", "2026-10-25T00:45:00Z", `d wait_until {"hour":2,"minute":30}`, "10-26T01:30"},
		{"weekday", "UTC", "2026-06-01T10:00:00Z", `d wait_until {"hour":9,"weekdays":["friday"]}`, "06-05T09:00"},
		{"weekday that is today, too late", "UTC", "2026-06-05T10:00:00Z", `d wait_until {"hour":9,"weekdays":["friday"]}`, "06-12T09:00"},
		{"zone of the step", "", "2026-06-01T06:00:00Z", `d wait_until {"hour":9,"time_zone":"Asia/Tokyo"}`, "06-02T00:00"},
		{"29 February at an hour", "UTC", "2028-02-28T10:00:00Z", `d wait_until {"hour":9}`, "02-29T09:00"},
	} {
		contact := app.Contact{ID: "1"}
		if c.zone != "" {
			contact.Properties = app.Properties{"time_zone": {Type: app.StringProperty, Text: c.zone}}
		}
		path := Walk(flowOf(t, []string{c.step}), WalkInput{Contact: contact, At: at(t, c.at), Zone: "America/New_York"})
		if got, want := shown(&path), "d completed "+c.want+"; completed"; got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
	}
}

func TestWalkUsesZoneOfTeamWithoutOneOfContact(t *testing.T) {
	t.Parallel()
	flow := flowOf(t, []string{`d wait_until {"hour":9}`})
	for zone, want := range map[string]string{"America/New_York": "d completed 06-01T13:00; completed", "": "d completed 06-01T09:00; completed"} {
		path := Walk(flow, WalkInput{Contact: app.Contact{Properties: app.Properties{"time_zone": {Type: app.StringProperty, Text: "no zone"}}}, At: at(t, "2026-06-01T05:00:00Z"), Zone: zone})
		if got := shown(&path); got != want {
			t.Errorf("zone %q: %s, want %s", zone, got, want)
		}
	}
}

func TestWalkWaitsForEvents(t *testing.T) {
	t.Parallel()
	branches := []string{"start pause", "pause w", "w mail event_received", "w mail2 timeout"}
	steps := []string{`pause delay {"duration":"1 hour"}`, `w wait_for_event {"event_name":"bought","timeout":"1 day","filter_rule":{"type":"rule","field":"event.sum","operator":"gte","value":10}}`, mail1, mail2}
	for _, c := range []struct {
		name, events, want string
	}{
		{"none", "", "pause completed 06-01T11:00; w completed 06-02T11:00; mail2 completed 06-02T11:00; completed"},
		{"in time", `bought 2026-06-01T12:00:00Z {"sum":10}`, "pause completed 06-01T11:00; w completed 06-01T12:00; mail completed 06-01T12:00; completed"},
		{"as the wait begins", `bought 2026-06-01T11:00:00Z {"sum":10}`, "pause completed 06-01T11:00; w completed 06-01T11:00; mail completed 06-01T11:00; completed"},
		{"before the wait", `bought 2026-06-01T10:59:59Z {"sum":10}`, "pause completed 06-01T11:00; w completed 06-02T11:00; mail2 completed 06-02T11:00; completed"},
		{"before the run", `bought 2026-06-01T09:00:00Z {"sum":10}`, "pause completed 06-01T11:00; w completed 06-02T11:00; mail2 completed 06-02T11:00; completed"},
		{"as the wait ends", `bought 2026-06-02T11:00:00Z {"sum":10}`, "pause completed 06-01T11:00; w completed 06-02T11:00; mail2 completed 06-02T11:00; completed"},
		{"another event", `left 2026-06-01T12:00:00Z {"sum":10}`, "pause completed 06-01T11:00; w completed 06-02T11:00; mail2 completed 06-02T11:00; completed"},
		{"not met, then met", "bought 2026-06-01T13:00:00Z {\"sum\":12}\nbought 2026-06-01T12:00:00Z {\"sum\":9}", "pause completed 06-01T11:00; w completed 06-01T13:00; mail completed 06-01T13:00; completed"},
	} {
		in := WalkInput{At: at(t, "2026-06-01T10:00:00Z")}
		for _, e := range strings.Split(c.events, "\n") {
			if e != "" {
				in.Events = append(in.Events, event(t, e))
			}
		}
		path := Walk(flowOf(t, steps, branches...), in)
		if got := shown(&path); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	path := Walk(flowOf(t, []string{`w wait_for_event {"event_name":"bought"}`, mail1}), WalkInput{At: at(t, "2026-06-01T10:00:00Z")})
	if got, want := shown(&path), "w waiting; running"; got != want {
		t.Errorf("without a timeout: %s, want %s", got, want)
	}
	path = Walk(flowOf(t, []string{`w wait_for_event {"event_name":"bought","timeout":"1 day"}`, `c condition {"type":"rule","field":"wait_events.w.sum","operator":"eq","value":3}`, mail1}, "start w", "w c", "c mail condition_met"),
		WalkInput{At: at(t, "2026-06-01T10:00:00Z"), Events: []WalkEvent{event(t, `bought 2026-06-01T12:00:00Z {"sum":3}`)}})
	if got, want := shown(&path), "w completed 06-01T12:00; c completed 06-01T12:00; mail completed 06-01T12:00; completed"; got != want {
		t.Errorf("payload of the awaited event: %s, want %s", got, want)
	}
}

func TestWalkEndsAtGoalWhereverItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, event, want string
		connections       []string
	}{
		{"none", "left 2026-06-01T12:00:00Z", "d completed 06-02T10:00; w completed 06-03T10:00; mail completed 06-03T10:00; completed", nil},
		{"in a delay", "bought 2026-06-01T12:00:00Z", "d skipped 06-01T12:00; completed goal", nil},
		{"in a wait for another event", "bought 2026-06-02T12:00:00Z", "d completed 06-02T10:00; w skipped 06-02T12:00; completed goal", nil},
		{"after the end", "bought 2026-06-03T12:00:00Z", "d completed 06-02T10:00; w completed 06-03T10:00; mail completed 06-03T10:00; completed", nil},
		{"before the run", "bought 2026-05-03T12:00:00Z", "d completed 06-02T10:00; w completed 06-03T10:00; mail completed 06-03T10:00; completed", nil},
		{"as a step, passed before", "bought 2026-06-02T12:00:00Z", "g completed 06-01T10:00; d completed 06-02T10:00; w skipped 06-02T12:00; completed goal", []string{"start g", "g d", "d w", "w mail"}},
		{"as a step, not reached", "bought 2026-06-01T12:00:00Z", "d skipped 06-01T12:00; completed goal", []string{"start d", "d w", "w g", "g mail"}},
	} {
		connections := c.connections
		if connections == nil {
			connections = []string{"start d", "d w", "w mail"}
		}
		flow := flowOf(t, []string{`d delay {"duration":"1 day"}`, `w wait_for_event {"event_name":"visited","timeout":"1 day"}`, mail1, `g goal {"event_name":"bought"}`}, connections...)
		path := Walk(flow, WalkInput{At: at(t, "2026-06-01T10:00:00Z"), Events: []WalkEvent{event(t, c.event)}})
		if got := shown(&path); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	flow := flowOf(t, []string{`a add_to_segment {"segment_id":"` + segment + `"}`, mail1, `g goal {"segment_id":"` + segment + `"}`}, "start a", "a mail")
	path := Walk(flow, WalkInput{At: at(t, "2026-06-01T10:00:00Z")})
	if got, want := shown(&path), "a completed 06-01T10:00; completed goal"; got != want {
		t.Errorf("a step that adds to the segment: %s, want %s", got, want)
	}
	path = Walk(flow, WalkInput{At: at(t, "2026-06-01T10:00:00Z"), Segments: []string{segment}})
	if got, want := shown(&path), "completed goal"; got != want {
		t.Errorf("in the segment before: %s, want %s", got, want)
	}
	flow = flowOf(t, []string{`o set_topic {"topic_id":"` + topicA + `","subscription":"opt_in"}`, mail1, `g goal {"event_name":"mailer:contact.opt_in"}`}, "start o", "o mail")
	path = Walk(flow, WalkInput{At: at(t, "2026-06-01T10:00:00Z")})
	if got, want := shown(&path), "o completed 06-01T10:00; mail skipped 06-01T10:00; completed goal"; got != want {
		t.Errorf("a step that opts in: %s, want %s", got, want)
	}
}

func TestWalkSeesChangesOfContact(t *testing.T) {
	t.Parallel()
	text := func(s string) app.PropertyValue { return app.PropertyValue{Type: app.StringProperty, Text: s} }
	optedOut := map[string]app.AddressSubscription{topicA: {Topic: "News", Subscription: app.OptOut, Explicit: true}}
	for _, c := range []struct {
		name, change, rule string
		contact            app.Contact
		topics             map[string]app.AddressSubscription
		met                bool
		output             string
	}{
		{"name", `c contact_update {"first_name":"Ann"}`, `"field":"contact.first_name","operator":"eq","value":"Ann"`, app.Contact{}, nil, true, `{"first_name":"Ann"}`},
		{"name from the event", `c contact_update {"first_name":{"var":"event.name"}}`, `"field":"contact.first_name","operator":"eq","value":"Eve"`, app.Contact{}, nil, true, `{"first_name":"Eve"}`},
		{"name cleared", `c contact_update {"first_name":null}`, `"field":"contact.first_name","operator":"exists"`, app.Contact{FirstName: "Ann"}, nil, false, `{"first_name":""}`},
		{"property", `c contact_update {"properties":{"plan":"pro"}}`, `"field":"contact.plan","operator":"eq","value":"pro"`, app.Contact{Properties: app.Properties{"plan": text("free")}}, nil, true, `{}`},
		{"number", `c contact_update {"properties":{"age":42}}`, `"field":"contact.age","operator":"gt","value":41`, app.Contact{}, nil, true, `{}`},
		{"property removed", `c contact_update {"properties":{"plan":null}}`, `"field":"contact.plan","operator":"exists"`, app.Contact{Properties: app.Properties{"plan": text("free")}}, nil, false, `{}`},
		{"unsubscribed", `c contact_update {"unsubscribed":true}`, `"field":"contact.unsubscribed","operator":"eq","value":true`, app.Contact{}, nil, true, `{"unsubscribed":true}`},
		{"not subscribed again", `c contact_update {"unsubscribed":false}`, `"field":"contact.unsubscribed","operator":"eq","value":true`, app.Contact{Unsubscribed: true}, nil, true, `{"resubscribe_ignored":true}`},
		{"not opted in again", `c set_topic {"topic_id":"` + topicA + `","subscription":"opt_in"}`, `"field":"contact.unsubscribed","operator":"eq","value":true`, app.Contact{}, optedOut, false, `{"resubscribe_ignored":true,"subscription":"opt_in","topic_id":"` + topicA + `"}`},
	} {
		flow := flowOf(t, []string{c.change, `if condition {"type":"rule",` + c.rule + `}`, mail1}, "start c", "c if", "if mail condition_met")
		path := Walk(flow, WalkInput{Contact: c.contact, Topics: c.topics, At: at(t, "2026-06-01T10:00:00Z"), Event: jsontext.Value(`{"name":"Eve"}`), Types: map[string]app.PropertyType{"age": app.NumberProperty}})
		if got := path.Steps[len(path.Steps)-1].Key == "mail"; got != c.met || path.Status != app.RunCompleted {
			t.Errorf("%s: %s, condition met %v, want %v", c.name, shown(&path), got, c.met)
		}
		if got := string(path.Steps[1].Output); got != c.output {
			t.Errorf("%s: output %s, want %s", c.name, got, c.output)
		}
	}
	if optedOut[topicA].Subscription != app.OptOut {
		t.Error("the walk changed its input")
	}
}

func TestWalkSkipsMailWithoutConsent(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T10:00:00Z")
	ofTopic := `mail send_email {"template":{"id":"t"},"topic_id":"` + topicA + `"}`
	transactional := `mail send_email {"template":{"id":"t"},"transactional":true}`
	topics := func(s app.Subscription, explicit bool) map[string]app.AddressSubscription {
		return map[string]app.AddressSubscription{topicA: {Topic: "News", Subscription: s, Explicit: explicit}}
	}
	bounced := &app.Suppression{Origin: app.OriginBounce, CreatedAt: start}
	left := &app.Suppression{Origin: app.OriginUnsubscribe, CreatedAt: start}
	for _, c := range []struct {
		name, step  string
		in          WalkInput
		exit        bool
		want, cause string
	}{
		{"plain", mail1, WalkInput{}, false, "completed", ""},
		{"unsubscribed", mail1, WalkInput{Contact: app.Contact{Unsubscribed: true}}, false, "skipped", "the contact is unsubscribed from everything"},
		{"unsubscribed, and the run ends", mail1, WalkInput{Contact: app.Contact{Unsubscribed: true}}, true, "cancelled", "the contact is unsubscribed from everything"},
		{"unsubscribed from mail without consent", transactional, WalkInput{Contact: app.Contact{Unsubscribed: true}}, true, "completed", ""},
		{"opted out", ofTopic, WalkInput{Topics: topics(app.OptOut, true)}, false, "skipped", "opted out of the topic News"},
		{"never opted in", ofTopic, WalkInput{Topics: topics(app.OptOut, false)}, true, "cancelled", "never opted in to the topic News, which is sent only to those who do"},
		{"opted in", ofTopic, WalkInput{Topics: topics(app.OptIn, true)}, true, "completed", ""},
		{"opted out of another topic", mail1, WalkInput{Topics: topics(app.OptOut, true)}, true, "completed", ""},
		{"bounced", mail1, WalkInput{Suppression: bounced}, true, "skipped", "the address is on the suppression list since 2026-06-01T10:00:00.000Z (origin bounce)"},
		{"bounced, transactional", transactional, WalkInput{Suppression: bounced}, true, "skipped", "the address is on the suppression list since 2026-06-01T10:00:00.000Z (origin bounce)"},
		{"opted out of everything", mail1, WalkInput{Suppression: left}, true, "cancelled", "the address is on the suppression list since 2026-06-01T10:00:00.000Z (origin unsubscribe)"},
		{"opted out of everything, transactional", transactional, WalkInput{Suppression: left}, true, "completed", ""},
	} {
		flow := flowOf(t, []string{c.step, `after delay {"duration":"1 day"}`})
		flow.ExitOnOptOut = c.exit
		c.in.At = start
		path := Walk(flow, c.in)
		got, output := string(path.Steps[1].Status), ""
		if path.Status == app.RunCancelled && path.Reason == app.ReasonOptedOut {
			got = "cancelled"
		}
		if v, ok := memberOf(path.Steps[1].Output, "reason"); ok {
			output = v.(string)
		}
		if got != c.want || strings.TrimPrefix(output, "Not sent to this recipient: ") != c.cause {
			t.Errorf("%s: %s because %q, want %s because %q", c.name, got, output, c.want, c.cause)
		}
		if wantSteps := 3; got != "cancelled" && len(path.Steps) != wantSteps {
			t.Errorf("%s: the run ended at %s", c.name, shown(&path))
		}
	}
}

func TestWalkSplitsByContact(t *testing.T) {
	t.Parallel()
	flow := flowOf(t, []string{`s split {"percent":30}`, mail1, mail2}, "start s", "s mail condition_met", "s mail2 condition_not_met")
	met := 0
	const n = 2000
	for i := range n {
		in := WalkInput{AutomationID: "a", Contact: app.Contact{ID: fmt.Sprint(i)}, At: time.Unix(0, 0)}
		first, again := Walk(flow, in), Walk(flow, in)
		if shown(&first) != shown(&again) {
			t.Fatalf("contact %d takes two ways", i)
		}
		if first.Steps[2].Key == "mail" {
			met++
		}
	}
	if met < n*27/100 || met > n*33/100 {
		t.Errorf("%d of %d contacts are among 30 %%", met, n)
	}
}

func TestWalkEnds(t *testing.T) {
	t.Parallel()
	deleted := flowOf(t, []string{`x contact_delete`})
	path := Walk(deleted, WalkInput{At: time.Unix(0, 0)})
	if path.Status != app.RunCompleted || path.Reason != app.ReasonContactDeletedByStep || !path.Deleted {
		t.Errorf("contact_delete: %s %s", path.Status, path.Reason)
	}
	flow := flowOf(t, []string{mail1, mail2})
	missing := Walk(flow, WalkInput{At: time.Unix(0, 0), Missing: func(s *Step) app.RunReason {
		if s.Key == "mail" {
			return app.ReasonTemplateMissing
		}
		return ""
	}})
	if got, want := shown(&missing), "mail failed 01-01T00:00; failed template_missing"; got != want {
		t.Errorf("a missing template: %s, want %s", got, want)
	}
	refused := Walk(flow, WalkInput{At: time.Unix(0, 0), Send: func(s *Step, _ time.Time, _ *Values) (jsontext.Value, error) {
		if s.Key == "mail2" {
			return nil, app.Invalid("subject", "is required")
		}
		return jsontext.Value(`{}`), nil
	}})
	if got, want := shown(&refused), "mail completed 01-01T00:00; mail2 failed 01-01T00:00; failed rejected"; got != want {
		t.Errorf("a mail that can't be made: %s, want %s", got, want)
	}
}
