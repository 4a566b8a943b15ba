package bench

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// postgres is a PostgreSQL of the benchmark's own, made by initdb and left as that
// makes it: every commit is on the disk before its answer. One of the system is
// never touched.
type postgres struct {
	*programs  // of the peer whose database it is
	bin        string
	host, port string
}

// postgresPrograms is the folder with all programs of the newest PostgreSQL of
// Debian's, or of the one that the path leads to.
func postgresPrograms() (string, error) {
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is well-formed
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4]) // another name is older than all
		return n
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	if path, err := exec.LookPath("postgres"); err == nil {
		all = append(all, path)
	}
	for _, path := range all {
		dir := filepath.Dir(path)
		_, makes := exec.LookPath(dir + "/initdb")
		_, asks := exec.LookPath(dir + "/psql")
		if makes == nil && asks == nil {
			return dir, nil
		}
	}
	return "", errors.New("missing: Debian package postgresql")
}

// startPostgres starts a PostgreSQL on an empty database, as a part of c.
func startPostgres(c *programs) *postgres {
	c.tb.Helper()
	bin, err := postgresPrograms()
	must(c.tb, err)
	p := &postgres{programs: c, bin: bin}
	p.host, p.port, err = net.SplitHostPort(freeAddr(c.tb))
	must(c.tb, err)
	data := filepath.Join(c.dir, "postgres")
	must(c.tb, os.Mkdir(data, 0o700))
	attributes := databaseUser(c.tb, data)
	initdb := c.add(nil, bin+"/initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8")
	initdb.SysProcAttr = attributes
	c.run(initdb)
	serve := c.add(nil, bin+"/postgres", "-D", data, "-p", p.port, "-c", "listen_addresses="+p.host, "-c", "unix_socket_directories=")
	serve.SysProcAttr = attributes
	c.launch(serve)
	c.await("PostgreSQL answers", func() error {
		_, err := p.query("SELECT 1")
		return err
	})
	return p
}

// databaseUser has data belong to who runs PostgreSQL: it refuses root, for whom
// Debian has a user. Anybody else runs it as who they are.
func databaseUser(tb testing.TB, data string) *syscall.SysProcAttr {
	tb.Helper()
	if os.Geteuid() != 0 {
		return &syscall.SysProcAttr{}
	}
	owner, err := user.Lookup("postgres")
	must(tb, err)
	uid, err := strconv.ParseUint(owner.Uid, 10, 32)
	must(tb, err)
	gid, err := strconv.ParseUint(owner.Gid, 10, 32)
	must(tb, err)
	must(tb, os.Chown(data, int(uid), int(gid)))
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

// query runs a statement and returns what psql prints: rows, and what was done.
func (p *postgres) query(statement string) (string, error) {
	return query(p.bin, p.host, p.port, statement)
}

func query(bin, host, port, statement string) (string, error) {
	out, err := exec.Command(bin+"/psql", "-X", "-A", "-t", "-h", host, "-p", port, "-U", "postgres", "-d", "postgres", "-c", statement).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
