package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// TestADatabaseOfAnotherUserNamesHim: SQLite's own words name neither the file nor what helps.
func TestADatabaseOfAnotherUserNamesHim(t *testing.T) {
	err := notWritable("mail.db", fmt.Errorf("open lock file: %w", fs.ErrPermission))
	if err == nil || !strings.HasPrefix(err.Error(), "this user can't write mail.db or its folder: run the command as the user that runs mailer serve") || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
	other := errors.New("disk I/O error")
	if got := notWritable("mail.db", other); got != other {
		t.Errorf("%v", got)
	}
}
