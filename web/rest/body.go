package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"sync"
	"time"

	"mailer/app"
)

const (
	// firstStep is the memory, in bytes, that is reserved for a body before any of it has arrived.
	// Most bodies need no more.
	firstStep = 16 << 10
	// slotFrom is the size in bytes from which a team's bodies are read one after the other.
	slotFrom = 256 << 10
)

// bodyBudget bounds the memory of all bodies. Small bodies have a semaphore of their own, so that a
// few uploads can't delay ordinary sends. So have bodies of public routes, and bodies whose sender
// is known only after they are read.
type bodyBudget struct {
	Limits
	small, large, public, signed *timedSemaphore
	// slots makes the large bodies of a team arrive one after the other, as many at a time as fit
	// into the team's share: bodies that grow at the same time would all get stuck.
	slots   *timedSemaphore
	buffers sync.Pool // of *[]byte: released buffers of small bodies
}

func newBodyBudget(l Limits, log *slog.Logger) *bodyBudget {
	largest := 2 * l.Body // in the budget, which counts a body twice
	// Next to the largest body, leave memory for bodies that need no slot.
	share := min(largest+largest/5, l.LargeBudget/2)
	return &bodyBudget{
		Limits: l,
		small:  newTimedSemaphore("small bodies", l.SmallBudget, l.SmallBudget/2, l.SmallWait, log),
		large:  newTimedSemaphore("large bodies", l.LargeBudget, share, l.LargeWait, log),
		public: newTimedSemaphore("public bodies", l.PublicBudget, l.PublicBudget/2, l.SmallWait, log),
		signed: newTimedSemaphore("unproven bodies", l.PublicBudget, l.PublicBudget/2, l.SmallWait, log),
		slots:  newTimedSemaphore("large bodies", math.MaxInt64, min(largest, share), l.LargeWait, log),
	}
}

// Starved returns the names of the semaphores in which requests wait or are refused for lack of
// memory: those for requests with a key, without which no mail is accepted, and all others.
func (h *Handler) Starved() (withKey, others []string) {
	add := func(names []string, l *timedSemaphore) []string {
		if l.starved() {
			return append(names, l.name)
		}
		return names
	}
	b := h.bodyBudget
	return add(add(nil, b.small), b.large), add(add(nil, b.public), b.signed)
}

// bodyMemory is an exchange's reservation in the budget, and the reusable buffer of its body; nil:
// none.
type bodyMemory struct {
	owner  memoryOwner
	sem    *timedSemaphore
	weight int64
	slot   int64
	buffer *[]byte
}

// buffer returns a reusable buffer for a small body of n bytes. release takes it back.
func (b *bodyBudget) buffer(n int64) *[]byte {
	if used, ok := b.buffers.Get().(*[]byte); ok && int64(cap(*used)) >= n {
		return used
	}
	fresh := make([]byte, 0, max(n, firstStep)) // so that most bodies fit
	return &fresh
}

// reserve waits until an exchange holds the memory for a body of n bytes in a semaphore, and
// releases what it held in another one. A body counts twice: received and decoded. Errors: as
// timedSemaphore.acquire.
func (b *bodyBudget) reserve(ctx context.Context, h *bodyMemory, l *timedSemaphore, n int64) (waited bool, err error) {
	weight := min(2*n, l.Share)
	if h.sem != l {
		if waited, err = l.acquire(ctx, h.owner, weight); err != nil {
			return waited, err
		}
		h.releaseMemory()
		h.sem, h.weight = l, weight
		return waited, nil
	}
	if weight > h.weight {
		if waited, err = l.acquire(ctx, h.owner, weight-h.weight); err != nil {
			return waited, err
		}
		h.weight = weight
	}
	return waited, nil
}

func (h *bodyMemory) releaseMemory() {
	if h.sem != nil {
		h.sem.Release(h.owner, h.weight)
		h.sem, h.weight = nil, 0
	}
}

func (b *bodyBudget) releaseSlot(h *bodyMemory) {
	if h.slot > 0 {
		b.slots.Release(h.owner, h.slot)
		h.slot = 0
	}
}

func (b *bodyBudget) release(h *bodyMemory) {
	h.releaseMemory()
	b.releaseSlot(h)
	if h.buffer != nil {
		b.buffers.Put(h.buffer)
	}
	*h = bodyMemory{}
}

// ownerOf returns the owner of a request's memory.
func ownerOf(x *Exchange) memoryOwner {
	if x.Key != nil {
		return memoryOwner{team: x.Key.TeamID}
	}
	return memoryOwner{client: x.Client()}
}

// readBody reads the whole body into x.Body. Errors: CodePayloadTooLarge above maxSize bytes, before
// anything is read if Content-Length says so; status 408 if the client is too slow;
// CodeServiceUnavailable if there is no memory.
func (h *Handler) readBody(x *Exchange, r *http.Request, rt *Route, maxSize int64) error {
	if r.ContentLength == 0 {
		return nil
	}
	x.bodyMemory.owner = ownerOf(x)
	in := bodyReader{h: h, x: x, r: r, rt: rt, maxSize: maxSize, start: time.Now()}
	err := in.read()
	h.bodyBudget.releaseSlot(&x.bodyMemory)
	if err != nil {
		return refuseUnread(x, err)
	}
	setReadDeadline(x, time.Time{})
	x.setPhase(phaseWorking)
	return nil
}

