package cli

import (
	"strings"
	"testing"
)

func TestNothingThatTurnsALineAroundReachesATerminal(t *testing.T) {
	var b strings.Builder
	table := Table{Head: []string{"NAME", "STATE"}, Rows: []Row{{Cells: []string{"Team\u202eB\x1b[2J\u2028", "ok"}}, {Cells: []string{"\u2066x\u2069\u200f\u200b", "ok"}}}}
	if err := table.write(&b, false); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "NAME         STATE\nTeam\ufffdB [2J   ok\n\ufffdx\ufffd\ufffd\ufffd        ok\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := printableLines("removed Team\u202eB\nnext\r"); got != "removed Team\ufffdB\nnext " {
		t.Errorf("%q", got)
	}
}
