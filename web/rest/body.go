package rest

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

// Limits bounds what requests may cost. Sizes are in bytes.
type Limits struct {
	Body        int64         // of one request
	SmallBody   int64         // up to here a body counts in the small lane
	SmallBudget int64         // all small bodies that are being worked on
	LargeBudget int64         // all other ones
	BodyWait    time.Duration // for a place in the budget
	BodyTimeout time.Duration // for a whole body to arrive
	Header      time.Duration // for the header to arrive
	idle        time.Duration // of a kept-alive connection
	Answers     AnswerLimits
	write       time.Duration // for everything from the header to the end of the answer
}

// DefaultLimits returns the limits of a server in use: 40 MiB a body.
func DefaultLimits() Limits {
	return Limits{
		Body:        40 << 20,
		SmallBody:   64 << 10,
		SmallBudget: 64 << 20,
		LargeBudget: 192 << 20,
		BodyWait:    30 * time.Second,
		BodyTimeout: time.Minute,
		Header:      10 * time.Second,
		idle:        2 * time.Minute,
		write:       5 * time.Minute,
		Answers:     defaultAnswerLimits(),
	}
}

// budget bounds the memory of all bodies together. Small bodies have a lane of
// their own, so that a few uploads can't hold up ordinary sends.
type budget struct {
	Limits
	small, large *semaphore.Weighted
	used         sync.Pool // of *[]byte: small bodies that were let go
}

func newBudget(l Limits) *budget {
	return &budget{Limits: l, small: semaphore.NewWeighted(l.SmallBudget), large: semaphore.NewWeighted(l.LargeBudget)}
}

// held is an exchange's share of the budget, and the room for its body that serves
// again; nil: none.
type held struct {
	small, large int64
	body         *[]byte
}

// buffer returns room for a small body of n bytes, which release takes back.
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
	lane, capacity, share := b.small, b.SmallBudget, &h.small
	if n > b.SmallBody {
		lane, capacity, share = b.large, b.LargeBudget, &h.large
	}
	weight := min(2*n, capacity)
	if waited = !lane.TryAcquire(weight); waited {
		ctx, cancel := context.WithTimeout(ctx, b.BodyWait)
		defer cancel()
		if err := lane.Acquire(ctx, weight); err != nil {
			return true, NewError(app.CodeServiceUnavailable, "The server has too many large requests at work; try again later")
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
func (h *Handler) readBody(x *Exchange, r *http.Request, rt *Route, most int64) error {
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
func setReadDeadline(x *Exchange, at time.Time) {
	_ = http.NewResponseController(x.ResponseWriter).SetReadDeadline(at)
}

func (h *Handler) fillBody(x *Exchange, r *http.Request, rt *Route, most int64) error {
	if r.ContentLength > most {
		return bodyTooLarge(most)
	}
	if r.ContentLength == 0 {
		return nil
	}
	n := r.ContentLength
	if n < 0 {
		n = h.limits.SmallBody // chunked: most bodies are small
	}
	waited, err := h.budget.take(r.Context(), &x.held, n)
	if err != nil {
		x.Header().Set("Retry-After", "5")
		return err
	}
	if waited { // not for the client
		setReadDeadline(x, time.Now().Add(h.limits.BodyTimeout))
	}
	if r.ContentLength < 0 {
		return h.readChunked(x, r, most)
	}
	if rt.Passing && n <= h.limits.SmallBody {
		x.held.body = h.budget.buffer(n)
		x.Body = *x.held.body
	} else {
		x.Body = make([]byte, n)
	}
	_, err = io.ReadFull(r.Body, x.Body)
	return readError(err)
}

// readChunked reads a body of unknown length. One that outgrows the small lane
// asks for the most that it may become.
func (h *Handler) readChunked(x *Exchange, r *http.Request, most int64) error {
	var buf bytes.Buffer
	n, err := io.Copy(&buf, io.LimitReader(r.Body, h.limits.SmallBody+1))
	if err == nil && n > h.limits.SmallBody && n <= most {
		if _, err := h.budget.take(r.Context(), &x.held, most); err != nil {
			x.Header().Set("Retry-After", "5")
			return err
		}
		_, err = io.Copy(&buf, io.LimitReader(r.Body, most+1-n))
	}
	if int64(buf.Len()) > most {
		return bodyTooLarge(most)
	}
	x.Body = buf.Bytes()
	return readError(err)
}

// streamMemory is what a streamed body counts in the budget, in bytes: what its
// handler holds of it at once.
const streamMemory = 512 << 10

// streamTimes bounds how long a streamed body may take, in bodyTimeouts.
const streamTimes = 30

// Stream is a body that its handler reads while it arrives. It ends with an
// error over the limit; the time to wait for more of it begins anew with each
// part that came. Its handler must give its failure precedence over what it makes
// of the body.
type Stream struct {
	h     *Handler
	x     *Exchange
	body  io.Reader
	left  int64     // bytes that it may still have
	until time.Time // it must have arrived
	ended bool      // read to its end
	err   error     // what went wrong, in words for the caller
}

// openStream prepares x.stream. Errors: CodePayloadTooLarge by Content-Length,
// CodeServiceUnavailable when memory stays short.
func (h *Handler) openStream(x *Exchange, r *http.Request) error {
	x.Stream = &Stream{h: h, x: x, body: r.Body, left: h.limits.Body, until: time.Now().Add(streamTimes * h.limits.BodyTimeout)}
	if r.ContentLength > h.limits.Body {
		return bodyTooLarge(h.limits.Body)
	}
	if _, err := h.budget.take(r.Context(), &x.held, streamMemory); err != nil {
		x.Header().Set("Retry-After", "5")
		return err
	}
	x.Stream.extend()
	return nil
}

// extend lets the client take its time for the next part, and for the answer.
func (s *Stream) extend() {
	now := time.Now()
	at := now.Add(s.h.limits.BodyTimeout)
	if at.After(s.until) {
		at = s.until
	}
	control := http.NewResponseController(s.x.ResponseWriter)
	_ = control.SetReadDeadline(at) // see setReadDeadline
	_ = control.SetWriteDeadline(now.Add(s.h.limits.write))
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
	if s.left -= int64(n); s.left < 0 {
		s.err = bodyTooLarge(s.h.limits.Body)
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
	return NewError(app.CodePayloadTooLarge,
		fmt.Sprintf("The request body is larger than %d bytes", most))
}

func readError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return bodyTimeout()
	}
	return NewError(app.CodeInvalidPayload, "The request body could not be read to its end")
}
