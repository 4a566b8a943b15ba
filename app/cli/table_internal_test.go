package cli

import (
	"strings"
	"testing"

	"mailer/app/operate/health"
)

func TestTerminalOutputDropsBidiControls(t *testing.T) {
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

func TestCheckFindingsHaveOwnLine(t *testing.T) {
	var out strings.Builder
	damage := strings.Repeat("Page 7 is never used; ", 99) + "Page 7 is never used"
	if err := printFindings(&out, []health.Check{{Name: "pages and indexes", Found: damage, Fix: "restore a backup"}, {Name: "emails", OK: true, Found: "sound"}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 102 {
		t.Errorf("%d lines:\n%s", len(lines), out.String())
	}
	for _, line := range lines {
		if len(line) > 80 {
			t.Errorf("a line of %d bytes: %q", len(line), line)
		}
	}
}
