package web

import (
	"bytes"
	"encoding/json"
	"image/gif"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/tracking"
	"mailer/db"
)

// fakeTracking knows one token and notes who came.
type fakeTracking struct {
	everyService // nothing else is asked
	mu           sync.Mutex
	visitors     []tracking.Visitor
	location     string
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

func (f *fakeTracking) FollowLink(token string, by *tracking.Visitor) (string, bool) {
	if !f.came(token, by) {
		return "", false
	}
	return f.location, true
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
	sent := tracking.Track(r.sealer, &app.Mail{HTML: html}, id, &app.Tracking{Base: cfg.BaseURL, Open: true, Click: true}).HTML
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
	wantStatus(t, r.do("GET", link, ""), 302)
}
