package sdktest

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"maps"
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

// postfix is a Postfix instance of the test: its directories are temporary, it listens on loopback
// only and relays everything to one sink. The system's Postfix is never touched.
type postfix struct {
	addr string
	dir  string
}

// startPostfix runs Debian's Postfix as a relay before next. With cert it
// offers STARTTLS.
func startPostfix(t *testing.T, next *sink, cert *tls.Certificate) *postfix {
	t.Helper()
	return startPostfixBefore(t, next.addr, cert, nil)
}

// startPostfixBefore relays everything to the server at next; settings override the defaults.
func startPostfixBefore(t *testing.T, next string, cert *tls.Certificate, settings map[string]string) *postfix {
	t.Helper()
	program, err := exec.LookPath("postfix")
	need(t, err == nil, "Debian package postfix")
	need(t, os.Geteuid() == 0, "root, which Postfix's master needs")
	p := &postfix{addr: freeAddr(t), dir: postfixDirs(t)}
	p.configure(t, next, cert, settings)
	p.control(t, program, "check")
	p.stopWithTest(t, program)
	p.control(t, program, "start")
	p.waitReady(t)
	return p
}

// postfixDirs makes a directory that Postfix's user can reach, which t.TempDir
// would not be, with queue and data directories of the right owner.
func postfixDirs(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sdktest-postfix-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	owner, err := user.Lookup("postfix")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(owner.Uid)
	must(t, os.Chmod(dir, 0o755))
	for _, name := range []string{"config", "queue", "data"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	must(t, os.Chown(filepath.Join(dir, "data"), uid, 0))
	must(t, os.Chmod(filepath.Join(dir, "data"), 0o700))
	return dir
}

func (p *postfix) configure(t *testing.T, next string, cert *tls.Certificate, settings map[string]string) {
	t.Helper()
	host, port, _ := net.SplitHostPort(next)
	main := map[string]string{
		"compatibility_level": "3.6",
		"queue_directory":     p.dir + "/queue", "data_directory": p.dir + "/data",
		"mail_owner": "postfix", "setgid_group": "postdrop",
		"maillog_file": p.dir + "/maillog", "maillog_file_prefixes": p.dir,
		"myhostname": "postfix.test", "mydomain": "test", "myorigin": "postfix.test",
		"mydestination": "", "local_recipient_maps": "", "alias_maps": "", "alias_database": "",
		"inet_interfaces": "127.0.0.1", "inet_protocols": "ipv4",
		"mynetworks": "127.0.0.0/8", "smtpd_relay_restrictions": "permit_mynetworks, reject",
		"relayhost": fmt.Sprintf("[%s]:%s", host, port), "disable_dns_lookups": "yes",
		"smtp_host_lookup": "native", "smtp_tls_security_level": "none",
		"message_size_limit": "52428800", "biff": "no", "disable_vrfy_command": "yes",
		// Postfix would drop a Bcc header and hide a leak.
		"message_drop_headers": "",
	}
	if cert != nil {
		certFile, keyFile := writeCert(t, p.dir, cert)
		main["smtpd_tls_security_level"] = "encrypt"
		main["smtpd_tls_cert_file"], main["smtpd_tls_key_file"] = certFile, keyFile
	}
	maps.Copy(main, settings)
	var b strings.Builder
	for k, v := range main {
		fmt.Fprintf(&b, "%s = %s\n", k, v)
	}
	must(t, os.WriteFile(p.dir+"/config/main.cf", []byte(b.String()), 0o644))
	must(t, os.WriteFile(p.dir+"/config/master.cf", []byte(p.services()), 0o644))
}

// services is master.cf: name, type, private, unprivileged, chroot, wakeup,
// process limit, command.
func (p *postfix) services() string {
	return p.addr + ` inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
error unix - - n - - error
local unix - n n - - local
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`
}

// control runs a Postfix command for this instance.
func (p *postfix) control(t *testing.T, program, word string) {
	t.Helper()
	cmd := exec.Command(program, "-c", p.dir+"/config", word)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	// The daemons inherit standard output: a pipe would never end.
	out, err := os.CreateTemp(p.dir, "control-*")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		t.Errorf("postfix %s: %v\n%s%s", word, err, text, tail(p.log(), 4000))
	}
}

// stopWithTest stops this instance when the test ends, and also if the test's process dies: a shell
// waits for the end of its standard input and stops it then.
func (p *postfix) stopWithTest(t *testing.T, program string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `read -r _; exec "$0" -c "$1" stop`, program, p.dir+"/config")
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	lifeline, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Postfix's log (end):\n%s", tail(p.log(), 4000))
		}
		lifeline.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("postfix stop: %v\n%s", err, tail(p.log(), 4000))
		}
	})
}

func (p *postfix) waitReady(t *testing.T) {
	t.Helper()
	eventually(t, time.Minute, "Postfix greets", func() (bool, string) {
		c, err := net.DialTimeout("tcp", p.addr, time.Second)
		if err != nil {
			return false, err.Error()
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		buf := make([]byte, 200)
		n, err := c.Read(buf)
		return bytes.HasPrefix(buf[:n], []byte("220 ")), fmt.Sprintf("%q %v", buf[:n], err)
	})
}

func (p *postfix) log() []byte {
	b, _ := os.ReadFile(p.dir + "/maillog")
	return b
}

// waitEmpty returns once no message is in any of Postfix's queues.
func (p *postfix) waitEmpty(t *testing.T) {
	t.Helper()
	eventually(t, time.Minute, "Postfix's queues are empty", func() (bool, string) {
		var waiting []string
		for _, queue := range []string{"maildrop", "incoming", "active", "deferred"} {
			found, _ := filepath.Glob(filepath.Join(p.dir, "queue", queue, "*"))
			for _, f := range found {
				if info, err := os.Stat(f); err == nil && !info.IsDir() {
					waiting = append(waiting, f)
				}
			}
			deeper, _ := filepath.Glob(filepath.Join(p.dir, "queue", queue, "?", "*"))
			waiting = append(waiting, deeper...)
		}
		return len(waiting) == 0, strings.Join(waiting, " ")
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
