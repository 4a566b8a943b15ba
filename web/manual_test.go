package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/chromedp/chromedp"

	"mailer/app/testing/apptest"
	"mailer/web/rest"
)

// manualPage is one of /manual/index.json.
type manualPage struct {
	Page, Title, Text string
	Headings          []struct{ ID, Title, Text string }
}

// visit asks for a page, which no document describes. headers are "Name: value".
func visit(b *fixture, method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://mail.example.com"+path, http.NoBody)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}

// manualFixture serves the manual to all tests of it: it renders all pages with the first request.
var manualFixture = sync.OnceValue(func() *fixture { return newFixture(nil) })

func manualIndex(t *testing.T, b *fixture) (index []manualPage) {
	t.Helper()
	w := visit(b, "GET", "/manual/index.json")
	wantStatus(t, w, 200)
	if err := json.Unmarshal(w.Body.Bytes(), &index); err != nil || len(index) < 9 {
		t.Fatalf("%d pages, %v", len(index), err)
	}
	return index
}

var (
	addressInPage = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	anchorInPage  = regexp.MustCompile(`\bid="([^"]+)"`)
)

// styledTag matches a tag with a style of its own.
var styledTag = regexp.MustCompile(`<[a-z][^<>]*\sstyle=`)

func TestManualLinksAreServed(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	b := manualFixture()
	paths := []string{"/manual"}
	for _, p := range manualIndex(t, b) {
		paths = append(paths, "/manual/"+p.Page)
	}
	bodies, ids := map[string]string{}, map[string][]string{}
	for _, path := range paths {
		w := visit(b, "GET", path)
		wantStatus(t, w, 200)
		bodies[path] = w.Body.String()
		for _, m := range anchorInPage.FindAllStringSubmatch(bodies[path], -1) {
			if slices.Contains(ids[path], m[1]) {
				t.Errorf("%s has %q twice", path, m[1])
			}
			ids[path] = append(ids[path], m[1])
		}
	}
	answers := map[string]int{} // by target: pages have most links in common
	for path, body := range bodies {
		for _, m := range addressInPage.FindAllStringSubmatch(body, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.HasPrefix(target, "https://") {
				continue
			}
			if target == "" {
				target = path
			}
			if answers[target] == 0 {
				answers[target] = visit(b, "GET", target).Code
			}
			if answers[target] != 200 || anchor != "" && !slices.Contains(ids[target], anchor) {
				t.Errorf("%s leads to %s, which answers %d", path, m[1], answers[target])
			}
		}
		if strings.Count(body, "<script") != 1 || strings.Contains(body, "<script>") || styledTag.MatchString(body) {
			t.Errorf("%s needs more than its policy lets it have", path)
		}
	}
}

func TestManualIsPublic(t *testing.T) {
	t.Parallel()
	b := manualFixture()
	for _, path := range []string{"/manual", "/manual/", "/manual/domains", "/manual/index.json", "/manual/manual.css", "/manual/manual.js", "/manual/search?q=relay", "/manual/nothing"} {
		w := visit(b, "GET", path)
		want := 200
		if path == "/manual/nothing" {
			want = 404
		}
		wantStatus(t, w, want)
		h := w.Header()
		if got := h.Get("Content-Security-Policy"); got != "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'" {
			t.Errorf("%s: the policy is %q", path, got)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Set-Cookie") != "" {
			t.Errorf("%s: %v", path, h)
		}
		if head := visit(b, "HEAD", path); head.Code != want || head.Body.Len() != 0 {
			t.Errorf("HEAD %s: %d, %d bytes", path, head.Code, head.Body.Len())
		}
	}
	if w := visit(b, "POST", "/manual"); w.Code != 405 {
		t.Errorf("POST is answered %d", w.Code)
	}
	if strings.Contains(string(document()), "/manual") {
		t.Error("the document has the manual")
	}
}

func TestManualSearch(t *testing.T) {
	t.Parallel()
	b := manualFixture()
	ask := func(query string) string {
		return visit(b, "GET", "/manual/search?q="+url.QueryEscape(query)).Body.String()
	}
	found := ask("Master KEY rotate")
	place := strings.Index(found, `href="/manual/backups#the-master-key"`)
	other := strings.Index(found, `href="/manual/commands#commands"`)
	if place < 0 || other < 0 || place > other {
		t.Errorf("the section of the title is at %d, one that only has the words at %d", place, other)
	}
	for _, query := range []string{"", "  ", "nosuchword", "master nosuchword"} {
		if got := ask(query); !strings.Contains(got, "No section contains all these words") || strings.Contains(got, "manual-found") {
			t.Errorf("%q finds something", query)
		}
	}
	for _, query := range []string{"<script>alert(1)</script>", `"><img src=x>`, strings.Repeat("a ", 10_000), "\xff\x00ſ"} {
		w := visit(b, "GET", "/manual/search?q="+url.QueryEscape(query))
		if w.Code != 200 || strings.Contains(w.Body.String(), "alert(1)") || strings.Contains(w.Body.String(), "<img") || !utf8.Valid(w.Body.Bytes()) {
			t.Errorf("%.20q is answered %d", query, w.Code)
		}
	}
}

func TestManualCaching(t *testing.T) {
	t.Parallel()
	b := manualFixture()
	plain := visit(b, "GET", "/manual/domains")
	if plain.Header().Get("Content-Encoding") != "" || plain.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("who reads no gzip gets %v", plain.Header())
	}
	packed := visit(b, "GET", "/manual/domains", "Accept-Encoding: br, gzip;q=0.8")
	r, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain.Body.Bytes()) {
		t.Errorf("packed it says something else (%v)", err)
	}
	if w := visit(b, "GET", "/manual/domains", "Accept-Encoding: gzip;q=0"); w.Header().Get("Content-Encoding") != "" {
		t.Error("who wants no gzip gets it")
	}
	etag := plain.Header().Get("ETag")
	if w := visit(b, "GET", "/manual/domains", `If-None-Match: "x", `+etag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("who has it gets %d, %d bytes", w.Code, w.Body.Len())
	}
	if w := visit(b, "GET", "/manual/relays", "If-None-Match: "+etag); w.Code != 200 {
		t.Errorf("who has another page gets %d", w.Code)
	}
}

