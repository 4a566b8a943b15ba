package rest

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/membudget"
)

// AnswerLimits bounds the memory of answers. Sizes are in bytes.
type AnswerLimits struct {
	Keyed  int64         // all large answers to keys together; a team may have half
	Public int64         // all large answers of public routes together; an address may have half, and one named resource a quarter
	Wait   time.Duration // how long an answer waits for memory
	// ListWait is how long a list waits until fewer than maxLists are read and encoded.
	ListWait time.Duration
	Stall    time.Duration // a client that reads nothing for this long is disconnected
}

func defaultAnswerLimits() AnswerLimits {
	return AnswerLimits{Keyed: 64 << 20, Public: 32 << 20, Wait: 5 * time.Second, ListWait: 10 * time.Second, Stall: 30 * time.Second}
}

// The memory that an answer needs, as a multiple of its content in bytes: a large text is held a
// second time while it is read, and JSON while it is encoded.
const (
	contentCost = 2
	toolCost    = 3 // for the result of a tool, on top of contentCost: JSON inside JSON
)

// maxLists is how many lists are read and encoded at the same time; one team may have half. Their
// rows are not counted: a page of the largest takes some megabytes.
const maxLists = 8

// answerBudget bounds the memory of all large answers. Public routes have a pool of their own, so
// that they can't delay answers to keys.
type answerBudget struct {
	AnswerLimits
	keyed, public *memoryPool
	lists         *timedSemaphore
}

func newAnswerBudget(l AnswerLimits, log *slog.Logger) *answerBudget {
	return &answerBudget{AnswerLimits: l, keyed: newMemoryPool(l.Keyed), public: newMemoryPool(l.Public),
		lists: newTimedSemaphore("lists", maxLists, maxLists/2, l.ListWait, log)}
}

// share is the part of a pool that one owner may hold.
type share struct {
	owner string
	limit int64
}

// memoryPool is an amount of memory that owners have shares of. A reservation larger than its
// owner's share is admitted while the owner holds nothing else.
type memoryPool struct {
	size  int64
	mu    sync.Mutex
	free  int64
	held  map[string]int64 // by owner
	freed chan struct{}    // closed when memory is released
}

func newMemoryPool(size int64) *memoryPool {
	return &memoryPool{size: size, free: size, held: map[string]int64{}, freed: make(chan struct{})}
}

// tryAcquire takes n bytes for an answer that already holds held bytes. If they are not available,
// it returns a channel that is closed when memory is released.
func (p *memoryPool) tryAcquire(n, held int64, shares []share) (freed <-chan struct{}, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	full := func(s share) bool { return p.held[s.owner] > held && p.held[s.owner]+n > s.limit }
	if n > p.free || slices.ContainsFunc(shares, full) {
		return p.freed, false
	}
	p.free -= n
	for _, s := range shares {
		p.held[s.owner] += n
	}
	return nil, true
}

