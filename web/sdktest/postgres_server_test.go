package sdktest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// postgres is a PostgreSQL of a test's own, which it may kill: with fsync, in a folder of
// its own. It refuses to be root.
type postgres struct {
	bin, dir, addr string
	who            *syscall.Credential // nil: whoever runs the tests
	cmd            *exec.Cmd
	done           chan struct{} // closed once the process has ended
}

// newPostgres starts an empty server.
func newPostgres(t *testing.T) *postgres {
	t.Helper()
	pg := placePostgres(t)
	pg.tool(t, "initdb", "-D", pg.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	pg.start(t)
	return pg
}

// placePostgres makes the folder of one, for which the machine must have the programs.
func placePostgres(t *testing.T) *postgres {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	need(t, len(found) > 0, "PostgreSQL (apt-get install postgresql)")
	dir, err := os.MkdirTemp("", "sdktest-postgres-") // t.TempDir is in a folder that only root enters
	must(t, err)
	pg := &postgres{bin: filepath.Dir(found[len(found)-1]), dir: dir, addr: freeAddr(t)}
	t.Cleanup(func() {
		pg.kill(t)
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("PostgreSQL's log (end):\n%s", tail(log, 3000))
		}
		must(t, os.RemoveAll(dir))
	})
	if os.Getuid() != 0 {
		return pg
	}
	u, err := user.Lookup("postgres")
	must(t, err)
	uid, err := strconv.Atoi(u.Uid)
	must(t, err)
	gid, err := strconv.Atoi(u.Gid)
	must(t, err)
	must(t, os.Chown(dir, uid, gid))
	pg.who = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return pg
}

func (pg *postgres) data() string { return filepath.Join(pg.dir, "data") }

func (pg *postgres) port() string {
	_, port, _ := net.SplitHostPort(pg.addr)
	return port
}

// urlOf returns a database's URL, with addresses that are tried in turn.
func urlOf(database string, addrs ...string) string {
	return "postgres://postgres@" + strings.Join(addrs, ",") + "/" + database + "?sslmode=disable&target_session_attrs=read-write"
}

func (pg *postgres) program(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(pg.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = pg.dir, endWithParent()
	cmd.SysProcAttr.Credential = pg.who
	return cmd
}

// tool runs one of PostgreSQL's programs to its end.
func (pg *postgres) tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := pg.program(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// ask runs a statement, and returns its rows.
func (pg *postgres) ask(t *testing.T, database, text string) string {
	t.Helper()
	return pg.tool(t, "psql", "-X", "-h", "127.0.0.1", "-p", pg.port(), "-U", "postgres", "-d", database, "-At", "-v", "ON_ERROR_STOP=1", "-c", text)
}

// database makes an empty database in which texts are ordered by their bytes.
func (pg *postgres) database(t *testing.T, name string) {
	t.Helper()
	pg.ask(t, "postgres", "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'")
}

// start starts it and waits until it answers.
func (pg *postgres) start(t *testing.T) {
	t.Helper()
	pg.launch(t)
	eventually(t, startTimeout, "PostgreSQL answers", func() (bool, string) {
		if pg.ended() { // shared memory of a killed server may remain
			pg.launch(t)
		}
		out, err := pg.program("pg_isready", "-h", "127.0.0.1", "-p", pg.port()).CombinedOutput()
		return err == nil, string(out)
	})
}

func (pg *postgres) launch(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(pg.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	defer log.Close()
	cmd := pg.program("postgres", "-D", pg.data(), "-h", "127.0.0.1", "-p", pg.port(), "-k", pg.dir, "-c", "fsync=on", "-c", "max_connections=100", "-c", "shared_buffers=32MB", "-c", "max_wal_senders=4")
	cmd.Stdout, cmd.Stderr = log, log
	must(t, cmd.Start())
	pg.cmd, pg.done = cmd, make(chan struct{})
	go func(done chan struct{}) {
		_ = cmd.Wait() // it is killed
		close(done)
	}(pg.done)
}

func (pg *postgres) ended() bool {
	select {
	case <-pg.done:
		return true
	default:
		return false
	}
}

// kill kills the server and all its processes, by their ids. It is stopped first, so that it starts
// no more.
func (pg *postgres) kill(t *testing.T) {
	t.Helper()
	if pg.cmd == nil {
		return
	}
	if !pg.ended() {
		pg.signal(t, syscall.SIGSTOP)
	}
	family := append(childrenOf(pg.cmd.Process.Pid), pg.cmd.Process.Pid)
	for _, pid := range family {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have exited already
	}
	<-pg.done
	pg.cmd = nil
}

func (pg *postgres) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	must(t, pg.cmd.Process.Signal(sig))
}

// childrenOf are the processes that a process started and that still run.
func childrenOf(parent int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		var pid, of int
		var state string
		_, _ = fmt.Sscan(string(b), &pid)
		if _, err := fmt.Sscan(string(b[bytes.LastIndexByte(b, ')')+1:]), &state, &of); err == nil && of == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// follower is a copy of pg that keeps up with it: no commit is answered there before it has
// it too.
func (pg *postgres) follower(t *testing.T) *postgres {
	t.Helper()
	f := placePostgres(t)
	f.tool(t, "pg_basebackup", "-h", "127.0.0.1", "-p", pg.port(), "-U", "postgres", "-D", f.data(), "-R", "-X", "stream", "--checkpoint=fast")
	pg.synchronous(t, "")
	f.start(t)
	pg.synchronous(t, "*")
	eventually(t, startTimeout, "the standby of PostgreSQL is synchronous", func() (bool, string) {
		state := pg.ask(t, "postgres", "SELECT sync_state FROM pg_stat_replication")
		return state == "sync", state
	})
	return f
}

// synchronous says which standbys a commit waits for.
func (pg *postgres) synchronous(t *testing.T, names string) {
	t.Helper()
	pg.ask(t, "postgres", "ALTER SYSTEM SET synchronous_standby_names = '"+names+"'")
	pg.ask(t, "postgres", "SELECT pg_reload_conf()")
}

// promote makes a follower the primary.
func (pg *postgres) promote(t *testing.T) {
	t.Helper()
	began := time.Now()
	if said := pg.ask(t, "postgres", "SELECT pg_promote()"); said != "t" {
		t.Fatalf("promote: %s", said)
	}
	t.Logf("promoted in %v", time.Since(began).Round(time.Millisecond))
}
