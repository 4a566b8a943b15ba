package sdktest

import (
	"fmt"
	"testing"
	"time"
)

// pathOf is the page of the email with a subject.
func (w *dashboardFixture) pathOf(t *testing.T, subject string) string {
	t.Helper()
	var page struct {
		Data []struct{ ID, Subject string }
	}
	w.key.get(t, "/emails?limit=100", &page)
	for _, e := range page.Data {
		if e.Subject == subject {
			return "/emails/" + e.ID
		}
	}
	t.Fatalf("no email has the subject %s", subject)
	return ""
}

// TestEmailPage: the subject is the heading, below it are recipient, time and key;
// times have seconds, and the preview is as high as its content.
func TestEmailPage(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	s := newScreen(t, w.url, w.operator.session(t))
	s.load(w.pathOf(t, "Faktura 2026-11-0482"))
	s.is("the subject is the heading", `document.querySelector('h1').innerText === 'Faktura 2026-11-0482' && parseFloat(getComputedStyle(document.querySelector('h1')).fontSize) === 20`)
	s.is("recipient, time and key are below", `/^to nobody@example\.net\s*\d\d:\d\d:\d\d\s*key sdktest$/.test(document.querySelector('.head-under').innerText)`)
	s.is("the verdict is a headline on a band", `(() => { const band = getComputedStyle(document.querySelector('.verdict')), line = getComputedStyle(document.querySelector('.verdict-line'));
		return band.backgroundColor !== getComputedStyle(document.body).backgroundColor && line.fontSize === '18px' && line.lineHeight === '26px' && line.fontWeight === '500'; })()`)
	s.is("the timeline has seconds and gaps", `/Bounced \d\d:\d\d:\d\d \+(\d+ ms|[\d.]+ s)/.test(document.querySelector('.timeline').innerText)`)
	facts := `Object.fromEntries([...document.querySelectorAll('.aside dt')].map((dt) => [dt.innerText, dt.nextElementSibling.innerText]))`
	s.is("the facts have sender and size", fmt.Sprintf(`(() => { const f = %s; return f['Sent by'] === 'key sdktest' && /^\d\.\d\skB$/.test(f.Size); })()`, facts))
	s.is("the preview is as high as its content", `(() => { const h = document.querySelector('.paper iframe').clientHeight; return h >= 100 && h < 200; })()`)
	s.is("the dark preview says what it shows", `(() => { if (document.querySelector('.sheet-note')) return document.querySelector('.sheet-note').innerText.includes('Gmail');
		document.querySelector('.sheet-head [aria-label=Dark]').click(); return false; })()`)
	s.fine("an email")
}

// TestEmailList: the reason is in the list, filters are choices, and the heads stay
// in sight.
func TestEmailList(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	s := newScreen(t, w.url, w.operator.session(t))
	s.load("/emails")
	s.is("a bounced email has its reason", `document.querySelector('.cell-why')?.innerText.length > 0 && [...document.querySelectorAll('tbody tr')].some((row) => row.innerText.includes('550 5.1.1 User unknown'))`)
	s.is("an email that was sent has none", `[...document.querySelectorAll('tbody tr')].every((row) => !row.innerText.includes('0481') || !row.querySelector('.cell-why'))`)
	s.is("the box asks in words", `!document.querySelector('.query-input').placeholder.includes(':')`)
	s.is("domains can be chosen", `!!document.querySelector('select[aria-label=Domain]')`)
	s.fill("Status", "bounced")
	s.is("the status is in the address", `location.search === '?status=bounced'`)
	s.fill("Date", "24h")
	s.is("both filters are in the address", `location.search === '?status=bounced&after=24h'`)
	s.is("only what was bounced is left", `document.querySelectorAll('tbody tr').length === 1`)
	s.fill("Status", "")
	s.is("a filter is taken away", `location.search === '?after=24h'`)
	s.is("heads stay in sight", `[...document.querySelectorAll('thead th')].every((head) => getComputedStyle(head).position === 'sticky')`)
	s.look(1920, "light")
	s.is("a list is 1,200 px wide at most", `document.querySelector('table').clientWidth <= 1248`)
	shared := w.made(t, "/emails", map[string]any{"from": "invoices@example.test", "to": []string{"fine@example.org", "nobody2@example.net"}, "subject": "Shared", "text": "hello"})
	w.key.waitLast(t, shared, time.Minute, "bounced")
	s.load("/emails")
	s.is("a shared email names the recipient who bounced", `[...document.querySelectorAll('tbody tr')].some((row) => row.innerText.includes('nobody2@example.net: 550 5.1.1'))`)
	s.fine("the list of emails")
}

// TestEmptyTeam: lists show placeholder rows, and charts show texts.
func TestEmptyTeam(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	s := newScreen(t, in.url, in.setUp(t).session(t))
	s.load("/contacts")
	for _, path := range []string{"/contacts", "/domains", "/keys", "/webhooks", "/segments", "/topics", "/emails", "/broadcasts", "/imports", "/suppressions", "/properties", "/operator/relays"} {
		s.visit(path)
		s.is(path+" shows what will be there", `!!document.querySelector('.ghost[aria-hidden=true] td') && !!document.querySelector('.empty h3')`)
	}
	s.visit("/emails")
	s.sees("This server captures mail")
	s.visit("/usage")
	s.is("a chart without values is words", `document.querySelector('main').innerText.includes('No values in this period.') && !document.querySelector('.chart')`)
	s.fine("an empty team")
}
