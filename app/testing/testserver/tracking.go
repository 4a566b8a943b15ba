package testserver

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/tracking"
	"mailer/db"
)

const (
	TrackBase  = "https://" + linkHost
	linkHost   = "mail.test"
	Chrome     = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36"
	ImageProxy = "Mozilla/5.0 (via ggpht.com GoogleImageProxy)"
)

// StartTracking starts a server whose domain tracks opens and clicks.
func StartTracking(t testing.TB, relays ...*FakeRelay) *Server {
	t.Helper()
	if len(relays) == 0 {
		relays = []*FakeRelay{NewRelay(nil)}
	}
	w := New(t, relays...)
	w.Services.Settings.BaseURL = TrackBase
	w.SetTracking(app.Domain{OpenTracking: true, ClickTracking: true})
	w.Start()
	return w
}

// SetTracking sets the tracking settings of the test domain to those of d.
func (w *Server) SetTracking(d app.Domain) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		old, err := tx.DomainByName(w.Key.TeamID, TestDomain)
		if err != nil {
			return err
		}
		d.ID, d.TeamID, d.Name, d.Status, d.CheckAt = old.ID, old.TeamID, old.Name, old.Status, old.CheckAt
		if err := tx.SetDomainTracking(&d); err != nil {
			return err
		}
		return tx.SetDomainChecks(&d)
	}))
}

// Links returns HTML with n links.
func Links(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<a href="https://a.test/%d">x</a>`, i)
	}
	return b.String()
}

// LoadPixel loads the pixel of an email.
func (w *Server) LoadPixel(id, agent string) {
	w.T.Helper()
	if !w.Services.Mail.NoteOpen(tracking.OpenToken(w.Services.Sealer, id), &tracking.Visitor{UserAgent: agent, IPAddress: "192.0.2.1"}) {
		w.T.Error("the pixel is unknown")
	}
}

// Click follows a tracked link of an email. of is its number of links.
func (w *Server) Click(id string, link, of int, agent string) {
	w.T.Helper()
	target := fmt.Sprintf("https://a.test/%d", link)
	token := tracking.ClickToken(w.Services.Sealer, tracking.ClickLink{TeamID: w.Key.TeamID, EmailID: id, Host: linkHost, Link: link, Links: of, Target: target})
	if got, ok := w.Services.Mail.FollowLink(w.T.Context(), linkHost, token, &tracking.Visitor{UserAgent: agent, IPAddress: "192.0.2.1"}); !ok || got.Target != target {
		w.T.Errorf("the link leads to %+v, %v", got, ok)
	}
}

// TrackingEvents returns the open and click events of an email with the numbers of their links,
// oldest first.
func (w *Server) TrackingEvents(id string) string {
	w.T.Helper()
	var out []string
	for _, ev := range w.Events(id) {
		switch ev.Type {
		case app.EventType(app.Opened), app.EventType(app.Clicked), app.EventPrefetched:
			out = append(out, string(ev.Type)+strings.TrimPrefix(ev.Detail.Link, "https://a.test/"))
		}
	}
	return strings.Join(out, " ")
}

// WantTrackingEvents checks the opens and clicks of an email, and its last event.
func (w *Server) WantTrackingEvents(id, want string, last app.LastEvent) {
	w.T.Helper()
	if got := w.TrackingEvents(id); got != want {
		w.T.Errorf("recorded %q, want %q; timeline:\n%s", got, want, w.Timeline(id))
	}
	w.WantLastEvent(id, last)
}

// SleepAndSettle sleeps until pending opens and clicks are stored.
func SleepAndSettle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
