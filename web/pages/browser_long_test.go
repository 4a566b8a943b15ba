//go:build long

package pages

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"

	"mailer/app"
	"mailer/app/rules/brand"
	"mailer/app/sending/signup"
)

// shotsEnv names the directory that gets pictures of the pages.
const shotsEnv = "MAILER_SCREENSHOTS"

// provenSignUps is fakeSignUps that checks proofs and buttons like the service does.
type provenSignUps struct {
	*fakeSignUps
	mu     sync.Mutex
	issued map[string]time.Time
	bits   int
}

func (p *provenSignUps) FormPage(_ context.Context, _, id string) (*signup.FormView, error) {
	if id != formID {
		return nil, app.NotFound("form")
	}
	return &p.form, nil
}

func (p *provenSignUps) token() string {
	b := make([]byte, 80)
	_, _ = rand.Read(b)
	token := hex.EncodeToString(b)
	p.issued[token] = time.Now()
	return token
}

func (p *provenSignUps) NewChallenge(context.Context, string, string) (signup.Challenge, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return signup.Challenge{Token: p.token(), Bits: p.bits, Expires: testNow.Add(10 * time.Minute)}, nil
}

func (p *provenSignUps) Submit(_ context.Context, _ string, in *signup.Submission) (*signup.Submitted, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !strings.Contains(in.Email, "@") {
		return nil, app.Invalid("email", "is no address")
	}
	if in.Values["age"] == "" {
		return nil, app.Invalid("age", "is required")
	}
	token, _, _ := strings.Cut(in.Proof, ".")
	sum := sha256.Sum256([]byte(in.Proof))
	proven := !p.issued[token].IsZero() && bits.LeadingZeros32(uint32(sum[0])<<24|uint32(sum[1])<<16|uint32(sum[2])<<8|uint32(sum[3])) >= p.bits
	pressed := !p.issued[in.Button].IsZero() && time.Since(p.issued[in.Button]) >= buttonAfter
	if in.Trap != "" || !proven && !pressed {
		return &signup.Submitted{View: &p.form, Button: p.token()}, nil
	}
	delete(p.issued, token)
	delete(p.issued, in.Button)
	p.submitted = append(p.submitted, in)
	return &signup.Submitted{View: &p.form}, nil
}

func (p *provenSignUps) last() *signup.Submission {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.submitted) == 0 {
		return nil
	}
	return p.submitted[len(p.submitted)-1]
}

// tab is a tab of a browser that collects complaints: errors in its console, and of its policy.
type tab struct {
	t          *testing.T
	ctx        context.Context
	mu         sync.Mutex
	complaints []string
	scriptless bool
}

func newTab(t *testing.T) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("NOT TESTED: chromium is missing")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	b.must(chromedp.Listen(ctx, func(ev any) {
		if e, ok := ev.(*cdplog.EventEntryAdded); ok && e.Entry.Level == "error" {
			b.mu.Lock()
			b.complaints = append(b.complaints, e.Entry.Text+" "+e.Entry.URL)
			b.mu.Unlock()
		}
	}))
	b.must(chromedp.Do(ctx))
	_, err = chromedp.Call(ctx, cdplog.Enable, cdp.Empty{})
	b.must(err)
	b.look(1440, "light")
	return b
}

func (b *tab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// fine fails the test with the complaints but those that have one of some parts.
func (b *tab) fine(but ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
next:
	for _, c := range b.complaints {
		for _, part := range but {
			if strings.Contains(c, part) {
				continue next
			}
		}
		b.t.Error(c)
	}
	b.complaints = nil
}

func (b *tab) open(address string) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.Navigate(address)))
}

// disableScripts switches JavaScript off; only what the test itself evaluates runs.
func (b *tab) disableScripts(off bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off})
	b.must(err)
	b.scriptless = off
}

func (b *tab) look(width int64, scheme string) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media)
	b.must(err)
}

func run[T any](b *tab, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%v in %.200s", err, script)
	}
	return v
}

// typeInto focuses an input and types.
func (b *tab) typeInto(name, value string) {
	b.t.Helper()
	run[bool](b, fmt.Sprintf(`(() => { const e = document.querySelector('input[name="%s"]'); e.focus(); e.value = %q; return true; })()`, name, value))
}

// press clicks a button as a mouse does: one that can't be seen does nothing.
func (b *tab) press(selector string) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(selector))))
}

