package apptest

import (
	"archive/zip"
	"bytes"
	"testing"
)

// Zip returns an archive with members, given as alternating names and texts.
func Zip(t testing.TB, members ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.Create(members[i])
		if err == nil {
			_, err = w.Write([]byte(members[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
