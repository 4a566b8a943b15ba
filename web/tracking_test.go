package web

import (
	"bytes"
	"context"
	"encoding/json"
	"image/gif"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/tracking"
	"mailer/app/world"
	"mailer/db"
)

// fakeTracking knows one token and notes who came.
type fakeTracking struct {
	everyService // nothing else is asked
	mu           sync.Mutex
	visitors     []tracking.Visitor
	location     string
	orphaned     bool
}

func (f *fakeTracking) came(token string, by *tracking.Visitor) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if token == "good" && by != nil {
		f.visitors = append(f.visitors, *by)
	}
	return token == "good"
}

func (f *fakeTracking) NoteOpen(token string, by *tracking.Visitor) bool { return f.came(token, by) }

func (f *fakeTracking) FollowLink(_ context.Context, host, token string, by *tracking.Visitor) (tracking.Destination, bool) {
	if host != "mail.example.com" || !f.came(token, by) {
		return tracking.Destination{}, false
	}
	return tracking.Destination{Target: f.location, Location: f.location, Orphaned: f.orphaned}, true
}

func trackingBench(t *testing.T) (*bench, *fakeTracking) {
	b := newBench(t)
	f := &fakeTracking{location: "https://a.test/x/../y//?q=%C3%BC#z"}
	b.service.everyService = f
	return b, f
}

func wantPrivate(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

func TestThePixel(t *testing.T) {
	b, f := trackingBench(t)
	w := b.do("GET", "/t/o/good", "", "User-Agent: Moz/5")
	wantStatus(t, w, 200)
	wantPrivate(t, w)
	image, err := gif.Decode(bytes.NewReader(w.Body.Bytes()))
	if err != nil || w.Body.Len() != 43 || w.Header().Get("Content-Type") != "image/gif" {
		t.Fatalf("%d bytes of %s: %v", w.Body.Len(), w.Header().Get("Content-Type"), err)
	}
	if _, _, _, alpha := image.At(0, 0).RGBA(); alpha != 0 || image.Bounds().Dx() != 1 || image.Bounds().Dy() != 1 {
		t.Errorf("the image is seen: %v %v", image.Bounds(), image.At(0, 0))
	}
	if len(f.visitors) != 1 || f.visitors[0] != (tracking.Visitor{UserAgent: "Moz/5", IPAddress: "192.0.2.1"}) {
		t.Errorf("counted %+v", f.visitors)
	}
	w = b.do("GET", "/t/o/bad", "")
	wantStatus(t, w, 404)
	if w.Body.Len() != 0 || w.Header().Get("Content-Type") != "image/gif" {
		t.Errorf("an unknown pixel answers %s", w.Body)
	}
	if len(f.visitors) != 1 {
		t.Error("an unknown pixel counts")
	}
}

func TestATrackedLinkRedirectsByteForByte(t *testing.T) {
	b, f := trackingBench(t)
	w := b.do("GET", "/t/c/good", "", "User-Agent: Moz/5")
	wantStatus(t, w, 302)
	wantPrivate(t, w)
	if got := w.Header()["Location"]; len(got) != 1 || got[0] != f.location || w.Body.Len() != 0 {
		t.Errorf("leads to %q with %q", got, w.Body)
	}
	if len(f.visitors) != 1 {
		t.Errorf("counted %+v", f.visitors)
	}
}

func TestUnknownLinksLeadNowhere(t *testing.T) {
	b, f := trackingBench(t)
	for _, token := range []string{"bad", "goo", "good%0A", "good%20", "GOOD", strings.Repeat("x", 5000), "https:%2F%2Fevil.test", "%2F%2Fevil.test"} {
		w := b.do("GET", "/t/c/"+token, "", "Accept-Language: de")
		wantPage(t, w, 404, "Seite nicht gefunden")
		if w.Header().Get("Location") != "" {
			t.Errorf("%s leads to %s", token, w.Header().Get("Location"))
		}
	}
	if len(f.visitors) != 0 {
		t.Errorf("counted %+v", f.visitors)
	}
	if strings.Contains(b.log.String(), "evil.test") {
		t.Error("a token is in the log")
	}
}

func TestHEADIsAnsweredAndNeverCounted(t *testing.T) {
	b, f := trackingBench(t)
	wantStatus(t, b.do("HEAD", "/t/o/good", ""), 200)
	w := b.do("HEAD", "/t/c/good", "")
	wantStatus(t, w, 302)
	if w.Header().Get("Location") != f.location {
		t.Errorf("leads to %s", w.Header().Get("Location"))
	}
	wantStatus(t, b.do("HEAD", "/t/c/bad", ""), 404)
	wantStatus(t, b.do("POST", "/t/c/good", ""), 405)
	if len(f.visitors) != 0 {
		t.Errorf("counted %+v", f.visitors)
	}
}

// TestRealTracking goes from a send to the timeline: what stands in the message
// is what the routes answer.
func TestRealTracking(t *testing.T) {
	world.BothEngines(t)
	cfg := captured()
	cfg.BaseURL = "https://mail.example.com"
	r := newReal(t, cfg)
	d := r.domain(r.team.ID, "example.com", true)
	err := r.store.Write(t.Context(), func(tx *db.Tx) error {
		d.OpenTracking, d.ClickTracking = true, true
		return tx.SetDomainTracking(&d)
	})
	if err != nil {
		t.Fatal(err)
	}
	const html = `<body><a href="https://a.test/ü?x=1&amp;y=2">x</a></body>`
	body, err := json.Marshal(map[string]any{"from": "a@example.com", "to": "b@example.org", "subject": "s", "html": html})
	if err != nil {
		t.Fatal(err)
	}
	id := r.send(r.full, string(body))
	r.eventually(r.full, "/emails/"+id, `"last_event":"sent"`)
	var email struct{ HTML string }
	if err := json.Unmarshal(r.as(r.full, "GET", "/emails/"+id, "").Body.Bytes(), &email); err != nil || email.HTML != html {
		t.Errorf("read back as %s, %v", email.HTML, err)
	}
	sent := tracking.Track(r.sealer, &app.Mail{HTML: html}, r.team.ID, id, &app.Tracking{Base: cfg.BaseURL, Open: true, Click: true}).HTML
	_, rest, _ := strings.Cut(sent, `href="`+cfg.BaseURL)
	link, rest, _ := strings.Cut(rest, `"`)
	_, rest, _ = strings.Cut(rest, `src="`+cfg.BaseURL)
	pixel, _, _ := strings.Cut(rest, `"`)
	w := r.do("GET", link, "", "User-Agent: Mozilla/5.0")
	wantStatus(t, w, 302)
	if got := w.Header().Get("Location"); got != "https://a.test/%C3%BC?x=1&y=2" {
		t.Errorf("leads to %s", got)
	}
	wantStatus(t, r.do("GET", pixel, "", "User-Agent: Mozilla/5.0"), 200)
	wantStatus(t, r.do("GET", link[:len(link)-1], ""), 404)
	r.eventually(r.full, "/emails/"+id+"/events", `"prefetched"`) // within 10 seconds
	wantStatus(t, r.as(r.full, "DELETE", "/emails/"+id, ""), 200)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if w = r.do("GET", link, "", "Accept-Language: de"); w.Code != 302 { // within a second of the deletion
			break
		}
	}
	wantNamed(t, w)
	r.send(r.full, string(body)) // another mail changes nothing
	wantNamed(t, r.do("GET", link, "", "Accept-Language: de"))
	wantStatus(t, r.do("HEAD", link, ""), 200)
}

