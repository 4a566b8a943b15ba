package sdktest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// is fails the test unless a script says yes within a moment.
func (s *screen) is(what, script string) {
	s.t.Helper()
	eventually(s.t, 10*time.Second, what, func() (bool, string) { return evaluate[bool](s, script), s.text() })
}

// module imports a module of the dashboard as the page has it: most are in a bundle, which
// exports what each module does with the module's name before it.
const module = `const module = async (name) => {
	const entry = document.querySelector('script[type=module]').src, prefix = name.replace(/\.js$/, '').replace(/\W/g, '_') + '$';
	for (const bundle of ['app.js', 'shared.js']) {
		const own = Object.entries(await import(entry.replace(/app\.js$/, bundle))).filter(([key]) => key.startsWith(prefix));
		if (own.length) return Object.fromEntries(own.map(([key, value]) => [key.slice(prefix.length), value]));
	}
	return import(entry.replace(/app\.js$/, name));
};`

// TestSidebarWidths: each link is named like its page, the current one is highlighted, and on
// narrow screens the icons keep their names and menus.
func TestSidebarWidths(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	s := newScreen(t, w.url, w.operator.session(t))
	s.load("/audience")
	s.is("/audience leads to the contacts", `location.pathname === '/dashboard/contacts' && document.querySelector('h1').innerText === 'Contacts'`)
	s.visit("/settings")
	s.is("/settings leads to those of the team", `location.search === '?part=settings' && document.querySelector('.nav-item[aria-current=page]')?.innerText === 'Team'`)
	s.look(820, "light")
	pages := evaluate[[]string](s, `[...document.querySelectorAll('.side a.nav-item')].map((door) => door.getAttribute('href').replace('/dashboard', '') + ' ' + door.innerText.trim() + ' ' + door.title)`)
	if len(pages) != 15 {
		t.Errorf("the operator has the pages %q", pages)
	}
	for _, page := range pages {
		path, words, _ := strings.Cut(page, " ")
		s.visit(path)
		title := evaluate[string](s, `document.querySelector('h1').innerText`)
		if words != title+" "+title {
			t.Errorf("the door %q leads to %q", words, title)
		}
		s.is(path+" is lit", fmt.Sprintf(`document.querySelector('.side a[aria-current=page]')?.getAttribute('href') === '/dashboard' + %q`, path))
	}
	for _, path := range []string{"/audit", "/smtp", "/operator/people", "/topics"} {
		s.visit(path)
		s.is("a door of "+path+" is lit", `document.querySelectorAll('.side a[aria-current=page]').length === 1`)
	}
	for _, menu := range []string{".side-team", ".side-user"} {
		s.is("the menu of "+menu+" is whole", fmt.Sprintf(`(() => {
			const button = document.querySelector(%q);
			if (button.getAttribute('aria-expanded') !== 'true') { button.click(); return false; }
			const box = button.parentElement.querySelector('[role=menu]').getBoundingClientRect();
			const seen = (x, y) => document.elementFromPoint(x, y)?.closest('[role=menu]');
			const whole = box.width >= 160 && box.right <= innerWidth && box.bottom <= innerHeight && box.left >= 56 && seen(box.left + 20, box.top + 10) && seen(box.right - 10, box.bottom - 10);
			button.click();
			return !!whole; })()`, menu))
	}
	s.look(390, "light")
	for path, lit := range map[string]bool{"/domains": true, "/team": true, "/account": true, "/emails": false, "/queue": false, "/": false} {
		s.visit(path)
		s.is("More is lit where the page is under it: "+path, fmt.Sprintf(`document.querySelector('.nav-more').hasAttribute('aria-current') === %v`, lit))
	}
	s.fine("the sidebar")
}

