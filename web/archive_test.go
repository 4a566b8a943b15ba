package web

import (
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mmcdole/gofeed"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/web/rest"
)

// published is a server with a topic that has an archive.
type published struct {
	*testAPI
	topic string
	host  string
}

func newPublished(t *testing.T, archive string) *published {
	t.Helper()
	cfg := captured()
	cfg.PagesHost = "pages.example.com"
	p := &published{newTestAPI(t, cfg, func(cfg *Config, _ *rest.Limits) { cfg.OneHost, cfg.PagesHost = true, "pages.example.com" }), "", "pages.example.com"}
	w := p.as(p.full, "POST", "/topics", `{"name":"News & <more>","default_subscription":"opt_in","visibility":"public","description":"All of it"}`)
	wantStatus(t, w, 201)
	p.topic = decoded[struct {
		ID string `json:"id"`
	}](t, w).ID
	if archive != "" {
		wantStatus(t, p.as(p.full, "PATCH", "/topics/"+p.topic, `{"archive":"`+archive+`"}`), 200)
	}
	p.as(p.full, "POST", "/contacts", `{"email":"reader@example.net","first_name":"Rita"}`)
	return p
}

// send sends a broadcast to the topic and returns its id. more are members of its body.
func (p *published) send(subject, more string) string {
	p.t.Helper()
	w := p.as(p.full, "POST", "/broadcasts", `{"from":"Acme <news@acme.example>","topic_id":"`+p.topic+`","subject":"`+subject+`","send":true,
		"html":"<p onclick=x>Hello {{{FIRST_NAME|you}}}</p><script>x</script><a href='{{{UNSUBSCRIBE_URL}}}'>out</a>"`+more+`}`)
	wantStatus(p.t, w, 201)
	testserver.Must(p.t, p.server.Archive.MakeIssues(p.t.Context()))
	return decoded[struct {
		ID string `json:"id"`
	}](p.t, w).ID
}

// get asks a host for a path.
func (p *published) get(host, path string, headers ...string) *httptest.ResponseRecorder {
	p.t.Helper()
	q := httptest.NewRequest(http.MethodGet, path, nil)
	q.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, q)
	return w
}

type archiveAnswer struct {
	URL    string `json:"url"`
	Issues []struct {
		ID      string `json:"id"`
		Subject string `json:"subject"`
	} `json:"issues"`
	Candidates []struct {
		BroadcastID string `json:"broadcast_id"`
	} `json:"candidates"`
}

func (p *published) archive() archiveAnswer {
	p.t.Helper()
	w := p.as(p.full, "GET", "/topics/"+p.topic+"/archive", "")
	wantStatus(p.t, w, 200)
	return decoded[archiveAnswer](p.t, w)
}

