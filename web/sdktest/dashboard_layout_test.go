package sdktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// misfits is a script that returns what does not fit into the window: parts wider than the window,
// name columns under 160 px, cut or overlapping column heads, chart bars without width, and
// overlapping controls.
const misfits = `(() => {
	const out = [];
	const shown = (e) => e.checkVisibility({visibilityProperty: true, opacityProperty: true}) && e.getBoundingClientRect().width > 1;
	const words = (e) => (e.getAttribute('aria-label') || e.innerText || e.className).trim().slice(0, 40);
	const wide = document.scrollingElement.scrollWidth;
	if (wide > innerWidth) out.push('the page is ' + wide + ' px wide');
	for (const table of document.querySelectorAll('main table')) {
		const heads = [...table.querySelectorAll('thead:not(.vh) th')].filter(shown);
		if (!shown(table) || table.closest('details:not([open])') || getComputedStyle(table).display !== 'table') continue;
		for (const head of heads) {
			if (!head.innerText.trim() || head.querySelector(':scope > .vh')) continue;
			const range = document.createRange();
			range.selectNodeContents(head);
			const inside = range.getBoundingClientRect(), box = head.getBoundingClientRect();
			if (inside.right > box.right + 1 || inside.left < box.left - 1 || head.scrollWidth > head.clientWidth + 1) out.push('the head ' + words(head) + ' has ' + box.width + ' px and needs ' + inside.width);
		}
		if (!table.matches('.table--rows')) continue;
		const names = heads.filter((head) => head.matches('.cell-name'));
		if (names.length !== 1) out.push('the list ' + words(table) + ' has ' + names.length + ' columns that name its rows');
		for (const name of names) if (name.getBoundingClientRect().width < 160) out.push('the column ' + words(name) + ' of ' + words(table) + ' has ' + name.getBoundingClientRect().width + ' px');
	}
	for (const bar of document.querySelectorAll('main .funnel svg')) if (bar.checkVisibility() && bar.getBoundingClientRect().width < 40) out.push('a bar of the funnel has ' + bar.getBoundingClientRect().width + ' px');
	const controls = [...document.querySelectorAll(':is(.app, .visual) :is(button, a.btn, a.tab, a.nav-item, select, input, textarea)')].filter(shown).map((e) => [e, e.getBoundingClientRect()]);
	const floats = (e) => e.closest('.bulk, .side, .toasts, .menu');
	controls.forEach(([a, one], i) => controls.slice(i + 1).forEach(([b, two]) => {
		const x = Math.min(one.right, two.right) - Math.max(one.left, two.left), y = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
		if (x > 2 && y > 6 && !a.contains(b) && !b.contains(a) && !!floats(a) === !!floats(b)) out.push(words(a) + ' and ' + words(b) + ' are one over the other by ' + x + ' x ' + y + ' px');
	}));
	for (const e of document.querySelectorAll('main *')) {
		if (!shown(e) || e.closest('svg, .vh, .table-foot') || e.getBoundingClientRect().right <= innerWidth + 1) continue;
		let box = e.parentElement;
		while (box && !['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(box).overflowX)) box = box.parentElement;
		if (!box || box === document.body || box === document.documentElement) out.push(words(e) + ' ends at ' + e.getBoundingClientRect().right);
	}
	return out.slice(0, 12);
})()`

// fits complains of all misfits of a page.
func (s *screen) fits(where string) {
	s.t.Helper()
	for _, m := range evaluate[[]string](s, misfits) {
		s.t.Errorf("%s: %s", where, m)
	}
}

// TestNarrowLists: half a screen, a tablet, a laptop that zooms.
func TestNarrowLists(t *testing.T) {
	part(t, shortForm)
	t.Parallel()
	w := newDashboardFixture(t)
	s := newScreen(t, w.url, w.operator.session(t))
	s.load("/emails")
	for _, width := range []int64{820, 1024} {
		s.look(width, "light")
		for _, path := range []string{"/emails", "/contacts", "/broadcasts"} {
			s.visit(path)
			s.fits(fmt.Sprintf("%s at %d px", path, width))
		}
	}
}

// everyWidth has the windows of phones, tablets, half screens, laptops and desktops.
var everyWidth = []int64{360, 390, 768, 820, 1024, 1280, 1440, 1920}

// withTabs returns the pages, and their tabs and variants.
func (w *dashboardFixture) withTabs(t *testing.T) (out []string) {
	t.Helper()
	more := map[string]string{
		"/emails/": "conversation text html headers raw attachments checks", "/report": "links people time", "/domains/": "tracking", "/segments/": "conditions",
	}
	for _, path := range w.pages {
		out = append(out, path)
		for part, tabs := range more {
			if !strings.Contains(path, part) || strings.HasPrefix(path, "/operator/") {
				continue
			}
			for _, tab := range strings.Fields(tabs) {
				out = append(out, path+"?tab="+tab)
			}
		}
		if strings.HasPrefix(path, "/webhooks/") {
			var events []string
			eventually(t, time.Minute, "the webhook has an event", func() (bool, string) {
				events = w.operator.ids(t, path+"/events")
				return len(events) > 0, ""
			})
			out = append(out, path+"?event="+events[0])
		}
	}
	return append(out, "/queue?tab=emails", "/queue?tab=doubts", "/team?part=settings", "/account?part=sign-in", "/operator/relays?relay=us-east-1", "/emails?status=bounced&tag=kind%3Dinvoice&subject=Faktura")
}

// TestScreenWidths: no screen loses or overlaps anything between a phone and
// a wide desktop.
func TestScreenWidths(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	s := newScreen(t, w.url, w.operator.session(t))
	pictures := os.Getenv(picturesEnv)
	s.allow("/raw") // mail of the API has no raw message
	s.load("/emails")
	for _, path := range w.withTabs(t) {
		for i, width := range everyWidth {
			s.look(width, "light")
			if i == 0 {
				s.visit(path)
			}
			where := fmt.Sprintf("%s at %d px", path, width)
			s.fits(where)
			if pictures == "" || width != 820 && width != 1024 {
				continue
			}
			name := orOverview(strings.Trim(anyID.ReplaceAllString(strings.NewReplacer("/", "-", "?", ".", "&", ".").Replace(path), "one"), "-"))
			for _, scheme := range []string{"light", "dark"} {
				s.look(width, scheme)
				s.shoot(filepath.Join(pictures, fmt.Sprintf("%s.%d.%s.png", name, width, scheme)))
			}
		}
		s.fine(path)
	}
	w.visually(t, s)
}

// visually opens the visual editor, whose toolbar has the least space.
func (w *dashboardFixture) visually(t *testing.T, s *screen) {
	t.Helper()
	s.look(1280, "light")
	s.visit("/broadcasts")
	s.press("New broadcast")
	s.fill("Name", "Spring")
	s.fill("From", "news@example.test")
	s.press("Blank")
	s.press("Start writing")
	f := s.frame("/visual.html")
	f.sees("Hello")
	for _, width := range everyWidth {
		s.look(width, "light")
		s.fits(fmt.Sprintf("the visual editor at %d px", width))
		f.fits(fmt.Sprintf("the frame of the visual editor at %d px", width))
		if dir := os.Getenv(picturesEnv); dir != "" {
			s.shoot(filepath.Join(dir, fmt.Sprintf("visual.%d.light.png", width)))
		}
	}
}
