package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"mailer/app"
	"mailer/app/testing/apptest"
	"mailer/db"
)

// shotsEnv names the directory that gets pictures of the pages.
const shotsEnv = "MAILER_SCREENSHOTS"

// browser is a tab of a headless Chromium that runs no scripts of pages.
type browser struct {
	t    *testing.T
	ctx  context.Context
	base string
}

// chromium is the one browser of all tests.
var chromium struct {
	once sync.Once
	ctx  context.Context
	end  []context.CancelFunc // the last first
	err  error
}

func startChromium(path string) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	chromium.end = append(chromium.end, cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	chromium.end = append(chromium.end, cancel)
	chromium.ctx, chromium.err = ctx, chromedp.Do(ctx) // starts it
}

func endChromium() {
	for _, end := range slices.Backward(chromium.end) {
		end()
	}
}

func newBrowser(t *testing.T, h http.Handler) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("chromium is missing: apt-get install chromium")
		}
		t.Skip("NOT TESTED: chromium is missing")
	}
	chromium.once.Do(func() { startChromium(path) })
	if chromium.err != nil {
		t.Fatal(chromium.err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	ctx, cancel := chromedp.NewContext(chromium.ctx) // a tab
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx, base: server.URL}
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	b.speak("en")
	b.setView(1280, "light")
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// speak sets the language of the reader.
func (b *browser) speak(lang string) {
	b.t.Helper()
	headers := network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": lang}}
	if _, err := chromedp.Call(b.ctx, network.SetExtraHTTPHeaders, headers); err != nil {
		b.t.Fatal(err)
	}
}

// setView sets the window's width and the reader's colour scheme, without transitions.
func (b *browser) setView(width int64, scheme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 844))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.t.Fatal(err)
	}
}

// goes performs a step that leads to another page, and returns that page's text.
func (b *browser) goes(step chromedp.Action[chromedp.Void]) string {
	b.t.Helper()
	answer, err := chromedp.RunResponse(b.ctx, step)
	if err != nil {
		b.t.Fatal(err)
	}
	if answer.Status != http.StatusOK {
		b.t.Fatalf("%s answers %d", answer.URL, answer.Status)
	}
	b.check()
	return eval[string](b, `document.body.innerText`)
}

func (b *browser) open(path string) string {
	b.t.Helper()
	return b.goes(chromedp.Navigate(b.base + path))
}

func (b *browser) press(selector string) string {
	b.t.Helper()
	return b.goes(chromedp.Click(chromedp.CSS(selector)))
}

func (b *browser) checked(topic string) bool {
	b.t.Helper()
	return eval[bool](b, `document.getElementById("topic-`+topic+`").checked`)
}

func eval[T any](b *browser, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// defects lists usability defects of the page. Contrast is that of WCAG 2.2, 1.4.3.
const defects = `(() => {
	const out = [];
	const parse = (s) => s.match(/[\d.]+/g).map(Number);
	const light = (rgb) => {
		const [r, g, b] = rgb.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const ground = (e) => {
		for (; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			if (c.length === 3) return c;
			if (c[3] > 0) out.push("a translucent background at " + e.tagName);
		}
		out.push("no background");
		return [255, 255, 255];
	};
	let texts = 0;
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; n = walker.nextNode();) {
		if (!n.data.trim()) continue;
		texts++;
		const color = parse(getComputedStyle(n.parentElement).color);
		if (color.length !== 3) out.push("translucent text: " + n.data);
		const [a, b] = [light(color), light(ground(n.parentElement))];
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) out.push("contrast " + ratio.toFixed(2) + ": " + n.data);
	}
	if (texts < 3) out.push("only " + texts + " texts");
	for (const e of document.querySelectorAll("input:not([type=hidden])"))
		if (!e.labels.length || !e.labels[0].innerText.trim()) out.push("no label: " + e.id);
	for (const e of document.querySelectorAll("button, nav a, .topic"))
		if (e.getBoundingClientRect().height < 44) out.push("too small to press: " + e.innerText);
	const root = document.documentElement;
	if (root.scrollWidth > root.clientWidth) out.push("scrolls sideways: " + root.scrollWidth + " > " + root.clientWidth);
	for (const e of document.querySelectorAll("main *")) {
		const box = e.getBoundingClientRect();
		if (box.right > root.clientWidth + 1) out.push("cut off: " + e.tagName + " " + e.innerText);
	}
	if (document.querySelectorAll("main").length !== 1 || document.querySelectorAll("h1").length !== 1) out.push("not one main and one h1");
	if (getComputedStyle(document.querySelector("main")).borderRadius === "0px") out.push("no style");
	return out;
})()`

// check looks for defects in both colours, on a desktop and on a small phone.
func (b *browser) check() {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{360, 1280} {
			b.setView(width, scheme)
			for _, defect := range eval[[]string](b, defects) {
				b.t.Errorf("%s at %d px, %s: %s", eval[string](b, `location.pathname`), width, scheme, defect)
			}
		}
	}
	b.setView(1280, "light")
}

