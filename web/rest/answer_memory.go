package rest

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/membudget"
)

// AnswerLimits bounds what answers may hold in memory. Sizes are in bytes.
type AnswerLimits struct {
	Keyed  int64         // all large answers to keys; a team may have half
	Public int64         // all large answers of public routes; an address may have half, and what is asked for a quarter
	Wait   time.Duration // for room
	Stall  time.Duration // a client that takes nothing for so long is cut
}

func defaultAnswerLimits() AnswerLimits {
	return AnswerLimits{Keyed: 64 << 20, Public: 32 << 20, Wait: 5 * time.Second, Stall: 30 * time.Second}
}

// What an answer takes of memory, in the bytes of its content: large texts stand
// there once more while they are read, rows become values and then JSON.
const (
	contentCost = 2
	rowCost     = 4
	toolCost    = 3 // of the result of a tool, times the above: JSON in JSON
)

// countStep is by how much the room of an answer grows whose rows are being read.
const countStep = 256 << 10

// answers bounds the memory of all large answers together. Those of public routes
// have a pool of their own, so that they can't hold up those to keys.
type answers struct {
	AnswerLimits
	keyed, public *pool
}

func newAnswerBudget(l AnswerLimits) *answers {
	return &answers{AnswerLimits: l, keyed: newMemoryPool(l.Keyed), public: newMemoryPool(l.Public)}
}

// share is a part of a pool that one owner may hold.
type share struct {
	owner string
	most  int64
}

// pool is room that owners have shares of. What is larger than a share is let in
// while its owner holds nothing else.
type pool struct {
	size  int64
	mu    sync.Mutex
	free  int64
	held  map[string]int64 // by owner
	moved chan struct{}    // closed when room comes free
}

func newMemoryPool(size int64) *pool {
	return &pool{size: size, free: size, held: map[string]int64{}, moved: make(chan struct{})}
}

// try takes n bytes at once for an answer that has mine already, where there is room for
// them. Otherwise it returns what is closed when room comes free.
func (p *pool) try(n, mine int64, shares []share) (moved <-chan struct{}, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	full := func(s share) bool { return p.held[s.owner] > mine && p.held[s.owner]+n > s.most }
	if n > p.free || slices.ContainsFunc(shares, full) {
		return p.moved, false
	}
	p.free -= n
	for _, s := range shares {
		p.held[s.owner] += n
	}
	return nil, true
}

