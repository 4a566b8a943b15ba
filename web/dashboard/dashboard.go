// Package dashboard serves the dashboard: a client of the API in the browser, whose source
// is what ships. Only web imports it. Its modules stand under the sum of all of them, so
// that they may be kept for ever, and the shell that names them is asked for each time.
//
// Failure policy: what is not there is answered 404; a page that only the browser knows is
// the shell.
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
	"path"
	"slices"
	"strings"
	"sync"

	"mailer/web/rest"
)

//go:embed index.html *.js *.css *.svg ui lib/*.gz i18n
var files embed.FS

// Prefix is where the dashboard stands.
const Prefix = "/dashboard"

// policy is the Content-Security-Policy of the shell (CSP 3): scripts and styles are files
// of ours, and nothing is ever made of a text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
	"frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// kinds are the media types of what is served.
var kinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json",
	".html": "text/html; charset=utf-8", ".txt": "text/plain; charset=utf-8",
}

// Register adds the dashboard to a handler. base returns the address below which its files
// stand, without a slash at its end, for pages that look like it.
func Register(h *rest.Handler) (base func() string) {
	s := &site{packed: map[string][]byte{}}
	h.Mount(Prefix, s.serve)
	return s.base
}

// base is where the files of this build stand.
func (s *site) base() string {
	s.made.Do(s.prepare)
	return Prefix + "/_/" + s.sum
}

// site is what is served. It is made when somebody asks for it.
type site struct {
	made  sync.Once
	sum   string // of all files
	shell []byte

	mu     sync.Mutex
	packed map[string][]byte // by name, gzip (RFC 1952)
}

// lazy are modules that a page loads when it needs them: the others are named by the shell,
// so that they come in one round.
var lazy = []string{"lib/editor.js", "ui/editor-setup.js"}

// prepare sums the files and writes the shell.
func (s *site) prepare() {
	sum := sha256.New()
	var preload strings.Builder
	// An embedded file can always be read: the errors are those of a file system.
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, _ error) error {
		if d.IsDir() {
			return nil
		}
		b, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		sum.Write([]byte(name))
		sum.Write(b)
		name = strings.TrimSuffix(name, packedExt)
		if path.Ext(name) == ".js" && name != "app.js" && name != "theme.js" && !slices.Contains(lazy, name) {
			preload.WriteString(`<link rel="modulepreload" href="$BASE/` + name + `">` + "\n")
		}
		return nil
	})
	s.sum = hex.EncodeToString(sum.Sum(nil)[:8])
	shell, _ := files.ReadFile("index.html")
	text := strings.Replace(string(shell), "<!-- modules -->\n", preload.String(), 1)
	s.shell = []byte(strings.ReplaceAll(text, "$BASE", Prefix+"/_/"+s.sum))
}

// serve answers with a file, or the shell for a page of the browser's.
func (s *site) serve(x *rest.Exchange, r *http.Request, rest string) {
	s.made.Do(s.prepare)
	head := x.Header()
	head.Set("Referrer-Policy", "no-referrer")
	if name, ok := strings.CutPrefix(rest, "/_/"); ok {
		s.serveFile(x, r, name)
		return
	}
	head.Set("Content-Security-Policy", policy)
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cache-Control", "no-cache")
	etag := `"` + s.sum + `"`
	head.Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		x.WriteHeader(http.StatusNotModified)
		return
	}
	write(x, r, ".html", s.shell)
}

// serveFile answers with a file of the present build; one of another build is gone, and its
// page loads the shell anew.
func (s *site) serveFile(x *rest.Exchange, r *http.Request, below string) {
	sum, name, _ := strings.Cut(below, "/")
	b, err := s.read(name, rest.TakesGzip(r.Header))
	if err != nil || sum != s.sum || name == "index.html" {
		http.Error(x, "There is nothing at this address", http.StatusNotFound)
		return
	}
	head := x.Header()
	head.Set("Cache-Control", "public, max-age=31536000, immutable")
	head.Set("Vary", "Accept-Encoding")
	if rest.TakesGzip(r.Header) {
		head.Set("Content-Encoding", "gzip")
	}
	write(x, r, path.Ext(name), b)
}

// packedExt ends the names of files that are embedded in gzip: bundles, whose source is
// elsewhere.
const packedExt = ".gz"

// read is a file, in gzip or as it is.
func (s *site) read(name string, packed bool) ([]byte, error) {
	b, err := files.ReadFile(name + packedExt)
	if err == nil && !packed {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(z)
	}
	if err == nil {
		return b, nil
	}
	if b, err = files.ReadFile(name); err == nil && packed {
		b = s.pack(name, b)
	}
	return b, err
}

// pack is a file in gzip, made once.
func (s *site) pack(name string, b []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if packed, ok := s.packed[name]; ok {
		return packed
	}
	s.packed[name] = rest.Gzip(b)
	return s.packed[name]
}

func write(x *rest.Exchange, r *http.Request, ext string, b []byte) {
	x.Header().Set("Content-Type", kinds[ext])
	if r.Method == http.MethodHead {
		return
	}
	// Who went away reads nothing.
	_, _ = x.Write(b)
}
