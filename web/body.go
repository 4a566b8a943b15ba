package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"mailer/app"
)

// limits bounds what requests may cost. Sizes are in bytes.
type limits struct {
	body        int64         // of one request
	smallBody   int64         // up to here a body counts in the small lane
	smallBudget int64         // all small bodies that are being worked on
	largeBudget int64         // all other ones
	bodyWait    time.Duration // for a place in the budget
	bodyTimeout time.Duration // for a whole body to arrive
	header      time.Duration // for the header to arrive
	idle        time.Duration // of a kept-alive connection
	write       time.Duration // for everything from the header to the end of the answer
}

func defaultLimits() limits {
	return limits{
		body:        40 << 20,
		smallBody:   64 << 10,
		smallBudget: 64 << 20,
		largeBudget: 192 << 20,
		bodyWait:    30 * time.Second,
		bodyTimeout: time.Minute,
		header:      10 * time.Second,
		idle:        2 * time.Minute,
		write:       5 * time.Minute,
	}
}

// budget bounds the memory of all bodies together. Small bodies have a lane of
// their own, so that a few uploads can't hold up ordinary sends.
type budget struct {
	limits
	small, large *semaphore.Weighted
	used         sync.Pool // of *[]byte: small bodies that were let go
}

func newBudget(l limits) *budget {
	return &budget{limits: l, small: semaphore.NewWeighted(l.smallBudget), large: semaphore.NewWeighted(l.largeBudget)}
}

// held is an exchange's share of the budget, and the room for its body that serves
// again; nil: none.
type held struct {
	small, large int64
	body         *[]byte
}

// buffer gives room for a small body of n bytes, which release takes back.
func (b *budget) buffer(n int64) *[]byte {
	const least = 8 << 10 // so that most fit in any
	if used, ok := b.used.Get().(*[]byte); ok && int64(cap(*used)) >= n {
		*used = (*used)[:n]
		return used
	}
	fresh := make([]byte, n, max(n, least))
	return &fresh
}

// take waits for room for a body of n bytes. A body counts twice: as it came,
// and decoded. Errors: CodeServiceUnavailable when no room came free in time.
func (b *budget) take(ctx context.Context, h *held, n int64) (waited bool, err error) {
	lane, capacity, share := b.small, b.smallBudget, &h.small
	if n > b.smallBody {
		lane, capacity, share = b.large, b.largeBudget, &h.large
	}
	weight := min(2*n, capacity)
	if waited = !lane.TryAcquire(weight); waited {
		ctx, cancel := context.WithTimeout(ctx, b.bodyWait)
		defer cancel()
		if err := lane.Acquire(ctx, weight); err != nil {
			return true, newError(app.CodeServiceUnavailable, "The server has too many large requests at work; try again later")
		}
	}
	*share += weight
	return waited, nil
}

func (b *budget) release(h *held) {
	b.small.Release(h.small)
	b.large.Release(h.large)
	if h.body != nil {
		b.used.Put(h.body)
	}
	*h = held{}
}

// readBody reads the whole body into x.body. Errors: CodePayloadTooLarge over
// most bytes (by Content-Length before anything is read), 408 for a client that
// is too slow, CodeServiceUnavailable when memory stays short.
func (h *Handler) readBody(x *exchange, r *http.Request, rt *route, most int64) error {
	err := h.fillBody(x, r, rt, most)
	if err != nil {
		// What is left of the body is not worth reading, and would be taken for
		// the next request; the answer must not wait for it either.
		x.Header().Set("Connection", "close")
		return err
	}
	setReadDeadline(x, time.Time{})
	return nil
}

// setReadDeadline bounds reading from the client. Not every writer has
// deadlines (tests' have none); a server's has.
func setReadDeadline(x *exchange, at time.Time) {
	_ = http.NewResponseController(x.ResponseWriter).SetReadDeadline(at)
}

