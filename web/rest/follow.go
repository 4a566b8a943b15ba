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
	// heartbeat is how often a follower hears that the connection is alive: more often than
	// proxies cut one that says nothing, which is after 30 seconds and more.
	heartbeat = 20 * time.Second
	// recheckFollowerEvery is how often a follower's key is looked at again.
	recheckFollowerEvery = 10 * time.Second
)

// beat is a comment of server-sent events.
var beat = []byte(": still here\n\n")

// follower is a client that listens without end.
type follower struct {
	h      *Handler
	asked  Exchange // what is kept of the request: who asks for what
	conn   net.Conn // nil: others share it
	write  func(text []byte) error
	frames <-chan []byte
}

// Follow answers with server-sent events: first, and then what comes of frames, until that
// is closed, the client goes, takes nothing for the time that it has or may not listen any
// more, or the server stops; end is called then. It returns at once: the connection is
// taken out of the hands of net/http, which would hold five times the memory for it. In
// HTTP/2, where others share it, it returns at the end.
func (h *Handler) Follow(x *Exchange, first []byte, frames <-chan []byte, end func()) {
	head := x.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no") // nginx would keep it to itself
	x.answered, x.status = true, http.StatusOK
	if x.shared {
		defer end()
		f := &follower{h: h, asked: x.asker(), frames: frames}
		f.followShared(x, first)
		return
	}
	taken, _, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err != nil { // no connection: a test's recorder, which gets the beginning
		defer end()
		_, _ = x.Write(first)
		return
	}
	var answer bytes.Buffer
	fmt.Fprintf(&answer, "HTTP/1.1 200 OK\r\nDate: %s\r\nConnection: close\r\n", clock.Now().UTC().Format(http.TimeFormat))
	_ = head.Write(&answer) // a buffer takes everything
	answer.WriteString("\r\n")
	answer.Write(first)
	// Where connections are at their bound, one that only listens makes room.
	x.at(phaseIdle)
	x.conn = nil // what it is at is no request's any more
	f := &follower{h: h, asked: x.asker(), conn: taken, frames: frames}
	f.write = f.writeHijacked
	h.followers.Go(func() {
		defer end()
		f.run(answer.Bytes())
	})
}

// asker returns as much of an exchange as says who asks for what, and holds nothing else.
func (x *Exchange) asker() Exchange {
	header := http.Header{}
	for _, name := range []string{"Authorization", "Cookie", TeamHeader} {
		if v := x.RequestHeader[name]; v != nil {
			header[name] = v
		}
	}
	return Exchange{ID: x.ID, Pattern: x.Pattern, Key: x.Key, Host: x.Host, from: x.from, route: x.route, RequestHeader: header}
}

// run sends what comes until the end.
func (f *follower) run(first []byte) {
	defer f.conn.Close()
	// A write that hangs ends with the server too.
	defer context.AfterFunc(f.h.stopping, func() { _ = f.conn.SetDeadline(time.Unix(1, 0)) })()
	if !f.send(first) {
		return
	}
	gone := make(chan struct{})
	f.h.followers.Go(func() {
		defer close(gone)
		_, _ = f.conn.Read(make([]byte, 1)) // it has nothing to say
	})
	f.listen(gone)
}

// listen sends what comes until the client is gone, or another end.
func (f *follower) listen(gone <-chan struct{}) {
	ticks := time.NewTicker(recheckFollowerEvery)
	defer ticks.Stop()
	lastSent := time.Now()
	for {
		frame := beat
		select {
		case <-gone:
			return
		case text, open := <-f.frames:
			if !open {
				return
			}
			frame = text
		case now := <-ticks.C:
			if !f.standing() {
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

// send reports whether the client takes a text in the time that it has.
func (f *follower) send(text []byte) bool {
	return f.write(text) == nil
}

// writeHijacked writes to a connection that is the follower's own.
func (f *follower) writeHijacked(text []byte) error {
	_ = f.conn.SetWriteDeadline(time.Now().Add(f.h.limits.Answers.Stall))
	if err := f.h.stopping.Err(); err != nil { // the deadline that ended it was moved
		return err
	}
	_, err := f.conn.Write(text)
	return err
}

// standing reports whether whoever asked may still listen. The look into the database
// takes a stack that a follower would keep, so another goroutine does it.
func (f *follower) standing() bool {
	ok := make(chan bool, 1)
	go func() {
		x := f.asked
		x.ResponseWriter = NewRecorder() // a refusal has headers that nobody reads
		ok <- f.h.standing(f.h.stopping, &x, x.route) == nil
	}()
	return <-ok
}

// stopFollowing ends all answers of Follow and waits for that, at most as long as ctx.
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