var (
	// codeInText is what a page sets as code within a line.
	codeInText = regexp.MustCompile("`([^`\n]+)`")
	// routeInCode is a method with a path, or one of both: a path that begins with dots is relative
	// to the one before.
	routeInCode = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE)?(?:^| |$)((?:…?/[a-z{][^ ?]*)?)`)
	// calledInText is a call in an example.
	calledInText = regexp.MustCompile(`curl -sSO? (?:-X ([A-Z]+) )?'?https://mail\.example\.com(/[^ '?\n]*)(?:[^\n\\]|\\.|\\\n)*`)
)

// operationsIn returns the operations that a page names or calls: a method and a path, or a method
// and a suffix of the path before: `POST /queue/hold`, `/release`. A path without a method has ANY.
func operationsIn(text string) (out []string) {
	for line := range strings.Lines(text) {
		out = append(out, namedIn(line)...)
	}
	for _, m := range calledInText.FindAllStringSubmatch(text, -1) {
		method := m[1]
		switch body := strings.Contains(m[0], " -d '") || strings.Contains(m[0], " -F "); {
		case method == "" && body:
			method = "POST"
		case method == "":
			method = "GET"
		}
		out = append(out, method+" "+m[2])
	}
	return out
}

// namedIn are the operations that a line names. Methods by themselves are of the next path.
func namedIn(line string) (out []string) {
	var methods []string
	last, before := "", ""
	for _, code := range codeInText.FindAllStringSubmatch(line, -1) {
		m := routeInCode.FindStringSubmatch(code[1])
		method, path := m[1], m[2]
		switch {
		case path == "" && method != code[1]: // no route
			methods = nil
		case path == "":
			methods = append(methods, method)
		case strings.HasPrefix(path, "…"):
			out = append(out, cmp.Or(method, last)+" "+before+" "+strings.TrimPrefix(path, "…"))
		case method == "" && before != "":
			out = append(out, last+" "+before+" "+path)
		case method == "":
			out = append(out, "ANY "+path)
		default:
			for _, one := range append(methods, method) {
				out = append(out, one+" "+path)
			}
			methods, last, before = nil, method, path
		}
	}
	return out
}

// beyondTheDocument are URLs that the document does not describe: pages, other listeners, and
// metrics.
var beyondTheDocument = regexp.MustCompile(`^(GET|ANY|POST) /(manual(/[a-z.-]*)?|dashboard/|mcp|metrics|ingest/[a-z…/A-Z]*|t/[oc]/…|unsubscribe/…|preferences/…)$`)

// onDisk are paths of files, which are no routes.
var onDisk = regexp.MustCompile(`^ANY /(etc|var|usr|root|tmp|src|work)(/|$)`)

// routeIn returns whether one of the operations is meant by a text of operationsIn.
func routeIn(operations map[string]*rest.Operation, text string) bool {
	words := strings.Fields(text)
	method, paths := words[0], words[1:2]
	if len(words) > 2 {
		paths = nil
		for place := words[1]; place != "/"; place = path.Dir(place) {
			paths = append(paths, place+words[2])
		}
		if routeIn(operations, "ANY "+words[2]) {
			return true
		}
	}
	if beyondTheDocument.MatchString(text) || onDisk.MatchString(text) {
		return true
	}
	for _, op := range operations {
		if (op.Method == method || method == "ANY") && slices.ContainsFunc(paths, pathPattern(op.Path).MatchString) {
			return true
		}
	}
	return false
}

// pathPatterns keeps the results of pathPattern.
var pathPatterns sync.Map

// pathPattern matches the paths that a path with parameters stands for.
func pathPattern(path string) *regexp.Regexp {
	if pattern, ok := pathPatterns.Load(path); ok {
		return pattern.(*regexp.Regexp)
	}
	pattern := regexp.MustCompile("^" + pathParameter.ReplaceAllString(path, "[^/]+") + "$")
	pathPatterns.Store(path, pattern)
	return pattern
}

func TestManualNamesExistingRoutes(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	b := manualFixture()
	total := 0
	pages, err := filepath.Glob("manual/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, route := range operationsIn(string(text)) {
			total++
			if !routeIn(b.handler.Operations(), route) {
				t.Errorf("%s: there is no %s", page, route)
			}
		}
	}
	if total < 200 || routeIn(b.handler.Operations(), "POST /nothing") || routeIn(b.handler.Operations(), "POST /queue/hold /nothing") {
		t.Errorf("%d operations are named", total)
	}
	bad := "`GET /nothing/{id}?x=y` and `/other`\n`GET`, `PATCH /none`, `POST …/more`, `/less` `GET`\n`/other` `a/b` `/etc`\n" +
		"curl -sS https://mail.example.com/none -H 'a' \\\n  -d '{}'\n"
	want := []string{"GET /nothing/{id}", "GET /nothing/{id} /other", "GET /none", "PATCH /none", "POST /none /more", "PATCH /none /less", "ANY /other", "ANY /etc", "POST /none"}
	if got := operationsIn(bad); !slices.Equal(got, want) {
		t.Errorf("it finds %q", got)
	}
}

// TestManualInABrowser reads a page without scripts, in both colours, wide and narrow.
func TestManualInABrowser(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	bench := manualFixture()
	b := newBrowser(t, bench.handler)
	b.readsManual(manualIndex(t, bench)[1], true)
}

// readsManual checks a page of the manual in all four views, or in two of them.
func (b *browser) readsManual(p manualPage, all bool) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + strings.TrimSuffix("/manual/"+p.Page, "/")))
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{360, 1280} {
			if !all && (width == 360) == (scheme == "dark") {
				continue
			}
			b.setView(width, scheme)
			for _, defect := range eval[[]string](b, defects) {
				// The hosted pages are for thumbs and have a frame; these have the dashboard's sizes.
				if !strings.HasPrefix(defect, "too small") && defect != "no style" {
					b.t.Errorf("/manual/%s at %d px, %s: %s", p.Page, width, scheme, defect)
				}
			}
		}
	}
	if got := eval[string](b, `getComputedStyle(document.querySelector(".manual-text pre, .manual-text ul")).paddingLeft`); got == "0px" {
		b.t.Errorf("/manual/%s has no style", p.Page)
	}
	wantText(b.t, eval[string](b, `document.querySelector("h1").innerText`), p.Title)
}
