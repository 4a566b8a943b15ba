package dashboard

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"
)

// plainFiles are the files that clients without gzip are reading, unpacked. All readers of
// a file share one copy, which is dropped after the last of them: clients that read slowly,
// or not at all, hold the size of all files at most.
type plainFiles struct {
	mu    sync.Mutex
	files map[string]*plainFile
}

type plainFile struct {
	unpack  sync.Once
	content []byte
	readers int // under the mutex of plainFiles
}

// open returns what a packed file holds. The caller calls done when it has read it.
func (p *plainFiles) open(name string, packed []byte) (content []byte, done func()) {
	p.mu.Lock()
	f := p.files[name]
	if f == nil {
		if p.files == nil {
			p.files = map[string]*plainFile{}
		}
		f = &plainFile{}
		p.files[name] = f
	}
	f.readers++
	p.mu.Unlock()
	f.unpack.Do(func() { f.content = unpacked(packed) })
	return f.content, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if f.readers--; f.readers == 0 {
			delete(p.files, name)
		}
	}
}

// unpacked is a file as it is; of one that can't be read, as far as it can: a test has read
// them all.
func unpacked(packed []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	b, _ := io.ReadAll(z)
	return b
}
