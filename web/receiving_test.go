package web

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/mailauth"
	"mailer/app/sending/receiving"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/web/rest"
)

// aReply is a message with an inline image and an attachment whose name is meant to do harm.
const aReply = "From: Ann <Ann@Example.net>\r\nTo: Team <in@acme.test>, b@other.test\r\nCc: c@other.test\r\nReply-To: r@example.net\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n" +
	"Message-ID: <m1@example.net>\r\nReceived: from a\r\nReceived: from b\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n" +
	"--x\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Hi <img src=\"cid:pic\"> <img src=\"cid:none\"></p>\r\n" +
	"--x\r\nContent-Type: image/png\r\nContent-ID: <pic>\r\nContent-Disposition: inline; filename=p.png\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw==\r\n" +
	"--x\r\nContent-Type: text/html\r\nContent-Disposition: attachment; filename=\"..\\\\..\\\\evil.html\"\r\n\r\n<script>alert(1)</script>\r\n--x--\r\n"

// receive stores a message for an address of a team, as the listener does, and returns the id.
func (r *testAPI) receive(teamID, address, raw string) string {
	r.t.Helper()
	s := r.server.Receiving
	s.Check = func(context.Context, mailauth.Input) app.ReceivedAuth {
		return app.ReceivedAuth{SPF: app.AuthPass, DKIM: app.AuthNone, DMARC: app.AuthPass, FromAligned: true}
	}
	err := s.Take(r.t.Context(), receiving.Delivery{RemoteIP: netip.MustParseAddr("192.0.2.1"), Helo: "mx.example.net", MailFrom: "ann@example.net",
		To: []receiving.Target{{Address: address, TeamID: teamID, DomainID: app.NewID()}}, Raw: strings.NewReader(raw), Size: int64(len(raw))})
	if err != nil {
		r.t.Fatal(err)
	}
	rows, _, err := s.List(r.t.Context(), &app.Key{TeamID: teamID}, app.Page{Limit: 1})
	if err != nil || len(rows) != 1 {
		r.t.Fatalf("%d rows, %v", len(rows), err)
	}
	return rows[0].ID
}

// received is a received email in an answer.
type received struct {
	CreatedAt   string `json:"created_at"`
	HTML        string
	Attachments []struct{ ID string }
	Raw         struct {
		DownloadURL string `json:"download_url"`
		ExpiresAt   string `json:"expires_at"`
	}
}

func TestReceivedEmail(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	id := r.receive(r.team.ID, "in@acme.test", aReply)
	at := "/emails/receiving/" + id
	w := r.as(r.full, "GET", at, "")
	m := decoded[received](t, w)
	if len(m.Attachments) != 2 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	shared := `"id":"` + id + `","to":["Team <in@acme.test>","b@other.test"],"from":"Ann <Ann@example.net>","created_at":"` + m.CreatedAt + `","subject":"Grüße","bcc":[],"cc":["c@other.test"],
		"reply_to":["r@example.net"],"received_for":["in@acme.test"],"message_id":"<m1@example.net>",
		"attachments":[{"id":"` + m.Attachments[0].ID + `","filename":"p.png","size":4,"content_type":"image/png","content_id":"pic","content_disposition":"inline"},
			{"id":"` + m.Attachments[1].ID + `","filename":".._.._evil.html","size":25,"content_type":"text/html","content_id":null,"content_disposition":"attachment"}],
		"auth":{"spf":"pass","dkim":"none","dmarc":"pass","from_aligned":true},"in_reply_to_email_id":null,"reply_proven":false,"contact_id":null,"auto_submitted":null,"size":` + strconv.Itoa(len(aReply)) + `,"effects":[]`
	headers := `"headers":{"from":"Ann <Ann@Example.net>","to":"Team <in@acme.test>, b@other.test","cc":"c@other.test","reply-to":"r@example.net","subject":"Grüße","message-id":"<m1@example.net>",
		"received":"from a\nfrom b","mime-version":"1.0","content-type":"multipart/mixed; boundary=x"}`
	text := decoded[struct {
		Text  string
		Reply string `json:"reply_text"`
	}](t, w)
	record := func(html, format string) string {
		return `{"object":"email",` + shared + `,"html":"` + html + `","html_format":"` + format + `","text":` + strconv.Quote(text.Text) + `,"reply_text":` + strconv.Quote(text.Reply) + `,` + headers + `,
			"raw":{"download_url":"` + m.Raw.DownloadURL + `","expires_at":"` + m.Raw.ExpiresAt + `"}}`
	}
	const none = `<img src=\"cid:none\"></p>`
	wantJSON(t, w, record(`<p>Hi <img src=\"data:image/png;base64,iVBORw==\"> `+none, "data_uri"))
	w = r.as(r.full, "GET", at+"?html_format=cid", "")
	m = decoded[received](t, w)
	wantJSON(t, w, record(`<p>Hi <img src=\"cid:pic\"> `+none, "cid"))
	wantError(t, r.as(r.full, "GET", at+"?html_format=x", ""), 422, app.CodeValidation, "html_format")
	wantJSON(t, r.as(r.full, "GET", "/emails/receiving", ""), `{"object":"list","has_more":false,"data":[{`+shared+`}]}`)
	wantError(t, r.as(r.full, "GET", "/emails/receiving?after="+unknownID, ""), 422, app.CodeValidation, "after")

	files := r.page(r.full, at+"/attachments?limit=1")
	if len(files.Data) != 1 || files.Data[0].ID != m.Attachments[0].ID || !files.HasMore {
		t.Errorf("%+v", files)
	}
	one := at + "/attachments/" + m.Attachments[0].ID
	w = r.as(r.full, "GET", one, "")
	f := decoded[map[string]any](t, w)
	wantJSON(t, w, `{"object":"attachment","id":"`+m.Attachments[0].ID+`","filename":"p.png","size":4,"content_type":"image/png","content_disposition":"inline","content_id":"pic",
		"download_url":"`+f["download_url"].(string)+`","expires_at":"`+f["expires_at"].(string)+`"}`)
	for _, path := range []string{"/emails/receiving/" + unknownID, "/emails/receiving/x", "/emails/receiving/" + unknownID + "/attachments", one[:len(one)-1] + "x", at + "/attachments/" + unknownID} {
		wantError(t, r.as(r.full, "GET", path, ""), 404, app.CodeNotFound)
	}
	_, theirs := r.newTeam("Other")
	for _, path := range []string{at, at + "/attachments", one} {
		wantError(t, r.as(theirs, "GET", path, ""), 404, app.CodeNotFound)
		wantStatus(t, r.as(r.role(r.team.ID, app.RoleMember), "GET", path, ""), 200)
		wantStatus(t, r.as(r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess}), "GET", path, ""), 403)
	}
	if rows := r.page(theirs, "/emails/receiving"); len(rows.Data) != 0 {
		t.Errorf("another team's list: %+v", rows)
	}
}

