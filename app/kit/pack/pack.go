// Package pack reads many files that stand in a binary as one, in gzip: together they take
// a quarter of what they take apart. It knows nothing of ours.
package pack

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
)

// Each calls see for each file of a pack, in its order, until it returns false. A pack is,
// in gzip (RFC 1952), the name and the content of each file, with its length in bytes before
// each, in four bytes, the highest first. Errors: the pack is damaged.
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

// next is the bytes of a length that stands before them. Errors: io.EOF, there are no more.
func next(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	var b bytes.Buffer // a damaged length makes no buffer of it
	if _, err := io.CopyN(&b, r, int64(binary.BigEndian.Uint32(length[:]))); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return b.Bytes(), nil
}
