package engine

import "sync"

// readerPool holds the readers that are not in use. The one used last is taken first: each reader
// has its own page cache and statements, so only as many are filled as are used at the same time.
type readerPool struct {
	free   chan struct{} // one value for each of unused
	mu     sync.Mutex
	unused []*Reader // the one used last at the end
}

func newReaderPool(size int) *readerPool { return &readerPool{free: make(chan struct{}, size)} }

// put returns a reader to the pool.
func (p *readerPool) put(r *Reader) {
	p.mu.Lock()
	p.unused = append(p.unused, r)
	p.mu.Unlock()
	p.free <- struct{}{}
}

// take returns a reader. The caller must have received from free.
func (p *readerPool) take() *Reader {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.unused) - 1
	r := p.unused[last]
	p.unused = p.unused[:last]
	return r
}