// TestReceivedPreview: the frame shows inline images, remote ones only on demand, no scripts, and only to the team.
func TestReceivedPreview(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	id := r.receive(r.team.ID, "in@acme.test", strings.Replace(aReply, "<p>Hi ", `<script>alert(1)</script><p>Hi <img src="https://peer.test/p.png"> `, 1))
	path := "/emails/receiving/" + id + "/preview"
	for body, images := range map[string]string{"": "data:;", `{"images":true}`: "data: https: http:;"} {
		p := decoded[struct {
			Object string
			URL    string
			Remote int `json:"remote_images"`
		}](t, r.as(r.full, "POST", path, body))
		if p.Object != "received_preview" || p.Remote != 1 {
			t.Errorf("%+v", p)
		}
		q := httptest.NewRequest("GET", p.URL, nil)
		q.Header.Set("Sec-Fetch-Dest", "iframe")
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, q)
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code != 200 || !strings.Contains(w.Body.String(), `<img src="data:image/png;base64,iVBORw==">`) || !strings.HasPrefix(policy, "sandbox; default-src 'none'; img-src "+images) {
			t.Errorf("%d %s, %s", w.Code, w.Body, policy)
		}
	}
	_, theirs := r.newTeam("Other")
	wantError(t, r.as(theirs, "POST", path, ""), 404, app.CodeNotFound)
	wantStatus(t, r.as(r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess}), "POST", path, ""), 403)
	wantStatus(t, r.as(r.role(r.team.ID, app.RoleMember), "POST", path, ""), 200)
}

