package health

import "testing"

// TestFindingKeepsDotOfPath: only the final dot of a sentence is cut, since another sentence
// follows.
func TestFindingKeepsDotOfPath(t *testing.T) {
	c := bad("folder", "folder_closed", "", "folder", ".", "error", "this user may not write there.")
	if c.Found != "No files can be created in .: this user may not write there." || c.Finding.Command != "ls -ld ." {
		t.Errorf("%q, %q", c.Found, c.Finding.Command)
	}
}
