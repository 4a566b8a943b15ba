package rest

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"

	"mailer/app"
	"mailer/app/rules/tracking"
)

// httprouter can't hold a literal and a parameter at the same position (/emails/batch and
// /emails/:id/cancel), so there are separate trees: routes without parameters first, then routes
// with parameters. Lookup is used directly, without httprouter's redirects, OPTIONS and 405.
func newTree() *httprouter.Router { return &httprouter.Router{} }

// Route holds what this package needs to know of an operation besides its part of the document.
type Route struct {
	Public         bool // needs no key
	Sending        bool // open to keys that may only send
	Admin          bool // needs the role admin or owner
	Person         bool // needs a signed-in person, and no team
	PartialSession bool // with Person: also before the second factor
	Operator       bool // needs a signed-in operator, and no team
	AllTeams       bool // an operator without a team gets all teams: key.TeamID is empty
	Fresh          bool // a person must have signed in or confirmed within app.FreshProof
	SameSite       bool // public, but refused across sites: sets or ends a session
	Body           bool // takes a body, which is read before the handler runs
	Optional       bool // the body may be absent
	ReusesBuffer   bool // the handler keeps no part of the body, so the buffer is reused
	Stream         bool // the handler reads the body from x.Stream
	Priority       bool // has parameters, and is looked up before routes with more of them
	Quiet          bool // logged at debug
	AnyHost        bool // answers under every host name, like tracking hosts of tenants
	ReadOnly       bool // POST that changes nothing
	SignedBody     bool // public; the body's signature identifies the sender
	// Precheck refuses a request before its body is read; nil: none. param returns path parameters.
	Precheck func(ctx context.Context, x *Exchange, param func(name string) string) error
	// IDOf returns the id of a name in the path, for routes whose paths take other names than ids;
	// nil: only ids. Bodies may then repeat the path in any of these forms. Errors: CodeNotFound.
	IDOf func(ctx context.Context, key *app.Key, name string) (string, error)
	// MaxBody bounds the body in bytes; 0: the limit of the server.
	MaxBody int64
	// Refuse writes errors; nil: JSON.
	Refuse func(*Exchange, *Error)
	// FreshExport is Fresh for the CSV form only.
	FreshExport bool
	redundant   redundantIDs
	query       queryRule
	table       *table // how the list becomes CSV; nil: no list
}

// route adds an operation to its tree.
func (h *Handler) route(e *endpoint) {
	op, rt := e.op, e.rt
	tree := h.literals
	if strings.Contains(op.Path, "{") {
		tree = h.parameters
		if rt.Priority {
			tree = h.priority
		}
	}
	run := func(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
		x := w.(*Exchange)
		x.Pattern, x.quiet, x.refuse, x.params = op.Path, rt.Quiet, rt.Refuse, ps
		x.route = rt
		if !x.internal && !rt.AnyHost && h.unknownHost(x.Host) {
			h.refuseNotFound(x, r, errUnknownHost)
			return
		}
		x.csv = rt.table != nil && !x.internal && prefersCSV(r.Header)
		if err := h.admit(x, r, rt); err != nil {
			h.writeError(x, h.ErrorFor(x, err))
			return
		}
		e.serve(x, r)
	}
	if h.operations[op.OperationID] != nil && op.OperationID != "" {
		panic("two operations have the id " + op.OperationID)
	}
	tree.Handle(op.Method, paramReplacer.Replace(op.Path), run)
	if op.Method != http.MethodOptions { // see add
		h.operations[op.OperationID] = &Operation{Operation: op, Route: rt, run: run}
	}
	if !slices.Contains(h.methods, op.Method) {
		h.methods = append(h.methods, op.Method)
		slices.Sort(h.methods)
	}
}

// Mount serves pages and files with GET and HEAD at prefix and below. They are no operations of the
// document and need no key. serve gets the path below the prefix: "" or a path that begins with a
// slash.
func (h *Handler) Mount(prefix string, serve func(x *Exchange, r *http.Request, rest string)) {
	rt := &Route{Public: true, Quiet: true}
	run := func(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
		x := w.(*Exchange)
		x.Pattern, x.quiet, x.params, x.route = prefix, true, ps, rt
		if h.unknownHost(x.Host) {
			h.refuseNotFound(x, r, errUnknownHost)
			return
		}
		serve(x, r, ps.ByName("path"))
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		h.literals.Handle(method, prefix, run)
		h.literals.Handle(method, prefix+"/*path", run)
	}
}

// paramReplacer turns {name}, as OpenAPI writes parameters, into httprouter's :name.
var paramReplacer = strings.NewReplacer("{", ":", "}", "")

