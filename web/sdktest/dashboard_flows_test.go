package sdktest

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/chromedp/cdproto/input"
	"github.com/emersion/go-smtp"
)

// makeAccount follows the printed setup link up to the second factor.
func (s *screen) makeAccount(in *instance, email string) {
	s.t.Helper()
	var code string
	eventually(s.t, startTimeout, "serve prints the link of the setup", func() (bool, string) {
		_, rest, found := strings.Cut(string(in.log(s.t)), "/dashboard/setup#")
		code, _, _ = strings.Cut(rest, "\n")
		return found, ""
	})
	s.load("/setup#" + code)
	s.fill("Name", "Ingrid")
	s.fill("Team", "Harbour")
	s.fill("Email", email)
	s.fill("Password", "a long enough pass phrase")
	s.press("Create account")
	s.sees("Scan this code with an authenticator app")
}

// TestFirstEmailInTheBrowser follows a new installation from the printed link to a delivered email.
func TestFirstEmailInTheBrowser(t *testing.T) {
	part(t, "browser", shortForm)
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	s := newScreen(t, in.url, "")
	s.makeAccount(in, "ingrid@example.test")
	s.fine("the account is made")
	s.visit("/emails")
	s.sees("Harbour", "Emails")
	s.press("Send")
	s.fill("From", "invoices@example.test")
	s.fill("To", "zofia@example.org")
	s.fill("Subject", "The very first")
	s.submits()
	relay.wait(t, 1, time.Minute, func(m *message) bool { return m.header("Subject") == "The very first" })
	s.sees("accepted it for zofia@example.org") // the page of the email opens once the answer arrived
	s.visit("/emails")
	s.sees("The very first")
	s.press("The very first")
	s.sees("accepted it for zofia@example.org")
	s.fine("the first email")
	s.allow("401") // Chromium logs these itself: requests of a page that was left, and a wrong password
	s.press("Ingrid")
	s.press("Sign out")
	s.sees("Sign in")
	s.fill("Email", "ingrid@example.test")
	s.fill("Password", "not the pass phrase")
	s.press("Sign in")
	s.sees("Wrong address or password")
	s.fill("Password", "a long enough pass phrase")
	s.press("Sign in")
	s.sees("Harbour")
	s.fine("signed in again")
}

// TestFailureReasonInTheBrowser: the page of an email says in a sentence why it did not arrive.
func TestFailureReasonInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	s := newScreen(t, w.url, w.operator.session(t))
	for _, path := range w.pages {
		if !strings.HasPrefix(path, "/emails/") {
			continue
		}
		id := strings.TrimPrefix(path, "/emails/")
		s.load(path)
		said := evaluate[string](s, `document.querySelector('.verdict-line').innerText`)
		want := map[string]string{"sent": "accepted it for zofia@example.org", "bounced": "has no mailbox nobody@example.net", "queued": "next attempt", "delivery_delayed": "next attempt"}[w.key.email(t, id).LastEvent]
		if want == "" || !strings.Contains(said, want) {
			t.Errorf("of an email that is %s the page says %q, and not %q", w.key.email(t, id).LastEvent, said, want)
		}
		s.fine(path)
	}
}

