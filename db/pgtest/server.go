package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"mailer/db/dbtest"
)

const (
	startTime = time.Minute
	attempts  = 3 // to start: another process may take the free port first
)

// programs returns the directory of the programs of the newest PostgreSQL; empty: there is none.
func programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	newest, version := "", 0.0
	for _, path := range found {
		dir := filepath.Dir(path)
		if v, err := strconv.ParseFloat(filepath.Base(filepath.Dir(dir)), 64); err == nil && v > version {
			newest, version = dir, v
		}
	}
	return newest
}

// supervise is a shell script that runs as a child of the process. When the process ends, the
// standard input of the script closes, and the script kills the server and removes its directory.
// Commits are synchronous, because the store refuses a server where they are not; without fsync
// they cost nothing.
const supervise = `"$1/postgres" -D "$2/data" -h 127.0.0.1 -p "$3" -k "$2" -c fsync=off -c full_page_writes=off \
	-c synchronous_commit=on -c max_connections=300 -c shared_buffers=128MB -c max_wal_size=4GB -c checkpoint_timeout=1h \
	-c wal_level=minimal -c max_wal_senders=0 -c autovacuum=off </dev/null &
server=$!
cat >/dev/null
kill -QUIT $server
wait $server
rm -rf "$2"`

// server is a running server.
type server struct {
	dsn   string    // of its superuser
	stdin io.Closer // of the script; kept so that the garbage collector does not close it
	wait  func() error
}

// RunShared runs a command whose test processes share one server, which ends with the command. It
// returns the errors of the server and of the command.
func RunShared(command *exec.Cmd) error {
	if programs() == "" {
		return errors.New("there is no PostgreSQL: apt-get install postgresql")
	}
	s, err := start()
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	command.Env = append(command.Environ(), serverVar+"="+s.dsn, sharedVar+"=yes")
	return errors.Join(command.Run(), s.stdin.Close(), s.wait())
}

func start() (*server, error) {
	var errs []error
	for range attempts {
		s, err := startOnce()
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func startOnce() (*server, error) {
	cred, dir, err := serverDir()
	if err != nil {
		return nil, err
	}
	if err := makeCluster(cred, dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return run(cred, dir)
}

func makeCluster(cred *syscall.Credential, dir string) error {
	initdb := exec.Command(filepath.Join(programs(), "initdb"), "-D", filepath.Join(dir, "data"),
		"-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initdb.Dir, initdb.SysProcAttr = dir, &syscall.SysProcAttr{Credential: cred}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

func run(cred *syscall.Credential, dir string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	shell := exec.Command("/bin/sh", "-c", supervise, "sh", programs(), dir, port)
	shell.Dir, shell.Stdout, shell.Stderr = "/", log, log
	shell.SysProcAttr = &syscall.SysProcAttr{Credential: cred, Setpgid: true} // it must not receive an interrupt of the terminal
	held, err := shell.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := shell.Start(); err != nil {
		return nil, err
	}
	dsn := "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable&connect_timeout=60" // a busy machine may need more than the default
	if err := waitReady(dsn, filepath.Join(dir, "data")); err != nil {
		said, _ := os.ReadFile(log.Name())
		return nil, errors.Join(fmt.Errorf("no answer: %w: %s", err, said), held.Close(), shell.Wait())
	}
	return &server{dsn, held, shell.Wait}, nil
}

// serverDir creates the directory of a server, in memory if dbtest.Root is, and returns the user
// for the server, which refuses to run as root.
func serverDir() (*syscall.Credential, string, error) {
	dir, err := os.MkdirTemp(dbtest.Root(), "mailer-postgres-")
	if err != nil || os.Getuid() != 0 {
		return nil, dir, err
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, "", err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, "", err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, "", err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, dir, os.Chown(dir, int(uid), int(gid))
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// waitReady waits until the server with the data directory accepts connections of its superuser.
func waitReady(dsn, data string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	for {
		err := checkReady(ctx, dsn, data)
		if err == nil || errors.Is(err, errOtherServer) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

var errOtherServer = errors.New("another server has the port")

func checkReady(ctx context.Context, dsn, data string) error {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	var found string
	if err := c.QueryRow(ctx, `SHOW data_directory`).Scan(&found); err != nil {
		return err
	}
	if found != data {
		return errOtherServer
	}
	return nil
}
