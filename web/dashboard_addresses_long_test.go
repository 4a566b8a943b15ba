//go:build long

package web

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"mailer/web/rest"
)

// recorder notes the requests of the API that a browser makes.
type recorder struct {
	http.Handler
	mu    sync.Mutex
	asked []string // method, path, and "reads" for what says that it changes nothing
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	line := q.Method + " " + q.URL.EscapedPath()
	if q.Header[rest.ReadOnlyHeader] != nil {
		line += " reads"
	}
	r.asked = append(r.asked, line)
	r.mu.Unlock()
	r.Handler.ServeHTTP(w, q)
}

// taken returns the requests since the last call.
func (r *recorder) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.asked
	r.asked = nil
	return out
}

// quiet resolves when the page has drawn its main part and sent no request for a while; false if it
// does not become quiet.
const quiet = `new Promise((done) => {
	let seen = '', since = 0;
	const begun = performance.now(), timer = setInterval(() => {
		const now = performance.now(), n = performance.getEntriesByType('resource').length + ' ' + location.href;
		if (seen !== n || !document.querySelector('#main h1, .gate h1')) [seen, since] = [n, now];
		if (now - since < 200 && now - begun < 30000) return;
		clearInterval(timer);
		done(now - since >= 200);
	}, 50);
})`

// awaited is what a script's promise resolves to.
func awaited[T any](b *browser, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

func (b *browser) waitQuiet() {
	b.t.Helper()
	if !awaited[bool](b, quiet) {
		b.t.Fatalf("%s does not come to rest: %s", eval[string](b, `location.href`), eval[string](b, `document.body.innerText`))
	}
}

// dashboardRoutes returns the patterns of routes.js that need a sign-in.
func dashboardRoutes(t *testing.T) (all []string) {
	t.Helper()
	source, err := os.ReadFile("dashboard/routes.js")
	if err != nil {
		t.Fatal(err)
	}
	_, routes, _ := strings.Cut(string(source), "\nexport const routes = [")
	for _, m := range regexp.MustCompile(`(?m)^\t\['(/[^']*)', \(\) => import`).FindAllStringSubmatch(routes, -1) {
		all = append(all, m[1])
	}
	if len(all) < 30 {
		t.Fatalf("%d routes", len(all))
	}
	return all
}

// TestLongDashboardPagesAreReadOnly: by a real id, and by an address that would
// lead to another route of the API, also right after a sign-in.
func TestLongDashboardPagesAreReadOnly(t *testing.T) {
	r := newTestAPI(t, captured(), func(cfg *Config, _ *rest.Limits) { cfg.BaseURL = "http://localhost" })
	r.clock = time.Now()
	ids := map[string]string{
		"broadcasts": r.made(r.full, "/broadcasts", `{"name":"b","from":"a@example.com","subject":"s","html":"<p>x {{{UNSUBSCRIBE_URL}}}</p>"}`),
		"templates":  r.made(r.full, "/templates", `{"name":"t","html":"<p>x</p>"}`),
		"segments":   r.made(r.full, "/segments", `{"name":"s"}`),
		"contacts":   r.made(r.full, "/contacts", `{"email":"bob@example.org"}`),
		"emails":     r.send(r.full, `{"from":"a@example.com","to":"b@example.org","subject":"s","html":"<p>x</p>"}`),
	}
	link, err := r.server.Accounts.SetupLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(link, "#")
	record := &recorder{Handler: r.handler}
	b := newBrowser(t, record)
	b.base = strings.Replace(b.base, "127.0.0.1", "localhost", 1)
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(b.base + "/dashboard/sign-in"))
	b.waitQuiet()
	if status := awaited[int](b, fmt.Sprintf(`fetch('/auth/setup', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({code: %q, email: 'ann@example.com', password: %q, name: 'Ann'})}).then((a) => a.status)`, code, goodPassword)); status != 200 {
		t.Fatalf("set up: %d", status)
	}
	record.taken()
	for _, pattern := range dashboardRoutes(t) {
		kind := strings.Split(pattern, "/")[1]
		at := strings.ReplaceAll(pattern, ":id", cmp.Or(ids[kind], unknownID))
		b.do(chromedp.Navigate(b.base + "/dashboard" + at))
		b.waitQuiet()
		record.wantReads(t, at)
		if at == pattern {
			continue
		}
		for _, away := range []string{"..%2Fauth%2Fsign-out%23", "..%252Frelays%252Fus-east-1%252Fpause%2523"} {
			at := strings.ReplaceAll(pattern, ":id", away)
			// Not from the server, which has no such page, but as a link of a page would.
			eval[bool](b, fmt.Sprintf(`history.pushState({}, '', %q), dispatchEvent(new PopStateEvent('popstate', {state: {}}))`, "/dashboard"+at))
			b.waitQuiet()
			record.wantReads(t, at)
			if !eval[bool](b, `!!document.querySelector('#main .empty')`) {
				t.Errorf("%s shows a page", at)
			}
		}
	}
	b.do(chromedp.Navigate(b.base + "/dashboard/sign-in?to=/broadcasts/..%252Fauth%252Fsign-out%2523/review"))
	b.waitQuiet()
	for name, value := range map[string]string{"username": "ann@example.com", "current-password": goodPassword} {
		b.do(chromedp.SendKeys(chromedp.CSS(`input[autocomplete="`+name+`"]`), value))
	}
	b.do(chromedp.Click(chromedp.CSS(`button[type=submit]`)))
	b.do(chromedp.WaitVisible(chromedp.CSS(`#main h1`)))
	b.waitQuiet()
	if asked := record.taken(); slices.ContainsFunc(asked, func(line string) bool { return strings.Contains(line, "sign-out") }) {
		t.Errorf("after the sign-in: %q", asked)
	}
	if eval[string](b, `location.pathname`) == "/dashboard/sign-in" {
		t.Error("nobody is signed in")
	}
}

// wantReads checks that all that was asked reads.
func (r *recorder) wantReads(t *testing.T, at string) {
	t.Helper()
	for _, line := range r.taken() {
		if !strings.HasPrefix(line, "GET ") && !strings.HasSuffix(line, " reads") || strings.Contains(line, "sign-out") || strings.Contains(line, "pause") {
			t.Errorf("opening %s asks %s", at, line)
		}
	}
}
