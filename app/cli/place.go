package cli

import (
	"errors"
	"fmt"

	"mailer/app/server"
)

// CheckKeyFile refuses to look for the master key beside a database that is elsewhere.
func (f *StoreFlags) CheckKeyFile() error {
	if server.OnlyFiles(f.DB) == nil || f.MasterKey != "" {
		return nil
	}
	return fmt.Errorf("--master-key-file must name the file of the master key: %s lies on another machine, and every server that works on it needs the same key", server.DatabaseName(f.DB))
}

// CheckPlace refuses what a server can't have of a database where it is.
func (f *StoreFlags) CheckPlace(standby bool, backupDir string) error {
	elsewhere := server.OnlyFiles(f.DB)
	switch {
	case elsewhere == nil && standby:
		return errors.New("--standby is of no use with a database in a file, which one machine has: name one of PostgreSQL with --db postgres://…")
	case elsewhere != nil && backupDir != "":
		return fmt.Errorf("--backup-dir: %w", elsewhere)
	}
	return f.CheckKeyFile()
}
