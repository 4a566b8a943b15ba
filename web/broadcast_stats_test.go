package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// recipientAnswer is a page of a broadcast's recipients, or of its links.
type recipientAnswer struct {
	Object  string
	HasMore bool `json:"has_more"`
	Data    []struct {
		ID, Email, URL string
		ContactID      *string `json:"contact_id"`
		LastEvent      string  `json:"last_event"`
		Count, Clicks  int
		UniqueClicks   int    `json:"unique_clicks"`
		BounceType     string `json:"bounce_type"`
		ClickedLinks   []struct {
			URL    string
			Clicks int
		} `json:"clicked_links"`
	}
}

func (a *audienceAPI) recipients(target string) (got recipientAnswer) {
	a.t.Helper()
	w := a.call("GET", target, "")
	wantStatus(a.t, w, 200)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		a.t.Fatal(err)
	}
	return got
}

// sentTo sends a broadcast to c0@example.org and so on, one of which bounces, and waits until all
// are sent.
func (a *audienceAPI) sentTo(n int, html string) string {
	a.t.Helper()
	for i := range n {
		wantStatus(a.t, a.call("POST", "/contacts", fmt.Sprintf(`{"email":"C%d@example.org","first_name":"N%d"}`, i, i)), 201)
	}
	wantStatus(a.t, a.call("POST", "/contacts", `{"email":"bounced@simulator.mailer.test"}`), 201)
	body, _ := json.Marshal(map[string]any{"from": "Acme <news@example.com>", "subject": "News for {{{FIRST_NAME}}}", "html": html, "send": true})
	var made broadcastAnswer
	w := a.call("POST", "/broadcasts", string(body))
	wantStatus(a.t, w, 201)
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
		a.t.Fatal(err)
	}
	a.eventually(a.full, "/broadcasts/"+made.ID, `"status":"sent"`)
	return "/broadcasts/" + made.ID
}

