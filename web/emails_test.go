package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

func text(s string) *string { return &s }

// emailTimes are the members of an answer that a test can't know before.
type emailTimes struct {
	ID        string
	MessageID string `json:"message_id"`
	CreatedAt string `json:"created_at"`
	HTML      string
	Data      []emailTimes
}

func TestAnEmailIsListedReadAndFollowed(t *testing.T) {
	r := newReal(t, captured())
	at := time.Now().Add(48 * time.Hour)
	id := r.send(r.full, `{"from":"\"Doe, Jane\" <jane@example.com>","to":["a@example.org","Bo <b@example.org>"],"cc":"c@example.org","subject":"Hello","html":"<p>hi</p>","text":"",
		"tags":[{"name":"a","value":"b"}],"headers":{"X-A":"1"},"attachments":[{"filename":"a.txt","content":"aGk="}],"scheduled_at":"`+at.In(time.FixedZone("", 3600)).Format(time.RFC3339Nano)+`"}`)
	seen := decoded[emailTimes](t, r.as(r.full, "GET", "/emails/"+id, ""))
	shared := `"id":"` + id + `","message_id":"` + seen.MessageID + `","from":"\"Doe, Jane\" <jane@example.com>","to":["a@example.org","Bo <b@example.org>"],
		"cc":["c@example.org"],"bcc":[],"reply_to":[],"subject":"Hello","tags":[{"name":"a","value":"b"}],"created_at":"` + seen.CreatedAt + `",
		"scheduled_at":"` + app.FormatTime(at) + `","last_event":"scheduled"`
	if !strings.HasPrefix(seen.MessageID, "<"+id+"@") {
		t.Errorf("message id %q", seen.MessageID)
	}
	wantJSON(t, r.as(r.full, "GET", "/emails?foo=bar", "{}"), `{"object":"list","has_more":false,"data":[{`+shared+`}]}`)

	file := r.page(r.full, "/emails/"+id+"/attachments").Data[0]
	var record map[string]any
	w := r.as(r.full, "GET", "/emails/"+strings.ToUpper(id), "{}", "Content-Type: application/json")
	if err := json.Unmarshal(w.Body.Bytes(), &record); err != nil {
		t.Fatal(err)
	}
	if verdict := record["verdict"].(map[string]any); verdict["code"] != "scheduled" || verdict["fix"] == "" {
		t.Errorf("verdict %v", verdict)
	}
	delete(record, "verdict")
	delete(record, "score")
	w.Body.Reset()
	if err := json.NewEncoder(w.Body).Encode(record); err != nil {
		t.Fatal(err)
	}
	wantJSON(t, w, `{"object":"email",`+shared+`,"html":"<p>hi</p>","text":null,"headers":{"X-A":"1"},"topic_id":null,"source":"api",
		"attachments":[{"id":"`+file.ID+`","filename":"a.txt","size":2,"content_type":"text/plain; charset=utf-8","content_disposition":"attachment"}]}`)

	events := decoded[emailTimes](t, r.as(r.full, "GET", "/emails/"+id+"/events?limit=2", ""))
	if len(events.Data) != 1 {
		t.Fatalf("%d events", len(events.Data))
	}
	w = r.as(r.full, "GET", "/emails/"+id+"/events", "")
	for _, want := range []string{`"type":"scheduled"`, `"created_at":"` + events.Data[0].CreatedAt + `"`, `"detail":{"message":"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the events lack %s: %s", want, w.Body)
		}
	}
	wantError(t, r.as(r.full, "GET", "/emails/x/events?limit=0", ""), 404, app.CodeNotFound) // before its parameters
	for _, unknown := range []string{"batch", "%2F", id + "%2F"} {
		wantError(t, r.as(r.full, "GET", "/emails/"+unknown, ""), 404, app.CodeNotFound, "email")
	}
}

func TestTheRawMessageIsJSONWhateverItsBytes(t *testing.T) {
	r := newReal(t, captured())
	id := r.send(r.full, goodSend)
	w := r.eventually(r.full, "/emails/"+id+"/raw", "DKIM-Signature")
	var raw map[string]string
	if err := json.Unmarshal(w.Body.Bytes(), &raw); err != nil || len(raw) != 3 || raw["object"] != "email_raw" || raw["id"] != id ||
		!strings.Contains(raw["message"], "Subject: Hi\r\n") {
		t.Errorf("%v %s", err, w.Body)
	}
	wantError(t, r.as(r.full, "GET", "/emails/"+unknownID+"/raw", ""), 404, app.CodeNotFound)
}

func TestAnAttachmentIsDownloadedByItsLinkAlone(t *testing.T) {
	r := newReal(t, captured())
	id := r.send(r.full, member(`"attachments":[{"filename":"grüße.html","content":"PGI+aGk8L2I+","content_type":"text/html"}]`))
	at := "/emails/" + id + "/attachments"
	file := r.page(r.full, at).Data[0].ID
	one := decoded[map[string]any](t, r.as(r.full, "GET", at+"/"+file, ""))
	link, expires := one["download_url"].(string), one["expires_at"].(string)
	if expires == "" || !strings.HasPrefix(link, "https://mail.example.com/attachments/") {
		t.Errorf("%v", one)
	}
	const row = `"filename":"grüße.html","size":9,"content_type":"text/html","content_disposition":"attachment"`
	wantJSON(t, r.as(r.full, "GET", at+"/"+file, ""), `{"object":"attachment","id":"`+file+`",`+row+`,"download_url":"`+link+`","expires_at":"`+expires+`"}`)
	wantError(t, r.as(r.full, "GET", at+"?before=x", ""), 422, app.CodeValidation, "`before`")

	w := r.do("GET", strings.TrimPrefix(link, "https://mail.example.com"), "")
	wantStatus(t, w, http.StatusOK)
	if w.Body.String() != "<b>hi</b>" {
		t.Errorf("body %q", w.Body)
	}
	for name, want := range map[string]string{
		"Content-Type":            "text/html",
		"Content-Disposition":     "attachment; filename*=utf-8''gr%C3%BC%C3%9Fe.html",
		"X-Content-Type-Options":  "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	wantError(t, r.do("GET", "/attachments/forged", ""), 404, app.CodeNotFound)
}
