package sdktest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// exim is Debian's Exim without a daemon: each message is read, and transferred to one server, by a process that the
// test waits for. Its directories are temporary. The system's Exim, if there is one, is never touched.
type exim struct {
	program, dir string
}

// newExim configures Exim to transfer all mail to the server at next, by STARTTLS with a certificate of an authority.
func newExim(t *testing.T, next string, ca *authority) *exim {
	t.Helper()
	program, err := exec.LookPath("exim4")
	need(t, err == nil, "exim4 of the Debian package exim4-daemon-light")
	owner, err := user.Lookup("Debian-exim")
	need(t, err == nil, "the user Debian-exim")
	need(t, os.Geteuid() == 0, "root, which Exim needs")
	dir, err := os.MkdirTemp("", "sdktest-exim-") // its user can't reach t.TempDir
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	e := &exim{program, dir}
	pem, err := os.ReadFile(ca.file)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "ca.pem"), pem, 0o644))
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	for _, name := range []string{"spool", "log"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		must(t, os.Chown(filepath.Join(dir, name), uid, gid))
	}
	host, port, _ := net.SplitHostPort(next)
	must(t, os.WriteFile(e.config(), fmt.Appendf(nil, `exim_path = %[4]s
exim_user = Debian-exim
exim_group = Debian-exim
spool_directory = %[1]s/spool
log_file_path = %[1]s/log/%%slog
log_selector = +smtp_confirmation
primary_hostname = exim.test
qualify_domain = exim.test
keep_environment =
accept_8bitmime = true
smtputf8_advertise_hosts = *
chunking_advertise_hosts = *
local_interfaces = 127.0.0.1
acl_smtp_rcpt = accept
acl_smtp_data = accept
bounce_message_file =
never_users =

begin acl

begin routers

next:
  driver = manualroute
  transport = next
  route_list = * %[2]s
  self = send

begin transports

next:
  driver = smtp
  port = %[3]s
  hosts_require_tls = *
  tls_verify_certificates = %[1]s/ca.pem
  tls_verify_cert_hostnames =
  tls_verify_hosts = *
  hosts_try_chunking = *
  allow_localhost
`, dir, host, port, program), 0o644))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Exim's log (end):\n%s", tail(e.log(), 4000))
		}
	})
	return e
}

func (e *exim) config() string { return filepath.Join(e.dir, "exim.conf") }

func (e *exim) log() []byte {
	b, _ := os.ReadFile(filepath.Join(e.dir, "log", "mainlog"))
	return b
}

// send hands a message in by SMTP on Exim's standard input, and waits until Exim has transferred it. params follow the
// sender's address. It returns Exim's line about the delivery.
func (e *exim) send(t *testing.T, message, params, to string) (line string) {
	t.Helper()
	cmd := exec.Command(e.program, "-C", e.config(), "-odf", "-bs")
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Stdin = strings.NewReader("EHLO client.test\r\nMAIL FROM:<ann@peer.test>" + params + "\r\nRCPT TO:<" + to + ">\r\nDATA\r\n" + dotStuffed(message) + ".\r\nQUIT\r\n")
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	before := len(e.log())
	out, err := cmd.CombinedOutput()
	for l := range strings.Lines(string(e.log()[before:])) {
		if strings.Contains(l, " => "+to) {
			line = l
		}
	}
	if err != nil || line == "" {
		t.Errorf("Exim did not deliver to %s: %v\n%s", to, err, out)
	}
	return line
}
