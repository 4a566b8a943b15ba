// Package dashboard serves the dashboard, a client of the API in the browser. Only web imports it.
// Its files are served under a hash of all files, so that browsers cache them forever; the HTML
// page that names them is requested each time.
//
// Failure policy: missing files are answered with 404; paths that only the browser's router knows
// get the HTML page.
package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"mailer/web/rest"
)

// files holds all that is served. A test makes the bundles of modules and style sheets from the
// sources in this folder and in ui; the editors in lib are built from other sources.
//
//go:embed *.html *.svg bundles fonts i18n lib/editor.js lib/mjml.js.gz lib/visual.js lib/licences.txt
var files embed.FS

// bundles is the folder of the bundles, which are served without it in their path.
const bundles = "bundles/"

// Prefix is the path of the dashboard.
const Prefix = "/dashboard"

// policy is the Content-Security-Policy of the HTML page (CSP 3): scripts and styles come from own
// files, and text is never run.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
	"frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// framePolicy is the Content-Security-Policy of the visual editor's document. It has an opaque
// origin, so neither session nor cookies, and no network. The editor writes style elements for the
// edited mail.
const framePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// kinds are the media types by extension.
var kinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json",
	".html": "text/html; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".woff2": "font/woff2",
}

// Register adds the dashboard to a handler. base returns the URL of its files, without a trailing
// slash, for pages that use its styles.
func Register(h *rest.Handler) (base func() string) {
	s := &site{}
	h.Mount(Prefix, s.serve)
	return s.base
}

// base returns the URL of this build's files.
func (s *site) base() string {
	s.once.Do(s.prepare)
	return Prefix + "/_/" + s.sum
}

// site holds everything that is served. It is prepared on the first request.
type site struct {
	once    sync.Once
	sum     string // hash of all files
	shell   string
	modules modules
	routes  []route
	files   map[string]file // by name
}

// file is the content of an embedded file, read when it is first needed: most clients take gzip
// (RFC 1952).
type file struct{ plain, gzipped func() []byte }

func newFile(embedded string) file {
	// Embedded files can always be read.
	read := func() []byte { b, _ := files.ReadFile(embedded); return b }
	if path.Ext(embedded) == compressed {
		return file{sync.OnceValue(func() []byte { return unzip(read()) }), read}
	}
	return file{sync.OnceValue(read), sync.OnceValue(func() []byte { return rest.Gzip(read()) })}
}

// compressed is the extension of large files that are embedded as gzip. They are served without it
// in their path.
const compressed = ".gz"

// unzip returns the content of an embedded gzip file.
func unzip(b []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	plain, _ := io.ReadAll(z)
	return plain
}

// prepare hashes all files, and reads the routes, the languages and the imports of the modules.
func (s *site) prepare() {
	sum := sha256.New()
	s.modules, s.files = modules{}, map[string]file{}
	var languages []string
	_ = fs.WalkDir(files, ".", func(embedded string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(embedded)
		if err != nil {
			return err
		}
		name, isBundle := strings.CutPrefix(strings.TrimSuffix(embedded, compressed), bundles)
		if name == routesFile {
			s.routes = routesOf(string(b))
			return nil
		}
		if isBundle && path.Ext(name) == ".js" {
			s.modules.add(name, string(b))
		}
		if name == shellFile {
			s.shell = string(b)
		}
		if language, ok := strings.CutPrefix(name, "i18n/"); ok {
			languages = append(languages, strings.TrimSuffix(language, ".json"))
		}
		sum.Write([]byte(name))
		sum.Write(b)
		s.files[name] = newFile(embedded)
		return nil
	})
	s.sum = hex.EncodeToString(sum.Sum(nil)[:8])
	s.shell = strings.NewReplacer("$BASE", Prefix+"/_/"+s.sum, "$LANGUAGES", strings.Join(languages, " ")).Replace(s.shell)
}

// shellFile is the HTML page.
const shellFile = "index.html"

// page returns the HTML page for a path, and the module of its route. The page preloads what its
// route needs; other modules are loaded when they are used.
func (s *site) page(at string) (shell, module string) {
	at = "/" + strings.Trim(at, "/")
	need := s.modules.needed(nil, entry)
	open := ""
	for _, r := range s.routes {
		if r.matches(at) {
			module = r.module
			need = s.modules.needed(need, module)
			if r.open {
				open = " data-open"
			}
			break
		}
	}
	var links strings.Builder
	for _, name := range need[1:] {
		links.WriteString(`<link rel="modulepreload" href="` + Prefix + "/_/" + s.sum + "/" + name + `">` + "\n")
	}
	return strings.NewReplacer("<!-- modules -->\n", links.String(), "$OPEN", open).Replace(s.shell), module
}

// serve answers with a file, or with the HTML page for a path of the browser's router.
func (s *site) serve(x *rest.Exchange, r *http.Request, rest string) {
	s.once.Do(s.prepare)
	head := x.Header()
	head.Set("Referrer-Policy", "no-referrer")
	if name, ok := strings.CutPrefix(rest, "/_/"); ok {
		s.serveFile(x, r, name)
		return
	}
	if !isPage(r.URL) {
		http.Error(x, "There is nothing at this address", http.StatusNotFound)
		return
	}
	head.Set("Content-Security-Policy", policy)
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-cache")
	shell, module := s.page(rest)
	etag := `"` + s.sum + "-" + strings.TrimSuffix(module, ".js") + `"`
	head.Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		x.WriteHeader(http.StatusNotModified)
		return
	}
	write(x, r, ".html", []byte(shell))
}

// isPage reports whether a path can be one of the browser's router: no segment is "..", or contains
// a character that separates URL parts, as paths.js checks it. Only attackers make such links.
func isPage(u *url.URL) bool {
	escaped := strings.ToLower(u.EscapedPath())
	if strings.ContainsAny(u.Path, `\?#%`) || strings.Contains(escaped, "%2f") {
		return false
	}
	segments := strings.Split(u.Path, "/")
	return !slices.Contains(segments, ".") && !slices.Contains(segments, "..")
}

// serveFile answers with a file of this build. Files of other builds are 404, after which the page
// reloads.
func (s *site) serveFile(x *rest.Exchange, r *http.Request, below string) {
	sum, name, _ := strings.Cut(below, "/")
	f, ok := s.files[name]
	if !ok || sum != s.sum || name == shellFile {
		http.Error(x, "There is nothing at this address", http.StatusNotFound)
		return
	}
	head := x.Header()
	head.Set("Cache-Control", "public, max-age=31536000, immutable")
	head.Set("Vary", "Accept-Encoding")
	// A document with an opaque origin requests modules cross-origin; they are public.
	head.Set("Access-Control-Allow-Origin", "*")
	if path.Ext(name) == ".html" {
		head.Set("Content-Security-Policy", framePolicy)
	}
	if rest.TakesGzip(r.Header) {
		head.Set("Content-Encoding", "gzip")
		write(x, r, path.Ext(name), f.gzipped())
		return
	}
	write(x, r, path.Ext(name), f.plain())
}

func write(x *rest.Exchange, r *http.Request, ext string, b []byte) {
	x.Header().Set("Content-Type", kinds[ext])
	if r.Method == http.MethodHead {
		return
	}
	// The client may be gone.
	_, _ = x.Write(b)
}
