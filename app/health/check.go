package health

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mailer/app"
	"mailer/app/clock"
	"mailer/app/service"
	"mailer/db"
)

// Check is what one check came to.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Fix   string `json:"fix"` // empty: nothing is to be done
}

func good(name, found string, args ...any) Check {
	return Check{Name: name, OK: true, Found: fmt.Sprintf(found, args...)}
}

func bad(name, found, fix string) Check { return Check{Name: name, Found: found, Fix: fix} }

// AllOK reports whether every check went well.
func AllOK(checks []Check) bool {
	for _, c := range checks {
		if !c.OK {
			return false
		}
	}
	return true
}

// Place is where a database is, and how it was named on the command line.
type Place struct {
	Database, KeyFile string
	Running           bool // a server holds the database
	Here              bool // this process is that server
	TLS               db.RemoteTLS
	// PasswordShown: the password of the database stands on the command line of this
	// process, where whoever lists processes reads it.
	PasswordShown bool
}

// The least that a machine should have.
const (
	minDiskFree    = 1 << 30 // bytes
	minDescriptors = 2300    // 2,048 connections, and what the server itself has open
	clockPatience  = 10 * time.Second
)

// Machine looks at what a server needs of its machine: files and their modes, disk, open
// files, clock. opening is why the database could not be opened; nil: it could.
func Machine(p Place, opening error) []Check {
	checks := []Check{checkDatabase(p, opening)}
	if _, err := os.Stat(p.KeyFile); err == nil {
		checks = append(checks, checkMode("master key", p.KeyFile))
	} else if opening == nil {
		checks = append(checks, bad("master key", fmt.Sprintf("%s can't be read: %v", p.KeyFile, err), "put the file back from where you keep it, or name it with --master-key-file"))
	}
	if _, err := os.Stat(p.Database); err == nil {
		checks = append(checks, checkMode("database file", p.Database))
	}
	checks = append(checks, checkWay(p)...)
	return append(checks, checkFolder(p.Database), checkDisk(p.Database), checkDescriptors(p.Database, p.Running), judgeClock(clock.Ahead(), synchronised()))
}

func checkDatabase(p Place, opening error) Check {
	const name = "database"
	switch {
	case errors.Is(opening, db.ErrNotFound):
		return bad(name, opening.Error(), "start mailer serve, or run mailer migrate, to create it")
	case Damaged(opening) && !db.IsRemote(p.Database):
		return bad(name, damageIn(p.Database, opening), damageFix(p.Database))
	case opening != nil:
		return bad(name, opening.Error(), "fix this problem, then run mailer doctor again")
	case p.Running:
		return good(name, "%s; a server is running", db.Name(p.Database))
	}
	return good(name, "%s; no server is running", db.Name(p.Database))
}

// checkWay looks how a database elsewhere is reached: whether others on the network could
// read along or be the server, and whether its password can be read on this machine.
func checkWay(p Place) (checks []Check) {
	const way, password = "database TLS", "database password"
	switch {
	case p.TLS.Weak:
		checks = append(checks, bad(way, fmt.Sprintf("%s is reached with sslmode=%s: others on the network can read the traffic or impersonate the server", p.TLS.Host, p.TLS.Mode),
			"remove sslmode from the URL, or use sslmode=verify-full, with sslrootcert=FILE for your own certificate authority"))
	case p.TLS.Host != "":
		checks = append(checks, good(way, "%s is reached with verified TLS (sslmode=%s)", p.TLS.Host, p.TLS.Mode))
	}
	if p.PasswordShown {
		checks = append(checks, bad(password, "the password is on the command line and can be read in the process list", "write the URL to a file that only its owner can read, and set MAILER_DB_FILE=FILE instead of --db"))
	}
	return checks
}

// checkMode looks whether others than the owner reach a file that holds mail or keys.
func checkMode(name, path string) Check {
	mode, err := db.OpenToOthers(path)
	switch {
	case err != nil:
		return bad(name, err.Error(), "ls -l "+path)
	case mode != 0:
		return bad(name, fmt.Sprintf("%s has mode %04o: other users can read it", path, mode), "chmod 600 "+path)
	}
	return good(name, "%s: readable by its owner only", path)
}

// checkFolder looks whether files can be made beside the database, as SQLite must.
func checkFolder(database string) Check {
	const name = "folder"
	dir := folderOf(database)
	if err := syscall.Access(dir, 0x2|0x1); err != nil { // W_OK and X_OK
		return bad(name, fmt.Sprintf("can't create files in %s: %v", dir, err), "chown the directory to the user that runs mailer serve, or run this command as that user")
	}
	return good(name, "working directory %s is writable", dir)
}

// folderOf is the folder that the files of a database are in.
func folderOf(database string) string {
	database = db.Beside(database)
	if real, err := filepath.EvalSymlinks(database); err == nil {
		database = real
	}
	return filepath.Dir(database)
}

func checkDisk(database string) Check {
	free, err := db.DiskFree(folderOf(database))
	if err != nil {
		return bad("disk", err.Error(), "df "+folderOf(database))
	}
	return judgeDisk(database, free)
}

func judgeDisk(database string, free int64) Check {
	const name = "disk"
	if free < minDiskFree {
		return bad(name, fmt.Sprintf("%s free on the disk of %s; below %s, new mail may soon be rejected", service.Size(free), db.Beside(database), service.Size(minDiskFree)),
			"free disk space: mailer disk shows what uses it; --keep-content and --keep-emails delete old mail; or use a larger disk")
	}
	return good(name, "%s free", service.Size(free))
}

func checkDescriptors(database string, running bool) Check {
	if running {
		if pid := db.Holder(database); pid != 0 && limitOf(pid) != 0 {
			return judgeDescriptors(fmt.Sprintf("the server (process %d)", pid), limitOf(pid))
		}
	}
	var own syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own); err != nil {
		return bad("open files", fmt.Sprintf("the limit is not known: %v", err), "ulimit -n")
	}
	return judgeDescriptors("a server started from this shell", own.Max)
}

func judgeDescriptors(whose string, limit uint64) Check {
	const name = "open files"
	if limit < minDescriptors {
		return bad(name, fmt.Sprintf("%s can open %d files and connections, but needs %d for 2,048 connections", whose, limit, minDescriptors),
			"systemd: LimitNOFILE=65536 in the unit; shell: ulimit -n 65536; then restart the server")
	}
	return good(name, "%s can open %d", whose, limit)
}

// judgeClock is about this machine's clock, which may be ahead of the one that all servers go
// by; kept: the system says that it keeps it right.
func judgeClock(ahead time.Duration, kept bool) Check {
	const name, mend = "clock", "timedatectl set-ntp true"
	off := ahead.Abs().Round(time.Second).String() + " ahead of"
	if ahead < 0 {
		off = ahead.Abs().Round(time.Second).String() + " behind"
	}
	now := app.FormatTime(clock.Now())
	switch {
	case ahead.Abs() > clockPatience:
		return bad(name, fmt.Sprintf("this server's clock is %s the database's clock, which says %s: all servers use the database's clock, but certificates are checked with this server's clock", off, now), mend+" here; or at the database, if that one is wrong")
	case ahead.Abs() > clock.Tolerance:
		now += " on the database, whose clock all servers use; this server's clock is " + off + " it"
	}
	if kept {
		return good(name, "%s, synchronised", now)
	}
	return good(name, "%s; no time synchronisation detected: %s", now, mend)
}
