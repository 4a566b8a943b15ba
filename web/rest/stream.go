package rest

import (
	"io"
	"net/http"
	"time"
)

// streamMemory is what a streamed body counts in the budget, in bytes: what its
// handler holds of it at once.
const streamMemory = 512 << 10

// streamTimes bounds how long a streamed body may take, in LargeTimes.
const streamTimes = 30

// Stream is a body that its handler reads while it arrives. It ends with an
// error over the limit; the time to wait for more of it begins anew with each
// part that came, as long as it does not trickle. Its handler must give its failure
// precedence over what it makes of the body.
type Stream struct {
	h     *Handler
	x     *Exchange
	body  io.Reader
	left  int64     // bytes that it may still have
	got   int64     // bytes that came
	start time.Time // of its arrival
	ended bool      // read to its end
	err   error     // what went wrong, in words for the caller
}

// openStream prepares x.stream. Errors: CodePayloadTooLarge by Content-Length,
// CodeServiceUnavailable when memory stays short.
func (h *Handler) openStream(x *Exchange, r *http.Request) error {
	x.Stream = &Stream{h: h, x: x, body: r.Body, left: h.limits.Upload}
	if r.ContentLength > h.limits.Upload {
		return bodyTooLarge(h.limits.Upload)
	}
	x.held.who = ownerOf(x)
	if _, err := h.budget.charge(r.Context(), &x.held, h.budget.large, streamMemory/2); err != nil {
		return unread(x, err)
	}
	x.Stream.start = time.Now()
	x.Stream.extend()
	return nil
}

// extend lets the client take its time for the next part, and for the answer.
func (s *Stream) extend() {
	now, limits := time.Now(), &s.h.limits
	control := http.NewResponseController(s.x.ResponseWriter)
	// See setReadDeadline.
	_ = control.SetReadDeadline(limits.deadline(s.start, now, s.got, streamTimes*limits.LargeTime))
	_ = control.SetWriteDeadline(now.Add(limits.write))
}

// Failure returns what went wrong with the body, in words for the caller; nil:
// nothing so far.
func (s *Stream) Failure() error { return s.err }

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.body.Read(p[:min(int64(len(p)), s.left+1)])
	s.got += int64(n)
	if s.left -= int64(n); s.left < 0 {
		s.err = bodyTooLarge(s.h.limits.Upload)
		return 0, s.err
	}
	switch {
	case err == io.EOF:
		s.ended = true
		s.x.at(phaseWorking)
		setReadDeadline(s.x, time.Time{})
	case err != nil:
		s.err = readError(err)
		return n, s.err
	case n > 0:
		s.extend()
	}
	return n, err
}
