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
)

// httprouter can't hold a literal and a parameter at the same place of a tree
// (/emails/batch beside /emails/:id/cancel), so there are two trees: routes
// without parameters, asked first, and routes with them. They are asked through
// Lookup, which knows nothing of redirects, of OPTIONS or of 405, and takes the
// path apart from the request.
func newTree() *httprouter.Router { return &httprouter.Router{} }

// Route is what this package has to know of an operation beyond huma's part.
type Route struct {
	Public   bool // needs no key
	Sending  bool // open to keys that may only send
	Admin    bool // changes what members of a team may only read
	Person   bool // answers to a person who is signed in alone, and asks for no team
	Half     bool // with Person: also where the second factor is still to come
	Operator bool // answers to an operator who is signed in alone, and asks for no team
	AllTeams bool // an operator who names no team asks about all of them: key.TeamID is empty then
	Fresh    bool // a person must have proved to be there within app.ReauthenticationAge
	SameSite bool // public, and refused where another site asks: it sets or ends a session
	Body     bool // takes a body, which is read before the handler runs
	Optional bool // the body may be left out
	Passing  bool // keeps no part of its body, so that the room for it serves again
	Stream   bool // takes a body that the handler reads from x.stream
	Early    bool // with parameters, and asked before others that have more of them
	Quiet    bool // logged at debug
	AnyHost  bool // answers under every host name, as tracking hosts of tenants have to
	Reads    bool // answers POST and changes nothing
	Unproven bool // public, and only the body tells who sent it
	// Precheck refuses a request before its body is read; nil: none. param returns what
	// stands in the path.
	Precheck func(ctx context.Context, x *Exchange, param func(name string) string) error
	// IDOf returns the id of what a name in the path stands for, where paths take more than
	// ids; nil: they take ids alone. Bodies may then repeat the path in any of these forms.
	// Errors: CodeNotFound.
	IDOf func(ctx context.Context, key *app.Key, name string) (string, error)
	// maxBody bounds the body in bytes; 0: the limit of the server.
	MaxBody int64
	// refuse answers errors; nil: in JSON.
	Refuse func(*Exchange, *Error)
	// FreshExport is Fresh for the answer as CSV alone.
	FreshExport bool
	echoes      echoes
	query       queryRule
	table       *table // how its list becomes CSV; nil: it answers no list
}

// route puts an operation into its tree.
func (h *Handler) route(e *endpoint) {
	op, rt := e.op, e.rt
	tree := h.literals
	if strings.Contains(op.Path, "{") {
		tree = h.parameters
		if rt.Early {
			tree = h.early
		}
	}
	run := func(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
		x := w.(*Exchange)
		x.Pattern, x.quiet, x.refuse, x.params = op.Path, rt.Quiet, rt.Refuse, ps
		x.route = rt
		if !x.inside && !rt.AnyHost && h.unknownHost(x.Host) {
			h.refuseNotFound(x, r, errUnknownHost)
			return
		}
		x.csv = rt.table != nil && !x.inside && prefersCSV(r.Header)
		if err := h.admit(x, r, rt); err != nil {
			h.writeError(x, h.ErrorFor(x, err))
			return
		}
		e.serve(x, r)
	}
	tree.Handle(op.Method, colons.Replace(op.Path), run)
	h.operations[op.OperationID] = &Operation{Operation: op, Route: rt, run: run}
	if !slices.Contains(h.methods, op.Method) {
		h.methods = append(h.methods, op.Method)
		slices.Sort(h.methods)
	}
}

// Mount answers GET and HEAD of prefix and of all below it with pages and files. They are
// no operations: no document has them, and they ask for no key. serve gets what follows the
// prefix, "" or a path that begins with a slash.
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

// colons turns huma's {name} into httprouter's :name.
var colons = strings.NewReplacer("{", ":", "}", "")

// admit does what comes before the handler: key, rate, scope, or what stands in the
// path instead of a key, and then the body, so that nobody without one can make the
// server read one.
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
		if err := rt.query.check(r.URL.RawQuery, rt.echoes); err != nil {
			return err
		}
	}
	most := cmp.Or(rt.MaxBody, h.limits.Body)
	switch {
	case x.inside:
		if int64(len(x.Body)) > most {
			return bodyTooLarge(most)
		}
		return nil
	case rt.Stream:
		return h.openStream(x, r)
	case rt.Body:
		return h.readBody(x, r, rt, most)
	}
	return nil
}

// dispatch finds the route of a request and runs it, or says 404 or 405.
// Neither asks for a key: there is nothing behind the path to protect.
func (h *Handler) dispatch(x *Exchange, r *http.Request) {
	path, escaped := routingPath(r.URL)
	if h.absent != nil {
		if e := h.absent(path); e != nil {
			h.writeError(x, e)
			return
		}
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
	x.Header().Set("Allow", strings.Join(allow, ", "))
	h.writeError(x, NewError(app.CodeMethodNotAllowed, "This address does not answer the method of the request"))
}

// Browsers is what visitors get who ask for HTML.
type Browsers struct {
	Home      string                  // where / leads to
	ErrorPage func(*Exchange, *Error) // answers where there is nothing; nil: with JSON
}

// refuseNotFound answers a request for what is not there: a browser with a page, anybody else
// with JSON.
func (h *Handler) refuseNotFound(x *Exchange, r *http.Request, e *Error) {
	browser := h.Browsers.ErrorPage != nil && !x.inside && (r.Method == http.MethodGet || r.Method == http.MethodHead) && Prefers(r.Header, "text/html")
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
	for _, tree := range []*httprouter.Router{h.literals, h.early, h.parameters} {
		if handle, params, _ := tree.Lookup(method, path); handle != nil {
			return handle, params
		}
	}
	return nil, nil
}

// allowed lists the methods that some route at path answers.
func (h *Handler) allowed(path string) []string {
	var out []string
	for _, method := range h.methods {
		if handle, _ := h.lookup(method, path); handle != nil {
			out = append(out, method)
		}
	}
	return out
}

// routingPath is the path to look up: doubled slashes made one (the Node client
// with a base address that ends in a slash sends //emails, and a redirect would
// turn its POST into a GET), one at the end left out, segments decoded. Where a segment holds an encoded
// slash the path stays encoded, so that the slash divides nothing, and the
// parameters have to be decoded afterwards.
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

// unescapeParams decodes each value; PathUnescape leaves a plus sign alone.
func unescapeParams(params httprouter.Params) {
	for i := range params {
		if v, err := url.PathUnescape(params[i].Value); err == nil {
			params[i].Value = v
		}
	}
}