// TestHostileMailInThePreview: nothing of a mail runs, and nothing is fetched, where it is
// looked at.
func TestHostileMailInThePreview(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	var trapped atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		trapped.Add(1)
		if r.URL.Path != "/control" {
			t.Errorf("asked for %s", r.URL)
		}
	}))
	t.Cleanup(server.Close)
	trap := server.URL
	mail := `<html><head><meta http-equiv="refresh" content="0;url=` + trap + `/refresh"><link rel="stylesheet" href="` + trap + `/css"><base href="` + trap + `/">
<style>@import url(` + trap + `/import); body { background: url(` + trap + `/background) }</style></head><body onload="fetch('` + trap + `/onload')">
<script>document.title='owned'; fetch('` + trap + `/script'); top.location='` + trap + `/top'</script><img src="` + trap + `/image" onerror="fetch('` + trap + `/onerror')">
<form action="` + trap + `/form"><input autofocus onfocus="form.submit()"></form><iframe src="` + trap + `/frame"></iframe><object data="` + trap + `/object"></object>
<math><mtext></form><form><mglyph><style></math><img src onerror="fetch('` + trap + `/math')"></style></mglyph></form></mtext></math>
<svg><image href="` + trap + `/svg"/><script>fetch('` + trap + `/svgscript')</script></svg><video src="` + trap + `/video" autoplay></video>` + strings.Repeat("<p>padding</p>", 40_000) + `</body></html>`
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.org", "subject": "<img src=x onerror=alert(1)>", "html": mail})
	s := newScreen(t, in.url, b.session(t))
	s.allow(trap, "Content Security Policy", "sandboxed") // Chromium's reports of what the policy refused
	s.load("/emails/" + id)
	s.sees("Remote content is blocked")
	for _, tab := range []string{"Text", "HTML", "Headers", "Checks", "Preview"} {
		s.press(tab)
		s.settle()
	}
	if title := evaluate[string](s, `document.title`); strings.Contains(title, "owned") {
		t.Errorf("the mail's script ran: %s", title)
	}
	s.fine("hostile mail")
	// The control: what may load does reach the trap.
	if _, err := http.Get(trap + "/control"); err != nil || trapped.Load() == 0 {
		t.Errorf("the trap hears nothing: %v", err)
	}
}

// types enters text into the code editor at its beginning.
func (s *screen) types(text string) {
	s.t.Helper()
	eventually(s.t, time.Minute, "there is an editor", func() (bool, string) {
		return evaluate[bool](s, `(() => { for (const e of document.querySelectorAll('*')) { const c = e.shadowRoot?.querySelector('.cm-content'); if (c) { c.focus(); return true; } } return false; })()`), s.text()
	})
	command(s, input.InsertText, input.InsertTextParams{Text: text})
}

// TestDraftAutosave: drafts are saved even if the tab is closed, and the second of two editors gets
// a conflict.
func TestDraftAutosave(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	_, answer := api.do(t, "POST", "/broadcasts", map[string]any{"from": "a@example.test", "name": "Letter", "subject": "One", "html": "<p>Hello\r\nyou \t</p>"})
	var draft struct{ ID, HTML string }
	must(t, json.Unmarshal(answer, &draft))
	one, two := newScreen(t, in.url, b.session(t)), newScreen(t, in.url, b.session(t))
	for _, s := range []*screen{one, two} {
		s.load("/broadcasts/" + draft.ID)
		s.sees("Letter")
	}
	one.types("first ")
	// It is saved 0.8 s after the last key; the rest is for a machine that is busy.
	eventually(t, time.Minute, "what is typed is saved", func() (bool, string) {
		api.get(t, "/broadcasts/"+draft.ID, &draft)
		return draft.HTML == "first <p>Hello\r\nyou \t</p>", draft.HTML
	})
	two.allow("409") // logged by Chromium itself
	two.types("second ")
	two.sees("Another user changed this at the same time")
	two.press("Save my version")
	eventually(t, time.Minute, "the other's is saved", func() (bool, string) {
		api.get(t, "/broadcasts/"+draft.ID, &draft)
		return draft.HTML == "second <p>Hello\r\nyou \t</p>", draft.HTML
	})
	one.fine("the first")
	two.fine("the second")
}

