package sdktest

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// nobody is Debian's unprivileged user and group.
const nobody = 65534

// lowPort is a port below 1024 at which nothing listens.
func lowPort(t *testing.T) string {
	t.Helper()
	for port := 1000; port > 900; port-- {
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port below 1024 is free")
	return ""
}

// TestLowPortsWithoutRoot: with the capability of a unit's AmbientCapabilities an unprivileged
// server listens below 1024; without it, the error explains this.
func TestLowPortsWithoutRoot(t *testing.T) {
	part(t, "tls")
	setpriv, err := exec.LookPath("setpriv")
	need(t, err == nil && os.Geteuid() == 0, "setpriv, and root to give a capability away")
	for name, capability := range map[string]string{"with the capability": "-all,+net_bind_service", "without it": "-all"} {
		t.Run(name, func(t *testing.T) {
			in := newInstance(t)
			in.dir, in.addr = foreignDir(t), lowPort(t)
			in.db = filepath.Join(in.dir, "mailer.db")
			in.url = "http://" + in.addr
			program := filepath.Join(in.dir, "mailer")
			copyProgram(t, program)
			args := []string{"--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=" + capability, "--ambient-caps=" + capability, program, "serve", "--db", in.db, "--listen", in.addr, "--capture"}
			cmd := exec.Command(setpriv, args...)
			cmd.Dir, cmd.Env, cmd.SysProcAttr = in.dir, cleanEnv(in.dir), endWithParent()
			out, err := os.Create(in.logFile())
			must(t, err)
			defer out.Close()
			cmd.Stdout, cmd.Stderr = out, out
			must(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test ended before it
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			if capability == "-all" {
				if <-ended == nil {
					t.Error("it started")
				}
				if said := string(in.log(t)); !strings.Contains(said, "bind: permission denied") {
					t.Errorf("it says %s", said)
				}
				return
			}
			eventually(t, startTimeout, "it listens at "+in.addr, func() (bool, string) {
				res, err := http.Get(in.url + "/readyz")
				if err != nil {
					return false, err.Error() + string(in.log(t))
				}
				res.Body.Close()
				return res.StatusCode == http.StatusOK, res.Status
			})
			must(t, cmd.Process.Signal(os.Interrupt))
			<-ended
		})
	}
}

// foreignDir returns a directory of nobody's; nobody can't access t.TempDir.
func foreignDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sdktest-ports-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chown(dir, nobody, nobody))
	return dir
}

// copyProgram copies the binary to where nobody may run it.
func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open(binary.path)
	must(t, err)
	defer from.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	if _, err = io.Copy(out, from); err == nil {
		err = out.Close()
	}
	must(t, err)
}