// take is try that waits for room until ctx ends, and reports whether it came.
func (p *pool) take(ctx context.Context, n, mine int64, shares []share) bool {
	for {
		moved, ok := p.try(n, mine, shares)
		if ok {
			return true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

func (p *pool) give(n int64, shares []share) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free += n
	for _, s := range shares {
		if p.held[s.owner] -= n; p.held[s.owner] == 0 {
			delete(p.held, s.owner)
		}
	}
	close(p.moved)
	p.moved = make(chan struct{})
}

// answer is what an exchange holds of the pools. It implements membudget.Budget.
type answer struct {
	all  *answers
	x    *Exchange
	cost int64 // times the cost of content

	mu      sync.Mutex
	pool    *pool // nil: nothing was taken yet
	shares  []share
	ahead   int64 // bytes that were reserved and not read yet
	counted int64 // bytes of rows
	held    int64 // of the pool
}

// Reserve implements membudget.Budget. Errors: CodeServiceUnavailable.
func (a *answer) Reserve(ctx context.Context, bytes int64) error {
	if bytes <= membudget.FreeBytes {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ahead += bytes
	return a.take(ctx, bytes*contentCost*a.cost, "")
}

// Count implements membudget.Budget. Errors: CodeServiceUnavailable.
func (a *answer) Count(bytes int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	paid := min(bytes, a.ahead)
	a.ahead -= paid
	if a.counted += bytes - paid; a.counted <= membudget.FreeBytes {
		return nil
	}
	need := a.counted * rowCost * a.cost
	if need <= a.held {
		return nil
	}
	now, cancel := context.WithCancel(context.Background())
	cancel() // it doesn't wait: the caller has a connection to the database
	return a.take(now, (need-a.held+countStep-1)/countStep*countStep, "")
}

// take takes n bytes of the pool of the exchange, where what is asked for has a share
// of its own if it is named. One answer never asks for more than the whole pool.
func (a *answer) take(ctx context.Context, n int64, what string) error {
	if a.pool == nil {
		a.choose(what)
	}
	if n = min(n, a.pool.size-a.held); n <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.all.Wait)
	defer cancel()
	if !a.pool.take(ctx, n, a.held, a.shares) {
		return crowded()
	}
	a.held += n
	return nil
}

// choose finds the pool of the exchange and whose shares it counts in.
func (a *answer) choose(what string) {
	if a.x.Key != nil {
		a.pool = a.all.keyed
		a.shares = []share{{a.x.Key.TeamID, a.pool.size / 2}}
		return
	}
	a.pool = a.all.public
	a.shares = []share{{a.x.Client().String(), a.pool.size / 2}}
	if what != "" {
		a.shares = append(a.shares, share{what, a.pool.size / 4})
	}
}

// release hands back all that the answer holds.
func (a *answer) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held > 0 {
		a.pool.give(a.held, a.shares)
		a.held = 0
	}
}

// renew hands back what the answer holds for what it has sent, and counts anew.
func (a *answer) renew() {
	a.release()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ahead, a.counted = 0, 0
}

func crowded() error {
	return &app.Error{Code: app.CodeServiceUnavailable, RetryAfter: 5 * time.Second,
		Message: "The server has too many large answers at work; read those that you asked for, and try again later"}
}

// answering returns the context of a request: where it only reads, all that is read for
// it counts.
func (h *Handler) answering(r *http.Request, x *Exchange) context.Context {
	ctx := context.WithValue(r.Context(), exchangeKey{}, x)
	x.answer = &answer{all: h.answers, x: x, cost: 1}
	if r.Method == http.MethodGet {
		return membudget.With(ctx, x.answer)
	}
	return app.WithClientWaiting(app.WithActor(ctx, x.actor))
}

// toolContext is answering for a tool, whose result the request holds that calls it.
func (h *Handler) toolContext(ctx context.Context, o *Operation, outer, x *Exchange) context.Context {
	x.answer = outer.answer
	x.answer.mu.Lock()
	defer x.answer.mu.Unlock()
	x.answer.cost = toolCost
	if o.Method == http.MethodGet {
		return membudget.With(ctx, x.answer)
	}
	return ctx
}

// Counting returns the context of a request that reads though it is no GET: all that is
// read for it counts.
func Counting(ctx context.Context) context.Context {
	return membudget.With(ctx, exchangeOf(ctx).answer)
}

// ReserveFor waits for so many bytes of room for what the exchange holds while it
// answers with what is named. Errors: CodeServiceUnavailable.
func (x *Exchange) ReserveFor(ctx context.Context, what string, bytes int64) error {
	a := x.answer
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.take(ctx, bytes, what)
}

// sendBuffer is how much the system holds of an answer on its way. By itself it takes up
// to 4 MiB a connection, and tells of progress only once a third of that is gone: a slow
// client would look like one that takes nothing.
const sendBuffer = 256 << 10

// boundSendBuffer bounds what the kernel takes of an answer for a client.
func boundSendBuffer(c net.Conn) {
	if c, ok := c.(interface{ SetWriteBuffer(int) error }); ok {
		_ = c.SetWriteBuffer(sendBuffer) // without it slow clients have less time
	}
}

// writeChunk is how much of an answer a client must take in the time that it has.
const writeChunk = 32 << 10

// write writes in pieces, for each of which the client has the same time: a steady one
// may take as long as it needs.
func (a *answer) write(w http.ResponseWriter, b []byte) (n int, err error) {
	control := http.NewResponseController(w)
	for {
		// Not every writer has deadlines (tests' and tools' have none); a server's has.
		_ = control.SetWriteDeadline(time.Now().Add(a.all.Stall))
		m, err := w.Write(b[n:min(n+writeChunk, len(b))])
		if n += m; err != nil || n == len(b) {
			return n, err
		}
	}
}
