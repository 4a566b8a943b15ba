package health

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/platform"
	"mailer/db"
	"mailer/db/engine"
)

// Check is the result of one check.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Fix   string `json:"fix"` // empty: nothing to do
	// Finding is the problem; nil: none.
	Finding *Finding `json:"finding,omitzero"`
	// Settled is when the result was determined, if not now.
	Settled time.Time `json:"settled,omitzero"`
}

func good(name, found string, args ...any) Check {
	return Check{Name: name, OK: true, Found: fmt.Sprintf(found, args...)}
}

// AllOK reports whether all checks succeeded.
func AllOK(checks []Check) bool {
	for _, c := range checks {
		if !c.OK {
			return false
		}
	}
	return true
}

// Target is the checked database and how it was named on the command line.
type Target struct {
	Database, KeyFile string
	Running           bool // a server has the database open
	ThisProcess       bool // this process is the server
	TLS               engine.RemoteTLS
	// PasswordVisible: the database password is on the command line of this process, where other
	// users can see it.
	PasswordVisible bool
}

// Minimum resources of a machine.
const (
	minDiskFree    = 1 << 30 // bytes
	minDescriptors = 2300    // 2,048 connections plus the server's own files
	clockPatience  = 10 * time.Second
)

// Machine checks the resources that a server needs: files and their modes, disk, open files,
// clock. opening is the error of opening the database; nil: none.
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

// checkRemote checks the connection to a PostgreSQL server: whether others on the network could
// read it or impersonate the server, and whether its password is visible on this machine.
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

// checkMode checks whether other users can access a file with mail or keys.
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

// checkFolder checks whether files can be created in the database's directory, as SQLite needs.
func checkFolder(database string) Check {
	const name = "folder"
	dir := folderOf(database)
	if err := platform.CheckWritable(dir); err != nil {
		return bad(name, "folder_closed", "", "folder", dir, "error", err.Error())
	}
	return good(name, "working directory %s is writable", dir)
}

// folderOf returns the directory of a database.
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
	limit, err := platform.MaxOpenFiles()
	if err != nil {
		return bad("open files", "check_failed", "open files", "check", "open files", "error", err.Error())
	}
	return judgeDescriptors("a server started from this shell", limit)
}

func judgeDescriptors(whose string, limit uint64) Check {
	const name = "open files"
	if limit < minDescriptors {
		return bad(name, "open_files", "", "limit", strconv.FormatUint(limit, 10), "needed", strconv.Itoa(minDescriptors))
	}
	return good(name, "%s can open %d", whose, limit)
}

// judgeClock checks how far this machine's clock is ahead of the clock of all servers. kept: the
// system synchronises its clock.
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
