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

// Exchange is one request on its way to its answer: what was found out about
// the request, and the writer that remembers what was answered.
type Exchange struct {
	http.ResponseWriter
	ID            string                  // request id
	Pattern       string                  // of the route; empty: none
	Key           *app.Key                // nil: public route, or not authenticated
	RequestHeader http.Header             // what the request came with
	Host          string                  // of the request
	path, query   string                  // likewise
	from          netip.Addr              // see Address
	conn          *conn                   // nil: a test's, or inside
	shared        bool                    // with other requests: HTTP/2
	works         bool                    // it counts as one that is at work, on a shared connection
	request       context.Context         // of a shared connection: ends when the client is gone
	listened      time.Duration           // of what it took, without being worked on
	inside        bool                    // a tool call: key and body are there already
	Body          []byte                  // of routes that take one
	Stream        *Stream                 // of routes that read their body themselves
	held          held                    // of the budget for bodies
	answer        *answer                 // what it may hold, and holds, of the budget for answers
	route         *Route                  // nil: none
	csv           bool                    // the client wants a list as CSV
	answered      bool                    // the whole answer is out: nothing is left to write
	quiet         bool                    // a probe: never worth a log line at info
	status        int                     // 0: nothing answered yet
	failure       app.Code                // name of the latest error
	emailID       string                  // see RecordEmail
	refuse        func(*Exchange, *Error) // of the route; nil: in JSON
	params        httprouter.Params       // of the path
}

// WriteHeader notes the status.
func (x *Exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
		if x.Stream != nil && !x.Stream.ended {
			x.ends() // see readBody
		}
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write notes that the status is 200 where none was given. It fails once the client
// has taken nothing for the time that it has.
func (x *Exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.answer.write(x.ResponseWriter, b)
}

// Unwrap lets http.ResponseController reach the connection's deadlines.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

type exchangeKey struct{}

// exchangeOf returns the exchange that a handler's context belongs to.
func exchangeOf(ctx context.Context) *Exchange {
	return ctx.Value(exchangeKey{}).(*Exchange)
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := h.now()
	x := &Exchange{ResponseWriter: w, ID: app.NewID(), RequestHeader: r.Header, Host: r.Host, path: r.URL.Path, query: r.URL.RawQuery, from: h.proxies.clientAddress(r.RemoteAddr, r.Header)}
	room := x.enter(r)
	x.at(phaseWorking)
	head := w.Header()
	head["X-Request-Id"] = []string{x.ID}
	head["X-Content-Type-Options"] = []string{"nosniff"}
	h.rate.announceAll(head)
	if h.secured(r) {
		head["Strict-Transport-Security"] = []string{hstsYear}
	}
	defer h.finish(x, r, start)
	ctx := h.answering(r, x)
	if !room {
		head.Set("Retry-After", "5")
		h.writeError(x, errAddressBusy)
		return
	}
	if r.ContentLength != 0 {
		// Also where no body is wanted: net/http reads on before and after the answer,
		// and would wait for ever for a client that sends nothing.
		x.at(phaseBody)
		setReadDeadline(x, time.Now().Add(h.limits.SmallTime))
	}
	h.dispatch(x, r.WithContext(ctx))
}

// finish hands back what the exchange held, turns a panic into a 500 and writes
// the one log line of the request.
func (h *Handler) finish(x *Exchange, r *http.Request, start time.Time) {
	p := recover()
	h.budget.release(&x.held)
	if !x.inside {
		x.answer.release()
	}
	if p != nil && p != http.ErrAbortHandler {
		h.log.Error("panic in a request handler", "request_id", x.ID, "panic", p, "stack", string(debug.Stack()))
		if x.status == 0 {
			h.writeError(x, InternalError())
			p = nil
		}
	}
	h.logRequest(x, r, start)
	x.leave()
	if p != nil {
		// A part of the answer is out: closing the connection is the only way
		// left to say that the rest won't come.
		panic(http.ErrAbortHandler)
	}
}

// slow is from when on a request is worth a line at info, as one that is refused.
const slow = time.Second

func (h *Handler) logRequest(x *Exchange, r *http.Request, start time.Time) {
	took := h.now().Sub(start) - x.listened
	h.metrics.Request(x.status, took)
	h.note(x, r, took)
	if h.silent != nil && h.silent() && x.status < http.StatusInternalServerError {
		return
	}
	level := slog.LevelDebug
	if !x.quiet && (x.status >= http.StatusBadRequest || took > slow) {
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

// logMethod keeps a made-up method, which is any token, out of the log.
func logMethod(method string) string {
	if len(method) > len(http.MethodOptions) {
		return "other"
	}
	return method
}
