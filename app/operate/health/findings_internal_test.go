package health

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFindingKeepsDotOfPath: only the final dot of a sentence is cut, since another sentence
// follows.
func TestFindingKeepsDotOfPath(t *testing.T) {
	c := bad("folder", "folder_closed", "", "folder", ".", "error", "this user may not write there.")
	if c.Found != "No files can be created in .: this user may not write there." || c.Finding.Command != "ls -ld ." {
		t.Errorf("%q, %q", c.Found, c.Finding.Command)
	}
}

// TestStoppedServerCommand: the command works without systemd too.
func TestStoppedServerCommand(t *testing.T) {
	p := Target{Database: "mail/a b.db"}
	if got := checkStopped(p, nil).Finding.Command; got != "mailer serve --db 'mail/a b.db'" {
		t.Error(got)
	}
	unit := filepath.Join(t.TempDir(), "mailer.service")
	if err := os.WriteFile(unit, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := checkStopped(p, []string{"/none", unit}).Finding.Command; got != "systemctl start mailer" {
		t.Error(got)
	}
}
