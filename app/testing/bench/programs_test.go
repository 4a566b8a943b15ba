package bench

import (
	"bufio"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// programs are the processes of one peer. All their files are in one directory, and they run in
// one group.
type programs struct {
	tb      testing.TB
	name    string
	dir     string
	group   *group
	running []program
}

// program is a started program.
type program struct {
	cmd   *exec.Cmd
	leash *starter
}

// newPrograms creates a directory under base that other users can read.
func newPrograms(tb testing.TB, g *group, base, name string) *programs {
	tb.Helper()
	dir, err := os.MkdirTemp(base, strings.ToLower(name)+"-")
	must(tb, err)
	must(tb, os.Chmod(dir, 0o755))
	c := &programs{tb: tb, name: name, dir: dir, group: g}
	tb.Cleanup(c.stop)
	return c
}

// add returns a command that runs in the directory, with a path and the given environment only.
func (c *programs) add(environment []string, path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = c.dir, environment
	return cmd
}

// prepare sets the common options of a peer's programs.
func (c *programs) prepare(cmd *exec.Cmd) {
	c.tb.Helper()
	cmd.Env = append(slices.Clone(cmd.Env), "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	cmd.Stdout, cmd.Stderr = c.output(), c.output()
}

// launch starts a program that stays in the foreground.
func (c *programs) launch(cmd *exec.Cmd) {
	c.tb.Helper()
	c.prepare(cmd)
	c.group.enter(cmd)
	must(c.tb, cmd.Start())
	c.group.started(cmd)
	c.running = append(c.running, program{cmd, newStarter(c.tb, cmd)})
}

// run runs a program to its end.
func (c *programs) run(cmd *exec.Cmd) {
	c.tb.Helper()
	c.prepare(cmd)
	if err := cmd.Run(); err != nil {
		c.tb.Fatalf("%v: %v\n%s", cmd.Args, err, c.log())
	}
}

// output returns a file for output: daemons would keep a pipe open.
func (c *programs) output() *os.File {
	c.tb.Helper()
	f, err := os.OpenFile(c.dir+"/output", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(c.tb, err)
	c.tb.Cleanup(func() { f.Close() })
	return f
}

// waitGreeting waits until a mail server greets.
func (c *programs) waitGreeting(addr string) {
	c.tb.Helper()
	c.await(c.name+" greets", func() error {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		return replies(bufio.NewReader(conn), "220")
	})
}

// await polls every 20 ms, for at most 20 s.
func (c *programs) await(what string, probe func() error) {
	c.tb.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var err error
	for range 1000 {
		if err = probe(); err == nil {
			return
		}
		<-ticker.C
	}
	c.tb.Fatalf("not in 20 s: %s: %v\n%s", what, err, c.log())
}

// log returns the end of the programs' output.
func (c *programs) log() (text string) {
	for _, name := range []string{"output", "maillog"} {
		b, _ := os.ReadFile(filepath.Join(c.dir, name)) // missing: no output
		text += string(b[max(0, len(b)-3000):])
	}
	return text
}

// end stops the last started program.
func (c *programs) end() {
	last := len(c.running) - 1
	end(c.tb, c.running[last].cmd, c.running[last].leash)
	c.running = c.running[:last]
}

// stop stops the programs in reverse order and fails if a process remains.
func (c *programs) stop() {
	if c.running == nil {
		return
	}
	if c.tb.Failed() {
		c.tb.Logf("%s's log (end):\n%s", c.name, c.log())
	}
	for len(c.running) > 0 {
		c.end()
	}
	c.running = nil
	c.await("all processes of "+c.name+" are gone", func() error {
		if left := c.group.programs(); len(left) > 0 && c.group.dir != "" {
			return fmt.Errorf("%v are not", left)
		}
		return nil
	})
	must(c.tb, os.RemoveAll(c.dir))
}

// programFrom returns the path of a program from the environment; "": not requested.
func programFrom(variable string) (string, error) {
	path := os.Getenv(variable)
	if path == "" {
		return "", nil
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s=%s is no absolute path", variable, path)
	}
	if _, err := exec.LookPath(path); err != nil {
		return "", fmt.Errorf("%s=%s is no program: %w", variable, path, errors.Unwrap(err))
	}
	return path, nil
}

// checkPrograms reports a wrong path before the first round.
func checkPrograms(tb testing.TB) {
	tb.Helper()
	for _, variable := range []string{maddyVariable, listmonkVariable} {
		_, err := programFrom(variable)
		must(tb, err)
	}
}

// writeKey writes a new RSA-2048 key and returns its DKIM record.
func writeKey(tb testing.TB, path string) (record string) {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(tb, err)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(tb, err)
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	must(tb, os.WriteFile(path, private, 0o600))
	return "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(public)
}
