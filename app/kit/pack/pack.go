// Package pack reads many files that are embedded in a binary as one gzip stream: compressed
// together they need a quarter of the space. It has no dependencies within the module.
package pack

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
)

// Each calls see for each file of a pack in order until it returns false. A pack is a gzip stream
// (RFC 1952) of the name and the content of each file, each preceded by its length in bytes as a
// 4-byte big-endian number. Errors: the pack is damaged.
func Each(packed []byte, see func(name string, content []byte) bool) error {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("open a pack: %w", err)
	}
	for {
		name, err := next(z)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a name of a pack: %w", err)
		}
		content, err := next(z)
		if err != nil {
			return fmt.Errorf("read %s of a pack: %w", name, err)
		}
		if !see(string(name), content) {
			return nil
		}
	}
}

// next reads a length and the bytes after it. It returns io.EOF at the end.
func next(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	var b bytes.Buffer // grows with the data, not with a wrong length
	if _, err := io.CopyN(&b, r, int64(binary.BigEndian.Uint32(length[:]))); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return b.Bytes(), nil
}
