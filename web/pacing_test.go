package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

// newPaced returns a server whose only region may send daily messages in 24 hours, 70 % of them for
// broadcasts, with n contacts.
func newPaced(t *testing.T, daily int64, n int) *audienceAPI {
	t.Helper()
	cfg := relayed()
	cfg.Routes[0].Relay.Daily = daily
	a := &audienceAPI{testAPI: newTestAPI(t, cfg)}
	a.domain(a.team.ID, "example.com", true)
	for from := 0; from < n; from += 1000 {
		var items []string
		for i := from; i < min(n, from+1000); i++ {
			items = append(items, fmt.Sprintf(`{"email":"p%d@example.org"}`, i))
		}
		wantStatus(t, a.call("POST", "/contacts/batch", "["+strings.Join(items, ",")+"]"), 201)
	}
	return a
}

// plannedAnswer is the answer to a send.
type plannedAnswer struct {
	ID, Status string
	FinishesAt *string `json:"finishes_at"`
	Estimated  bool
	Warning    *struct {
		Code, Message string
		Days          int
	}
}

func (a *audienceAPI) planned(status int, target, body string) (got plannedAnswer) {
	a.t.Helper()
	w := a.call("POST", target, body)
	wantStatus(a.t, w, status)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		a.t.Fatal(err)
	}
	return got
}

// finishesIn says how far ahead a broadcast is promised to finish.
func (p plannedAnswer) finishesIn(t *testing.T) time.Duration {
	t.Helper()
	if p.FinishesAt == nil {
		t.Fatal("no time is promised")
	}
	at, err := time.Parse(app.TimeLayout, *p.FinishesAt)
	if err != nil {
		t.Fatal(err)
	}
	return time.Until(at)
}

func TestSendForecastsFinish(t *testing.T) {
	t.Parallel()
	a := newPaced(t, 100, 200)
	first := a.planned(201, "/broadcasts", news(`,"send":true`))
	if d := first.finishesIn(t); first.Warning == nil || first.Warning.Code != "paced" || first.Warning.Days != 3 || first.Warning.Message == "" || !first.Estimated || d < 47*time.Hour || d > 49*time.Hour {
		t.Errorf("200 of 70 a day: %+v %+v", first, first.Warning)
	}
	draft := a.draft("").ID
	second := a.planned(200, "/broadcasts/"+draft+"/send", "")
	if d := second.finishesIn(t); second.Warning == nil || second.Warning.Code != "queued_behind" || d < 4*24*time.Hour {
		t.Errorf("behind it: %+v %+v", second, second.Warning)
	}
	for _, id := range []string{first.ID, second.ID} {
		if got := a.broadcast(200, "GET", "/broadcasts/"+id, ""); got.FinishesAt == nil {
			t.Errorf("a read promises nothing: %+v", got)
		}
		a.broadcast(200, "POST", "/broadcasts/"+id+"/cancel", "")
		if got := a.broadcast(200, "GET", "/broadcasts/"+id, ""); got.FinishesAt != nil {
			t.Errorf("a canceled one is promised: %+v", got)
		}
	}
}

func TestAudienceOver24DaysIsRefused(t *testing.T) {
	t.Parallel()
	a := newPaced(t, 10, 200) // 7 a day
	draft := a.draft("").ID
	for _, call := range [][2]string{{"/broadcasts", news(`,"send":true`)}, {"/broadcasts", news(`,"send":true,"scheduled_at":"in 1 hour"`)}, {"/broadcasts/" + draft + "/send", ""}} {
		wantError(t, a.call("POST", call[0], call[1]), 422, app.CodeBroadcastTooLarge, "200 contacts", "24 days")
	}
	if got := a.broadcast(200, "GET", "/broadcasts", ""); len(got.Data) != 1 || got.Data[0].Status != "draft" {
		t.Errorf("left %+v", got.Data)
	}
	segment := a.segment(`{"name":"Few","filter":{"match":"all","conditions":[{"field":"email","op":"starts_with","value":"p1"}]}}`).ID // p1, p10 and so on: 111
	a.broadcast(200, "PATCH", "/broadcasts/"+draft, `{"segment_id":"`+segment+`"}`)
	if sent := a.planned(200, "/broadcasts/"+draft+"/send", ""); sent.Warning == nil || sent.Warning.Days < 15 || sent.Warning.Days > 17 {
		t.Errorf("111 of 7 a day: %+v %+v", sent, sent.Warning)
	}
}

func TestImmediateSendHasNoWarning(t *testing.T) {
	t.Parallel()
	a := newPaced(t, 1000, 50)
	sent := a.planned(201, "/broadcasts", news(`,"send":true`))
	if sent.Warning != nil {
		t.Errorf("warned: %+v", sent.Warning)
	}
}