// sees waits until the page says something.
func (b *tab) sees(parts ...string) {
	b.t.Helper()
	deadline := time.Now().Add(40 * time.Second)
	for _, part := range parts {
		for {
			text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
			if strings.Contains(text, part) {
				break
			}
			if time.Now().After(deadline) {
				b.t.Fatalf("the page does not say %q: %s %v", part, text, err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// shoot writes pictures, and reports what axe-core finds.
func (b *tab) shoot(name string) {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1440, 390} {
			b.look(width, scheme)
			if wide := run[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
				b.t.Errorf("%s at %d: %d pixels too wide", name, width, wide)
			}
			if dir := os.Getenv(shotsEnv); dir != "" {
				picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
				b.must(err)
				b.must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), picture, 0o644))
			}
			b.axe(name)
		}
	}
	b.look(1440, "light")
}

// axe reports what axe-core calls a violation, if it is installed.
func (b *tab) axe(name string) {
	b.t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "sdktest", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return
	}
	if b.scriptless {
		b.disableScripts(false) // axe uses timers
		defer b.disableScripts(true)
	}
	run[bool](b, string(source)+";true")
	for _, fault := range run[[]string](b, `axe.run(document, {resultTypes: ['violations'], iframes: false, preload: false}).then((r) => r.violations.map((v) => v.impact + ' ' + v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')))`) {
		b.t.Errorf("%s: %s", name, fault)
	}
}

// startForms serves the pages, and a site with a form in it.
func startForms(t *testing.T) (p *provenSignUps, pages, site string) {
	t.Helper()
	s := newSignUpServer(t)
	p = &provenSignUps{fakeSignUps: s.fakeSignUps, issued: map[string]time.Time{}, bits: 18}
	h := httptest.NewServer(handlerOf(p))
	t.Cleanup(h.Close)
	snippet := func() string {
		return EmbeddedForm(&p.form, h.URL+"/f/"+formID, true)
	}
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src "+h.URL+"; connect-src "+h.URL+"; form-action "+h.URL+"; require-trusted-types-for 'script'")
		_, _ = io.WriteString(w, `<!doctype html><html lang="de"><title>Shop</title><main><h1>Shop</h1>`+snippet()+"</main></html>")
	}))
	t.Cleanup(own.Close)
	site = strings.Replace(own.URL, "127.0.0.1", "localhost", 1)
	p.form.Form.AllowedOrigins = []string{site}
	p.form.Brand.Color = ""
	return p, h.URL, site
}

// TestLongFormWithScript submits the hosted page: its script solves the challenge.
func TestLongFormWithScript(t *testing.T) {
	p, pages, _ := startForms(t)
	b := newTab(t)
	b.open(pages + "/f/" + formID)
	b.shoot("form")
	b.typeInto("email", "ann@example.org")
	b.typeInto("age", "41")
	start := time.Now()
	b.press("form button")
	b.sees("Check your inbox")
	t.Logf("the answer came after %s", time.Since(start))
	if in := p.last(); in == nil || in.Proof == "" || in.Email != "ann@example.org" || !in.AnyTopics || len(in.Topics) != 1 {
		t.Errorf("%+v", in)
	}
	b.shoot("submitted")
	b.fine("favicon")
	for _, bits := range []int{20, 22} {
		p.bits = bits
		b.open(pages + "/f/" + formID)
		b.typeInto("email", "bob@example.org")
		b.typeInto("age", "41")
		start := time.Now()
		b.press("form button")
		b.sees("Check your inbox")
		t.Logf("%d bits: the answer came after %s", bits, time.Since(start))
	}
	if in := p.last(); in.Email != "bob@example.org" || in.Button != "" {
		t.Errorf("%+v", in)
	}
	b.fine("favicon")
}

// TestLongFormWithoutScript submits the hosted page without JavaScript: an error first, then the page
// whose button appears after five seconds.
func TestLongFormWithoutScript(t *testing.T) {
	p, pages, _ := startForms(t)
	p.form.Brand = brand.Brand{Color: "#1f4fd8"}
	b := newTab(t)
	b.disableScripts(true)
	b.open(pages + "/f/" + formID)
	run[bool](b, `document.querySelector('form').noValidate = true`)
	b.typeInto("email", "nobody")
	b.typeInto("first_name", "Ann")
	b.press("form button")
	b.sees("like name@example.com", "Please fill in this field")
	if name := run[string](b, `document.activeElement.name`); name != "email" {
		t.Errorf("%q has the focus", name)
	}
	b.shoot("errors")
	b.typeInto("email", "ann@example.org")
	b.typeInto("age", "41")
	b.press("form button")
	b.sees("One more step")
	if run[string](b, `getComputedStyle(document.querySelector('button')).visibility`) != "hidden" {
		t.Error("the button can be pressed immediately")
	}
	b.shoot("button-before")
	b.press("form button") // waits until it is visible
	b.sees("Check your inbox")
	if in := p.last(); in == nil || in.Button == "" || in.Values["first_name"] != "Ann" || in.Email != "ann@example.org" || len(in.Topics) != 1 {
		t.Errorf("%+v", in)
	}
	b.fine("favicon", "422")
}

