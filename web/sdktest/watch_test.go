package sdktest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// watcher compares exchanges with the server's own document.
type watcher struct {
	documents documents

	once   sync.Once
	absent []listed // of testdata/operations.tsv
	err    error
}

// watching is the one watcher of a run; it is safe for concurrent use.
var watching = &watcher{documents: documents{known: map[string]*document{}}}

// probes are asked for although nothing lists them: by tests, and by the MCP
// client, which looks for a stream of the server's and puts up with a 405.
var probes = []string{"GET /no-such-route", "GET /mcp", "PUT /topics/{}"}

var anyID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// report collects complaints about one server.
type report struct {
	doc *document
	mu  sync.Mutex
	all []string
	n   int // exchanges

	fine map[[sha256.Size]byte]bool // exchanges that were checked already
}

// saw is called with every exchange.
func (r *report) saw(x exchange) {
	sum := x.sum()
	r.mu.Lock()
	r.n++
	known := r.fine[sum]
	r.mu.Unlock()
	if known { // tests ask the same until something happens
		return
	}
	if op, _ := r.doc.find(x.request.Method, x.request.URL); op != nil && x.response.StatusCode < 400 {
		calls.note(wire, listed{method: op.method, path: op.path}.key())
	}
	err := r.doc.check(x)
	if err != nil && watching.refused(x) {
		err = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		if r.fine == nil {
			r.fine = map[[sha256.Size]byte]bool{}
		}
		r.fine[sum] = true
		return
	}
	r.complain(fmt.Sprintf("%s %s %v", x.request.Method, x.request.URL.Path, err))
}

// complain is called with mu held.
func (r *report) complain(text string) {
	if !slices.Contains(r.all, text) && len(r.all) < 20 {
		r.all = append(r.all, text)
	}
}

// broke is called with what could not be read along.
func (r *report) broke(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complain(fmt.Sprintf("not read: %v", err))
}

// sum is the same for exchanges that the document judges alike.
func (x exchange) sum() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s %s %d %q %q %q %q", x.request.Method, x.request.URL, x.response.StatusCode,
		x.request.Header["Content-Type"], x.response.Header["Content-Type"], x.sent, x.got))
}

// refused says whether an exchange is about what the service does not have, by
// the list, and was refused as such.
func (w *watcher) refused(x exchange) bool {
	w.once.Do(func() {
		var all []listed
		all, w.err = readOperations()
		for _, l := range all {
			if l.answer != "served" {
				w.absent = append(w.absent, l)
			}
		}
	})
	var e apiError
	if w.err != nil || json.Unmarshal(x.got, &e) != nil || e.StatusCode != x.response.StatusCode {
		return false
	}
	if slices.Contains(probes, x.request.Method+" "+anyID.ReplaceAllString(x.request.URL.Path, "{}")) {
		return e.StatusCode == 404 || e.StatusCode == 405
	}
	return e.StatusCode == 404 && absent(e) && slices.ContainsFunc(w.absent, func(l listed) bool {
		_, ok := matchPath(l.path, x.request.URL.EscapedPath())
		return ok && l.method == x.request.Method
	})
}

// watch puts a tap before the server, once it runs. What does not fit its
// document fails the test in the end.
func (in *instance) watch(t *testing.T) {
	t.Helper()
	raw, err := fetch("http://" + in.addr + "/openapi.json")
	must(t, err)
	in.report.doc, err = watching.documents.load(in.url, raw)
	must(t, err)
}

// endWatch waits until all is read, and complains.
func (in *instance) endWatch(t *testing.T) {
	t.Helper()
	if in.tap == nil {
		return
	}
	in.tap.close()
	for _, complaint := range in.report.all {
		t.Errorf("against openapi.json: %s", strings.TrimSpace(complaint))
	}
}
