package web

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/web/rest"
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

func TestEmail(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	at := time.Now().Add(48 * time.Hour)
	id := r.send(r.full, `{"from":"\"Doe, Jane\" <jane@example.com>","to":["a@example.org","Bo <b@example.org>"],"cc":"c@example.org","subject":"Hello","html":"<p>hi</p>","text":"",
		"tags":[{"name":"a","value":"b"}],"headers":{"X-A":"1"},"attachments":[{"filename":"a.txt","content":"aGk="}],"scheduled_at":"`+at.In(time.FixedZone("", 3600)).Format(time.RFC3339Nano)+`"}`)
	seen := decoded[emailTimes](t, r.as(r.full, "GET", "/emails/"+id, ""))
	shared := `"id":"` + id + `","message_id":"` + seen.MessageID + `","from":"\"Doe, Jane\" <jane@example.com>","to":["a@example.org","Bo <b@example.org>"],
		"cc":["c@example.org"],"bcc":[],"reply_to":[],"subject":"Hello","tags":[{"name":"a","value":"b"}],"created_at":"` + seen.CreatedAt + `",
		"scheduled_at":"` + app.FormatTime(at) + `","last_event":"scheduled","state":"scheduled"`
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
	if size, _ := record["size"].(float64); size < 2000 || size > 5000 || record["key_id"] == nil {
		t.Errorf("size %v, key %v", record["size"], record["key_id"])
	}
	for _, name := range []string{"verdict", "score", "size", "key_id"} {
		delete(record, name)
	}
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

func TestRawMessage(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	id := r.send(r.full, validSend)
	w := r.eventually(r.full, "/emails/"+id+"/raw", "DKIM-Signature")
	var raw map[string]string
	if err := json.Unmarshal(w.Body.Bytes(), &raw); err != nil || len(raw) != 4 || raw["raw"] != raw["message"] || raw["object"] != "email_raw" || raw["id"] != id ||
		!strings.Contains(raw["message"], "Subject: Hi\r\n") {
		t.Errorf("%v %s", err, w.Body)
	}
	wantError(t, r.as(r.full, "GET", "/emails/"+unknownID+"/raw", ""), 404, app.CodeNotFound)
}

func TestAttachmentDownloadNeedsLink(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
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

func TestFromDomainMustBeVerified(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, relayed())
	other, otherKey := r.newTeam("Other")
	r.domain(r.team.ID, "ok.example.com", true)
	r.domain(r.team.ID, "new.example.com", false)
	r.domain(other.ID, "theirs.example.com", true)
	for _, tt := range []struct {
		key, from, words string
	}{
		{r.full, "a@unknown.test", "`from` uses the domain unknown.test"},
		{r.full, "a@new.example.com", "not verified"},
		{r.full, "a@theirs.example.com", "which this team has not added"},
		{r.full, "a@sub.ok.example.com", "sub.ok.example.com"},
		{otherKey, "a@ok.example.com", "which this team has not added"},
	} {
		wantError(t, r.as(tt.key, "POST", "/emails", sendFrom(tt.from)), 422, app.CodeValidation, tt.words)
	}
	id := r.send(r.full, sendFrom("a@OK.example.com"))
	r.eventually(r.full, "/emails/"+id, `"last_event":"sent"`)
	wantError(t, r.as(r.full, "GET", "/emails/"+id+"/raw", ""), 404, app.CodeNotFound)
}

func TestSendBodies(t *testing.T) {
	t.Parallel()
	const most = 1000
	cfg := captured()
	cfg.MaxAttachments = most
	r := newTestAPI(t, cfg, func(_ *Config, l *rest.Limits) { l.Body = 64 << 10 })
	files := func(sizes ...int) string {
		var items []string
		for _, n := range sizes {
			items = append(items, fmt.Sprintf(`{"filename":"a.bin","content":%q}`, base64.StdEncoding.EncodeToString(make([]byte, n))))
		}
		return member(`"attachments":[` + strings.Join(items, ",") + `]`)
	}
	for _, tt := range []struct {
		name, body string
		status     int
		code       app.Code
		words      string
	}{
		{"empty", "", 400, app.CodeInvalidPayload, "body"},
		{"cut off", `{"from":"a@example.com",`, 400, app.CodeInvalidPayload, "JSON"},
		{"not JSON", `from=a@example.com`, 400, app.CodeInvalidPayload, "JSON"},
		{"two objects", validSend + validSend, 400, app.CodeInvalidPayload, "JSON"},
		{"unknown field", member(`"colour":"red"`), 422, app.CodeValidation, "`colour`"},
		{"unknown field inside", member(`"tags":[{"name":"a","value":"b","x":1}]`), 422, app.CodeValidation, "`tags[0].x`"},
		{"no from", `{"to":"b@example.org","subject":"s","text":"x"}`, 422, app.CodeValidation, "`from`"},
		{"no to", `{"from":"a@example.com","subject":"s","text":"x"}`, 422, app.CodeValidation, "`to`"},
		{"empty to", `{"from":"a@example.com","to":[],"subject":"s","text":"x"}`, 422, app.CodeValidation, "`to`"},
		{"no subject", `{"from":"a@example.com","to":"b@example.org","text":"x"}`, 422, app.CodeValidation, "`subject`"},
		{"no body", `{"from":"a@example.com","to":"b@example.org","subject":"s"}`, 422, app.CodeValidation, "`html`"},
		{"too large", `{"text":"` + strings.Repeat("x", 65<<10) + `"}`, 413, app.CodePayloadTooLarge, "larger than"},
		{"one attachment too large", files(most + 1), 413, app.CodePayloadTooLarge, "`attachments`"},
		{"attachments too large together", files(most, 1), 413, app.CodePayloadTooLarge, "`attachments`"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantError(t, r.as(r.full, "POST", "/emails", tt.body), tt.status, tt.code, tt.words)
		})
	}
	r.send(r.full, files(most-1, 1))
	if p := r.page(r.full, "/emails"); len(p.Data) != 1 {
		t.Errorf("%d emails after one accepted send", len(p.Data))
	}
}