// TestStopBroadcastInTheBrowser: reviewed, sent, unscheduled, sent again, paused, resumed, canceled
// while sending; those who got it become a segment, and the others get a draft.
func TestStopBroadcastInTheBrowser(t *testing.T) {
	part(t, "browser", shortForm)
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := startBare(t, "--relay", "smtp://"+relay.addr+"?tls=off&rate=2", "--rate-limit", "0")
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	fillContacts(t, api, 60)
	_, answer := api.do(t, "POST", "/broadcasts", map[string]any{"from": "a@example.test", "name": "Letter", "subject": "One", "html": `<p>Hello <a href="{{{RESEND_UNSUBSCRIBE_URL}}}">no more</a></p>`})
	var draft struct{ ID string }
	must(t, json.Unmarshal(answer, &draft))
	s := newScreen(t, in.url, b.session(t))
	s.load("/broadcasts/" + draft.ID)
	s.press("Review")
	s.sees("60 people")
	s.press("Send to 60 people")
	s.sees("Sending…")
	s.press("Undo")
	s.press("Review")
	s.press("Send to 60 people")
	s.sees("Sending")
	relay.wait(t, 2, time.Minute, func(*message) bool { return true })
	s.press("Pause")
	s.sees("Paused: ")
	s.press("Resume")
	s.sees("Sending")
	s.press("More actions")
	s.press("Cancel the rest")
	s.submits()
	s.sees("Canceled after")
	if n := len(relay.messages()); n >= 60 {
		t.Errorf("%d of 60 left", n)
	}
	b.team = b.want(t, 200, "GET", "/users/me", nil)["teams"].([]any)[0].(map[string]any)["id"].(string)
	s.press("Create a segment of")
	s.press("Create segment")
	eventually(t, time.Minute, "there is a segment", func() (bool, string) {
		return len(b.ids(t, "/segments")) > 0, s.text()
	})
	s.load("/broadcasts/" + draft.ID + "/report")
	s.press("Send to the other ")
	eventually(t, time.Minute, "there is a draft to the rest", func() (bool, string) {
		return len(b.ids(t, "/broadcasts")) == 2 && len(b.ids(t, "/segments")) == 2, s.text()
	})
	s.fine("a broadcast")
}

// TestMembersInTheBrowser: an invitation, the page that joins, a role that changes, and
// the session that ends with it.
func TestMembersInTheBrowser(t *testing.T) {
	part(t, "browser", shortForm)
	t.Parallel()
	in := startBare(t)
	b := in.setUp(t)
	owner, guest := newScreen(t, in.url, b.session(t)), newScreen(t, in.url, "")
	owner.load("/team")
	owner.press("Invite")
	owner.fill("Email", "ann@example.test")
	owner.press("Create link")
	link := ""
	eventually(t, time.Minute, "the link shows", func() (bool, string) {
		_, link, _ = strings.Cut(evaluate[string](owner, `document.querySelector('dialog[open]')?.innerText ?? ''`), "/dashboard/invitation")
		link, _, _ = strings.Cut(link, "\n")
		return strings.HasPrefix(link, "#"), owner.text()
	})
	guest.load("/invitation" + link)
	guest.fill("Name", "Ann")
	guest.fill("Password", "a long enough pass phrase")
	guest.press("Join")
	guest.sees("Overview", "Ann")
	guest.fine("joined")
	b.team = b.want(t, 200, "GET", "/users/me", nil)["teams"].([]any)[0].(map[string]any)["id"].(string)
	for _, row := range b.want(t, 200, "GET", "/members", nil)["data"].([]any) {
		if m := row.(map[string]any); m["email"] == "ann@example.test" {
			b.ask(t, "PATCH", "/members/"+m["id"].(string), map[string]any{"role": "admin"}, 200)
		}
	}
	guest.allow("401")
	guest.visit("/emails")
	guest.sees("You were signed out")
	guest.fine("signed out")
}

// TestOperatorQueueInTheBrowser: mail that waits is selected, held and released,
// and leaves.
func TestOperatorQueueInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	var opened atomic.Bool
	relay.set(behaviour{rcpt: func(string) error {
		if opened.Load() {
			return nil
		}
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 2}, Message: "not now"}
	}})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "waits@example.org", "subject": "waits", "text": "hello"})
	api.waitEvent(t, id, time.Minute, "deferred")
	s := newScreen(t, in.url, b.session(t))
	s.load("/queue?tab=emails")
	s.sees("waits@example.org")
	s.press("Select row")
	s.press("Hold")
	s.sees("Held 1 email")
	api.waitEvent(t, id, time.Minute, "held")
	opened.Store(true)
	s.load("/queue?tab=emails&state=held")
	s.press("Select row")
	s.press("Release")
	s.sees("Released 1 email")
	s.load("/queue?tab=emails")
	waits := false
	eventually(t, time.Minute, "it left, or waits where it can be tried", func() (bool, string) {
		waits = strings.Contains(s.text(), "waits@example.org")
		return waits || api.email(t, id).LastEvent == "sent", s.text()
	})
	if waits {
		s.press("Select row")
		s.press("Retry now")
	}
	api.waitLast(t, id, time.Minute, "sent")
	s.fine("the queue")
}

