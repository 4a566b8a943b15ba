package bench

import (
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
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// postfix is a Postfix of the benchmark's own, with OpenDKIM as its milter when
// it signs. All that it has is in one directory; a Postfix of the system is
// never touched.
type postfix struct {
	tb     testing.TB
	dir    string
	addr   string
	next   string // the sink
	sample []byte // the message to send, as it is on the wire
	record string // of the DKIM key; empty: unsigned
	group  *group
	parts  []part
}

// part is a program that was started.
type part struct {
	cmd   *exec.Cmd
	leash *leash
}

// missing says what is not here of what a Postfix needs.
func missing(signed bool) string {
	if os.Geteuid() != 0 {
		return "root, which Postfix's master needs"
	}
	programs := []string{"postfix"}
	if signed {
		programs = append(programs, "opendkim")
	}
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			return "Debian package " + name
		}
	}
	return ""
}

// startPostfix runs Postfix under base, where its user can read, before next.
func startPostfix(tb testing.TB, g *group, base, next string, sample []byte, signed bool) *postfix {
	tb.Helper()
	dir, err := os.MkdirTemp(base, "postfix-")
	must(tb, err)
	p := &postfix{tb: tb, dir: dir, addr: freeAddr(tb), next: next, sample: sample, group: g}
	tb.Cleanup(p.stop)
	p.directories()
	milter := ""
	if signed {
		milter = p.openDKIM()
	}
	p.configure(milter)
	p.run(exec.Command("postfix", "-c", p.dir+"/config", "check"))
	p.launch(exec.Command(p.setting("daemon_directory")+"/master", "-c", p.dir+"/config", "-d"))
	p.waitReady()
	return p
}

func (p *postfix) directories() {
	p.tb.Helper()
	owner, err := user.Lookup("postfix")
	must(p.tb, err)
	uid, err := strconv.Atoi(owner.Uid)
	must(p.tb, err)
	must(p.tb, os.Chmod(p.dir, 0o755))
	for _, name := range []string{"config", "queue", "data", "milter"} {
		must(p.tb, os.Mkdir(filepath.Join(p.dir, name), 0o755))
	}
	must(p.tb, os.Chown(filepath.Join(p.dir, "data"), uid, 0))
	must(p.tb, os.Chmod(filepath.Join(p.dir, "data"), 0o700))
}

// setting reads one of the built-in settings, like a directory of the package.
func (p *postfix) setting(name string) string {
	p.tb.Helper()
	out, err := exec.Command("postconf", "-dh", name).Output()
	must(p.tb, err)
	return strings.TrimSpace(string(out))
}

// mainCF is the configuration. What a benchmark of a relay should say of it:
//   - as many connections to the sink at once as Mailer has, from the first
//     message on; each for one message, because on one machine, without TLS, that
//     costs Postfix a quarter less than its connection cache does;
//   - nothing that delays acceptance (in_flow_delay), no limits of clients, no
//     look-ups of names, no rewriting of headers, no tables;
//   - daemons live long, instead of a fork for each hundred messages;
//   - its log is written, as Mailer's events are.
const mainCF = `compatibility_level = 3.6
queue_directory = DIR/queue
data_directory = DIR/data
mail_owner = postfix
setgid_group = postdrop
maillog_file = DIR/maillog
maillog_file_prefixes = DIR
myhostname = postfix.example.com
mydestination =
local_recipient_maps =
alias_maps =
alias_database =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
relayhost = [HOST]:PORT
disable_dns_lookups = yes
smtp_host_lookup = native
smtp_tls_security_level = none
smtpd_tls_security_level = none
default_destination_concurrency_limit = CONNECTIONS
initial_destination_concurrency = CONNECTIONS
smtp_connection_cache_on_demand = no
in_flow_delay = 0
max_use = 1000000
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_recipient_restrictions =
smtpd_peername_lookup = no
smtpd_client_connection_count_limit = 0
smtpd_client_connection_rate_limit = 0
local_header_rewrite_clients =
receive_override_options = no_unknown_recipient_checks, no_header_body_checks, no_address_mappings
smtputf8_enable = no
message_size_limit = 52428800
biff = no
milter_default_action = tempfail
smtpd_milters = MILTER
`

// masterCF is name, type, private, unprivileged, chroot, wakeup, process limit,
// command: Debian's, without chroot.
const masterCF = `ADDR inet n - n - - smtpd
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
smtp unix - - n - CONNECTIONS smtp
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`

func (p *postfix) configure(milter string) {
	p.tb.Helper()
	host, port, err := net.SplitHostPort(p.next)
	must(p.tb, err)
	fill := strings.NewReplacer("DIR", p.dir, "HOST", host, "PORT", port, "ADDR", p.addr, "MILTER", milter, "CONNECTIONS", strconv.Itoa(connections))
	must(p.tb, os.WriteFile(p.dir+"/config/main.cf", []byte(fill.Replace(mainCF)), 0o644))
	must(p.tb, os.WriteFile(p.dir+"/config/master.cf", []byte(fill.Replace(masterCF)), 0o644))
}

