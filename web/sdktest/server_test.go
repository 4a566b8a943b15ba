package sdktest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = time.Minute
	stopTimeout  = 90 * time.Second // above the server's own --drain-timeout of 30 s
)

// instance is one database of the service and, while it runs, its server.
type instance struct {
	dir     string
	db      string
	addr    string
	url     string // where clients ask: the tap, or the server itself
	args    []string
	flags   []string                  // of the server and of all commands
	program string                    // the binary; empty: the one under test
	wrap    []string                  // a program and its arguments that run the server as their last ones
	extra   []*os.File                // inherited files, from descriptor 3 on
	begin   func(cmd *exec.Cmd) error // starts the process; nil: Start does

	tap    *tap // nil: nothing reads along
	report report

	cmd  *exec.Cmd
	done chan struct{} // closed once the process has ended
	err  error         // of Wait; valid after done
}

// start runs `mailer serve` with args on a new database and waits until it is ready. It is stopped
// when the test ends.
func start(t *testing.T, args ...string) *instance {
	t.Helper()
	in := newInstance(t, args...)
	in.tap = newTap(t, in.addr, in.report.saw, in.report.broke)
	in.url = in.tap.url()
	in.args = append(in.args, "--base-url", in.url)
	in.serve(t)
	in.watch(t)
	return in
}

// startBare is start without anything between the clients and the server: for
// tests that kill it, and that care for the bare connection.
func startBare(t *testing.T, args ...string) *instance {
	t.Helper()
	in := newInstance(t, args...)
	in.serve(t)
	return in
}

// newInstance prepares a directory, a port and the arguments, without starting
// anything. Without a relay among the arguments mail is captured.
func newInstance(t *testing.T, args ...string) *instance {
	t.Helper()
	if binary.err != nil {
		t.Fatalf("no binary to test: %v", binary.err)
	}
	dir := t.TempDir()
	addr := freeAddr(t)
	if !slices.Contains(args, "--relay") {
		args = append([]string{"--capture"}, args...)
	}
	in := &instance{dir: dir, db: filepath.Join(dir, "mailer.db"), addr: addr, url: "http://" + addr, args: args}
	t.Cleanup(func() {
		in.stop(t)
		in.endWatch(t)
		if t.Failed() {
			t.Logf("the server's log (end):\n%s", tail(in.log(t), 6000))
		}
	})
	return in
}

func (in *instance) logFile() string { return filepath.Join(in.dir, "serve.log") }

// log is everything that all servers of this instance wrote so far.
func (in *instance) log(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(in.logFile())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return b
}

// serve starts the server and waits for GET /readyz to answer 200.
func (in *instance) serve(t *testing.T) {
	t.Helper()
	in.launch(t)
	in.waitReady(t)
}

// launch starts the server, which may end whenever it likes.
func (in *instance) launch(t *testing.T) {
	t.Helper()
	logs, err := os.OpenFile(in.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	args := slices.Concat(in.wrap, []string{cmp.Or(in.program, binary.path), "serve", "--db", in.db, "--listen", in.addr}, in.flags, in.args)
	in.cmd = exec.Command(args[0], args[1:]...)
	in.cmd.Dir, in.cmd.Env = in.dir, cleanEnv(in.dir)
	in.cmd.Stdout, in.cmd.Stderr, in.cmd.ExtraFiles = logs, logs, in.extra
	in.cmd.SysProcAttr = endWithParent()
	begin := in.begin
	if begin == nil {
		begin = (*exec.Cmd).Start
	}
	must(t, begin(in.cmd))
	in.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		in.err = cmd.Wait()
		close(done)
	}(in.cmd, in.done)
}

