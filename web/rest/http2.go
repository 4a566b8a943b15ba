package rest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mailer/app"
	"mailer/app/rules/tracking"
)

// Bounds of HTTP/2, where many requests share a connection. Each of them counts as a
// connection does (connections.enter); these bound what net/http itself holds for them.
var http2Limits = http.HTTP2Config{
	MaxConcurrentStreams:          100,
	MaxReceiveBufferPerConnection: 256 << 10, // what a body sends before anybody reads it
	MaxReceiveBufferPerStream:     256 << 10,
	WriteByteTimeout:              30 * time.Second, // for a client that takes nothing at all
}

// hstsYear is what browsers hear that reach the base URL's host by TLS (RFC 6797).
const hstsYear = "max-age=31536000"

// errAddressBusy answers a request that finds as many of its address at work as there may be
// connections.
var errAddressBusy = NewError(app.CodeServiceUnavailable, "Your address has too many running requests; send fewer at the same time, or try again later")

// at notes what an exchange is at. On a connection that is its own that is what the
// connection is at; where many share one, it is at work as long as one of them is.
func (x *Exchange) at(p phase) {
	switch {
	case x.conn == nil:
	case !x.shared:
		x.conn.set(p)
	case p == phaseWorking && !x.works:
		x.works = true
		x.conn.works.Add(1)
	case p != phaseWorking && x.works:
		x.works = false
		x.conn.works.Add(-1)
	}
}

// enter finds the connection of a request; false: there is no room for one more on it.
func (x *Exchange) enter(r *http.Request) bool {
	x.conn = connOf(r.Context())
	if r.ProtoMajor < 2 || x.conn == nil || x.conn.all == nil {
		return true
	}
	if !x.conn.all.enter(x.conn) {
		x.conn = nil
		return false
	}
	x.shared, x.request = true, r.Context()
	return true
}

// leave ends what enter began.
func (x *Exchange) leave() {
	x.at(phaseReading)
	if x.shared && x.conn != nil {
		x.conn.all.leave(x.conn)
	}
}

// ends has the connection end with the answer, unless others share it: HTTP/2 needs that
// for nothing, since what is left of a body there is no next request.
func (x *Exchange) ends() {
	if !x.shared {
		x.Header().Set("Connection", "close")
	}
}

// reset has the connection end with a reset, if it is the exchange's own; in HTTP/2 the
// panic that follows resets the stream.
func (x *Exchange) reset() {
	if !x.shared {
		x.conn.reset()
	}
}

// secured reports whether a request came by TLS of our own to the base URL's host.
func (h *Handler) secured(r *http.Request) bool {
	return r.TLS != nil && h.secure() && tracking.HostOf(r.Host) == h.host
}

// followShared is what Follow does where no connection can be taken out of the hands of
// net/http. The time that it takes is not the request's.
func (f *follower) followShared(x *Exchange, first []byte) {
	began := time.Now()
	defer func() { x.listened = time.Since(began) }()
	x.at(phaseIdle)
	gone, cancel := context.WithCancel(x.request)
	defer cancel()
	defer context.AfterFunc(f.h.stopping, cancel)()
	control := http.NewResponseController(x.ResponseWriter)
	f.write = func(text []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(f.h.limits.Answers.Stall)) // a stream has deadlines
		_, err := x.ResponseWriter.Write(text)
		return errors.Join(err, control.Flush())
	}
	x.ResponseWriter.WriteHeader(http.StatusOK)
	if f.send(first) {
		f.listen(gone.Done())
	}
}
