package rest

import (
	"io"
	"net/http"
	"time"
)

// streamMemory is the memory, in bytes, that a streamed body counts for: what its handler holds at
// a time.
const streamMemory = 512 << 10

// streamTimes is the longest time of a streamed body, in units of Limits.LargeTime.
const streamTimes = 30

// Stream is a body that the handler reads while it arrives. Reading fails above the limit. Each
// part renews the deadline, as long as the body does not trickle. The handler must report Failure
// before any error of its own.
type Stream struct {
	h       *Handler
	x       *Exchange
	body    io.Reader
	left    int64 // remaining bytes
	got     int64 // received bytes
	maxSize int64
	start   time.Time // of the arrival
	ended   bool      // read to its end
	err     error     // for the caller
}

// openStream prepares x.Stream. Errors: CodePayloadTooLarge by Content-Length;
// CodeServiceUnavailable if there is no memory.
func (h *Handler) openStream(x *Exchange, r *http.Request, maxSize int64) error {
	x.Stream = &Stream{h: h, x: x, body: r.Body, maxSize: maxSize, left: maxSize}
	if r.ContentLength > maxSize {
		return bodyTooLarge(maxSize)
	}
	x.bodyMemory.owner = ownerOf(x)
	if _, err := h.bodyBudget.reserve(r.Context(), &x.bodyMemory, h.bodyBudget.large, streamMemory/2); err != nil {
		return refuseUnread(x, err)
	}
	x.Stream.start = time.Now()
	x.Stream.extend()
	return nil
}

// extend sets the deadlines for the next part and for the answer.
func (s *Stream) extend() {
	now, limits := time.Now(), &s.h.limits
	control := http.NewResponseController(s.x.ResponseWriter)
	// See setReadDeadline.
	_ = control.SetReadDeadline(limits.deadline(s.start, now, s.got, streamTimes*limits.LargeTime))
	_ = control.SetWriteDeadline(now.Add(limits.write))
}

// Failure returns the error of the body for the caller; nil if there is none so far.
func (s *Stream) Failure() error { return s.err }

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.body.Read(p[:min(int64(len(p)), s.left+1)])
	s.got += int64(n)
	if s.left -= int64(n); s.left < 0 {
		s.err = bodyTooLarge(s.maxSize)
		return 0, s.err
	}
	switch {
	case err == io.EOF:
		s.ended = true
		s.x.setPhase(phaseWorking)
		setReadDeadline(s.x, time.Time{})
	case err != nil:
		s.err = readError(err)
		return n, s.err
	case n > 0:
		s.extend()
	}
	return n, err
}
