package sdktest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// screen is a tab of a headless Chromium with the dashboard in it. What a person must not
// meet there is a complaint: an error in the console, a report of the policy, an exception,
// an answer of 5xx.
type screen struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu         sync.Mutex
	complaints []string
	open       map[network.RequestID]struct{} // requests without an end
	loader     cdp.LoaderID                   // of the page that is there
	window     cdp.FrameID                    // the window's own
	quiet      time.Time                      // since when there is none
	allowed    []string                       // parts of complaints that the test expects
}

// chromium starts a browser for a test; a machine without one skips it visibly.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	need(t, err == nil, "Debian package chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	return ctx
}

// newScreen opens a tab in a new browser with a session; an empty session is not signed in.
func newScreen(t *testing.T, base, session string) *screen {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium(t))
	t.Cleanup(cancel)
	s := &screen{t: t, ctx: ctx, base: base, open: map[network.RequestID]struct{}{}}
	must(t, chromedp.Listen(ctx, s.onEvent))
	command(s, network.Enable, network.EnableParams{})
	command(s, cdplog.Enable, cdp.Empty{})
	command(s, cdpruntime.Enable, cdp.Empty{})
	if session != "" {
		s.signIn(session)
	}
	s.look(1280, "light")
	return s
}

func command[P, R any](s *screen, method cdp.Command[P, R], params P) {
	s.t.Helper()
	_, err := chromedp.Call(s.ctx, method, params)
	must(s.t, err)
}

// signIn gives the browser the cookie of a session.
func (s *screen) signIn(session string) {
	s.t.Helper()
	command(s, network.SetCookie, network.SetCookieParams{Name: "mailer", Value: session, URL: s.base, HTTPOnly: new(true)})
}

// onEvent handles an event of the browser.
func (s *screen) onEvent(ev any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := ev.(type) {
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == "error" {
			s.complain("log: " + e.Entry.Text + " " + e.Entry.URL)
		}
	case *cdpruntime.EventConsoleAPICalled:
		if e.Type == "error" {
			words := make([]string, len(e.Args))
			for i, a := range e.Args {
				words[i] = string(a.Value) + a.Description
			}
			s.complain("console: " + strings.Join(words, " "))
		}
	case *cdpruntime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		s.complain("exception: " + text)
	case *network.EventRequestWillBeSent:
		s.window = cmp.Or(s.window, e.FrameID)
		if e.Type == "Document" && e.FrameID == s.window {
			clear(s.open) // what the page before asked for has no end
			s.loader = e.LoaderID
		}
		if e.FrameID == s.window && e.LoaderID != s.loader {
			return // the page before may still ask while the next one loads
		}
		// A sandboxed frame is a separate target, whose requests' ends are not reported here.
		if !strings.HasSuffix(e.Request.URL, "/live") && !strings.HasPrefix(e.Request.URL, "data:") && e.Type != "Document" {
			s.open[e.RequestID] = struct{}{}
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 500 {
			s.complain(fmt.Sprintf("%d of %s", e.Response.Status, e.Response.URL))
		}
	case *network.EventLoadingFinished:
		s.ended(e.RequestID)
	case *network.EventLoadingFailed:
		s.ended(e.RequestID)
	}
}

func (s *screen) ended(id network.RequestID) {
	delete(s.open, id)
	s.quiet = time.Now()
}

// complain is called with mu held.
func (s *screen) complain(text string) {
	if !slices.ContainsFunc(s.allowed, func(part string) bool { return strings.Contains(text, part) }) {
		s.complaints = append(s.complaints, text)
	}
}

// allow has what contains a part be no complaint.
func (s *screen) allow(parts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowed = append(s.allowed, parts...)
}

// fine fails the test with all complaints since the last call, about where.
func (s *screen) fine(where string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.complaints {
		s.t.Errorf("%s: %s", where, c)
	}
	s.complaints = nil
}

// look sets the width of the window and the scheme that the reader likes.
func (s *screen) look(width int64, scheme string) {
	s.t.Helper()
	must(s.t, chromedp.Do(s.ctx, chromedp.EmulateViewport(width, 860)))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}
	command(s, emulation.SetEmulatedMedia, media)
}

func evaluate[T any](s *screen, script string) T {
	s.t.Helper()
	v, err := chromedp.Run(s.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		s.t.Fatalf("%v in %.200s", err, script)
	}
	return v
}

// load opens a page of the dashboard from nothing.
func (s *screen) load(path string) {
	s.t.Helper()
	must(s.t, chromedp.Do(s.ctx, chromedp.Navigate(s.base+"/dashboard"+path)))
	s.settle()
}

// visit follows a link to a page of the dashboard.
func (s *screen) visit(path string) {
	s.t.Helper()
	evaluate[bool](s, fmt.Sprintf(`(() => { history.pushState({entry: crypto.randomUUID()}, '', '/dashboard' + %q); dispatchEvent(new PopStateEvent('popstate', {state: history.state})); return true; })()`, path))
	s.settle()
}

