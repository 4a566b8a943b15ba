package rest

import (
	"bytes"
	"context"
	"net/http"
	"net/url"

	"github.com/julienschmidt/httprouter"

	"mailer/app"
	"mailer/web/rest/openapi"
)

// Operation is an operation of the document and its handler.
type Operation struct {
	*openapi.Operation
	Route *Route
	run   httprouter.Handle
}

// MayUse reports whether a key may use an operation.
func (h *Handler) MayUse(key *app.Key, o *Operation) bool { return h.mayUse(key, o.Route) == nil }

// Call is a request made inside of another request.
type Call struct {
	Params httprouter.Params
	Query  url.Values
	Header http.Header
	Body   []byte
	Via    string // source of what the call creates: Key.Via
}

// Perform runs an operation inside of another request, with the key of that request, which was
// counted against the rate already. The call has a log line of its own.
func (h *Handler) Perform(ctx context.Context, outer *Exchange, o *Operation, in *Call) (w *Recorder) {
	w = NewRecorder()
	key := *outer.Key
	key.Via = in.Via
	x := &Exchange{ResponseWriter: w, ID: outer.ID, Key: &key, RequestHeader: in.Header, Host: outer.Host, clientAddr: outer.clientAddr, Body: in.Body, internal: true}
	r := &http.Request{
		Method: o.Method, URL: &url.URL{Path: o.Path, RawQuery: in.Query.Encode()}, Host: outer.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: in.Header, Body: http.NoBody,
	}
	r = r.WithContext(context.WithValue(h.toolContext(ctx, o, outer, x), exchangeKey{}, x))
	defer h.finish(x, r, h.now())
	o.run(x, r, in.Params)
	return w
}

// Recorder is a ResponseWriter that keeps header, status and body.
type Recorder struct {
	Head   http.Header
	Status int
	Body   bytes.Buffer
}

// NewRecorder makes a Recorder with status 200.
func NewRecorder() *Recorder { return &Recorder{Head: http.Header{}, Status: http.StatusOK} }

// Header implements http.ResponseWriter.
func (w *Recorder) Header() http.Header { return w.Head }

// WriteHeader implements http.ResponseWriter.
func (w *Recorder) WriteHeader(status int) { w.Status = status }

// Write implements http.ResponseWriter.
func (w *Recorder) Write(b []byte) (int, error) { return w.Body.Write(b) }

// Flush implements http.Flusher, which the MCP SDK needs.
func (w *Recorder) Flush() {}
