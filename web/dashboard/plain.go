package dashboard

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"
)

// plainFiles are the uncompressed files that clients without gzip are reading. All readers of a
// file share a copy, which is dropped after the last one: slow clients hold the size of all files
// at most.
type plainFiles struct {
	mu    sync.Mutex
	files map[string]*plainFile
}

type plainFile struct {
	unpack  sync.Once
	content []byte
	readers int // guarded by the mutex of plainFiles
}

// open returns the uncompressed file. The caller calls done after reading it.
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

// unpacked decompresses a file; of a damaged file it returns the readable part. A test reads all
// files.
func unpacked(packed []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	b, _ := io.ReadAll(z)
	return b
}