// wantNamed checks the page that names a target instead of leading there.
func wantNamed(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	wantStatus(t, w, 200)
	wantPrivate(t, w)
	for _, want := range []string{`<html lang="de">`, `dir="ltr">https://a.test/ü?x=1&amp;y=2</p>`,
		`<a href="https://a.test/%C3%BC?x=1&amp;y=2" rel="noopener noreferrer nofollow">`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page has no %s:\n%s", want, w.Body)
		}
	}
	policy := w.Header().Get("Content-Security-Policy")
	if w.Header().Get("Location") != "" || strings.Contains(strings.ToLower(w.Body.String()), "http-equiv") || !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("it leads on by itself, or its policy is %q", policy)
	}
}

func TestAClickOnAnotherTeamsHostIsNoLink(t *testing.T) {
	b, f := trackingBench(t)
	for host, want := range map[string]int{"mail.example.com": 302, "links.team-b.test": 404} {
		r := httptest.NewRequest("GET", "http://"+host+"/t/c/good", nil)
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		wantStatus(t, w, want)
		if got := w.Header().Get("Location"); want != 302 && (got != "" || !strings.Contains(w.Body.String(), "<html")) {
			t.Errorf("%s answers %q %s", host, got, w.Body)
		}
	}
	f.orphaned = true
	if w := b.do("GET", "/t/c/good", ""); w.Code != 200 || w.Header().Get("Location") != "" {
		t.Errorf("an orphaned link: %d to %q", w.Code, w.Header().Get("Location"))
	}
}