// TestImportErrorsInTheBrowser: a file is mapped and imported, and shows the rows that failed.
func TestImportErrorsInTheBrowser(t *testing.T) {
	part(t, "browser", shortForm)
	t.Parallel()
	in := startBare(t)
	b := in.setUp(t)
	s := newScreen(t, in.url, b.session(t))
	s.drops("readers.csv", []byte("Email Address,First Name,Umsatz (€)\nann@example.org,Ann,12.5\nnot an address,X,1\n"))
	s.sees("Email Address")
	s.fill("Property name for Umsatz (€)", "revenue")
	s.fill("Type of Umsatz (€)", "number")
	s.press("Import")
	s.sees("1 of 2 rows was rejected", "not a valid email address")
	var ann struct {
		Properties map[string]struct{ Value any }
	}
	client{in.url, in.newKey(t)}.get(t, "/contacts/ann@example.org", &ann)
	if ann.Properties["revenue"].Value != 12.5 {
		t.Errorf("the column became %v", ann.Properties)
	}
	s.fine("an import")
}

// TestMailchimpImportInTheBrowser: a ZIP archive is imported without a mapping and keeps opt-outs;
// a UTF-16 file is decoded.
func TestMailchimpImportInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	b, api := in.setUp(t), client{in.url, in.newKey(t)}
	s := newScreen(t, in.url, b.session(t))
	headings := "Email Address,First Name,MEMBER_RATING,LEID,EUID,TAGS\n"
	s.drops("audience.zip", zipped(t, map[string]string{
		"subscribed_email_audience_export_1.csv":   headings + "ann@example.org,Ann,2,1,a,\"\"\"Winter\"\"\"\n",
		"unsubscribed_email_audience_export_1.csv": headings + "ben@example.org,Ben,2,2,b,\n",
		"cleaned_email_audience_export_1.csv":      headings + "cleo@example.org,Cleo,2,3,c,\n",
	}))
	s.sees("Recognised by its headings", "Opt-outs come first")
	s.press("Import")
	s.sees("All 3 rows were imported")
	var ben struct{ Unsubscribed bool }
	api.get(t, "/contacts/ben@example.org", &ben)
	var cleo struct{ Origin string }
	api.get(t, "/suppressions/cleo@example.org", &cleo)
	if !ben.Unsubscribed || cleo.Origin != "bounce" {
		t.Errorf("unsubscribed %v, suppressed by %q; want true and bounce", ben.Unsubscribed, cleo.Origin)
	}
	wide := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune("E-Mail;Straße\ndora@example.org;Große Gasse\n")) {
		wide = append(wide, byte(unit), byte(unit>>8))
	}
	s.drops("wide.csv", wide)
	s.sees("Straße", "Große Gasse")
	s.press("Import")
	s.sees("The row was imported")
	s.fine("imports of others")
}

// drops puts a file where imports are dropped.
func (s *screen) drops(name string, file []byte) {
	s.t.Helper()
	s.load("/imports")
	evaluate[bool](s, fmt.Sprintf(`(() => { const f = document.querySelector('input[type=file]'); const d = new DataTransfer();
		d.items.add(new File([Uint8Array.from(atob('%s'), (c) => c.charCodeAt(0))], '%s'));
		f.files = d.files; f.dispatchEvent(new Event('change', {bubbles: true})); return true; })()`, base64.StdEncoding.EncodeToString(file), name))
}

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestReplayInTheBrowser: an endpoint that was down gets all events once it works.
func TestReplayInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t, "--webhook-allow", "127.0.0.0/8")
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	var healed atomic.Bool
	deadHook(t, api, &healed)
	api.send(t, map[string]any{"from": "a@example.test", "to": "ann@example.org", "subject": "told", "text": "hello"})
	b.team = b.want(t, 200, "GET", "/users/me", nil)["teams"].([]any)[0].(map[string]any)["id"].(string)
	hook := b.ids(t, "/webhooks")[0]
	s := newScreen(t, in.url, b.session(t))
	s.load("/webhooks/" + hook)
	s.sees("Deliveries have failed for", "email.sent")
	healed.Store(true)
	s.press("More actions")
	s.press("Replay")
	s.press("All events since a time")
	s.fill("Since", time.Now().Add(-time.Hour).UTC().Format("2006-01-02T15:04"))
	s.press("Replay")
	s.sees("Accepted")
	s.fine("a webhook")
}