func (in *instance) waitReady(t *testing.T) {
	t.Helper()
	client := &http.Client{Timeout: 2 * time.Second}
	eventually(t, startTimeout, "GET /readyz is 200", func() (bool, string) {
		if in.ended() {
			t.Fatalf("serve ended at once: %v\n%s", in.err, tail(in.log(t), 4000))
		}
		res, err := client.Get("http://" + in.addr + "/readyz")
		if err != nil {
			return false, err.Error()
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK, res.Status
	})
}

func (in *instance) ended() bool {
	select {
	case <-in.done:
		return true
	default:
		return false
	}
}

// stop ends the server with SIGTERM and reports if it does not exit, or exits with an error.
func (in *instance) stop(t *testing.T) {
	t.Helper()
	if in.cmd == nil {
		return
	}
	if in.ended() {
		t.Errorf("serve ended before it was told to: %v", in.err)
		in.cmd = nil
		return
	}
	if err := in.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	select {
	case <-in.done:
		if in.err != nil {
			t.Errorf("serve after SIGTERM: %v", in.err)
		}
	case <-time.After(stopTimeout):
		t.Errorf("serve did not stop within %s of SIGTERM", stopTimeout)
		_ = in.cmd.Process.Signal(syscall.SIGQUIT) // it logs what all its goroutines do, and ends
		<-in.done
	}
	in.cmd = nil
}

// kill sends SIGKILL by process id. The server may have exited.
func (in *instance) kill(t *testing.T) {
	t.Helper()
	if err := in.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("kill: %v", err)
	}
	<-in.done
	in.cmd = nil
}

// run runs a command on this instance's database and returns its standard output.
func (in *instance) run(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, err := in.tryRun(args...)
	if err != nil {
		t.Fatalf("mailer %s: %v\n%s%s", strings.Join(args, " "), err, out, errs)
	}
	return strings.TrimSpace(out)
}

// tryRun is run for a command that may fail.
func (in *instance) tryRun(args ...string) (out, errs string, err error) {
	cmd := exec.Command(cmp.Or(in.program, binary.path), slices.Concat(args, []string{"--db", in.db}, in.flags)...)
	cmd.Dir, cmd.Env = in.dir, cleanEnv(in.dir)
	var outs, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &outs, &errors
	err = cmd.Run()
	return outs.String(), errors.String(), err
}

// newKey makes an API key; args are further flags of `keys create`.
func (in *instance) newKey(t *testing.T, args ...string) string {
	t.Helper()
	key := in.run(t, append([]string{"keys", "create", "--permission", "full_access", "--name", "sdktest"}, args...)...)
	if !strings.HasPrefix(key, "mlr_") || strings.ContainsAny(key, " \n") {
		t.Fatalf("keys create must print the key alone, got %q", key)
	}
	return key
}

// addDomain adds a domain that counts as verified.
func (in *instance) addDomain(t *testing.T, name string) {
	t.Helper()
	in.run(t, "domains", "add", name, "--trust")
}

// dkimRecord returns the name and the value of the DKIM record to publish.
func (in *instance) dkimRecord(t *testing.T, domain string, args ...string) (name, value string) {
	t.Helper()
	for _, row := range rows(t, in.run(t, append([]string{"domains", "records", domain, "--json"}, args...)...)) {
		if row["record"] == "DKIM" && row["type"] == "TXT" {
			return fmt.Sprint(row["name"]), fmt.Sprint(row["value"])
		}
	}
	t.Fatalf("no DKIM record among the records of %s", domain)
	return "", ""
}

// rows reads a --json answer: an array, or an object with a list in data or
// records.
func rows(t *testing.T, text string) []map[string]any {
	t.Helper()
	var list []map[string]any
	if json.Unmarshal([]byte(text), &list) == nil {
		return list
	}
	var object struct{ Data, Records []map[string]any }
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("no JSON list: %v\n%s", err, text)
	}
	return append(object.Data, object.Records...)
}

// cleanEnv is an environment without anything that configures the service.
func cleanEnv(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8"}
}

// freeAddr returns a loopback address with a free port below the kernel's ephemeral range, so that
// nobody else gets it by chance while a server or relay is down.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000))
		if _, given := addrs.LoadOrStore(addr, true); given {
			continue // another test's, whose server may be restarting
		}
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			t.Cleanup(func() { addrs.Delete(addr) })
			return addr
		}
		addrs.Delete(addr) // in use
	}
	t.Fatal("no free port")
	return ""
}

// addrs are the addresses that tests have, whether or not something listens there now.
var addrs sync.Map

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
