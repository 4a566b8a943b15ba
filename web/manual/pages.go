package manual

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/http"
	"strings"
	"sync"
	"time"

	"mailer/web/rest"
)

// files holds the pages in Markdown, and the files that they offer.
//
//go:embed *.md manual.css manual.js alerts.yml grafana.json
var files embed.FS

// servedFiles are the media types of the files that are served as they are.
var servedFiles = map[string]string{"manual.css": "text/css; charset=utf-8", "manual.js": "text/javascript; charset=utf-8", "alerts.yml": "application/yaml", "grafana.json": "application/json"}

// prefix is the path of the manual.
const prefix = "/manual"

// policy is the Content-Security-Policy (CSP 3). The only script is manual.js, the only form is the
// search.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const htmlType = "text/html; charset=utf-8"

// page is a page of the manual. Pages are in reading order.
type page struct {
	Page     string    `json:"page"`  // name in the URL
	Group    string    `json:"group"` // heading of the front page that lists it
	Title    string    `json:"title"`
	Text     string    `json:"text"` // summary in one line
	Headings []heading `json:"headings"`
}

// heading is a linkable heading of a page.
type heading struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"` // the first line below it
}

// reply is the answer of one URL.
type reply struct {
	kind           string // media type
	etag           string
	plain, gzipped []byte // small: gzip (RFC 1952)
}

// site holds everything that is served. It is prepared on the first request.
type site struct {
	// styles returns the URL of the dashboard's style sheets, without a trailing slash.
	styles func() string

	once     sync.Once
	pages    []page
	sections []section
	replies  map[string]*reply // by path below the prefix
}

// Register adds the manual to a handler. styles returns the URL of the dashboard's tokens.css,
// app.css and mark.svg, which the manual uses.
func Register(h *rest.Handler, styles func() string) {
	s := &site{styles: styles}
	h.Mount(prefix, s.serve)
}

// prepare makes all replies.
func (s *site) prepare() {
	all := readPages()
	s.pages = pagesOf(all)
	index, _ := json.Marshal(s.pages) // texts can't fail
	s.replies = map[string]*reply{
		"":            newReply(htmlType, s.document("", "Manual", article(all[0].render()))),
		"/index.json": newReply("application/json", index),
	}
	for i, p := range s.pages {
		text := all[i+1].render()
		s.sections = append(s.sections, sectionsOf(p, string(text))...)
		s.replies["/"+p.Page] = newReply(htmlType, s.document(p.Page, p.Title, article(text)+s.pageLinks(i)))
	}
	for name, kind := range servedFiles {
		b, _ := files.ReadFile(name) // embedded files can always be read
		s.replies["/"+name] = newReply(kind, b)
	}
}

func newReply(kind string, b []byte) *reply {
	sum := sha256.Sum256(b)
	return &reply{kind: kind, etag: `W/"` + hex.EncodeToString(sum[:8]) + `"`, plain: b, gzipped: rest.Gzip(b)}
}

// serve answers at a path below the prefix.
func (s *site) serve(x *rest.Exchange, r *http.Request, below string) {
	s.once.Do(s.prepare)
	head := x.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Referrer-Policy", "no-referrer")
	if below == "/search" {
		s.serveSearch(x, r)
		return
	}
	a, ok := s.replies[strings.TrimSuffix(below, "/")]
	if !ok {
		s.serveNotFound(x, r)
		return
	}
	head.Set("Content-Type", a.kind)
	head.Set("Cache-Control", "no-cache")
	head.Set("Vary", "Accept-Encoding")
	head.Set("ETag", a.etag)
	b := a.plain
	if rest.TakesGzip(r.Header) {
		b = a.gzipped
		head.Set("Content-Encoding", "gzip")
	}
	http.ServeContent(x, r, "", time.Time{}, bytes.NewReader(b))
}

