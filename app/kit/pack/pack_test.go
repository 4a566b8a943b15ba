package pack_test

import (
	"slices"
	"testing"

	"mailer/app/kit/pack"
	"mailer/app/testing/apptest"
)

// TestEach: names and contents are returned in order until the callback stops.
func TestEach(t *testing.T) {
	files := []apptest.File{{Name: "a.js", Content: []byte("let a;")}, {Name: "empty", Content: nil}, {Name: "ui/b.css", Content: make([]byte, 100_000)}}
	packed := apptest.Pack(t, files)
	var got []string
	if err := pack.Each(packed, func(name string, content []byte) bool {
		i := slices.IndexFunc(files, func(f apptest.File) bool { return f.Name == name })
		if i < 0 || string(files[i].Content) != string(content) {
			t.Errorf("%s has %d bytes", name, len(content))
		}
		got = append(got, name)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []string{"a.js", "empty", "ui/b.css"}) {
		t.Errorf("files %q", got)
	}
	n := 0
	if err := pack.Each(packed, func(string, []byte) bool { n++; return false }); err != nil || n != 1 {
		t.Errorf("%d files: %v", n, err)
	}
}

// TestDamagedPackIsAnError: a truncated or invalid pack is an error, and a wrong length allocates
// no memory.
func TestDamagedPackIsAnError(t *testing.T) {
	whole := apptest.Pack(t, []apptest.File{{Name: "a", Content: []byte("text")}})
	for name, packed := range map[string][]byte{"nothing": nil, "no gzip": []byte("text"), "cut off": whole[:len(whole)-10]} {
		if err := pack.Each(packed, func(string, []byte) bool { return true }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	corrupt := apptest.Pack(t, nil)
	if err := pack.Each(corrupt, func(string, []byte) bool { return true }); err != nil {
		t.Errorf("an empty pack: %v", err)
	}
}
