package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInvalidPeerPathNamesVariable(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	must(t, os.WriteFile(text, nil, 0o644))
	for _, path := range []string{filepath.Join(dir, "missing"), text, dir, "maddy"} {
		t.Setenv(maddyVariable, path)
		_, err := programFrom(maddyVariable)
		if err == nil || !strings.HasPrefix(err.Error(), maddyVariable+"="+path+" is no ") {
			t.Errorf("%s: %v", path, err)
		}
	}
	t.Setenv(maddyVariable, "")
	if path, err := programFrom(maddyVariable); path != "" || err != nil {
		t.Errorf("not set: %q, %v", path, err)
	}
}

// TestPeersAreEnabledByVariable: without its variable a peer is neither started nor in the table.
func TestPeersAreEnabledByVariable(t *testing.T) {
	for path, want := range map[string]struct{ contenders, pairs int }{"": {4, 2}, "/somewhere/maddy": {6, 4}} {
		t.Setenv(maddyVariable, path)
		r := newReport(&bytes.Buffer{})
		for _, who := range contenders() {
			r.outcome(who, outcome{})
		}
		if len(r.outcomes) != want.contenders || len(r.pairs()) != want.pairs {
			t.Errorf("%q: %d contenders, %d pairs", path, len(r.outcomes), len(r.pairs()))
		}
	}
}