func (h *Handler) fillBody(x *exchange, r *http.Request, rt *route, most int64) error {
	if r.ContentLength > most {
		return bodyTooLarge(most)
	}
	if r.ContentLength == 0 {
		return nil
	}
	n := r.ContentLength
	if n < 0 {
		n = h.limits.smallBody // chunked: most bodies are small
	}
	waited, err := h.budget.take(r.Context(), &x.held, n)
	if err != nil {
		x.Header().Set("Retry-After", "5")
		return err
	}
	if waited { // not for the client
		setReadDeadline(x, time.Now().Add(h.limits.bodyTimeout))
	}
	if r.ContentLength < 0 {
		return h.readChunked(x, r, most)
	}
	if rt.passing && n <= h.limits.smallBody {
		x.held.body = h.budget.buffer(n)
		x.body = *x.held.body
	} else {
		x.body = make([]byte, n)
	}
	_, err = io.ReadFull(r.Body, x.body)
	return readError(err)
}

// readChunked reads a body of unknown length. One that outgrows the small lane
// asks for the most that it may become.
func (h *Handler) readChunked(x *exchange, r *http.Request, most int64) error {
	var buf bytes.Buffer
	n, err := io.Copy(&buf, io.LimitReader(r.Body, h.limits.smallBody+1))
	if err == nil && n > h.limits.smallBody && n <= most {
		if _, err := h.budget.take(r.Context(), &x.held, most); err != nil {
			x.Header().Set("Retry-After", "5")
			return err
		}
		_, err = io.Copy(&buf, io.LimitReader(r.Body, most+1-n))
	}
	if int64(buf.Len()) > most {
		return bodyTooLarge(most)
	}
	x.body = buf.Bytes()
	return readError(err)
}

// streamMemory is what a streamed body counts in the budget, in bytes: what its
// handler holds of it at once.
const streamMemory = 512 << 10

// streamTimes bounds how long a streamed body may take, in bodyTimeouts.
const streamTimes = 30

// stream is a body that its handler reads while it arrives. It ends with an
// error over the limit; the time to wait for more of it begins anew with each
// part that came. Its handler must give err precedence over what it makes of
// the body.
type stream struct {
	h     *Handler
	x     *exchange
	body  io.Reader
	left  int64     // bytes that it may still have
	until time.Time // it must have arrived
	ended bool      // read to its end
	err   error     // what went wrong, in words for the caller
}

// openStream prepares x.stream. Errors: CodePayloadTooLarge by Content-Length,
// CodeServiceUnavailable when memory stays short.
func (h *Handler) openStream(x *exchange, r *http.Request) error {
	x.stream = &stream{h: h, x: x, body: r.Body, left: h.limits.body, until: time.Now().Add(streamTimes * h.limits.bodyTimeout)}
	if r.ContentLength > h.limits.body {
		return bodyTooLarge(h.limits.body)
	}
	if _, err := h.budget.take(r.Context(), &x.held, streamMemory); err != nil {
		x.Header().Set("Retry-After", "5")
		return err
	}
	x.stream.extend()
	return nil
}

// extend lets the client take its time for the next part, and for the answer.
func (s *stream) extend() {
	now := time.Now()
	at := now.Add(s.h.limits.bodyTimeout)
	if at.After(s.until) {
		at = s.until
	}
	control := http.NewResponseController(s.x.ResponseWriter)
	_ = control.SetReadDeadline(at) // see setReadDeadline
	_ = control.SetWriteDeadline(now.Add(s.h.limits.write))
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.body.Read(p[:min(int64(len(p)), s.left+1)])
	if s.left -= int64(n); s.left < 0 {
		s.err = bodyTooLarge(s.h.limits.body)
		return 0, s.err
	}
	switch {
	case err == io.EOF:
		s.ended = true
		setReadDeadline(s.x, time.Time{})
	case err != nil:
		s.err = readError(err)
		return n, s.err
	case n > 0:
		s.extend()
	}
	return n, err
}

func bodyTooLarge(most int64) error {
	return newError(app.CodePayloadTooLarge,
		fmt.Sprintf("The request body is larger than %d bytes", most))
}

func readError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return bodyTimeout()
	}
	return newError(app.CodeInvalidPayload, "The request body could not be read to its end")
}