// TestLongEmbeddedForm submits a form in another site whose policy allows the script's origin alone.
func TestLongEmbeddedForm(t *testing.T) {
	p, pages, site := startForms(t)
	b := newTab(t)
	b.open(site)
	run[bool](b, `document.querySelector('form').noValidate = true`)
	b.typeInto("email", "nobody")
	b.press("form button")
	b.sees("Bitte prüfen Sie Ihre Angaben", "wie name@example.com")
	if got := run[string](b, `document.activeElement.name + " " + document.activeElement.getAttribute("aria-invalid")`); got != "email true" {
		t.Errorf("%q has the focus", got)
	}
	b.typeInto("email", "ann@example.org")
	b.typeInto("age", "41")
	run[bool](b, `(document.querySelector('input[type=checkbox]').checked = false, true)`)
	b.press("form button")
	b.sees("Sehen Sie in Ihr Postfach")
	if got := run[string](b, `location.href + " " + document.querySelector("[role=status]").contains(document.activeElement)`); got != site+"/ true" {
		t.Errorf("left the page, or the focus is lost: %s", got)
	}
	if in := p.last(); in == nil || in.Proof == "" || in.Email != "ann@example.org" || in.Language != "de" || !in.AnyTopics || len(in.Topics) != 0 {
		t.Errorf("%+v", in)
	}
	b.shoot("embedded")
	b.fine("favicon", "422")

	// Over a limit, the script shows the button, which appears after five seconds.
	p.bits = 33
	p.form.Form.AllowedOrigins = []string{site}
	b.open(site)
	b.typeInto("email", "carl@example.org")
	b.typeInto("age", "41")
	run[bool](b, `(document.querySelector('input[name="website-url"]').value = 'spam', true)`)
	p.bits = 18
	b.press("form button")
	b.sees("Noch ein Schritt")
	run[bool](b, `(document.querySelector('input[name="website-url"]').value = '', true)`)
	b.press(".mailer-answer button")
	b.sees("Sehen Sie in Ihr Postfach")
	if in := p.last(); in.Email != "carl@example.org" || in.Button == "" {
		t.Errorf("%+v", in)
	}
	b.fine("favicon")

	// A site that is not allowed still reaches the page.
	p.form.Form.AllowedOrigins = nil
	b.open(site)
	b.typeInto("email", "dora@example.org")
	b.typeInto("age", "41")
	b.press("form button")
	b.sees("One more step")
	if at := run[string](b, `location.href`); !strings.HasPrefix(at, pages) {
		t.Error(at)
	}
}

// TestLongOptInPages confirms, refuses, and subscribes again.
func TestLongOptInPages(t *testing.T) {
	p, pages, _ := startForms(t)
	p.optIn.Unsubscribed = true
	b := newTab(t)
	b.disableScripts(true)
	b.open(pages + "/opt-in/tok")
	b.shoot("confirm")
	b.typeInto("first_name", "")
	b.press(`button[value="again"]`)
	b.sees("You are signed up")
	if d := p.decided[0]; !d.Again || d.Values["first_name"] != "" || d.Values["age"] != "41" || len(d.Topics) != 1 {
		t.Errorf("%+v", d)
	}
	b.open(pages + "/opt-in/tok")
	b.press("nav a")
	b.sees("Was this not you?")
	b.shoot("refuse")
	b.press("form button")
	b.sees("You are not signed up")
	b.shoot("refused")
	p.optIn.Status, p.optIn.RedirectURL = app.OptInConfirmed, "https://shop.example/welcome"
	b.open(pages + "/opt-in/tok")
	b.shoot("confirmed")
	p.optIn.Status = app.OptInExpired
	b.open(pages + "/opt-in/tok")
	b.shoot("expired")
	for _, lang := range []string{"de", "pl", "ja"} {
		p.optIn.Status, p.optIn.Language = app.OptInPending, lang
		b.open(pages + "/opt-in/tok")
		b.shoot("confirm-" + lang)
		b.open(pages + "/f/" + formID + "?" + url.Values{"language": {lang}}.Encode())
		b.shoot("form-" + lang)
	}
	b.fine("favicon")
}