func TestArchiveShowsWhatWasSentSince(t *testing.T) {
	t.Parallel()
	p := newPublished(t, "")
	before := p.send("Before", "")
	wantStatus(t, p.get(p.host, "/a/"+p.topic), 404)
	p.write(func(tx *db.Tx) error { return tx.Write(`UPDATE broadcasts SET queued_at = queued_at - 1000`) })
	wantStatus(t, p.as(p.full, "PATCH", "/topics/"+p.topic, `{"archive":"public"}`), 200)
	wantError(t, p.as(p.full, "PATCH", "/topics/"+p.topic, `{"visibility":"private"}`), 422, app.CodeValidation, "archive")
	p.send("First", "")
	p.send("Left out", `,"archive":false`)
	segment := p.segment(p.team.ID)
	p.send("Part", `,"segment_id":"`+segment+`"`)
	p.send("Chosen part", `,"archive":true,"segment_id":"`+segment+`"`)
	a := p.archive()
	var subjects []string
	for _, i := range a.Issues {
		subjects = append(subjects, i.Subject)
	}
	if strings.Join(subjects, ",") != "Chosen part,First" || len(a.Candidates) != 3 || a.URL != "https://pages.example.com/a/"+p.topic {
		t.Fatalf("%+v", a)
	}
	// One of before is chosen, and another is removed and does not come back.
	had := len(p.logged(0))
	wantStatus(t, p.as(p.full, "POST", "/topics/"+p.topic+"/archive", `{"broadcast_id":"`+before+`"}`), 201)
	wantError(t, p.as(p.full, "POST", "/topics/"+p.topic+"/archive", `{"broadcast_id":"`+before+`"}`), 409, app.CodeConflict)
	wantStatus(t, p.as(p.full, "DELETE", "/topics/"+p.topic+"/archive/"+a.Issues[0].ID, ""), 200)
	if made := p.logged(had); len(made) != 2 || made[0].Action != "archive.remove" || made[1].Action != "archive.add" || made[0].Target != p.topic {
		t.Errorf("the audit log has %+v", made)
	}
	testserver.Must(t, p.server.Archive.MakeIssues(t.Context()))
	if a = p.archive(); len(a.Issues) != 2 || a.Issues[0].Subject != "First" || a.Issues[1].Subject != "Before" {
		t.Errorf("%+v", a.Issues)
	}
	member := p.role(p.team.ID, app.RoleMember)
	wantError(t, p.as(member, "PATCH", "/topics/"+p.topic, `{"archive":null}`), 403, app.CodeForbidden)
	wantError(t, p.as(member, "POST", "/topics/"+p.topic+"/archive", `{"broadcast_id":"`+before+`"}`), 403, app.CodeForbidden)
	wantError(t, p.as(member, "DELETE", "/topics/"+p.topic+"/archive/"+a.Issues[0].ID, ""), 403, app.CodeForbidden)

	issue := "/a/" + p.topic + "/" + a.Issues[0].ID
	w := p.get(p.host, issue)
	for _, part := range []string{"<p>Hello you</p>", `href="https://pages.example.com/a/` + p.topic + `"`, `rel="canonical" href="https://pages.example.com` + issue, `og:title`, "News &amp; &lt;more&gt;"} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("%q is missing in %s", part, w.Body)
		}
	}
	for _, part := range []string{"<script", "onclick", "Rita", "example.net", "unsubscribe/", "sign-up.invalid"} {
		if strings.Contains(w.Body.String(), part) {
			t.Errorf("%q is in %s", part, w.Body)
		}
	}
	if got := w.Header().Get("Content-Security-Policy"); got != "sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation; default-src 'none'; img-src https: data:; font-src https:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'" {
		t.Error(got)
	}
	if w := p.get(p.host, issue, "If-None-Match", w.Header().Get("ETag")); w.Code != 304 || w.Body.Len() != 0 || w.Header().Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	// With a form, links lead to it.
	f := app.Form{ID: app.NewID(), TeamID: p.team.ID, Name: "f", Version: 1, FormDefinition: app.FormDefinition{From: "a@acme.example", Topics: []app.FormTopic{{ID: p.topic}}}}
	f.Confirm = "double"
	p.write(func(tx *db.Tx) error { f.CreatedAt, f.UpdatedAt = tx.Now, tx.Now; return tx.InsertForm(&f) })
	if w := p.get(p.host, issue); strings.Count(w.Body.String(), "https://pages.example.com/f/"+f.ID) != 2 {
		t.Errorf("%s", w.Body)
	}
	for _, tt := range [][2]string{{"mail.example.com", issue}, {"evil.example.com", issue}, {p.host, "/a/" + app.NewID()}, {p.host, "/a/x"}, {p.host, "/a/" + p.topic + "/" + app.NewID()}, {p.host, "/"}} {
		if w := p.get(tt[0], tt[1]); w.Code != 404 && tt[0] != "mail.example.com" {
			t.Errorf("%v: %d", tt, w.Code)
		}
	}
	p.newTeam("Other")
	wantStatus(t, p.get("mail.example.com", issue), 404)
	// A suspended team, and an archive that ends.
	if _, err := p.server.Teams.SuspendTeam(t.Context(), p.team.Name, ""); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, p.get(p.host, issue), 404)
	if _, err := p.server.Teams.ResumeTeam(t.Context(), p.team.Name); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, p.get(p.host, issue), 200)
	if _, err := p.server.Archive.RemovePage(t.Context(), "https://pages.example.com"+issue); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, p.get(p.host, issue), 404)
	wantStatus(t, p.as(p.full, "PATCH", "/topics/"+p.topic, `{"archive":null}`), 200)
	wantStatus(t, p.get(p.host, "/a/"+p.topic), 404)
	if a := p.archive(); len(a.Issues) != 0 {
		t.Errorf("issues stayed: %+v", a)
	}
}

