package web

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"mailer/app"
	"mailer/web/shapes"
)

// storedAttachments returns the attachments that GET shows.
func (a *audienceAPI) storedAttachments(id string) []shapes.AttachmentMeta {
	a.t.Helper()
	w := a.call("GET", "/broadcasts/"+id, "")
	wantStatus(a.t, w, 200)
	var got struct{ Attachments []shapes.AttachmentMeta }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		a.t.Fatal(err)
	}
	return got.Attachments
}

func TestBroadcastAttachmentShapes(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	id := a.draft(`,"attachments":[{"filename":"a.pdf","content":"aGk="},{"filename":"b.bin","content":[1,2,3]}]`).ID
	got := a.storedAttachments(id)
	if len(got) != 2 || got[0].Filename != "a.pdf" || got[0].Size != 2 || got[0].ContentType != "application/pdf" || got[1].ContentDisposition != "attachment" {
		t.Fatalf("%+v", got)
	}
	for _, c := range []struct {
		attachments, field string
		status             int
	}{
		{`[{"filename":"a.txt"}]`, "attachments[0].content", 422},
		{`[{"filename":"a.txt","content":"no base64"}]`, "attachments[0].content", 422},
		{`[{"filename":"a.txt","content":"aGk=","content_id":"x"}]`, "attachments[0].content_id", 422},
		{`[{"filename":"a.txt","path":"https://example.com/a"}]`, "attachments[0].path", 422},
		{`[{"filename":"a.txt","content":"aGk=","nonsense":1}]`, "nonsense", 422},
		{`[{"id":"` + got[0].ID + `","filename":"b"}]`, "attachments[0].id", 422},
		{`[{"id":"x"}]`, "attachments[0].id", 422},
		{`[{"id":"` + app.NewID() + `"}]`, "attachments[0].id", 422},
		{`{}`, "attachments", 422},
	} {
		if w := a.call("PATCH", "/broadcasts/"+id, `{"attachments":`+c.attachments+`}`); w.Code != c.status || !strings.Contains(w.Body.String(), c.field) {
			t.Errorf("%s: %d %s", c.attachments, w.Code, w.Body)
		}
	}
	if w := a.call("POST", "/broadcasts", news(`,"attachments":[{"id":"`+got[0].ID+`"}]`)); w.Code != 422 {
		t.Errorf("a new broadcast takes an id: %d %s", w.Code, w.Body)
	}
	a.broadcast(200, "PATCH", "/broadcasts/"+id, `{"attachments":[{"id":"`+got[1].ID+`"},{"filename":"c.txt","content":"aGk="}]}`)
	if now := a.storedAttachments(id); len(now) != 2 || now[0].ID != got[1].ID || now[1].Filename != "c.txt" {
		t.Errorf("%+v", now)
	}
	for _, none := range []string{"null", "[]"} {
		a.broadcast(200, "PATCH", "/broadcasts/"+id, `{"attachments":[{"filename":"c.txt","content":"aGk="}]}`)
		a.broadcast(200, "PATCH", "/broadcasts/"+id, `{"attachments":`+none+`}`)
		if now := a.storedAttachments(id); len(now) != 0 {
			t.Errorf("%s left %+v", none, now)
		}
	}
}

// TestMailInBrowser: the page of {{{VIEW_URL}}} can't be indexed or framed, runs nothing and sends
// its address nowhere.
func TestMailInBrowser(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	show := func(method, path string) *httptest.ResponseRecorder {
		q := httptest.NewRequest(method, path, nil)
		q.Header.Set("Accept-Language", "de")
		w := httptest.NewRecorder()
		a.handler.ServeHTTP(w, q)
		return w
	}
	w := a.call("POST", "/templates", `{"name":"t","alias":"t","from":"a@example.com","subject":"s","html":"<p>Hello</p><a href=\"{{{VIEW_URL}}}\">view</a><a href=\"{{{UNSUBSCRIBE_URL}}}\">out</a>",
		"variables":[{"key":"VIEW_URL","type":"string"}]}`)
	wantStatus(t, w, 201)
	wantStatus(t, a.call("POST", "/templates/t/publish", ""), 200)
	w = a.call("POST", "/emails", `{"to":"ann@example.net","template":{"id":"t"}}`)
	wantStatus(t, w, 200)
	var sent struct{ ID string }
	if err := json.Unmarshal(w.Body.Bytes(), &sent); err != nil {
		t.Fatal(err)
	}
	var email struct{ HTML string }
	if err := json.Unmarshal(a.call("GET", "/emails/"+sent.ID, "").Body.Bytes(), &email); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(email.HTML, "/view/")
	token, _, _ := strings.Cut(rest, `"`)
	w = show("GET", "/view/"+token)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `<a href="#">out</a>`) || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	policy := w.Header().Get("Content-Security-Policy")
	for _, part := range []string{"sandbox ", "default-src 'none'", "frame-ancestors 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy is %s", policy)
		}
	}
	if h := w.Header(); strings.Contains(policy, "script") || h.Get("X-Robots-Tag") != "noindex, nofollow" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "private, no-store" || h.Get("Set-Cookie") != "" {
		t.Errorf("%v", h)
	}
	if w := show("HEAD", "/view/"+token); w.Code != 200 || w.Header().Get("X-Robots-Tag") == "" {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
	if w := show("POST", "/view/"+token); w.Code != 405 {
		t.Errorf("POST: %d", w.Code)
	}
	if w := show("GET", "/view/"+token[:20]); w.Code != 404 || !strings.Contains(w.Body.String(), `lang="de"`) {
		t.Errorf("another token: %d %s", w.Code, w.Body)
	}
}
