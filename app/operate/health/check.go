package health

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
	"mailer/db/engine"
)

// Check is what one check came to.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Fix   string `json:"fix"` // empty: nothing is to be done
	// Finding is what is not well; nil: nothing.
	Finding *Finding `json:"finding,omitzero"`
	// Settled is when what it says was found out, where that is not now.
	Settled time.Time `json:"settled,omitzero"`
}

func good(name, found string, args ...any) Check {
	return Check{Name: name, OK: true, Found: fmt.Sprintf(found, args...)}
}

// AllOK reports whether every check went well.
func AllOK(checks []Check) bool {
	for _, c := range checks {
		if !c.OK {
			return false
		}
	}
	return true
}

// Target is where a database is, and how it was named on the command line.
type Target struct {
	Database, KeyFile string
	Running           bool // a server holds the database
	ThisProcess       bool // this process is that server
	TLS               engine.RemoteTLS
	// PasswordVisible: the password of the database stands on the command line of this
	// process, where whoever lists processes reads it.
	PasswordVisible bool
}

// The least that a machine should have.
const (
	minDiskFree    = 1 << 30 // bytes
	minDescriptors = 2300    // 2,048 connections, and what the server itself has open
	clockPatience  = 10 * time.Second
)

// Machine looks at what a server needs of its machine: files and their modes, disk, open
// files, clock. opening is why the database could not be opened; nil: it could.
func Machine(p Target, opening error) []Check {
	checks := []Check{checkDatabase(p, opening)}
	if _, err := os.Stat(p.KeyFile); err == nil {
		checks = append(checks, checkMode("master key", p.KeyFile))
	} else if opening == nil {
		checks = append(checks, bad("master key", "master_key_missing", "", "file", p.KeyFile, "error", err.Error()))
	}
	if _, err := os.Stat(p.Database); err == nil {
		checks = append(checks, checkMode("database file", p.Database))
	}
	checks = append(checks, checkRemote(p)...)
	return named(p, append(checks, checkFolder(p.Database), checkDisk(p.Database), checkDescriptors(p.Database, p.Running), judgeClock(clock.Ahead(), synchronised())))
}

func checkDatabase(p Target, opening error) Check {
	const name = "database"
	switch {
	case errors.Is(opening, db.ErrNotFound):
		return bad(name, "database_missing", "", "error", opening.Error())
	case Damaged(opening) && !engine.IsRemote(p.Database):
		return bad(name, "database_damaged", "", "database", p.Database, "what", damageOf(opening))
	case engine.IsReadOnly(opening), errors.Is(opening, fs.ErrPermission):
		return bad(name, "database_unwritable", "", "database", p.Database, "error", opening.Error())
	case opening != nil:
		return bad(name, "database_unopened", "", "error", opening.Error())
	case p.Running:
		return good(name, "%s; a server is running", engine.Name(p.Database))
	}
	return good(name, "%s; no server is running", engine.Name(p.Database))
}

// checkRemote looks how a database elsewhere is reached: whether others on the network could
// read along or be the server, and whether its password can be read on this machine.
func checkRemote(p Target) (checks []Check) {
	const way, password = "database TLS", "database password"
	switch {
	case p.TLS.Weak:
		checks = append(checks, bad(way, "database_tls", "", "host", p.TLS.Host, "mode", p.TLS.Mode))
	case p.TLS.Host != "":
		checks = append(checks, good(way, "%s is reached with verified TLS (sslmode=%s)", p.TLS.Host, p.TLS.Mode))
	}
	if p.PasswordVisible {
		checks = append(checks, bad(password, "database_password", ""))
	}
	return checks
}

// checkMode looks whether others than the owner reach a file that holds mail or keys.
func checkMode(name, path string) Check {
	mode, err := engine.OpenToOthers(path)
	switch {
	case err != nil:
		return bad(name, "check_failed", path, "check", path, "error", err.Error())
	case mode != 0:
		return bad(name, "file_open", path, "file", path, "mode", fmt.Sprintf("%04o", mode))
	}
	return good(name, "%s: readable by its owner only", path)
}

// checkFolder looks whether files can be made beside the database, as SQLite must.
func checkFolder(database string) Check {
	const name = "folder"
	dir := folderOf(database)
	if err := syscall.Access(dir, 0x2|0x1); err != nil { // W_OK and X_OK
		return bad(name, "folder_closed", "", "folder", dir, "error", err.Error())
	}
	return good(name, "working directory %s is writable", dir)
}

// folderOf is the folder that the files of a database are in.
func folderOf(database string) string {
	database = engine.FilePrefix(database)
	if real, err := filepath.EvalSymlinks(database); err == nil {
		database = real
	}
	return filepath.Dir(database)
}

func checkDisk(database string) Check {
	free, err := engine.DiskFree(folderOf(database))
	if err != nil {
		return bad("disk", "check_failed", "disk", "check", "disk", "error", err.Error())
	}
	return judgeDisk(database, free)
}

func judgeDisk(database string, free int64) Check {
	const name = "disk"
	if free < minDiskFree {
		return bad(name, "disk_low", "", "free", base.FormatBytes(free), "database", engine.FilePrefix(database), "least", base.FormatBytes(minDiskFree))
	}
	return good(name, "%s free", base.FormatBytes(free))
}

func checkDescriptors(database string, running bool) Check {
	if running {
		if pid := engine.Holder(database); pid != 0 && limitOf(pid) != 0 {
			return judgeDescriptors(fmt.Sprintf("the server (process %d)", pid), limitOf(pid))
		}
	}
	var own syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own); err != nil {
		return bad("open files", "check_failed", "open files", "check", "open files", "error", err.Error())
	}
	return judgeDescriptors("a server started from this shell", own.Max)
}

func judgeDescriptors(whose string, limit uint64) Check {
	const name = "open files"
	if limit < minDescriptors {
		return bad(name, "open_files", "", "limit", strconv.FormatUint(limit, 10), "needed", strconv.Itoa(minDescriptors))
	}
	return good(name, "%s can open %d", whose, limit)
}

// judgeClock is about this machine's clock, which may be ahead of the one that all servers go
// by; kept: the system says that it keeps it right.
func judgeClock(ahead time.Duration, kept bool) Check {
	const name, mend = "clock", "timedatectl set-ntp true"
	span := ahead.Abs().Round(time.Second).String()
	off, sign := span+" ahead of", "+"
	if ahead < 0 {
		off, sign = span+" behind", "-"
	}
	now := app.FormatTime(clock.Now())
	switch {
	case ahead.Abs() > clockPatience:
		return bad(name, "clock_off", "", "off", sign+span)
	case ahead.Abs() > clock.Tolerance:
		now += " on the database, whose clock all servers use; this server's clock is " + off + " it"
	}
	if kept {
		return good(name, "%s, synchronised", now)
	}
	return good(name, "%s; no time synchronisation detected: %s", now, mend)
}
