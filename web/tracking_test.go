package web

import (
	"bytes"
	"encoding/json"
	"image/gif"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/tracking"
	"mailer/db"
)

// tracked is a server with one tracked email.
type tracked struct {
	*testAPI
	id          string
	pixel, link string // addresses of the mail
}

const trackedTarget = "https://a.test/x/../y//?q=%C3%BC#z"

// newTracked is to be called in a bubble of synctest: a minute after the mail was sent.
func newTracked(t *testing.T) *tracked {
	t.Helper()
	cfg := captured()
	cfg.BaseURL = "https://mail.example.com"
	r := &tracked{testAPI: newTestAPI(t, cfg)}
	d := r.domain(r.team.ID, "example.com", true)
	r.write(func(tx *db.Tx) error {
		d.OpenTracking, d.ClickTracking = true, true
		return tx.SetDomainTracking(&d)
	})
	html := `<body><a href="` + trackedTarget + `">x</a></body>`
	r.id = r.send(r.full, `{"from":"a@example.com","to":"b@example.org","subject":"s","html":`+quoted(html)+`}`)
	r.eventually(r.full, "/emails/"+r.id, `"last_event":"sent"`)
	r.link, r.pixel = addressesIn(tracking.Track(r.sealer, &app.Mail{HTML: html}, r.team.ID, r.id, &app.Tracking{Base: cfg.BaseURL, Open: true, Click: true}).HTML)
	time.Sleep(time.Minute) // whoever opens a mail sooner is a machine
	return r
}

// addressesIn are the tracked addresses of a mail with one link.
func addressesIn(html string) (link, pixel string) {
	_, rest, _ := strings.Cut(html, `href="https://mail.example.com`)
	link, rest, _ = strings.Cut(rest, `"`)
	_, rest, _ = strings.Cut(rest, `src="https://mail.example.com`)
	pixel, _, _ = strings.Cut(rest, `"`)
	return link, pixel
}

// hits returns the opens and clicks of the email, newest first, with their client.
func (r *tracked) hits() (list []string) {
	r.t.Helper()
	time.Sleep(10 * time.Second) // long enough to be counted as a person
	synctest.Wait()
	for _, e := range decoded[struct {
		Data []struct {
			Type   string
			Detail struct {
				UserAgent string `json:"user_agent"`
				IPAddress string `json:"ip_address"`
			}
		}
	}](r.t, r.as(r.full, "GET", "/emails/"+r.id+"/events", "")).Data {
		if e.Detail.UserAgent != "" {
			list = append(list, e.Type+" "+e.Detail.IPAddress+" "+e.Detail.UserAgent)
		}
	}
	return list
}

func wantPrivate(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

func TestTracking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTracked(t)
		wantStatus(t, r.do("HEAD", r.pixel, "", "User-Agent: Moz/5"), 200)
		w := r.do("HEAD", r.link, "", "User-Agent: Moz/5")
		wantStatus(t, w, 302)
		if got := w.Header()["Location"]; len(got) != 1 || got[0] != trackedTarget {
			t.Errorf("leads to %q", got)
		}
		wantStatus(t, r.do("POST", r.link, "", "User-Agent: Moz/5"), 405)
		wantStatus(t, r.do("HEAD", "/t/c/bad", ""), 404)
		if got := r.hits(); len(got) != 0 {
			t.Errorf("what asks only whether it is there counts as %q", got)
		}
		w = r.do("GET", r.pixel, "", "User-Agent: Moz/5")
		wantStatus(t, w, 200)
		wantPrivate(t, w)
		image, err := gif.Decode(bytes.NewReader(w.Body.Bytes()))
		if err != nil || w.Body.Len() != 43 || w.Header().Get("Content-Type") != "image/gif" {
			t.Fatalf("%d bytes of %s: %v", w.Body.Len(), w.Header().Get("Content-Type"), err)
		}
		if _, _, _, alpha := image.At(0, 0).RGBA(); alpha != 0 || image.Bounds().Dx() != 1 || image.Bounds().Dy() != 1 {
			t.Errorf("the image is seen: %v %v", image.Bounds(), image.At(0, 0))
		}
		if got := r.hits(); !slices.Equal(got, []string{"opened 192.0.2.1 Moz/5"}) {
			t.Errorf("counted %q", got)
		}
		w = r.do("GET", r.link, "", "User-Agent: Moz/5")
		wantStatus(t, w, 302)
		wantPrivate(t, w)
		if got := w.Header()["Location"]; len(got) != 1 || got[0] != trackedTarget || w.Body.Len() != 0 {
			t.Errorf("leads to %q with %q", got, w.Body)
		}
		if got := r.hits(); !slices.Equal(got, []string{"clicked 192.0.2.1 Moz/5", "opened 192.0.2.1 Moz/5"}) {
			t.Errorf("counted %q", got)
		}
	})
}

func TestUnknownTrackingLinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTracked(t)
		good := strings.TrimPrefix(r.link, "/t/c/")
		for _, token := range []string{"bad", good[:len(good)-1], good + "%0A", good + "%20", strings.ToUpper(good), strings.Repeat("x", 5000), "https:%2F%2Fevil.test", "%2F%2Fevil.test"} {
			w := r.do("GET", "/t/c/"+token, "", "Accept-Language: de", "User-Agent: Moz/5")
			wantPage(t, w, 404, "Seite nicht gefunden")
			if w.Header().Get("Location") != "" {
				t.Errorf("%s leads to %s", token, w.Header().Get("Location"))
			}
		}
		w := r.do("GET", "/t/o/bad", "", "User-Agent: Moz/5")
		wantStatus(t, w, 404)
		if w.Body.Len() != 0 || w.Header().Get("Content-Type") != "image/gif" {
			t.Errorf("an unknown pixel answers %s", w.Body)
		}
		other := httptest.NewRecorder() // another team's host
		r.handler.ServeHTTP(other, httptest.NewRequest("GET", "http://links.team-b.test"+r.link, nil))
		wantPage(t, other, 404, "Page not found")
		if other.Header().Get("Location") != "" {
			t.Errorf("at another host it leads to %s", other.Header().Get("Location"))
		}
		if got := r.hits(); len(got) != 0 {
			t.Errorf("counted %q", got)
		}
		if strings.Contains(r.log.String(), "evil.test") {
			t.Error("a token is in the log")
		}
	})
}

// TestLinkOfDeletedMail: with a target in any script.
func TestLinkOfDeletedMail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTracked(t)
		const html = `<body><a href="https://a.test/ü?x=1&amp;y=2">x</a></body>`
		body := `{"from":"a@example.com","to":"b@example.org","subject":"s","html":` + quoted(html) + `}`
		id := r.send(r.full, body)
		var email struct{ HTML string }
		if err := json.Unmarshal(r.as(r.full, "GET", "/emails/"+id, "").Body.Bytes(), &email); err != nil || email.HTML != html {
			t.Errorf("read back as %s, %v", email.HTML, err)
		}
		link, pixel := addressesIn(tracking.Track(r.sealer, &app.Mail{HTML: html}, r.team.ID, id, &app.Tracking{Base: "https://mail.example.com", Open: true, Click: true}).HTML)
		w := r.do("GET", link, "", "User-Agent: Mozilla/5.0")
		wantStatus(t, w, 302)
		if got := w.Header().Get("Location"); got != "https://a.test/%C3%BC?x=1&y=2" {
			t.Errorf("leads to %s", got)
		}
		wantStatus(t, r.do("GET", pixel, "", "User-Agent: Mozilla/5.0"), 200)
		r.id = id
		if got := r.hits(); len(got) == 0 || !strings.HasPrefix(got[0], "prefetched ") { // too fast for a person
			t.Errorf("counted %q", got)
		}
		wantStatus(t, r.as(r.full, "DELETE", "/emails/"+id, ""), 200)
		time.Sleep(time.Second)
		wantNamed(t, r.do("GET", link, "", "Accept-Language: de"))
		r.send(r.full, body) // another mail changes nothing
		wantNamed(t, r.do("GET", link, "", "Accept-Language: de"))
		wantStatus(t, r.do("HEAD", link, ""), 200)
	})
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
