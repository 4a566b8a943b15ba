package apptest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"testing"
)

// File is a file of a pack.
type File struct {
	Name    string
	Content []byte
}

// Pack returns a pack for pack.Each.
func Pack(t *testing.T, files []File) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, b := range [][]byte{[]byte(f.Name), f.Content} {
			err := binary.Write(z, binary.BigEndian, uint32(len(b)))
			if err == nil {
				_, err = z.Write(b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