func TestForeignEmailIsNotFound(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	_, otherKey := r.newTeam("Other")
	id := r.send(r.full, member(`"attachments":[{"filename":"a.txt","content":"aGk="}]`))
	r.eventually(r.full, "/emails/"+id+"/raw", "DKIM-Signature")
	attachment := r.page(r.full, "/emails/"+id+"/attachments").Data[0].ID
	otherID := r.send(otherKey, member(`"attachments":[{"filename":"b.txt","content":"aGk="}]`))
	with := 0
	for _, op := range r.operations(id, attachment) {
		if !strings.Contains(op[1], "/emails/"+id) {
			continue
		}
		with++
		body := ""
		switch op[0] {
		case "GET":
			wantStatus(t, r.as(r.full, op[0], op[1], ""), 200)
		case "PATCH":
			body = `{"scheduled_at":"in 1 hour"}`
		}
		wantError(t, r.as(otherKey, op[0], op[1], body), 404, app.CodeNotFound)
		for _, unknown := range []string{unknownID, app.NewID(), "x", "%00", strings.Repeat("9", 4000), id + "0", "..%2f" + id} {
			wantError(t, r.as(r.full, op[0], strings.Replace(op[1], id, unknown, 1), body), 404, app.CodeNotFound)
		}
		// One's own email does not open another's attachment.
		if strings.Contains(op[1], attachment) {
			wantError(t, r.as(otherKey, op[0], strings.Replace(op[1], id, otherID, 1), body), 404, app.CodeNotFound)
			wantError(t, r.as(r.full, op[0], strings.Replace(op[1], attachment, unknownID, 1), ""), 404, app.CodeNotFound)
		}
	}
	if with < 5 {
		t.Errorf("only %d routes have an id", with)
	}
	if got := r.page(otherKey, "/emails").ids(); !slices.Equal(got, []string{otherID}) {
		t.Errorf("the other team lists %q", got)
	}
	wantError(t, r.as(otherKey, "GET", "/emails?after="+id, ""), 422, app.CodeValidation, "`after`")
}

func TestAttachmentDownload(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	content := bytes.Repeat([]byte{0, 1, 255, '\n'}, 1000)
	id := r.send(r.full, member(`"attachments":[{"filename":"a.bin","content":"`+base64.StdEncoding.EncodeToString(content)+`"}]`))
	link := strings.TrimPrefix(r.page(r.full, "/emails/"+id+"/attachments").Data[0].DownloadURL, "https://mail.example.com")
	w := r.do("GET", link, "")
	wantStatus(t, w, 200)
	if !bytes.Equal(w.Body.Bytes(), content) {
		t.Error("other bytes come back")
	}
	token := link[len("/attachments/"):]
	for i := range token {
		c := byte('A')
		if token[i] == c {
			c = 'B'
		}
		if w := r.do("GET", "/attachments/"+token[:i]+string(c)+token[i+1:], ""); w.Code != 404 {
			t.Fatalf("with another byte %d: %d", i, w.Code)
		}
	}
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	_, otherKey := r.newTeam("Other")
	const key = "Idempotency-Key: order-7"
	wantError(t, r.as(r.full, "POST", "/emails", `{"from":"nobody"}`, key), 422, app.CodeValidation)
	first := r.send(r.full, validSend, key)
	if again := r.send(r.full, validSend, key); again != first {
		t.Errorf("the repeated send is %s, not %s", again, first)
	}
	wantError(t, r.as(r.full, "POST", "/emails", member(`"cc":"c@example.org"`), key), 409, app.CodeInvalidIdempotent)
	if r.send(r.full, validSend) == first || r.send(otherKey, validSend, key) == first {
		t.Error("another send has the same answer")
	}
	for _, bad := range []string{"", strings.Repeat("k", 257)} {
		wantError(t, r.as(r.full, "POST", "/emails", validSend, "Idempotency-Key: "+bad), 400, app.CodeInvalidIdempotencyKey)
	}
	r.send(r.full, validSend, "Idempotency-Key: "+strings.Repeat("k", 256))
	if p := r.page(r.full, "/emails"); len(p.Data) != 3 {
		t.Errorf("%d emails, want 3", len(p.Data))
	}
}

