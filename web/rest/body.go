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
	// firstStep is how much room a body gets before any of it is here, in bytes; most
	// need no more.
	firstStep = 16 << 10
	// slotFrom is from which size on the bodies of a team take turns, in bytes.
	slotFrom = 256 << 10
)

// budget bounds the memory of all bodies together. Small bodies have a lane of their
// own, so that a few uploads can't hold up ordinary sends; so have those that need no
// key, and those of which nothing is known before they are read.
type budget struct {
	Limits
	small, large, public, unproven *lane
	// turns has the large bodies of a team arrive one after the other, as many at once
	// as find room in its share together: those that grow side by side would all get
	// stuck. Each team has turns of its own.
	turns *lane
	used  sync.Pool // of *[]byte: small bodies that were let go
}

func newBodyBudget(l Limits, log *slog.Logger) *budget {
	largest := 2 * l.Body // as a body counts
	// Beside the largest body there is room for those that take no turns.
	share := min(largest+largest/5, l.LargeBudget/2)
	return &budget{
		Limits:   l,
		small:    newFairSemaphore("small bodies", l.SmallBudget, l.SmallBudget/2, l.SmallWait, log),
		large:    newFairSemaphore("large bodies", l.LargeBudget, share, l.LargeWait, log),
		public:   newFairSemaphore("public bodies", l.PublicBudget, l.PublicBudget/2, l.SmallWait, log),
		unproven: newFairSemaphore("unproven bodies", l.PublicBudget, l.PublicBudget/2, l.SmallWait, log),
		turns:    newFairSemaphore("large bodies", math.MaxInt64, min(largest, share), l.LargeWait, log),
	}
}

// Starved returns the lanes in which requests wait or are refused for want of room:
// those of requests with a key, which mail can't be accepted without, and all others.
func (h *Handler) Starved() (withKey, others []string) {
	add := func(names []string, l *lane) []string {
		if l.starved() {
			return append(names, l.name)
		}
		return names
	}
	b := h.budget
	return add(add(nil, b.small), b.large), add(add(nil, b.public), b.unproven)
}

// held is an exchange's share of the budget, and the room for its body that serves
// again; nil: none.
type held struct {
	who    holder
	lane   *lane
	weight int64
	turn   int64
	body   *[]byte
}

// room returns room for a small body of n bytes, which release takes back.
func (b *budget) room(n int64) *[]byte {
	if used, ok := b.used.Get().(*[]byte); ok && int64(cap(*used)) >= n {
		return used
	}
	fresh := make([]byte, 0, max(n, firstStep)) // so that most fit in any
	return &fresh
}

// charge waits until an exchange holds room for a body of n bytes in a lane; what it
// held in another one it gives back. A body counts twice: as it came, and decoded.
// Errors: as lane.take.
func (b *budget) charge(ctx context.Context, h *held, l *lane, n int64) (waited bool, err error) {
	weight := min(2*n, l.share)
	if h.lane != l {
		if waited, err = l.take(ctx, h.who, weight); err != nil {
			return waited, err
		}
		h.releaseMemory()
		h.lane, h.weight = l, weight
		return waited, nil
	}
	if weight > h.weight {
		if waited, err = l.take(ctx, h.who, weight-h.weight); err != nil {
			return waited, err
		}
		h.weight = weight
	}
	return waited, nil
}

func (h *held) releaseMemory() {
	if h.lane != nil {
		h.lane.give(h.who, h.weight)
		h.lane, h.weight = nil, 0
	}
}

func (b *budget) releaseSlot(h *held) {
	b.turns.give(h.who, h.turn)
	h.turn = 0
}

func (b *budget) release(h *held) {
	h.releaseMemory()
	b.releaseSlot(h)
	if h.body != nil {
		b.used.Put(h.body)
	}
	*h = held{}
}

// ownerOf is whose share of the budget a request counts in.
func ownerOf(x *Exchange) holder {
	if x.Key != nil {
		return holder{team: x.Key.TeamID}
	}
	return holder{client: x.Client()}
}

