package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

// requests are the requests that a list of them shows, newest first.
func (r *testAPI) requests(key, query string) (all []map[string]any) {
	r.t.Helper()
	r.server.RequestLog.Flush(r.t.Context())
	for _, row := range r.object(key, "/logs"+query)["data"].([]any) {
		all = append(all, row.(map[string]any))
	}
	return all
}

func TestLogs(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	r := newTestAPI(t, captured())
	_, other := r.newTeam("others")
	w := r.as(r.full, http.MethodPost, "/emails?x=secret", `{"from":"ann@mail.acme.example","to":"you@example.org","subject":"Hello","text":"Hi"}`, "User-Agent: agent/1")
	wantStatus(t, w, http.StatusOK)
	id, request := strings.Split(w.Body.String(), `"`)[3], w.Header().Get("X-Request-Id")
	wantStatus(t, r.as(r.full, http.MethodGet, "/emails/"+app.NewID(), ""), http.StatusNotFound)
	wantStatus(t, r.as(other, http.MethodGet, "/domains", ""), http.StatusOK)
	wantStatus(t, r.do(http.MethodGet, "/healthz", ""), http.StatusOK)
	wantStatus(t, r.do(http.MethodGet, "/domains", ""), http.StatusUnauthorized)

	rows := r.requests(r.full, "")
	if len(rows) != 2 {
		t.Fatalf("%d requests: %v", len(rows), rows)
	}
	failed, sent := rows[0], rows[1]
	if failed["method"] != "GET" || failed["response_status"] != 404.0 || failed["error"] != "not_found" || failed["email_id"] != nil {
		t.Errorf("the request that was refused is %v", failed)
	}
	if sent["id"] != request || sent["endpoint"] != "/emails" || sent["method"] != "POST" || sent["response_status"] != 200.0 || sent["user_agent"] != "agent/1" ||
		sent["email_id"] != id || sent["error"] != nil || sent["user_id"] != nil || sent["key_id"] == nil || sent["duration_ms"].(float64) < 0 {
		t.Errorf("the request that was answered is %v", sent)
	}
	one := r.object(r.full, "/logs/"+request)
	if body, there := one["request_body"]; one["object"] != "log" || !there || body != nil || one["endpoint"] != "/emails" {
		t.Errorf("alone it is %v", one)
	}
	wantStatus(t, r.as(other, http.MethodGet, "/logs/"+request, ""), http.StatusNotFound)
	if rows := r.requests(r.full, "?email_id="+id); len(rows) != 1 || rows[0]["id"] != request {
		t.Errorf("the email's request is %v", rows)
	}
	if rows := r.requests(r.full, "?status=4xx&method=GET"); len(rows) != 1 || rows[0]["id"] != failed["id"] {
		t.Errorf("refused were %v", rows)
	}
	if rows := r.requests(other, ""); len(rows) != 2 || rows[1]["endpoint"] != "/domains" {
		t.Errorf("the other team's are %v", rows)
	}
	wantStatus(t, r.as(r.full, http.MethodGet, "/logs?status=many", ""), http.StatusUnprocessableEntity)
}

// TestDashboardReadsAreNotLogged: neither GETs nor previews, which pages request all the time.
// Changes by a person are logged.
func TestDashboardReadsAreNotLogged(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	cookie := "Cookie: __Host-mailer=" + r.signedIn("looker", app.RoleAdmin, false, 0)
	w := r.as(r.full, "POST", "/emails", `{"from":"ann@mail.acme.example","to":"you@example.org","subject":"Hello","html":"<p>Hi"}`)
	wantStatus(t, w, http.StatusOK)
	id := strings.Split(w.Body.String(), `"`)[3]
	before := len(r.requests(r.full, "?method=POST"))
	wantStatus(t, r.do("GET", "/emails/"+id, "", cookie, "X-Team: "+r.team.ID), http.StatusOK)
	preview := func(headers ...string) {
		t.Helper()
		wantStatus(t, r.do("POST", "/emails/"+id+"/preview", "{}", append(headers, cookie, "Content-Type: application/json", "Sec-Fetch-Site: same-origin", "X-Team: "+r.team.ID)...), http.StatusOK)
	}
	preview("X-Read-Only: 1")
	if rows := r.requests(r.full, "?method=POST"); len(rows) != before {
		t.Errorf("a page's own preview is a request: %v", rows)
	}
	preview()
	if rows := r.requests(r.full, "?method=POST"); len(rows) != before+1 || rows[0]["user_id"] == nil {
		t.Errorf("a request of a person is none: %v", rows)
	}
}

func TestLogsDisabled(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, server.Config{NoRequestLog: true})
	r.object(r.full, "/domains")
	if rows := r.requests(r.full, ""); len(rows) != 0 {
		t.Errorf("kept are %v", rows)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	got := r.object(r.full, "/emails/metrics")
	if _, there := got["data"]; there || got["object"] != "metrics" || got["granularity"] != "daily" || len(got["metrics"].([]any)) != 22 || len(got["totals"].(map[string]any)) != 22 {
		t.Errorf("without a question: %v", got)
	}
	today := time.Now().UTC().Format(time.DateOnly)
	got = r.object(r.full, "/emails/metrics?start_date="+today+"&dimensions=period&metrics=sent,delivered&metrics=open_rate")
	if fmt.Sprint(got["metrics"]) != "[sent delivered open_rate]" || fmt.Sprint(got["totals"]) != "map[delivered:0 open_rate:0 sent:0]" ||
		fmt.Sprint(got["data"]) != "[map[delivered:0 open_rate:0 period:"+today+" sent:0]]" {
		t.Errorf("by day: %v", got)
	}
	wantStatus(t, r.as(r.full, http.MethodGet, "/emails/metrics?dimensions=broadcast&email_id="+app.NewID(), ""), http.StatusUnprocessableEntity)
}

// TestRefusedRequestLinksEmail: of a send to a suppressed address.
func TestRefusedRequestLinksEmail(t *testing.T) {
	t.Parallel()
	b := newSuppressionAPI(t)
	b.want(201, "POST", "/suppressions", `{"email":"gone@example.org"}`)
	w := b.call("POST", "/emails", `{"from":"a@example.com","to":"gone@example.org","subject":"s","text":"t"}`)
	wantStatus(t, w, http.StatusUnprocessableEntity)
	id := strings.Split(strings.Split(w.Body.String(), "see the email ")[1], `"`)[0]
	rows := b.requests(b.full, "?status=4xx")
	if len(rows) != 1 || rows[0]["email_id"] != id || rows[0]["error"] != "all_recipients_suppressed" {
		t.Errorf("the request is %v, want one of %s", rows, id)
	}
	if email := b.object(b.full, "/emails/"+id); email["state"] != "suppressed" || email["text"] != nil {
		t.Errorf("the record is %v", email)
	}
}