func TestReceivedDownloads(t *testing.T) {
	t.Parallel()
	cfg := captured()
	cfg.PagesHost = "pages.internal"
	r := newTestAPI(t, cfg, func(cfg *Config, _ *rest.Limits) { cfg.OneHost, cfg.PagesHost = true, "pages.internal" })
	large := aReply + strings.Repeat("epilogue\r\n", 100_000)
	id := r.receive(r.team.ID, "in@acme.test", large)
	at := "/emails/receiving/" + id
	m := decoded[received](t, r.as(r.full, "GET", at, ""))
	file := decoded[struct {
		DownloadURL string `json:"download_url"`
	}](t, r.as(r.full, "GET", at+"/attachments/"+m.Attachments[1].ID, "")).DownloadURL
	get := func(method, url string, head ...string) *httptest.ResponseRecorder {
		path, ok := strings.CutPrefix(url, "https://pages.internal")
		if !ok {
			t.Errorf("%s", url)
		}
		q := httptest.NewRequest(method, path, nil)
		q.Host = "pages.internal"
		for i := 0; i < len(head); i += 2 {
			q.Header.Set(head[i], head[i+1])
		}
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, q)
		return w
	}
	for _, tt := range []struct{ url, kind, name, body string }{
		{m.Raw.DownloadURL, "message/rfc822", id + ".eml", large},
		{file, "text/html", "_.._evil.html", "<script>alert(1)</script>"},
	} {
		w := get("GET", tt.url)
		if w.Code != 200 || w.Body.String() != tt.body {
			t.Errorf("%d %.200s", w.Code, w.Body)
		}
		for name, want := range map[string]string{"Content-Type": tt.kind, "Content-Disposition": "attachment; filename=" + tt.name, "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "private, no-store", "Content-Length": strconv.Itoa(len(tt.body)), "Set-Cookie": "", "Access-Control-Allow-Origin": ""} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if w := get("HEAD", tt.url); w.Code != 200 || w.Body.Len() != 0 {
			t.Errorf("HEAD: %d, %d bytes", w.Code, w.Body.Len())
		}
		wantError(t, get("GET", tt.url, "Sec-Fetch-Dest", "empty", "Sec-Fetch-Mode", "cors"), 403, app.CodeForbidden)
		for i := len(tt.url) - 20; i < len(tt.url); i++ {
			other := "A"
			if tt.url[i] == 'A' {
				other = "B"
			}
			wantError(t, get("GET", tt.url[:i]+other+tt.url[i+1:]), 404, app.CodeNotFound)
		}
		wantError(t, get("GET", tt.url+"A"), 404, app.CodeNotFound)
		if _, err := r.server.Mail.OpenAttachment(t.Context(), tt.url[strings.LastIndex(tt.url, "/")+1:]); app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("the token of a received file opens a sent one: %v", err)
		}
	}
	testserver.Must(t, r.store.Write(t.Context(), func(tx *db.Tx) error { return tx.Write(`DELETE FROM received_emails WHERE id = ?`, id) }))
	wantError(t, get("GET", m.Raw.DownloadURL), 404, app.CodeNotFound)
	wantError(t, get("GET", file), 404, app.CodeNotFound)
}

func TestReceivedDownloadEndsAfterAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestAPI(t, captured())
		id := r.receive(r.team.ID, "in@acme.test", aReply)
		s := r.server.Receiving
		token, expires := s.DownloadToken(&app.Key{TeamID: r.team.ID}, id, "")
		for _, tt := range []struct {
			after time.Duration
			works bool
		}{{0, true}, {59 * time.Minute, true}, {2 * time.Minute, false}} {
			time.Sleep(tt.after)
			if _, err := s.OpenDownload(t.Context(), token); (err == nil) != tt.works || err != nil && app.CodeOf(err) != app.CodeNotFound {
				t.Errorf("at %s of %s: %v", time.Now(), expires, err)
			}
		}
	})
}

func TestDomainCapabilityReceiving(t *testing.T) {
	t.Parallel()
	cfg := captured()
	cfg.BounceHost = "mx.example.com"
	r := newTestAPI(t, cfg)
	type domain struct {
		ID           string
		Capabilities app.DomainCapabilities
		Records      []struct {
			Record, Type, Name, Value, Status string
			Priority                          int
			Required                          bool
		}
	}
	check := func(w *httptest.ResponseRecorder, status int, receiving string) string {
		t.Helper()
		wantStatus(t, w, status)
		d := decoded[domain](t, w)
		row := d.Records[len(d.Records)-1]
		is := row.Record == "Receiving"
		if d.Capabilities != (app.DomainCapabilities{Sending: "enabled", Receiving: receiving}) || is != (receiving == "enabled") ||
			is && (row.Type != "MX" || row.Name != "acme.test" || row.Value != "mx.example.com" || row.Priority != 10 || row.Required || row.Status != "not_started") {
			t.Errorf("%+v", d)
		}
		return d.ID
	}
	id := check(r.as(r.full, "POST", "/domains", `{"name":"acme.test","capabilities":{"receiving":"enabled"}}`), 201, "enabled")
	check(r.as(r.full, "GET", "/domains/"+id, ""), 200, "enabled")
	check(r.as(r.full, "PATCH", "/domains/"+id, `{"open_tracking":true}`), 200, "enabled")
	check(r.as(r.full, "PATCH", "/domains/"+id, `{"capabilities":{"receiving":"disabled"}}`), 200, "disabled")
	check(r.as(r.full, "PATCH", "/domains/"+id, `{"capabilities":{"sending":"enabled"}}`), 200, "disabled")
	check(r.as(r.full, "PATCH", "/domains/"+id, `{"capabilities":{"receiving":"enabled"}}`), 200, "enabled")
	wantError(t, r.as(r.full, "PATCH", "/domains/"+id, `{"capabilities":{"receiving":"x"}}`), 422, app.CodeValidation, "capabilities.receiving")
	wantError(t, r.as(r.role(r.team.ID, app.RoleMember), "PATCH", "/domains/"+id, `{"capabilities":{"receiving":"disabled"}}`), 403, app.CodeForbidden)
}