// admit does everything that precedes the handler: key, rate, access or Precheck, and then the
// body, so that nobody without a key makes the server read a body.
func (h *Handler) admit(x *Exchange, r *http.Request, rt *Route) error {
	if err := h.authorize(x, r, rt); err != nil {
		return err
	}
	if rt.Precheck != nil {
		if err := rt.Precheck(r.Context(), x, x.params.ByName); err != nil {
			return err
		}
	}
	if !rt.Public {
		if err := rt.query.check(r.URL.RawQuery, rt.redundant); err != nil {
			return err
		}
	}
	maxSize := cmp.Or(rt.MaxBody, h.limits.Body)
	switch {
	case x.internal:
		if int64(len(x.Body)) > maxSize {
			return bodyTooLarge(maxSize)
		}
		return nil
	case rt.Stream:
		return h.openStream(x, r, cmp.Or(rt.MaxBody, h.limits.Upload))
	case rt.Body:
		return h.readBody(x, r, rt, maxSize)
	}
	return nil
}

// dispatch runs the route of a request, or answers 404 or 405. Neither needs a key: such a path
// protects nothing.
func (h *Handler) dispatch(x *Exchange, r *http.Request) {
	path, escaped := routingPath(r.URL)
	if h.unsupported != nil && (x.internal || !h.unknownHost(x.Host)) {
		if e := h.unsupported(path); e != nil {
			h.writeError(x, e)
			return
		}
	}
	if path == "/" && h.Browsers.PagesHome != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead) && h.onPagesHost(tracking.HostOf(x.Host)) {
		x.Pattern, x.quiet, x.route = "/", true, &Route{Public: true, Quiet: true}
		h.Browsers.PagesHome(x, r)
		return
	}
	if handle, params := h.lookup(r.Method, path); handle != nil {
		if escaped {
			unescapeParams(params)
		}
		handle(x, r, params)
		return
	}
	allow := h.allowed(path)
	if len(allow) == 0 {
		h.refuseNotFound(x, r, NewError(app.CodeNotFound, "There is nothing at this address"))
		return
	}
	if !x.internal && h.unknownHost(x.Host) { // the methods are those of the API, which is not there
		h.refuseNotFound(x, r, errUnknownHost)
		return
	}
	x.Header().Set("Allow", strings.Join(allow, ", "))
	h.writeError(x, NewError(app.CodeMethodNotAllowed, "This address does not answer the method of the request"))
}

// Browsers configures answers to visitors who ask for HTML.
type Browsers struct {
	Home      string                  // target of the redirect from /
	ErrorPage func(*Exchange, *Error) // writes errors as a page; nil: JSON
	// PagesHome writes the page at the root of a host for pages; nil: there is none.
	PagesHome func(*Exchange, *http.Request)
}

// refuseNotFound answers 404: a page for browsers, JSON for other clients.
func (h *Handler) refuseNotFound(x *Exchange, r *http.Request, e *Error) {
	browser := h.Browsers.ErrorPage != nil && !x.internal && (r.Method == http.MethodGet || r.Method == http.MethodHead) && Prefers(r.Header, "text/html")
	x.Header().Add("Vary", "Accept")
	switch {
	case browser && r.URL.Path == "/" && !h.unknownHost(x.Host):
		http.Redirect(x, r, h.Browsers.Home, http.StatusFound)
	case browser:
		x.refuse = h.Browsers.ErrorPage
		h.writeError(x, e)
	default:
		h.writeError(x, e)
	}
}

func (h *Handler) lookup(method, path string) (httprouter.Handle, httprouter.Params) {
	for _, tree := range []*httprouter.Router{h.literals, h.priority, h.parameters} {
		if handle, params, _ := tree.Lookup(method, path); handle != nil {
			return handle, params
		}
	}
	return nil, nil
}

// allowed returns the methods that routes at a path answer.
func (h *Handler) allowed(path string) []string {
	var out []string
	for _, method := range h.methods {
		if handle, _ := h.lookup(method, path); handle != nil {
			out = append(out, method)
		}
	}
	return out
}

// routingPath returns the path to look up. Repeated slashes become one: the Node client, given a
// base URL with a trailing slash, sends //emails, and a redirect would turn its POST into a GET. A
// trailing slash is dropped. Segments are decoded, unless one contains an encoded slash: then
// escaped is true, and the parameters must be decoded afterwards.
func routingPath(u *url.URL) (path string, escaped bool) {
	path = u.Path
	if u.RawPath != "" && strings.Contains(strings.ToLower(u.RawPath), "%2f") {
		path, escaped = u.RawPath, true
	}
	if !strings.HasPrefix(path, "/") {
		return "/" + path, escaped // "*", as in OPTIONS *
	}
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path, escaped
}

// unescapeParams decodes each value. A plus sign stays.
func unescapeParams(params httprouter.Params) {
	for i := range params {
		if v, err := url.PathUnescape(params[i].Value); err == nil {
			params[i].Value = v
		}
	}
}
