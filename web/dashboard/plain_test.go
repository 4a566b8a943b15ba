package dashboard

import (
	"bytes"
	"testing"

	"mailer/web/rest"
)

// TestUncompressedCopyIsShared: however many read a file, and none is kept afterwards.
func TestUncompressedCopyIsShared(t *testing.T) {
	var p plainFiles
	want := bytes.Repeat([]byte("a module "), 50_000)
	packed := rest.Gzip(want)
	var ends []func()
	var first []byte
	for i := range 100 {
		got, done := p.open("a.js", packed)
		if i == 0 {
			first = got
		}
		if !bytes.Equal(got, want) || &got[0] != &first[0] {
			t.Fatalf("reader %d has a copy of its own of %d bytes", i, len(got))
		}
		ends = append(ends, done)
	}
	other, done := p.open("b.js", rest.Gzip([]byte("b")))
	if string(other) != "b" || len(p.files) != 2 {
		t.Errorf("%q, %d files are held", other, len(p.files))
	}
	done()
	for _, end := range ends {
		if len(p.files) != 1 {
			t.Fatalf("%d files are held while somebody reads one", len(p.files))
		}
		end()
	}
	if len(p.files) != 0 {
		t.Errorf("%d files are held and nobody reads them", len(p.files))
	}
}