// verdictAnswer is an email with its verdict.
type verdictAnswer struct {
	Verdict struct {
		Code, Tone, Text, Fix string
		Params                map[string]any
		Parts                 []struct{ Code, Text, Fix string }
	}
}

func TestEmailVerdict(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	other, strangers := a.newTeam("Strangers")
	a.contactOf(other.ID, "c0@example.org")
	get := func(id string) verdictAnswer {
		t.Helper()
		w := a.call("GET", "/emails/"+id, "")
		wantStatus(t, w, 200)
		return decoded[verdictAnswer](t, w)
	}
	id := a.mailTo(a.full, "one", `["ann@example.org","bob@example.org","bounced@simulator.mailer.test"]`)
	got := get(id).Verdict
	if got.Code != "mixed" || len(got.Parts) != 2 || got.Parts[0].Code != "captured" || got.Parts[1].Code != "test_recipient" ||
		!strings.Contains(got.Text, "this server stores mail for 2 recipients") || got.Params["total"] != 3.0 {
		t.Errorf("%+v", got)
	}
	wantError(t, a.as(strangers, "GET", "/emails/"+id, ""), 404, "not_found")

	w := a.call("POST", "/emails", `{"from":"a@example.com","to":"ann@example.org","subject":"later","text":"x","scheduled_at":"in 2 hours"}`)
	wantStatus(t, w, 200)
	id = decoded[struct{ ID string }](t, w).ID
	if got := get(id).Verdict; got.Code != "scheduled" || got.Tone != "neutral" || !strings.Contains(got.Text, fmt.Sprint(got.Params["next_at"])) {
		t.Errorf("%+v", got)
	}

	b := a.sentTo(2, "<p>Hi</p>")
	list := decoded[struct{ Data []struct{ ID, Email string } }](t, a.call("GET", b+"/recipients", ""))
	for _, r := range list.Data {
		want := "captured"
		if strings.HasPrefix(r.Email, "bounced@") {
			want = "test_recipient"
		}
		if got := get(r.ID).Verdict; got.Code != want || got.Params["address"] != r.Email || !strings.HasSuffix(b, fmt.Sprint(got.Params["broadcast_id"])) {
			t.Errorf("%s: %+v", r.Email, got)
		}
	}
	if len(list.Data) != 3 {
		t.Errorf("%d recipients", len(list.Data))
	}
}

// TestSendAtLegacyPath: the Node client before 1.0 posts its arguments to /email.
func TestSendAtLegacyPath(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	sending := r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess})
	const mail = `{"from":"Shop <shop@example.com>","to":"b@example.org","subject":"old","html":"<p>Hi</p>"}`
	id := decoded[struct{ ID string }](t, r.do("POST", "/email", mail, "Authorization: Bearer "+sending, "Idempotency-Key: one")).ID
	again := decoded[struct{ ID string }](t, r.do("POST", "/emails", mail, "Authorization: Bearer "+sending, "Idempotency-Key: one")).ID
	if id == "" || again != id {
		t.Errorf("sent %q at the old address, and with the same key %q at the new one", id, again)
	}
	if w := r.as(r.full, "GET", "/emails/"+id, ""); !strings.Contains(w.Body.String(), `"subject":"old"`) {
		t.Errorf("read back: %s", w.Body)
	}
	wantError(t, r.as(r.full, "POST", "/email", `{"from":"a@example.com"}`), 422, app.CodeValidation, "`to`")
	wantError(t, r.as(r.full, "GET", "/email", ""), 405, app.CodeMethodNotAllowed)
	wantError(t, r.do("POST", "/email", mail), 401, app.CodeMissingAPIKey)
}