func TestBroadcastRecipients(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	a := newAudienceAPI(t)
	b := a.sentTo(4, `<p>Hi</p>`)
	all := a.recipients(b + "/recipients")
	if all.Object != "list" || all.HasMore || len(all.Data) != 5 || all.Data[0].Email != "bounced@simulator.mailer.test" || all.Data[1].Email != "C3@example.org" ||
		all.Data[0].LastEvent != "bounced" || all.Data[0].BounceType != "permanent" || all.Data[1].LastEvent != "sent" || all.Data[1].BounceType != "" {
		t.Errorf("all: %+v", all)
	}
	for query, want := range map[string]string{
		"?type=sent":                                  "C3@example.org C2@example.org C1@example.org C0@example.org",
		"?type=sent&email=c2%40EXAMPLE":               "C2@example.org",
		"?type=bounced":                               "bounced@simulator.mailer.test",
		"?bounce_type=permanent":                      "bounced@simulator.mailer.test",
		"?type=bounced&bounce_type=transient":         "",
		"?type=opened":                                "",
		"?type=unsubscribed&foo=bar":                  "",
		"?type=queued":                                "",
		"?type=&email=&bounce_type=&limit=2":          "bounced@simulator.mailer.test C3@example.org",
		"?limit=2&after=" + all.Data[1].ID:            "C2@example.org C1@example.org",
		"?limit=2&type=sent&before=" + all.Data[4].ID: "C2@example.org C1@example.org",
	} {
		var got []string
		for _, row := range a.recipients(b + "/recipients" + query).Data {
			got = append(got, row.Email)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for query, field := range map[string]string{
		"?type=nothing": "`type`", "?type=sent&bounce_type=permanent": "`bounce_type`", "?bounce_type=hard": "`bounce_type`", "?limit=0": "`limit`", "?limit=x": "`limit`",
		"?after=" + app.NewID(): "`after`", "?before=" + app.NewID(): "`before`", "?after=x": "`after`",
		"?after=" + all.Data[0].ID + "&before=" + all.Data[1].ID: "`after`",
	} {
		wantError(t, a.call("GET", b+"/recipients"+query, ""), 422, app.CodeValidation, field)
	}
	draft := "/broadcasts/" + a.draft("").ID
	for _, path := range []string{"/recipients", "/recipients?type=sent", "/clicked-links"} {
		if got := a.recipients(draft + path); got.Object != "list" || got.HasMore || got.Data == nil || len(got.Data) != 0 {
			t.Errorf("a draft: %+v", got)
		}
		wantError(t, a.as(a.foreign, "GET", b+path, ""), 404, app.CodeNotFound, "broadcast")
		for _, unknown := range []string{app.NewID(), "x", all.Data[0].ID} {
			wantError(t, a.call("GET", "/broadcasts/"+unknown+path, ""), 404, app.CodeNotFound, "broadcast")
		}
	}
	for limit := 1; limit < 6; limit++ {
		down, up := a.walk(b+"/recipients", "after", limit), a.walk(b+"/recipients", "before", limit)
		if len(down) != 5 || down[0] != all.Data[0].ID || down[4] != all.Data[4].ID || strings.Join(up, " ") != strings.Join(down[:4], " ") {
			t.Errorf("by %d: %q, %q", limit, down, up)
		}
	}
}

func TestSingleEmailOfBroadcast(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	b := a.sentTo(1, `<p>Hi {{{FIRST_NAME}}}, <a href="{{{UNSUBSCRIBE_URL}}}">off</a></p>`)
	row := a.recipients(b + "/recipients?type=sent").Data[0]
	path := "/emails/" + row.ID
	var email struct {
		Object, ID, Subject, HTML, Text string
		To                              []string
		MessageID                       string `json:"message_id"`
		LastEvent                       string `json:"last_event"`
		BroadcastID                     string `json:"broadcast_id"`
		Headers                         map[string]string
		Attachments                     []any
	}
	w := a.call("GET", path, "")
	wantStatus(t, w, 200)
	if err := json.Unmarshal(w.Body.Bytes(), &email); err != nil {
		t.Fatal(err)
	}
	if email.Object != "email" || email.ID != row.ID || email.Subject != "News for N0" || !strings.HasPrefix(email.HTML, "<p>Hi N0, ") || !strings.Contains(email.Text, "Hi N0") ||
		email.To[0] != "C0@example.org" || email.MessageID != "<"+row.ID+"@example.com>" || email.LastEvent != "sent" || "/broadcasts/"+email.BroadcastID != b ||
		!strings.Contains(email.Headers["List-Unsubscribe"], "/unsubscribe/") || email.Attachments == nil {
		t.Errorf("read %s", w.Body)
	}
	if raw := a.call("GET", path+"/raw", ""); !strings.Contains(raw.Body.String(), "DKIM-Signature") || !strings.Contains(raw.Body.String(), row.ID) {
		t.Errorf("captured %s", raw.Body)
	}
	events := a.page(a.full, path+"/events")
	if len(events.Data) != 2 || events.Data[0].Type != "sent" || events.Data[1].Type != "queued" {
		t.Errorf("timeline %+v", events)
	}
	if files := a.page(a.full, path+"/attachments"); len(files.Data) != 0 {
		t.Errorf("attachments %+v", files)
	}
	if list := a.page(a.full, "/emails"); len(list.Data) != 0 {
		t.Errorf("the list has %+v", list)
	}
	for _, op := range [][3]string{{"POST", path + "/cancel", ""}, {"DELETE", path, ""}, {"PATCH", path, `{"scheduled_at":"in 1 hour"}`}} {
		wantError(t, a.call(op[0], op[1], op[2]), 422, app.CodeValidation, "broadcast "+email.BroadcastID)
		wantError(t, a.as(a.foreign, op[0], op[1], op[2]), 404, app.CodeNotFound)
	}
	for _, below := range []string{"", "/events", "/raw", "/attachments"} {
		wantError(t, a.as(a.foreign, "GET", path+below, ""), 404, app.CodeNotFound)
	}
	link := strings.TrimSuffix(strings.TrimPrefix(email.Headers["List-Unsubscribe"], "<https://mail.example.com"), ">")
	wantStatus(t, a.do("GET", link, ""), 200)
	if got := a.recipients(b + "/recipients?type=unsubscribed"); len(got.Data) != 0 {
		t.Errorf("looking at the page unsubscribed: %+v", got)
	}
	wantStatus(t, a.do("POST", link, "List-Unsubscribe=One-Click", "Content-Type: application/x-www-form-urlencoded"), 200)
	if got := a.recipients(b + "/recipients?type=unsubscribed"); len(got.Data) != 1 || got.Data[0].LastEvent != "sent" {
		t.Errorf("unsubscribed: %+v", got)
	}
	if got := a.broadcast(200, "GET", b, ""); got.Counts["unsubscribed"] != 1 {
		t.Errorf("counts %+v", got.Counts)
	}
	if s := a.call("GET", "/suppressions/c0%40example.org", ""); !strings.Contains(s.Body.String(), `"source_id":"`+row.ID+`"`) {
		t.Errorf("suppression %s", s.Body)
	}
	wantStatus(t, a.call("DELETE", "/contacts/"+*row.ContactID+"?erase=true", ""), 200)
	var w2 *httptest.ResponseRecorder
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if w2 = a.call("GET", path, ""); strings.Contains(w2.Body.String(), app.Erased) {
			break
		}
	}
	if body := w2.Body.String(); !strings.Contains(body, app.Erased) || strings.Contains(strings.ToLower(body), "c0@") || strings.Contains(body, " N0") {
		t.Errorf("after the erasure %s", body)
	}
	wantStatus(t, a.do("GET", link, ""), 200)
	if got := a.recipients(b + "/recipients?type=sent").Data[0]; got.Email != app.Erased || got.ContactID != nil {
		t.Errorf("after the erasure %+v", got)
	}
}

func TestClickedLinks(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	b := a.sentTo(3, `<p>Hi</p>`)
	id, _ := strings.CutPrefix(b, "/broadcasts/")
	all := a.recipients(b + "/recipients?type=sent").Data
	err := a.store.Write(t.Context(), func(tx *db.Tx) error {
		if err := tx.InsertBroadcastLinks(id, []string{"https://a.test/0", "https://a.test/1", "https://a.test/2"}); err != nil {
			return err
		}
		for i, clicks := range [][]int{{1, 2, 1}, {1}, nil} {
			for _, n := range clicks {
				if err := tx.CountClick(id, all[i].ID, n); err != nil {
					return err
				}
				if _, err := tx.MarkRecipient(id, all[i].ID, app.SeenClicked); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	links := a.recipients(b + "/clicked-links").Data
	if len(links) != 2 || links[0].URL != "https://a.test/1" || links[0].Clicks != 3 || links[0].UniqueClicks != 2 || links[1].URL != "https://a.test/2" || links[1].Clicks != 1 {
		t.Errorf("links %+v", links)
	}
	clicked := a.recipients(b + "/recipients?type=clicked").Data
	if len(clicked) != 2 || clicked[0].Count != 3 || len(clicked[0].ClickedLinks) != 2 || clicked[0].ClickedLinks[0].Clicks != 2 || clicked[1].Count != 1 || clicked[0].LastEvent != "clicked" {
		t.Errorf("clicked %+v", clicked)
	}
	for limit := 1; limit < 3; limit++ {
		if down, up := a.walk(b+"/clicked-links", "after", limit), a.walk(b+"/clicked-links", "before", limit); len(down) != 2 || down[1] != links[1].ID || len(up) != 1 || up[0] != links[0].ID {
			t.Errorf("by %d: %q, %q", limit, down, up)
		}
	}
	a.wantPageErrors(b+"/clicked-links", links[0].ID)
}