// settle waits until the page's requests have ended.
func (s *screen) settle() {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		<-tick.C
		s.mu.Lock()
		done := len(s.open) == 0 && time.Since(s.quiet) > 60*time.Millisecond
		s.mu.Unlock()
		if done && evaluate[bool](s, `!!document.querySelector('h1') && !document.querySelector('.bones')`) {
			tick.Stop()
			return
		}
		if time.Now().After(deadline) {
			tick.Stop()
			s.t.Fatalf("%s does not settle: %s", evaluate[string](s, `location.pathname`), s.text())
		}
	}
}

// text is what the page says; empty while the next page is being loaded.
func (s *screen) text() string {
	s.t.Helper()
	const script = `document.body?.innerText ?? ""`
	text, err := chromedp.Run(s.ctx, chromedp.Evaluate[string](script))
	if err != nil && strings.Contains(err.Error(), "navigated") {
		return ""
	}
	if err != nil {
		s.t.Fatalf("%v in %s", err, script)
	}
	return text
}

// sees waits until the page shows the texts.
func (s *screen) sees(parts ...string) {
	s.t.Helper()
	for _, part := range parts {
		eventually(s.t, time.Minute, "the page says "+part, func() (bool, string) {
			text := s.text()
			return strings.Contains(text, part), text
		})
	}
}

// finder finds a control by its visible text or its name.
const finder = `(words, kinds) => {
	const shown = (e) => e.checkVisibility() && !e.closest('[inert]');
	const said = (e) => (e.getAttribute('aria-label') || e.innerText || e.value || '').trim().replace(/\s+/g, ' ');
	const top = [...document.querySelectorAll('dialog[open]')].pop() ?? document;
	const all = [...top.querySelectorAll(kinds)].filter(shown);
	return all.find((e) => said(e) === words) ?? all.find((e) => said(e).startsWith(words)) ?? all.find((e) => said(e).includes(words));
}`

// press clicks the button, link, tab or item with this text, once it exists.
func (s *screen) press(words string) {
	s.t.Helper()
	script := fmt.Sprintf(`(() => { const e = (%s)(%q, 'button, a[href], [role=tab], [role=menuitem], [role=option], summary, label.check, label.start, input[type=checkbox], input[type=submit]');
		if (!e || e.disabled) return false; e.scrollIntoView({block: 'center'}); e.click(); return true; })()`, finder, words)
	eventually(s.t, time.Minute, "there is "+words+" to press", func() (bool, string) { return evaluate[bool](s, script), s.text() })
}

// fill types into the field with this label.
func (s *screen) fill(label, value string) {
	s.t.Helper()
	s.fillAt(label, value, "find")
}

// fillLast types into the last field with this label.
func (s *screen) fillLast(label, value string) {
	s.t.Helper()
	s.fillAt(label, value, "findLast")
}

func (s *screen) fillAt(label, value, find string) {
	s.t.Helper()
	script := fmt.Sprintf(`(() => {
		const top = [...document.querySelectorAll('dialog[open]')].pop() ?? document;
		const named = (e) => (e.getAttribute('aria-label') || [...(e.labels ?? [])].map((l) => l.innerText).join(' ') || '').trim();
		const all = [...top.querySelectorAll('input, textarea, select')].filter((e) => e.checkVisibility());
		const e = all.%[3]s((e) => named(e) === %[1]q) ?? all.%[3]s((e) => named(e).startsWith(%[1]q));
		if (!e) return false;
		e.focus();
		const kind = e instanceof HTMLSelectElement ? HTMLSelectElement : e instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
		const option = e.options && [...e.options].find((o) => o.value === %[2]q || o.text === %[2]q);
		Object.getOwnPropertyDescriptor(kind.prototype, 'value').set.call(e, option ? option.value : %[2]q);
		e.dispatchEvent(new Event('input', {bubbles: true}));
		e.dispatchEvent(new Event('change', {bubbles: true}));
		return true; })()`, label, value, find)
	eventually(s.t, time.Minute, "there is a field "+label, func() (bool, string) { return evaluate[bool](s, script), s.text() })
}

// sideways is by how many pixels the page is wider than its window.
func (s *screen) sideways() int {
	s.t.Helper()
	return evaluate[int](s, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
}

// axe returns what axe-core calls a serious or critical violation.
func (s *screen) axe() []string {
	s.t.Helper()
	if !evaluate[bool](s, `typeof axe === 'object'`) {
		source, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
		must(s.t, err)
		evaluate[bool](s, string(source)+";true")
	}
	return evaluate[[]string](s, `axe.run(document, {resultTypes: ['violations'], iframes: false, preload: false}).then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')))`)
}

// shoot writes a picture of the whole page.
func (s *screen) shoot(path string) {
	s.t.Helper()
	picture, err := chromedp.Run(s.ctx, chromedp.FullScreenshot(100))
	must(s.t, err)
	must(s.t, os.WriteFile(path, picture, 0o644))
}

// ids are what GET of a list answers with a session.
func (b *browser) ids(t *testing.T, path string) (ids []string) {
	t.Helper()
	var page struct{ Data []struct{ ID string } }
	must(t, json.Unmarshal(b.ask(t, http.MethodGet, path, nil, http.StatusOK), &page))
	for _, row := range page.Data {
		ids = append(ids, row.ID)
	}
	return ids
}
