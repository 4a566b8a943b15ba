package engine

import (
	"slices"
	"sync"
)

// readerPool holds the readers that nobody uses. The one that was used last is taken
// first: each keeps pages and statements of its own, and so only as many fill up as
// are in use at once.
type readerPool struct {
	free   chan struct{} // WriteOne for each of unused
	mu     sync.Mutex
	unused []*Reader // the one used last at the end
}

func newReaderPool(size int) *readerPool { return &readerPool{free: make(chan struct{}, size)} }

// put hands a reader back.
func (p *readerPool) put(r *Reader) {
	p.mu.Lock()
	p.unused = append(p.unused, r)
	p.mu.Unlock()
	p.free <- struct{}{}
}

// take returns a reader; whoever calls it has received from free.
func (p *readerPool) take() *Reader {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.unused) - 1
	r := p.unused[last]
	p.unused = p.unused[:last]
	return r
}

// takeUnused returns all readers that nobody uses, the one used last at the end.
func (p *readerPool) takeUnused() (all []*Reader) {
	for {
		select {
		case <-p.free:
			all = append(all, p.take())
		default:
			slices.Reverse(all)
			return all
		}
	}
}