// acquire is tryAcquire that waits for memory until ctx ends. It reports whether it got the memory.
func (p *memoryPool) acquire(ctx context.Context, n, held int64, shares []share) bool {
	for {
		freed, ok := p.tryAcquire(n, held, shares)
		if ok {
			return true
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

func (p *memoryPool) release(n int64, shares []share) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free += n
	for _, s := range shares {
		if p.held[s.owner] -= n; p.held[s.owner] == 0 {
			delete(p.held, s.owner)
		}
	}
	close(p.freed)
	p.freed = make(chan struct{})
}

// answerMemory is the memory that one exchange holds of the pools. It implements the budget of
// package membudget.
type answerMemory struct {
	budget *answerBudget
	x      *Exchange
	cost   int64 // multiplied with the factor of the content

	mu     sync.Mutex
	pool   *memoryPool // nil: nothing was reserved yet
	shares []share
	held   int64 // bytes taken from the pool
}

// Reserve reserves bytes for content that is about to be read. Errors: CodeServiceUnavailable.
func (a *answerMemory) Reserve(ctx context.Context, bytes int64) error {
	if bytes <= membudget.FreeBytes {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.acquire(ctx, bytes*contentCost*a.cost, "")
}

// ReserveNow is Reserve that does not wait.
func (a *answerMemory) ReserveNow(bytes int64) error {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	return a.Reserve(now, bytes)
}

// acquire takes n bytes from the exchange's pool, at most the whole pool. If resource is not empty,
// the resource of that name has a share of its own.
func (a *answerMemory) acquire(ctx context.Context, n int64, resource string) error {
	if a.pool == nil {
		a.choosePool(resource)
	}
	if n = min(n, a.pool.size-a.held); n <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.budget.Wait)
	defer cancel()
	if !a.pool.acquire(ctx, n, a.held, a.shares) {
		return answersBusy()
	}
	a.held += n
	return nil
}

// choosePool sets the pool of the exchange and the shares that it counts in.
func (a *answerMemory) choosePool(resource string) {
	if a.x.Key != nil {
		a.pool = a.budget.keyed
		a.shares = []share{{a.x.Key.TeamID, a.pool.size / 2}}
		return
	}
	a.pool = a.budget.public
	a.shares = []share{{a.x.Client().String(), a.pool.size / 2}}
	if resource != "" {
		a.shares = append(a.shares, share{resource, a.pool.size / 4})
	}
}

// release frees everything that the answer holds.
func (a *answerMemory) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held > 0 {
		a.pool.release(a.held, a.shares)
		a.held = 0
	}
}

func answersBusy() error {
	return &app.Error{Code: app.CodeServiceUnavailable, RetryAfter: 5 * time.Second,
		Message: "The server has too many large answers at work; read those that you asked for, and try again later"}
}

// answerContext returns the context of a request; that of a GET has a memory budget.
func (h *Handler) answerContext(r *http.Request, x *Exchange) context.Context {
	ctx := context.WithValue(r.Context(), exchangeKey{}, x)
	x.memory = &answerMemory{budget: h.answerBudget, x: x, cost: 1}
	if r.Method == http.MethodGet {
		return x.withBudget(ctx)
	}
	return app.WithClientWaiting(app.WithActor(ctx, x.actor))
}

// toolContext is answerContext for a tool call. Its result is part of the answer of the calling
// request.
func (h *Handler) toolContext(ctx context.Context, o *Operation, outer, x *Exchange) context.Context {
	x.memory = outer.memory
	x.memory.mu.Lock()
	defer x.memory.mu.Unlock()
	x.memory.cost = toolCost
	if o.Method == http.MethodGet {
		return x.withBudget(ctx)
	}
	return ctx
}

// withBudget returns a context with the memory budget of a request that only reads.
func (x *Exchange) withBudget(ctx context.Context) context.Context {
	x.onlyReads = true
	return membudget.With(ctx, x.memory)
}

// WithBudget returns a context with a memory budget, for a request that only reads although it is
// not a GET.
func WithBudget(ctx context.Context) context.Context { return exchangeOf(ctx).withBudget(ctx) }

// ReserveFor waits until the exchange can hold bytes more for an answer with the named resource.
// Errors: CodeServiceUnavailable.
func (x *Exchange) ReserveFor(ctx context.Context, resource string, bytes int64) error {
	a := x.memory
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.acquire(ctx, bytes, resource)
}

// sendBuffer is the kernel's send buffer of a connection, in bytes. The default is up to 4 MiB, and
// progress shows only after a third of that is sent: a slow client would look like a stalled one.
const sendBuffer = 256 << 10

// boundSendBuffer sets the kernel's send buffer of a connection.
func boundSendBuffer(c net.Conn) {
	if c, ok := c.(interface{ SetWriteBuffer(int) error }); ok {
		_ = c.SetWriteBuffer(sendBuffer) // without it slow clients have less time
	}
}

// writeChunk is how many bytes of an answer a client must read within AnswerLimits.Stall.
const writeChunk = 32 << 10

// write writes b in chunks. The client has the same time for each, so a steady client may take as
// long as it needs.
func (a *answerMemory) write(w http.ResponseWriter, b []byte) (n int, err error) {
	control := http.NewResponseController(w)
	for {
		// Writers of tests and tools have no deadlines; the server's have.
		_ = control.SetWriteDeadline(time.Now().Add(a.budget.Stall))
		m, err := w.Write(b[n:min(n+writeChunk, len(b))])
		if n += m; err != nil || n == len(b) {
			return n, err
		}
	}
}