// serveNotFound answers 404.
func (s *site) serveNotFound(x *rest.Exchange, r *http.Request) {
	x.Header().Set("Content-Type", htmlType)
	x.WriteHeader(http.StatusNotFound)
	if r.Method != http.MethodHead {
		text := article([]byte("<p>The manual has no such page. The contents list all that there are.</p>\n"))
		// The client may be gone.
		_, _ = x.Write(s.document("", "Nothing here", text))
	}
}

// document returns an HTML document around a body. name is empty for the front page.
func (s *site) document(name, title, body string) []byte {
	base, whole := html.EscapeString(s.styles()), "Mailer manual"
	if title != "Manual" {
		whole = html.EscapeString(title) + " · " + whole
	}
	var b bytes.Buffer
	b.WriteString("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n" +
		"<title>" + whole + "</title>\n<link rel=\"icon\" href=\"" + base + "/mark.svg\" type=\"image/svg+xml\">\n")
	for _, sheet := range []string{base + "/tokens.css", base + "/app.css", prefix + "/manual.css"} {
		b.WriteString("<link rel=\"stylesheet\" href=\"" + sheet + "\">\n")
	}
	b.WriteString("<script type=\"module\" src=\"" + prefix + "/manual.js\"></script>\n</head>\n<body>\n<a class=\"btn skip\" href=\"#main\">Skip to content</a>\n<div class=\"manual\">\n" +
		"<main class=\"main\" id=\"main\" tabindex=\"-1\">\n<header class=\"manual-head\"><h1>" + html.EscapeString(title) +
		"</h1><a class=\"btn only-s\" href=\"#contents\">Contents</a></header>\n" + body + "</main>\n" + s.contents(name) + "</div>\n</body>\n</html>\n")
	return b.Bytes()
}

// article wraps the text of a page.
func article(text []byte) string {
	return "<article class=\"manual-text\">\n" + string(text) + "</article>\n"
}

// contents lists all pages, and the headings of the shown one. It is displayed at the side or, on
// phones, at the bottom.
func (s *site) contents(name string) string {
	var b strings.Builder
	b.WriteString("<nav class=\"manual-side\" id=\"contents\" aria-label=\"Contents\">\n")
	item := func(address, title string, here bool) {
		b.WriteString(`<a class="nav-item" href="` + address + `"`)
		if here {
			b.WriteString(` aria-current="page"`)
		}
		b.WriteString(">" + html.EscapeString(title) + "</a>\n")
	}
	b.WriteString("<form class=\"manual-search\" role=\"search\" action=\"" + prefix + "/search\"><label><span class=\"vh\">Search the manual</span><input class=\"input\" type=\"search\" name=\"q\" maxlength=\"100\" required placeholder=\"Search\"></label></form>\n")
	item(prefix, "Manual", name == "")
	group := ""
	for _, p := range s.pages {
		if p.Group != group {
			group = p.Group
			b.WriteString("<span class=\"manual-group\">" + html.EscapeString(group) + "</span>\n")
		}
		item(prefix+"/"+p.Page, p.Title, p.Page == name)
		if p.Page != name {
			continue
		}
		for _, h := range p.Headings {
			b.WriteString(`<a class="nav-item manual-place" href="#` + html.EscapeString(h.ID) + `">` + html.EscapeString(h.Title) + "</a>\n")
		}
	}
	b.WriteString("<a class=\"nav-item manual-out\" href=\"/dashboard/\">Dashboard</a>\n</nav>\n")
	return b.String()
}

// pageLinks links the previous and the next page.
func (s *site) pageLinks(i int) string {
	var b strings.Builder
	b.WriteString("<nav class=\"manual-turns\" aria-label=\"Before and after\">")
	link := func(rel, label string, p page) {
		b.WriteString(`<a class="btn" rel="` + rel + `" href="` + prefix + "/" + p.Page + `">` + label + html.EscapeString(p.Title) + "</a>")
	}
	if i > 0 {
		link("prev", "← ", s.pages[i-1])
	}
	if i+1 < len(s.pages) {
		link("next", "Next: ", s.pages[i+1])
	}
	b.WriteString("</nav>\n")
	return b.String()
}