// openDKIMConf signs what Mailer signs (smtpout/dkim.go), in the same way.
const openDKIMConf = `Mode s
Domain example.com
Selector bench
KeyFile DIR/milter/key.pem
Socket local:DIR/milter/socket
Canonicalization relaxed/relaxed
SignatureAlgorithm rsa-sha256
SignHeaders From,To,Cc,Subject,Date,Message-ID,Reply-To,MIME-Version,Content-Type,Content-Transfer-Encoding,In-Reply-To,References,List-Unsubscribe,List-Unsubscribe-Post,List-Id,X-Mailer-Email-ID
OversignHeaders From,To,Cc,Subject,Date,Message-ID,Reply-To,MIME-Version,Content-Type,Content-Transfer-Encoding
InternalHosts 127.0.0.1
UMask 000
RequireSafeKeys no
Syslog no
SoftwareHeader no
`

// openDKIM starts OpenDKIM with a key of its own and returns its socket.
func (p *postfix) openDKIM() string {
	p.tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(p.tb, err)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(p.tb, err)
	p.record = "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(public)
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	must(p.tb, os.WriteFile(p.dir+"/milter/key.pem", private, 0o600))
	conf := p.dir + "/milter/opendkim.conf"
	must(p.tb, os.WriteFile(conf, []byte(strings.ReplaceAll(openDKIMConf, "DIR", p.dir)), 0o644))
	p.launch(exec.Command("opendkim", "-f", "-x", conf))
	socket := p.dir + "/milter/socket"
	p.await("OpenDKIM listens", func() error {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
		}
		return err
	})
	return "unix:" + socket
}

// launch starts a program that stays in the foreground.
func (p *postfix) launch(cmd *exec.Cmd) {
	p.tb.Helper()
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Stdout, cmd.Stderr = p.output(), p.output()
	p.group.enter(cmd)
	must(p.tb, cmd.Start())
	p.group.started(cmd)
	p.parts = append(p.parts, part{cmd, newLeash(p.tb, cmd)})
}

// run runs a program to its end.
func (p *postfix) run(cmd *exec.Cmd) {
	p.tb.Helper()
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Stdout, cmd.Stderr = p.output(), p.output()
	if err := cmd.Run(); err != nil {
		p.tb.Fatalf("%v: %v\n%s", cmd.Args, err, p.log())
	}
}

// output is a file, not a pipe, which daemons would keep open.
func (p *postfix) output() *os.File {
	p.tb.Helper()
	f, err := os.OpenFile(p.dir+"/output", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(p.tb, err)
	p.tb.Cleanup(func() { f.Close() })
	return f
}

func (p *postfix) waitReady() {
	p.tb.Helper()
	p.await("Postfix greets", func() error {
		conn, err := net.Dial("tcp", p.addr)
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		greeting := make([]byte, 4)
		if _, err := conn.Read(greeting); err != nil || string(greeting) != "220 " {
			return errors.Join(err, fmt.Errorf("greeting %q", greeting))
		}
		return nil
	})
}

// await asks every 20 ms, 20 s at most.
func (p *postfix) await(what string, probe func() error) {
	p.tb.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var err error
	for range 1000 {
		if err = probe(); err == nil {
			return
		}
		<-ticker.C
	}
	p.tb.Fatalf("not in 20 s: %s: %v\n%s", what, err, p.log())
}

// log is the end of what Postfix and OpenDKIM wrote.
func (p *postfix) log() (text string) {
	for _, name := range []string{"output", "maillog"} {
		b, _ := os.ReadFile(filepath.Join(p.dir, name)) // missing: nothing written
		text += string(b[max(0, len(b)-3000):])
	}
	return text
}

// stop stops Postfix before its milter, and fails when a process stays.
func (p *postfix) stop() {
	if p.parts == nil {
		return
	}
	if p.tb.Failed() {
		p.tb.Logf("Postfix's log (end):\n%s", p.log())
	}
	for i := len(p.parts) - 1; i >= 0; i-- {
		end(p.tb, p.parts[i].cmd, p.parts[i].leash)
	}
	p.parts = nil
	p.await("all processes of Postfix are gone", func() error {
		if left := p.group.programs(); len(left) > 0 && p.group.dir != "" {
			return fmt.Errorf("%v are not", left)
		}
		return nil
	})
	must(p.tb, os.RemoveAll(p.dir))
}

// peak is the memory at its peak, as sampled.
func (p *postfix) peak(sampled float64) float64 { return sampled }

func (p *postfix) dkimRecord() string { return p.record }
