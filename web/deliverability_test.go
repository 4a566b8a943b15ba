package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/counters"
	"mailer/app/rules/reputation"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// object decodes an answer.
func (r *testAPI) object(key, target string) map[string]any {
	r.t.Helper()
	w := r.as(key, http.MethodGet, target, "")
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		r.t.Fatalf("GET %s: %d %s", target, w.Code, w.Body)
	}
	return out
}

func TestInsights(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	r := newTestAPI(t, captured())
	id := r.send(r.full, `{"from":"Acme <no-reply@mail.acme.example>","to":"you@example.org","subject":"Hello","html":"<p>Hi</p><a href=\"http://bit.ly/x\">there</a>"}`)
	got := r.object(r.full, "/emails/"+id+"/insights")
	if got["object"] != "insights" || got["email_id"] != id || got["score"] != 6.75 || got["band"] != "needs_attention" || got["score_version"] != 1.0 {
		t.Errorf("insights %v", got)
	}
	var ids []string
	for _, p := range got["penalties"].([]any) {
		p := p.(map[string]any)
		ids = append(ids, fmt.Sprint(p["id"], " ", p["severity"], " ", p["points"]))
	}
	if want := "no_sender_link major 1.25, link_shortener major 1.25, no_reply_sender minor 0.5, http_links minor 0.25"; strings.Join(ids, ", ") != want {
		t.Errorf("penalties %q, want %q", ids, want)
	}
	if got := r.object(r.full, "/emails/"+id)["score"]; got != 6.75 {
		t.Errorf("GET /emails/{id} has the score %v", got)
	}
}

func TestDeliverabilityWithoutData(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	got := r.object(r.full, "/deliverability")
	for _, name := range []string{"score", "content_score", "outcome_score", "band", "complaint_rate", "hard_bounce_rate"} {
		if v, there := got[name]; !there || v != nil {
			t.Errorf("%s is %v", name, v)
		}
	}
	if got["guardrail_status"] != "ok" || got["window_days"] != 30.0 || got["insufficient_outcome_data"] != true || got["emails_sent"] != 0.0 {
		t.Errorf("deliverability %v", got)
	}
}

func TestBouncesPauseTeam(t *testing.T) {
	t.Parallel()
	cfg := captured()
	cfg.EnforceGuardrails = true
	r := newTestAPI(t, cfg)
	var sends, events []string
	for i := range 100 {
		sends = append(sends, fmt.Sprintf(`{"from":"a@mail.acme.example","to":"p%d@example.org","subject":"Hello","text":"Hi"}`, i))
	}
	w := r.as(r.full, http.MethodPost, "/emails/batch", "["+strings.Join(sends, ",")+"]")
	var batch struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(w.Body.Bytes(), &batch); err != nil || len(batch.Data) != 100 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	r.eventually(r.full, "/deliverability", `"emails_sent":100`)
	for _, e := range batch.Data[:10] {
		events = append(events, fmt.Sprintf(`{"type":"bounced","email_id":%q,"enhanced_code":"5.1.1"}`, e.ID))
	}
	if w := r.as("", http.MethodPost, "/ingest/generic/"+r.secret("generic"), "["+strings.Join(events, ",")+"]"); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	got := r.object(r.full, "/deliverability")
	if got["guardrail_status"] != "paused" || got["score"] != 4.9 || got["hard_bounce_rate"] != 0.1 || got["outcome_score"] != 4.0 ||
		got["content_score"] != 10.0 || got["band"] != "at_risk" || got["scored_recipients"] != 100.0 {
		t.Errorf("deliverability %v", got)
	}
	deadline := time.After(time.Minute)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		w := r.as(r.full, http.MethodPost, "/emails", sends[99])
		if w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), `"name":"sending_paused"`) {
			return
		}
		if w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("a crossed line has no effect after 10 s")
		}
	}
}

// guardrailRefusals are the rows of error_table_test.go that guardrails answer with.
func guardrailRefusals() []refusal {
	return []refusal{
		{"sending_paused", 403, "an email of a paused team", nil, func(t *testing.T, _ *testAPI) *httptest.ResponseRecorder {
			return pausedBy(t, reputation.Outcome{Sent: 100, HardBounced: 20}, reputation.Outcome{}, "/emails", validSend)
		}},
		{"sending_paused", 403, "a permissive batch of a paused team", nil, func(t *testing.T, _ *testAPI) *httptest.ResponseRecorder {
			return pausedBy(t, reputation.Outcome{Sent: 3000, Complained: 5}, reputation.Outcome{}, "/emails/batch", array(validSend), "x-batch-validation: permissive")
		}},
		{"sending_paused", 403, "a broadcast of a paused team", nil, func(t *testing.T, _ *testAPI) *httptest.ResponseRecorder {
			return pausedBy(t, reputation.Outcome{Sent: 200, HardBounced: 12}, reputation.Outcome{}, "/broadcasts", news(`,"send":true`))
		}},
		{"broadcasts_paused", 403, "a broadcast in a region that recovers", nil, func(t *testing.T, _ *testAPI) *httptest.ResponseRecorder {
			return pausedBy(t, reputation.Outcome{Sent: 2000, HardBounced: 85}, reputation.Outcome{Sent: 2000, HardBounced: 85}, "/broadcasts", news(`,"send":true`))
		}},
	}
}

// pausedBy returns the answer to a POST once the rates of the team, or of another one, have taken
// effect; until then the POST may succeed. The tests wait in parallel.
func pausedBy(t *testing.T, o, others reputation.Outcome, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	t.Parallel()
	cfg := relayed()
	cfg.EnforceGuardrails = true
	r := newTestAPI(t, cfg)
	r.domain(r.team.ID, "example.com", true)
	other, _ := r.newTeam("Other")
	err := r.store.Write(t.Context(), func(tx *db.Tx) error {
		tx.CountOutcome(counters.Key{TeamID: r.team.ID, Region: app.DefaultRegion, Domain: "example.com"}, o)
		if others.Sent > 0 {
			tx.CountOutcome(counters.Key{TeamID: other.ID, Region: app.DefaultRegion, Domain: "other.example"}, others)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.send(r.full, validSend) // a team that sends is judged
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); ; {
		w := r.as(r.full, http.MethodPost, target, body, headers...)
		if w.Code >= 400 {
			return w
		}
		select {
		case <-tick.C:
		case <-end:
			return w
		}
	}
}