// refuseUnread refuses a request whose body was not read to its end. The connection is closed: the
// unread rest would be taken for the next request, and the answer must not wait for it.
func refuseUnread(x *Exchange, err error) error {
	x.closeAfter()
	var own *Error
	if errors.As(err, &own) && own.StatusCode == http.StatusServiceUnavailable {
		x.Header().Set("Retry-After", "5")
	}
	return err
}

// setReadDeadline sets the deadline for reading from the client. Writers of tests have no
// deadlines; the server's have.
func setReadDeadline(x *Exchange, at time.Time) {
	_ = http.NewResponseController(x.ResponseWriter).SetReadDeadline(at)
}

// bodyReader reads a body into memory. Memory is reserved in steps as the body arrives, not when
// its length is announced: a client that sends nothing holds nothing.
type bodyReader struct {
	h       *Handler
	x       *Exchange
	r       *http.Request
	rt      *Route
	maxSize int64     // in bytes
	start   time.Time // of the arrival, without the time that it waited for memory
}

// read reads the whole body.
func (in *bodyReader) read() error {
	last := in.r.ContentLength
	if last > in.maxSize {
		return bodyTooLarge(in.maxSize)
	}
	if last < 0 {
		last = in.maxSize + 1 // the body is then too large
	}
	if in.rt.Public || in.isLarge() { // otherwise ServeHTTP has set the deadline
		in.extend(in.start)
	}
	small := in.h.limits.SmallBody
	for size := min(last, firstStep, small); ; size = min(last, max(2*size, small)) {
		if err := in.grow(size); err != nil {
			return err
		}
		ended, err := in.fill(size)
		switch {
		case err != nil:
			return err
		case int64(len(in.x.Body)) > in.maxSize:
			return bodyTooLarge(in.maxSize)
		case ended || size == last:
			return nil
		}
	}
}

// isLarge reports whether the body is larger than a small one, as far as is known.
func (in *bodyReader) isLarge() bool {
	small := in.h.limits.SmallBody
	return in.r.ContentLength > small || int64(len(in.x.Body)) >= small
}

// semaphore returns the semaphore for a body of size bytes. A body that will become large counts as
// small until it has its slot.
func (in *bodyReader) semaphore(size int64) *timedSemaphore {
	b := in.h.bodyBudget
	switch {
	case in.rt.SignedBody:
		return b.signed
	case in.rt.Public:
		return b.public
	case size > b.SmallBody:
		return b.large
	}
	return b.small
}

// grow enlarges the buffer to size bytes and keeps what has arrived.
func (in *bodyReader) grow(size int64) error {
	b, held := in.h.bodyBudget, &in.x.bodyMemory
	waitedForSlot, err := in.acquireSlot(size)
	if err != nil {
		return err
	}
	waited, err := b.reserve(in.r.Context(), held, in.semaphore(size), size)
	if err != nil {
		return err
	}
	if waitedForSlot || waited { // the server's delay does not count against the client
		in.start = time.Now()
		in.extend(in.start)
	}
	old := held.buffer
	if in.rt.ReusesBuffer && size <= b.SmallBody {
		held.buffer = b.buffer(size)
		in.x.Body = append((*held.buffer)[:0], in.x.Body...)
	} else {
		held.buffer = nil
		in.x.Body = append(make([]byte, 0, size), in.x.Body...)
	}
	if old != nil {
		b.buffers.Put(old)
	}
	return nil
}

// acquireSlot waits for a slot, once a large body has reached the size of a small one.
func (in *bodyReader) acquireSlot(size int64) (waited bool, err error) {
	b, held := in.h.bodyBudget, &in.x.bodyMemory
	n := in.r.ContentLength
	if n < 0 {
		n = in.maxSize
	}
	if in.rt.Public || n <= slotFrom || size <= b.SmallBody || held.slot > 0 {
		return false, nil
	}
	turn := min(2*n, b.slots.Share)
	if waited, err = b.slots.acquire(in.r.Context(), held.owner, turn); err != nil {
		return waited, err
	}
	held.slot = turn
	return waited, nil
}

// fill reads until size bytes have arrived or the body ends.
func (in *bodyReader) fill(size int64) (ended bool, err error) {
	x := in.x
	for int64(len(x.Body)) < size {
		n, err := in.r.Body.Read(x.Body[len(x.Body):size])
		x.Body = x.Body[:len(x.Body)+n]
		switch {
		case err == io.EOF:
			if missing := in.r.ContentLength - int64(len(x.Body)); missing > 0 {
				err = io.ErrUnexpectedEOF
				return true, readError(err)
			}
			return true, nil
		case err != nil:
			return false, readError(err)
		case n > 0 && in.isLarge():
			in.extend(time.Now())
		}
	}
	return false, nil
}

// extend sets the deadline for the next part.
func (in *bodyReader) extend(now time.Time) {
	l := &in.h.limits
	at := in.start.Add(l.SmallTime)
	switch {
	case in.isLarge():
		at = l.deadline(in.start, now, int64(len(in.x.Body)), l.LargeTime)
	case in.rt.Public:
		at = in.start.Add(l.PublicTime)
	}
	setReadDeadline(in.x, at)
}

func bodyTooLarge(maxSize int64) error {
	return NewError(app.CodePayloadTooLarge,
		fmt.Sprintf("The request body is larger than %d bytes", maxSize))
}

func readError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return bodyTimeout()
	}
	return NewError(app.CodeInvalidPayload, "The request body could not be read to its end")
}