// readBody reads the whole body into x.body. Errors: CodePayloadTooLarge over
// most bytes (by Content-Length before anything is read), 408 for a client that
// is too slow, CodeServiceUnavailable when memory stays short.
func (h *Handler) readBody(x *Exchange, r *http.Request, rt *Route, most int64) error {
	if r.ContentLength == 0 {
		return nil
	}
	x.held.who = ownerOf(x)
	in := intake{h: h, x: x, r: r, rt: rt, most: most, start: time.Now()}
	err := in.read()
	h.budget.releaseSlot(&x.held)
	if err != nil {
		return unread(x, err)
	}
	setReadDeadline(x, time.Time{})
	x.at(phaseWorking)
	return nil
}

// unread refuses a request whose body is not read to its end: what is left of it is
// not worth reading, and would be taken for the next request; the answer must not
// wait for it either.
func unread(x *Exchange, err error) error {
	x.ends()
	var own *Error
	if errors.As(err, &own) && own.StatusCode == http.StatusServiceUnavailable {
		x.Header().Set("Retry-After", "5")
	}
	return err
}

// setReadDeadline bounds reading from the client. Not every writer has
// deadlines (tests' have none); a server's has.
func setReadDeadline(x *Exchange, at time.Time) {
	_ = http.NewResponseController(x.ResponseWriter).SetReadDeadline(at)
}

// intake is a body on its way into memory. Room for it is taken in steps, as it
// arrives, and never because it is announced: who sends nothing holds nothing.
type intake struct {
	h     *Handler
	x     *Exchange
	r     *http.Request
	rt    *Route
	most  int64     // bytes that it may have
	start time.Time // of its arrival, without what it waited for us
}

// read reads all of it.
func (in *intake) read() error {
	last := in.r.ContentLength
	if last > in.most {
		return bodyTooLarge(in.most)
	}
	if last < 0 {
		last = in.most + 1 // in which case it is too large
	}
	if in.rt.Public || in.isLarge() { // else ServeHTTP set it
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
		case int64(len(in.x.Body)) > in.most:
			return bodyTooLarge(in.most)
		case ended || size == last:
			return nil
		}
	}
}

// isLarge reports whether it is more than a small body, as far as is known.
func (in *intake) isLarge() bool {
	small := in.h.limits.SmallBody
	return in.r.ContentLength > small || int64(len(in.x.Body)) >= small
}

// lane is where a body counts that has room for size bytes: also one that will be
// large, as long as it waits for its turn.
func (in *intake) lane(size int64) *lane {
	b := in.h.budget
	switch {
	case in.rt.Unproven:
		return b.unproven
	case in.rt.Public:
		return b.public
	case size > b.SmallBody:
		return b.large
	}
	return b.small
}

// grow makes room for size bytes, of which those that are here stay.
func (in *intake) grow(size int64) error {
	b, held := in.h.budget, &in.x.held
	turned, err := in.acquireSlot(size)
	if err != nil {
		return err
	}
	waited, err := b.charge(in.r.Context(), held, in.lane(size), size)
	if err != nil {
		return err
	}
	if turned || waited { // not for the client
		in.start = time.Now()
		in.extend(in.start)
	}
	old := held.body
	if in.rt.Passing && size <= b.SmallBody {
		held.body = b.room(size)
		in.x.Body = append((*held.body)[:0], in.x.Body...)
	} else {
		held.body = nil
		in.x.Body = append(make([]byte, 0, size), in.x.Body...)
	}
	if old != nil {
		b.used.Put(old)
	}
	return nil
}

// acquireSlot waits for the turn of a body that is large, once as much of it is here as
// a small one has.
func (in *intake) acquireSlot(size int64) (waited bool, err error) {
	b, held := in.h.budget, &in.x.held
	n := in.r.ContentLength
	if n < 0 {
		n = in.most
	}
	if in.rt.Public || n <= slotFrom || size <= b.SmallBody || held.turn > 0 {
		return false, nil
	}
	turn := min(2*n, b.turns.share)
	if waited, err = b.turns.take(in.r.Context(), held.who, turn); err != nil {
		return waited, err
	}
	held.turn = turn
	return waited, nil
}

// fill reads until size bytes are here, or the body ended.
func (in *intake) fill(size int64) (ended bool, err error) {
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

// extend sets until when the next part must come.
func (in *intake) extend(now time.Time) {
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

func bodyTooLarge(most int64) error {
	return NewError(app.CodePayloadTooLarge,
		fmt.Sprintf("The request body is larger than %d bytes", most))
}

func readError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return bodyTimeout()
	}
	return NewError(app.CodeInvalidPayload, "The request body could not be read to its end")
}