func TestArchiveFeedsAreValid(t *testing.T) {
	t.Parallel()
	p := newPublished(t, "unlisted")
	p.send("Tom & Jerry <3", "")
	p.send("Second", "")
	for _, name := range []string{"feed.xml", "feed.json"} {
		w := p.get(p.host, "/a/"+p.topic+"/"+name)
		wantStatus(t, w, 200)
		if w.Header().Get("X-Robots-Tag") != "noindex, nofollow" {
			t.Errorf("%v", w.Header())
		}
		feed, err := gofeed.NewParser().ParseString(w.Body.String())
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, w.Body)
		}
		if feed.Title != "News & <more>" || len(feed.Items) != 2 || feed.Items[1].Title != "Tom & Jerry <3" || feed.Items[0].PublishedParsed == nil || !strings.HasPrefix(feed.Items[0].GUID, "urn:uuid:") {
			t.Errorf("%s: %+v", name, feed)
		}
		if link := strings.TrimPrefix(feed.Items[0].Link, "https://pages.example.com"); p.get(p.host, link).Code != 200 {
			t.Errorf("%s leads to %s", name, feed.Items[0].Link)
		}
	}
	var rss struct {
		Version string `xml:"version,attr"`
	}
	if err := xml.Unmarshal(p.get(p.host, "/a/"+p.topic+"/feed.xml").Body.Bytes(), &rss); err != nil || rss.Version != "2.0" {
		t.Errorf("%+v %v", rss, err)
	}
	w := p.get(p.host, "/a/"+p.topic, "Accept-Language", "de")
	for _, part := range []string{`<html lang="de">`, `content="noindex"`, "Tom &amp; Jerry &lt;3", "feed.xml"} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("%q is missing in %s", part, w.Body)
		}
	}
}

// TestOwnHostShowsArchivesAtItsRoot: the one public archive, or the list of them.
func TestOwnHostShowsArchivesAtItsRoot(t *testing.T) {
	t.Parallel()
	p := newPublished(t, "public")
	p.send("One", "")
	wantStatus(t, p.as(p.full, "POST", "/domains", `{"name":"acme.test"}`), 201)
	p.write(func(tx *db.Tx) error {
		return tx.Write(`UPDATE domains SET status = 'verified' WHERE name = 'acme.test'`)
	})
	wantStatus(t, p.as(p.full, "PATCH", "/team", `{"pages_host":"news.acme.test"}`), 200)
	if w := p.get("news.acme.test", "/"); w.Code != 200 || !strings.Contains(w.Body.String(), ">One<") && !strings.Contains(w.Body.String(), "One</bdi>") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w := p.as(p.full, "POST", "/topics", `{"name":"Other","default_subscription":"opt_in","visibility":"public"}`)
	other := decoded[struct {
		ID string `json:"id"`
	}](t, w).ID
	wantStatus(t, p.as(p.full, "PATCH", "/topics/"+other, `{"archive":"public"}`), 200)
	if w := p.get("news.acme.test", "/"); w.Code != 200 || !strings.Contains(w.Body.String(), "/a/"+other) || !strings.Contains(w.Body.String(), "/a/"+p.topic) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := p.get("mail.example.com", "/", "Accept", "text/html"); w.Code != 302 {
		t.Errorf("the base URL: %d", w.Code)
	}
}
