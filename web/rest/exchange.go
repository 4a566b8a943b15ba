package rest

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"time"

	"github.com/julienschmidt/httprouter"

	"mailer/app"
)

// Exchange is one request and its answer: what is known of the request, and a writer that records
// what was answered.
type Exchange struct {
	http.ResponseWriter
	ID            string                  // request id
	Pattern       string                  // of the route; empty: no route
	Key           *app.Key                // nil: public route, or not authenticated yet
	RequestHeader http.Header             // header of the request
	Host          string                  // host of the request
	path, query   string                  // path and query of the request
	clientAddr    netip.Addr              // see Address
	conn          *conn                   // nil for tests and internal calls
	shared        bool                    // HTTP/2: the connection has other requests too
	working       bool                    // counted as being answered, on a shared connection
	request       context.Context         // of a shared connection: ends when the client leaves
	followTime    time.Duration           // time spent in Follow, not counted as work
	internal      bool                    // a tool call: key and body are set already
	Body          []byte                  // of routes that take a body
	Stream        *Stream                 // of routes that read the body themselves
	bodyMemory    bodyMemory              // reserved for the body
	memory        *answerMemory           // reserved for the answer
	onlyReads     bool                    // a refusal may take the place of the answer
	route         *Route                  // nil: no route
	csv           bool                    // the client wants a list as CSV
	answered      bool                    // the whole answer was written
	quiet         bool                    // a probe: not logged at info
	status        int                     // 0: no answer yet
	failure       app.Code                // code of the latest error
	emailID       string                  // see RecordEmail
	refuse        func(*Exchange, *Error) // the route's error writer; nil: JSON
	params        httprouter.Params       // path parameters
}

// WriteHeader records the status.
func (x *Exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
		if x.Stream != nil && !x.Stream.ended {
			x.closeAfter() // see refuseUnread
		}
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write records status 200 if none was set. It fails if the client reads nothing for too long.
func (x *Exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.memory.write(x.ResponseWriter, b)
}

// Query returns the query of the request, without the question mark.
func (x *Exchange) Query() string { return x.query }

// Unwrap lets http.ResponseController reach the connection's deadlines.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

type exchangeKey struct{}

// exchangeOf returns the exchange of a handler's context.
func exchangeOf(ctx context.Context) *Exchange {
	return ctx.Value(exchangeKey{}).(*Exchange)
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := h.now()
	x := &Exchange{ResponseWriter: w, ID: app.NewID(), RequestHeader: r.Header, Host: r.Host, path: r.URL.Path, query: r.URL.RawQuery, clientAddr: h.proxies.clientAddress(r.RemoteAddr, r.Header)}
	admitted := x.attach(r)
	x.setPhase(phaseWorking)
	head := w.Header()
	head["X-Request-Id"] = []string{x.ID}
	head["X-Content-Type-Options"] = []string{"nosniff"}
	h.rate.announceAll(head)
	if h.overTLS(r) {
		head["Strict-Transport-Security"] = []string{hstsYear}
	}
	defer h.finish(x, r, start)
	ctx := h.answerContext(r, x)
	if !admitted {
		head.Set("Retry-After", "5")
		h.writeError(x, errAddressBusy)
		return
	}
	if r.ContentLength != 0 {
		// Also set where no body is expected: net/http drains the body before and after the answer,
		// and would wait forever for a client that sends nothing.
		x.setPhase(phaseBody)
		setReadDeadline(x, time.Now().Add(h.limits.SmallTime))
	}
	h.dispatch(x, r.WithContext(ctx))
}

// finish releases what the exchange holds, turns a panic into a 500, and writes the request's log
// line.
func (h *Handler) finish(x *Exchange, r *http.Request, start time.Time) {
	p := recover()
	h.bodyBudget.release(&x.bodyMemory)
	if !x.internal {
		x.memory.release()
	}
	if p != nil && p != http.ErrAbortHandler {
		h.log.Error("panic in a request handler", "request_id", x.ID, "panic", p, "stack", string(debug.Stack()))
		if x.status == 0 {
			h.writeError(x, InternalError())
			p = nil
		}
	}
	h.logRequest(x, r, start)
	x.detach()
	if p != nil {
		// Part of the answer was sent: closing the connection is the only way left to signal that
		// it is incomplete.
		panic(http.ErrAbortHandler)
	}
}

// slowRequest is the duration from which a request is logged at info, like a refused one.
const slowRequest = time.Second

func (h *Handler) logRequest(x *Exchange, r *http.Request, start time.Time) {
	took := h.now().Sub(start) - x.followTime
	h.metrics.Request(x.status, took)
	h.logTeamRequest(x, r, took)
	if h.logFaultsOnly != nil && h.logFaultsOnly() && x.status < http.StatusInternalServerError {
		return
	}
	level := slog.LevelDebug
	if !x.quiet && (x.status >= http.StatusBadRequest || took > slowRequest) {
		level = slog.LevelInfo
	}
	keyID := ""
	if x.Key != nil {
		keyID = x.Key.ID
	}
	h.log.LogAttrs(r.Context(), level, "request",
		slog.String("method", logMethod(r.Method)),
		slog.String("route", x.Pattern),
		slog.Int("status", x.status),
		slog.Duration("duration", took),
		slog.String("request_id", x.ID),
		slog.String("key_id", keyID))
}

// logMethod replaces unusual methods in the log: a method is any token that the client chooses.
func logMethod(method string) string {
	if len(method) > len(http.MethodOptions) {
		return "other"
	}
	return method
}
