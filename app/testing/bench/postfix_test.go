package bench

import (
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// postfix is a Postfix with its own configuration and, if it signs, OpenDKIM as its milter. All
// files are in one directory; the system's Postfix is not used.
type postfix struct {
	*smtpPeer
	next string // the sink
}

// missing returns which required programs are missing.
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

// startPostfix starts Postfix in a directory under base that its user can read, as a relay to
// next.
func startPostfix(tb testing.TB, g *group, base, next string, sample []byte, signed bool) *postfix {
	tb.Helper()
	p := &postfix{&smtpPeer{programs: newPrograms(tb, g, base, "Postfix"), addr: freeAddr(tb), sample: sample}, next}
	p.directories()
	milter := ""
	if signed {
		milter = p.openDKIM()
	}
	p.configure(milter)
	p.run(exec.Command("postfix", "-c", p.dir+"/config", "check"))
	p.launch(exec.Command(p.setting("daemon_directory")+"/master", "-c", p.dir+"/config", "-d"))
	p.waitGreeting(p.addr)
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

// setting returns a built-in setting, like a directory of the package.
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

// masterCF has the columns name, type, private, unprivileged, chroot, wakeup, process limit,
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

// openDKIMConf signs the same fields in the same way as Mailer (smtpout/dkim.go).
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

// openDKIM starts OpenDKIM with a new key and returns its socket.
func (p *postfix) openDKIM() string {
	p.tb.Helper()
	p.record = writeKey(p.tb, p.dir+"/milter/key.pem")
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