// TestDashboardLists: rows open where they are clicked, acts are offered that
// apply, and nothing in a head is written like code.
func TestDashboardLists(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	s := newScreen(t, w.url, w.operator.session(t))
	hook := ""
	for _, path := range w.pages {
		if strings.HasPrefix(path, "/webhooks/") {
			hook = path
		}
	}
	s.load(hook)
	s.is("a delivery has the answer", `document.querySelector('tbody tr').innerText.includes('None')`)
	for _, part := range []float64{0.1, 0.3, 0.5, 0.7, 0.9} {
		s.visit(hook)
		s.is("the row opens", fmt.Sprintf(`(() => { const row = document.querySelector('tbody tr'), box = row.getBoundingClientRect();
			document.elementFromPoint(box.left + box.width * %g, box.top + box.height / 2).click();
			return location.search.startsWith('?event='); })()`, part))
	}
	s.visit("/emails")
	pick := func(status string) {
		if evaluate[bool](s, `!!document.querySelector('.bulk')`) {
			s.press("Clear")
		}
		s.is("nothing is selected", `!document.querySelector('.bulk')`)
		s.is("there is a row "+status, fmt.Sprintf(`(() => { const row = [...document.querySelectorAll('tbody tr')].find((row) => row.innerText.includes(%q)); row?.querySelector('input').click(); return !!row; })()`, status))
	}
	for status, acts := range map[string]string{"Bounced": "", "Deferred": "Retry now Cancel 1", "Scheduled": "Cancel 1"} {
		pick(status)
		s.is("what is offered of "+status, fmt.Sprintf(`[...document.querySelectorAll('.bulk .btn:not(.btn--quiet)')].map((b) => b.innerText.trim()).join(' ') === %q && !!document.querySelector('.bulk')`, acts))
	}
	s.visit("/emails?tag=kind%3Dinvoice")
	s.sees("Faktura 2026-11-0481")
	s.is("a tag narrows the list", `(() => { const tag = document.querySelector('td a.tag'); tag?.click(); return location.search === '?tag=kind%3Ainvoice'; })()`)
	for _, path := range []string{"/requests", "/queue?tab=emails", "/properties"} {
		s.visit(path)
		s.is("heads of "+path+" are words", `[...document.querySelectorAll('th')].every((head) => !getComputedStyle(head).fontFamily.includes('mono, monospace') && !/Mono|Menlo/.test(getComputedStyle(head).fontFamily))`)
	}
	s.visit("/domains")
	s.is("a domain shows its mail of 30 days", `(() => { const row = (name) => [...document.querySelectorAll('tbody tr')].find((r) => r.innerText.startsWith(name)); return row('example.test')?.querySelectorAll('.spark rect').length === 1 && row('pending.example.net')?.querySelectorAll('.spark rect').length === 0; })()`)
	s.visit("/operator/settings")
	s.is("a retention without limit is named", `[...document.querySelectorAll('tr')].some((row) => row.innerText.startsWith('Keep emails') && row.innerText.includes('no limit'))`)
	s.visit("/operator/health")
	s.sees("pending.example.net (team Default) is not verified: its status is Not checked.")
	for _, path := range w.pages {
		if strings.HasSuffix(path, "/report") {
			s.visit(path)
			s.is("guardrails that only warn have one line", `document.querySelectorAll('.funnel .scale-line').length === 2`)
		}
	}
	s.fine("lists")
}

// TestComposer: dialogs, panes, times and names next to the editor.
func TestComposer(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	s := newScreen(t, w.url, w.operator.session(t))
	draft := ""
	for _, path := range w.pages {
		if strings.HasPrefix(path, "/broadcasts/") && strings.Count(path, "/") == 2 {
			draft = path
		}
	}
	s.load("/broadcasts")
	s.press("New broadcast")
	s.is("no button turns behind a dialog", `!!document.querySelector('dialog[open]') && !document.querySelector('.app .spin')`)
	s.press("Cancel")
	evaluate[bool](s, `(async () => { `+module+` (await module('broadcasts.js')).cancel({id: 'x', name: 'Large', status: 'queued', counts: {remaining: 1960}}); return true; })()`)
	s.sees("Type 1,960")
	s.is("the number is typed over 1,000", `document.querySelector('dialog[open] [type=submit]').disabled`)
	s.press("Keep sending")
	s.visit(draft)
	s.is("readers have addresses", `[...document.querySelectorAll('select[aria-label] option')].some((o) => o.text.startsWith('Zofia <reader'))`)
	s.press("Versions")
	s.is("versions are there", `!!document.querySelector('section[aria-label=Versions]')`)
	s.is("Escape closes them", `(() => { document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true})); return !document.querySelector('section[aria-label=Versions]'); })()`)
	s.fill("Preview text", "Bring a pen")
	s.is("it is saved at a time of 24 hours", `/Saved \d\d:\d\d:\d\d$/m.test(document.querySelector('.saved').innerText)`)
	s.is("times ago say so", `(async () => { `+module+` const {ago} = await module('format.js'); return ago(Date.now() - 15_000) === '15 s ago'; })()`)
	s.is("the words of a limit at the top of a chart are in the chart", `(async () => { `+module+`
		const {html, render} = await module('lib/core.js'), {Bars} = await module('ui/chart.js'), at = document.createElement('div');
		render(html`+"`<${Bars} label=x bars=${[1, 2, 3].map((value) => ({name: 'a', value}))} show=${String} least=${4} limits=${[{value: 4, word: 'slows down'}]} />`"+`, at);
		return Number(at.querySelector('.c-limit-word').getAttribute('y')) >= 12; })()`)
	s.fine("the composer")
}
