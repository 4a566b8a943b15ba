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

// postgres is a PostgreSQL server made by initdb with default settings: every commit is on disk
// before its answer. The system's server is not used.
type postgres struct {
	*programs  // of the peer that uses the database
	bin        string
	host, port string
}

// postgresPrograms returns the directory with the programs of Debian's newest PostgreSQL, or of
// the one in the path.
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

// startPostgres starts a PostgreSQL server with an empty database, as one of the programs of a
// peer.
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

// databaseUser gives the data directory to the user of the server: PostgreSQL refuses root, for
// whom Debian has a user.
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

// query runs a statement and returns the output of psql.
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
