package rest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mailer/app"
	"mailer/app/rules/tracking"
)

// Limits of HTTP/2. Each request counts as a connection (connections.enterStream); these limits
// bound what net/http holds for requests.
var http2Limits = http.HTTP2Config{
	MaxConcurrentStreams:          100,
	MaxReceiveBufferPerConnection: 256 << 10, // of a body, before the handler reads it
	MaxReceiveBufferPerStream:     256 << 10,
	WriteByteTimeout:              30 * time.Second, // for a client that reads nothing
}

// hstsYear is the HSTS header for browsers that reach the base URL's host over TLS (RFC 6797).
const hstsYear = "max-age=31536000"

// errAddressBusy is the answer to a request whose address has as many requests running as
// connections are allowed.
var errAddressBusy = NewError(app.CodeServiceUnavailable, "Your address has too many running requests; send fewer at the same time, or try again later")

// setPhase sets the state of the exchange's connection. A shared connection is being used as long
// as one of its requests is being answered.
func (x *Exchange) setPhase(p phase) {
	switch {
	case x.conn == nil:
	case !x.shared:
		x.conn.setPhase(p)
	case p == phaseWorking && !x.working:
		x.working = true
		x.conn.working.Add(1)
	case p != phaseWorking && x.working:
		x.working = false
		x.conn.working.Add(-1)
	}
}

// attach finds the connection of a request; false if the request exceeds the limits.
func (x *Exchange) attach(r *http.Request) bool {
	x.conn = connOf(r.Context())
	if r.ProtoMajor < 2 || x.conn == nil || x.conn.all == nil {
		return true
	}
	if !x.conn.all.enterStream(x.conn) {
		x.conn = nil
		return false
	}
	x.shared, x.request = true, r.Context()
	return true
}

// detach ends what attach began.
func (x *Exchange) detach() {
	x.setPhase(phaseReading)
	if x.shared && x.conn != nil {
		x.conn.all.leaveStream(x.conn)
	}
}

// closeAfter closes the connection after the answer, unless it is shared: in HTTP/2 the rest of a
// body can't be taken for another request.
func (x *Exchange) closeAfter() {
	if !x.shared {
		x.Header().Set("Connection", "close")
	}
}

// reset makes an unshared connection end with a TCP reset. In HTTP/2 the panic that follows resets
// the stream.
func (x *Exchange) reset() {
	if !x.shared {
		x.conn.reset()
	}
}

// overTLS reports whether a request came over the server's own TLS to the base URL's host.
func (h *Handler) overTLS(r *http.Request) bool {
	return r.TLS != nil && h.secure() && tracking.HostOf(r.Host) == h.host
}

// followShared is Follow on an HTTP/2 connection. The time that it takes does not count as the
// request's duration.
func (f *follower) followShared(x *Exchange, first []byte) {
	began := time.Now()
	defer func() { x.followTime = time.Since(began) }()
	x.setPhase(phaseIdle)
	gone, cancel := context.WithCancel(x.request)
	defer cancel()
	defer context.AfterFunc(f.h.stopping, cancel)()
	control := http.NewResponseController(x.ResponseWriter)
	f.write = func(text []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(f.h.limits.Answers.Stall)) // HTTP/2 streams have deadlines
		_, err := x.ResponseWriter.Write(text)
		return errors.Join(err, control.Flush())
	}
	x.ResponseWriter.WriteHeader(http.StatusOK)
	if f.send(first) {
		f.listen(gone.Done())
	}
}
