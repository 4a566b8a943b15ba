// Package dashboard serves the dashboard: a client of the API in the browser. Only web imports
// it. Its files are served under a hash of all of them, so that browsers keep them with no
// limit, and the shell that names them is asked for each time.
//
// Failure policy: what is not there is answered 404; a page that only the browser knows is
// the shell.
package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"mailer/app/kit/pack"
	"mailer/web/rest"
)

// bundles are the pages, bundles of modules, style sheets, icons and fonts that a test makes of
// the files of this folder and of ui and fonts.
//
//go:embed bundles.gz
var bundles []byte

// files are the bundles of editors, whose source is elsewhere, and the words of each
// language; all in gzip.
//
//go:embed lib/editor.js.gz lib/visual.js.gz lib/licences.txt.gz i18n/*.gz
var files embed.FS

// Prefix is where the dashboard stands.
const Prefix = "/dashboard"

// policy is the Content-Security-Policy of the shell (CSP 3): scripts and styles are files
// of ours, and nothing is ever made of a text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
	"frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// framePolicy is that of the visual editor's document: it has no origin, so neither session
// nor cookies, and no network. The editor writes style elements of what a mail looks like.
const framePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// kinds are the media types of what is served.
var kinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json",
	".html": "text/html; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".woff2": "font/woff2",
}

// Register adds the dashboard to a handler. base returns the address below which its files
// stand, without a slash at its end, for pages that look like it.
func Register(h *rest.Handler) (base func() string) {
	s := &site{}
	h.Mount(Prefix, s.serve)
	return s.base
}

// base is where the files of this build stand.
func (s *site) base() string {
	s.once.Do(s.prepare)
	return Prefix + "/_/" + s.sum
}

// site is what is served. It is made when somebody asks for it.
type site struct {
	once       sync.Once
	sum        string // of all files
	shell      string
	modules    modules
	routes     []route
	compressed map[string][]byte // by name, gzip (RFC 1952)
	plainFiles plainFiles
}

// packedExt ends the names of files that are embedded one by one.
const packedExt = ".gz"

// prepare packs each file by itself, as browsers take it, sums them, and learns what the
// modules need.
func (s *site) prepare() {
	sum := sha256.New()
	s.modules, s.compressed = modules{}, map[string][]byte{}
	add := func(name string, packed []byte) {
		sum.Write([]byte(name))
		sum.Write(packed)
		s.compressed[name] = packed
	}
	// What is embedded can always be read: a test has read it to its end.
	_ = pack.Each(bundles, func(name string, source []byte) bool {
		if path.Ext(name) == ".js" {
			s.modules.add(name, string(source))
		}
		switch name {
		case routesFile:
			s.routes = routesOf(string(source))
			return true
		case shellFile:
			s.shell = string(source)
		}
		add(name, rest.Gzip(source))
		return true
	})
	var languages []string
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, _ error) error {
		if d.IsDir() {
			return nil
		}
		b, err := files.ReadFile(name)
		name = strings.TrimSuffix(name, packedExt)
		add(name, b)
		if language, ok := strings.CutPrefix(name, "i18n/"); ok {
			languages = append(languages, strings.TrimSuffix(language, ".json"))
		}
		return err
	})
	s.sum = hex.EncodeToString(sum.Sum(nil)[:8])
	s.shell = strings.NewReplacer("$BASE", Prefix+"/_/"+s.sum, "$LANGUAGES", strings.Join(languages, " ")).Replace(s.shell)
}

// shellFile is the page around all others.
const shellFile = "index.html"

// page is the shell for a path, and the name of the module that it loads: what this page
// needs comes in one round, and the others when they are gone to.
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

// serve answers with a file, or the shell for a page of the browser's.
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

// isPage reports whether an address can be a page's: no segment of it leads up or holds a
// character that divides addresses, as paths.js has it. Nobody but an attacker makes such a
// link.
func isPage(u *url.URL) bool {
	escaped := strings.ToLower(u.EscapedPath())
	if strings.ContainsAny(u.Path, `\?#%`) || strings.Contains(escaped, "%2f") {
		return false
	}
	segments := strings.Split(u.Path, "/")
	return !slices.Contains(segments, ".") && !slices.Contains(segments, "..")
}

// serveFile answers with a file of the present build; one of another build is gone, and its
// page loads the shell anew.
func (s *site) serveFile(x *rest.Exchange, r *http.Request, below string) {
	sum, name, _ := strings.Cut(below, "/")
	b, ok := s.compressed[name]
	if !ok || sum != s.sum || name == shellFile {
		http.Error(x, "There is nothing at this address", http.StatusNotFound)
		return
	}
	head := x.Header()
	head.Set("Cache-Control", "public, max-age=31536000, immutable")
	head.Set("Vary", "Accept-Encoding")
	// A document without an origin asks for modules as a stranger would; they are no secret.
	head.Set("Access-Control-Allow-Origin", "*")
	if path.Ext(name) == ".html" {
		head.Set("Content-Security-Policy", framePolicy)
	}
	if rest.TakesGzip(r.Header) {
		head.Set("Content-Encoding", "gzip")
	} else {
		var done func()
		b, done = s.plainFiles.open(name, b)
		defer done()
	}
	write(x, r, path.Ext(name), b)
}

func write(x *rest.Exchange, r *http.Request, ext string, b []byte) {
	x.Header().Set("Content-Type", kinds[ext])
	if r.Method == http.MethodHead {
		return
	}
	// Who went away reads nothing.
	_, _ = x.Write(b)
}
