package rest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"mailer/app/kit/clock"
)

const (
	// heartbeat is the interval of comments that keep a connection alive: proxies close idle ones
	// after 30 seconds or more.
	heartbeat = 20 * time.Second
	// recheckFollowerEvery is how often a follower's key is checked again.
	recheckFollowerEvery = 10 * time.Second
)

// heartbeatFrame is a comment of server-sent events.
var heartbeatFrame = []byte(": still here\n\n")

// follower is a client that receives events until one side ends the connection.
type follower struct {
	h       *Handler
	request Exchange // the parts of the request that identify the caller
	conn    net.Conn // nil: an HTTP/2 connection
	write   func(text []byte) error
	frames  <-chan []byte
}

// Follow answers with server-sent events: first, and then everything from frames, until frames is
// closed, the client leaves, stalls or loses access, or the server stops. end is called then.
// Follow returns immediately: it hijacks the connection, for which net/http would hold five times
// the memory. An HTTP/2 connection can't be hijacked: Follow returns at the end.
func (h *Handler) Follow(x *Exchange, first []byte, frames <-chan []byte, end func()) {
	head := x.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no") // nginx would buffer the events
	x.answered, x.status = true, http.StatusOK
	if x.shared {
		defer end()
		f := &follower{h: h, request: x.credentials(), frames: frames}
		f.followShared(x, first)
		return
	}
	hijacked, _, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err != nil { // a test's recorder, which gets only the beginning
		defer end()
		_, _ = x.Write(first)
		return
	}
	var answer bytes.Buffer
	fmt.Fprintf(&answer, "HTTP/1.1 200 OK\r\nDate: %s\r\nConnection: close\r\n", clock.Now().UTC().Format(http.TimeFormat))
	_ = head.Write(&answer) // a buffer takes everything
	answer.WriteString("\r\n")
	answer.Write(first)
	// At the connection limit, a follower is evicted first.
	x.setPhase(phaseIdle)
	x.conn = nil // its state belongs to the follower now
	f := &follower{h: h, request: x.credentials(), conn: hijacked, frames: frames}
	f.write = f.writeHijacked
	h.followers.Go(func() {
		defer end()
		f.run(answer.Bytes())
	})
}

// credentials returns a copy of the exchange that holds only what identifies the caller.
func (x *Exchange) credentials() Exchange {
	header := http.Header{}
	for _, name := range []string{"Authorization", "Cookie", TeamHeader} {
		if v := x.RequestHeader[name]; v != nil {
			header[name] = v
		}
	}
	return Exchange{ID: x.ID, Pattern: x.Pattern, Key: x.Key, Host: x.Host, clientAddr: x.clientAddr, route: x.route, RequestHeader: header}
}

// run sends events until the end.
func (f *follower) run(first []byte) {
	defer f.conn.Close()
	// Shutdown interrupts a write that hangs.
	defer context.AfterFunc(f.h.stopping, func() { _ = f.conn.SetDeadline(time.Unix(1, 0)) })()
	if !f.send(first) {
		return
	}
	gone := make(chan struct{})
	f.h.followers.Go(func() {
		defer close(gone)
		_, _ = f.conn.Read(make([]byte, 1)) // the client sends nothing
	})
	f.listen(gone)
}

// listen sends events until the client is gone, loses access, or stalls.
func (f *follower) listen(gone <-chan struct{}) {
	ticks := time.NewTicker(recheckFollowerEvery)
	defer ticks.Stop()
	lastSent := time.Now()
	for {
		frame := heartbeatFrame
		select {
		case <-gone:
			return
		case text, open := <-f.frames:
			if !open {
				return
			}
			frame = text
		case now := <-ticks.C:
			if !f.recheck() {
				return
			}
			if now.Sub(lastSent) < heartbeat {
				continue
			}
		}
		if !f.send(frame) {
			return
		}
		lastSent = time.Now()
	}
}

// send reports whether the client takes a text in time.
func (f *follower) send(text []byte) bool {
	return f.write(text) == nil
}

// writeHijacked writes to a hijacked connection.
func (f *follower) writeHijacked(text []byte) error {
	_ = f.conn.SetWriteDeadline(time.Now().Add(f.h.limits.Answers.Stall))
	if err := f.h.stopping.Err(); err != nil { // the deadline that interrupted it was moved
		return err
	}
	_, err := f.conn.Write(text)
	return err
}

// recheck reports whether the caller may still listen. The database query needs a stack that the
// follower's goroutine would keep, so it runs in another one.
func (f *follower) recheck() bool {
	ok := make(chan bool, 1)
	go func() {
		x := f.request
		x.ResponseWriter = NewRecorder() // the headers of a refusal are discarded
		ok <- f.h.recheckKey(f.h.stopping, &x, x.route) == nil
	}()
	return <-ok
}

// stopFollowing ends all answers of Follow and waits for them until ctx ends.
func (h *Handler) stopFollowing(ctx context.Context) {
	h.stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.followers.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