// shoot writes pictures of the page, unless nobody asked for any.
func (b *browser) shoot(dir, name string) {
	b.t.Helper()
	if dir == "" {
		return
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []string{"1280", "390"} {
			b.setView(map[string]int64{"1280": 1280, "390": 390}[width], scheme)
			picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
			if err != nil {
				b.t.Fatal(err)
			}
			path := filepath.Join(dir, name+"-"+width+"-"+scheme+".png")
			if err := os.WriteFile(path, picture, 0o644); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	b.setView(1280, "light")
}

// shots is where pictures go; empty: nowhere.
func shots() string { return os.Getenv(shotsEnv) }

func wantText(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the page does not say %q: %s", part, text)
		}
	}
}

// walk opts out with the link of a topic, and in again. The topic is Weekly news.
func (b *browser) walk(at pageLinks, topic, dir string) {
	b.t.Helper()
	wantText(b.t, b.open(at.unsubscribe), "Unsubscribe from “Weekly news”?", "ACME Garden")
	b.shoot(dir, "unsubscribe")
	wantText(b.t, b.press("button"), "You are unsubscribed", "You will no longer receive “Weekly news” from ACME Garden")
	b.shoot(dir, "unsubscribed")
	wantText(b.t, b.open(at.unsubscribe), "You are unsubscribed")
	wantText(b.t, b.press("nav a"), "Your email preferences", "Weekly news")
	if path := eval[string](b, `location.pathname`); path != at.preferences {
		b.t.Errorf("the link leads to %s", path)
	}
	if b.checked(topic) {
		b.t.Error("the topic has a tick after opting out")
	}
	b.do(chromedp.Click(chromedp.CSS(`label[for="topic-` + topic + `"]`)))
	if !b.checked(topic) {
		b.t.Error("the label does not tick the box")
	}
	wantText(b.t, b.press("button"), "Your choices have been saved.")
	b.shoot(dir, "preferences-saved")
	wantText(b.t, b.open(at.preferences), "Weekly news")
	if !b.checked(topic) {
		b.t.Error("the tick is lost after saving")
	}
	b.shoot(dir, "preferences")
}

// walkAll is what a reader does with a bare link: finds it from the preferences
// and opts out of everything.
func (b *browser) walkAll(at pageLinks, dir string) {
	b.t.Helper()
	wantText(b.t, b.open(at.preferences), "Unsubscribe from all mailings")
	wantText(b.t, b.press("nav a"), "Unsubscribe from all mailings?")
	b.shoot(dir, "unsubscribe-all")
	wantText(b.t, b.press("button"), "You are unsubscribed", "You will no longer receive mailings from ACME Garden")
	b.shoot(dir, "unsubscribed-all")
	wantText(b.t, b.open(at.preferences), "You are unsubscribed from all mailings from ACME Garden")
	b.shoot(dir, "preferences-all-off")
}

func TestBrowserPreferencesWithoutScripts(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	p := newPages(t)
	b, dir := newBrowser(t, p.handler), shots()
	b.walk(p.topic, weekly, dir)
	b.walkAll(p.all, dir)
	err := p.store.Read(t.Context(), func(r *db.Reader) error {
		s, err := r.SuppressionByAddress(p.garden.ID, p.address)
		if err == nil && s.Origin != app.OriginUnsubscribe {
			t.Errorf("the suppression is of origin %s", s.Origin)
		}
		return err
	})
	if err != nil {
		t.Errorf("the suppression of who unsubscribed from everything: %v", err)
	}
}
