package sdktest

import (
	"fmt"
	"net"
	gosmtp "net/smtp"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// submissionFixture is a server with SMTP submission and a sink.
type submissionFixture struct {
	*instance
	relay *sink
	api   client
	smtp  string // its address
	ca    string // file of the authority that its certificate is of; empty: it has none
}

// newSubmissionFixture starts one. tlsMode is off, starttls or tls.
func newSubmissionFixture(t *testing.T, tlsMode string, args ...string) *submissionFixture {
	t.Helper()
	return newSubmissionFixtureBefore(t, newSink(t, sinkOptions{}), "", tlsMode, args...)
}

// newSubmissionFixtureBefore is newSubmissionFixture for the caller's sink; relay is the address
// and options of a relay in between; empty: none.
func newSubmissionFixtureBefore(t *testing.T, s *sink, relay, tlsMode string, args ...string) *submissionFixture {
	t.Helper()
	h := &submissionFixture{relay: s, smtp: freeAddr(t)}
	first := killArgs(s)
	if relay != "" {
		first[1] = "smtp://" + relay
	}
	listen := h.smtp
	if tlsMode != "off" {
		ca := newAuthority(t)
		certFile, keyFile := writeCert(t, t.TempDir(), ca.issue(t))
		h.ca = ca.file
		args = append(args, "--tls-cert", certFile, "--tls-key", keyFile)
		listen = tlsMode + "://" + h.smtp
	}
	h.instance = startBare(t, append(append(first, "--smtp-listen", listen), args...)...)
	h.addDomain(t, "example.test")
	h.api = client{h.url, h.newKey(t)}
	return h
}

// env are what the scripts of mailers read.
func (h *submissionFixture) env(tlsMode string) []string {
	host, port, _ := net.SplitHostPort(h.smtp)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "LANG=C.UTF-8", "SMTP_HOST=" + host, "SMTP_PORT=" + port, "SMTP_KEY=" + h.api.key, "SMTP_TLS=" + tlsMode}
	if h.ca != "" {
		env = append(env, "SMTP_CA="+h.ca)
	}
	return env
}

// mailer is a program that sends mail over SMTP.
type mailer struct {
	name    string
	there   func() bool // whether this machine has it
	deb     string      // the Debian package that has it
	command []string    // {host}, {port} and {key} are replaced
	stdin   string
	html    bool // it sends HTML too
	hidden  bool // also to hidden@example.org, in no header
}

func program(name string) func() bool {
	return func() bool { _, err := exec.LookPath(name); return err == nil }
}

// imports checks that an interpreter has a library.
func imports(command ...string) func() bool {
	return func() bool { return exec.Command(command[0], command[1:]...).Run() == nil }
}

const messageText = "From: Ada <ada@example.test>\r\nTo: zofia@example.org\r\nSubject: by %[1]s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nDzień dobry from %[1]s\r\n"

// mailers are programs and libraries that people have.
func mailers() []mailer {
	return []mailer{
		{name: "swaks", there: program("swaks"), deb: "swaks", command: []string{"swaks", "--server", "{host}:{port}", "--auth", "LOGIN", "--auth-user", "resend", "--auth-password", "{key}",
			"--from", "ada@example.test", "--to", "zofia@example.org", "--h-From", "Ada <ada@example.test>", "--h-Subject", "by swaks", "--body", "Dzień dobry from swaks"}},
		{name: "msmtp", there: program("msmtp"), deb: "msmtp", stdin: fmt.Sprintf(messageText, "msmtp"), command: []string{"msmtp", "--host={host}", "--port={port}", "--auth=plain", "--user=resend", "--passwordeval=echo {key}",
			"--tls=off", "--from=ada@example.test", "zofia@example.org"}},
		{name: "curl", there: program("curl"), deb: "curl", stdin: fmt.Sprintf(messageText, "curl"), command: []string{"curl", "-sS", "smtp://{host}:{port}", "--mail-from", "ada@example.test", "--mail-rcpt", "zofia@example.org",
			"--user", "resend:{key}", "--upload-file", "-"}},
		{name: "smtplib", there: program("python3"), deb: "python3", html: true, hidden: true, command: []string{"/usr/bin/python3", "mailers/plain_smtplib.py"}},
		{name: "Django", there: imports("/usr/bin/python3", "-c", "import django"), deb: "python3-django", html: true, hidden: true, command: []string{"/usr/bin/python3", "mailers/framework_django.py"}},
		{name: "Rails", there: imports("ruby", "-e", `require "action_mailer"`), deb: "ruby-actionmailer", html: true, hidden: true, command: []string{"ruby", "mailers/framework_rails.rb"}},
		{name: "PHPMailer", there: imports("php", "-r", `require "/usr/share/php/libphp-phpmailer/autoload.php";`), deb: "libphp-phpmailer", html: true, hidden: true, command: []string{"php", "mailers/phpmailer.php"}},
		{name: "Nodemailer", there: imports("node", "-e", `require.resolve("nodemailer", {paths: ["others"]})`), deb: "nodejs", html: true, hidden: true, command: []string{"node", "others/nodemailer.mjs"}},
	}
}

// run runs the program.
func (m mailer) run(t *testing.T, h *submissionFixture, tlsMode string) {
	t.Helper()
	need(t, m.there(), m.name+": Debian package "+m.deb)
	host, port, _ := net.SplitHostPort(h.smtp)
	put := strings.NewReplacer("{host}", host, "{port}", port, "{key}", h.api.key)
	args := make([]string, len(m.command))
	for i, a := range m.command {
		args[i] = put.Replace(a)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = h.env(tlsMode)
	cmd.Stdin = strings.NewReader(m.stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", m.name, err, out)
	}
}

// TestSMTPClients: each program's message arrives as it was written, signed, and the
// API shows it.
func TestSMTPClients(t *testing.T) {
	part(t, "submission", shortForm)
	t.Parallel()
	h := newSubmissionFixture(t, "off")
	programs := mailers()
	if !long() {
		programs = programs[:1]
	}
	for _, m := range programs {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.run(t, h, "off")
			h.arrived(t, m.name, m.html, m.hidden)
		})
	}
	t.Run("net/smtp", func(t *testing.T) {
		t.Parallel()
		host, _, _ := net.SplitHostPort(h.smtp)
		must(t, gosmtp.SendMail(h.smtp, gosmtp.PlainAuth("", "resend", h.api.key, host), "ada@example.test", []string{"zofia@example.org"}, fmt.Appendf(nil, messageText, "net/smtp")))
		h.arrived(t, "net/smtp", false, false)
	})
}

// arrived waits for the message of a program at the sink and looks at it there and by the API.
func (h *submissionFixture) arrived(t *testing.T, name string, html, hidden bool) {
	t.Helper()
	wanted := []string{"zofia@example.org"}
	if hidden {
		wanted = append(wanted, "hidden@example.org")
	}
	var got *message
	h.relay.wait(t, 1, time.Minute, func(m *message) bool {
		if m.header("Subject") == "by "+name {
			got = m
		}
		return m.header("Subject") == "by "+name
	})
	if !slices.Equal(slices.Sorted(slices.Values(got.To)), slices.Sorted(slices.Values(wanted))) {
		t.Errorf("%s: it went to %s", name, got.To)
	}
	id := got.header("X-Mailer-Email-ID")
	if id == "" || len(got.parsed().Header["Dkim-Signature"]) != 1 || got.header("Bcc") != "" || got.header("X-Mailer-Tag") != "" {
		t.Errorf("%s: headers %v", name, got.parsed().Header)
	}
	if got.header("Date") == "" || got.header("Message-ID") == "" {
		t.Errorf("%s: without Date or Message-ID: %v", name, got.parsed().Header)
	}
	h.verifies(t, got)
	var shown struct {
		Subject, From, Source, Text, HTML string
		To, Bcc                           []string
		Tags                              []struct{ Name, Value string }
	}
	h.api.get(t, "/emails/"+id, &shown)
	if shown.Source != "smtp" || shown.Subject != "by "+name || shown.From != "Ada <ada@example.test>" || !strings.Contains(shown.Text, "Dzień dobry from "+name) || (shown.HTML != "") != html {
		t.Errorf("%s: the API shows %+v", name, shown)
	}
	if hidden != (len(shown.Bcc) == 1) {
		t.Errorf("%s: Bcc %q", name, shown.Bcc)
	}
}

// verifies checks a message's signature with the independent verifier.
func (h *submissionFixture) verifies(t *testing.T, m *message) {
	t.Helper()
	record, value := h.dkimRecord(t, "example.test")
	if sig, err := verifyDKIM(m.Raw, record, value); err != nil || sig.Domain != "example.test" {
		t.Errorf("DKIM: %+v, %v\n%s", sig, err, m.Raw)
	}
}

// TestSMTPClientsWithTLS: by STARTTLS and from the start, to a certificate that
// they check.
func TestSMTPClientsWithTLS(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	for _, mode := range []string{"starttls", "tls"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := newSubmissionFixture(t, mode)
			for _, m := range mailers() {
				if m.name != "smtplib" && m.name != "Nodemailer" {
					continue
				}
				t.Run(m.name, func(t *testing.T) {
					m.run(t, h, mode)
					h.arrived(t, m.name, true, true)
				})
			}
		})
	}
}

// TestPostfixSmarthost: Postfix relays its mail, signed in with a key.
func TestPostfixSmarthost(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	h := newSubmissionFixture(t, "starttls")
	_, port, _ := net.SplitHostPort(h.smtp)
	p := startPostfixBefore(t, h.smtp, nil, map[string]string{
		"smtp_sasl_auth_enable": "yes", "smtp_sasl_security_options": "noanonymous",
		"smtp_sasl_password_maps": "inline:{ { [127.0.0.1]:" + port + " = resend:" + h.api.key + " } }",
		"smtp_tls_security_level": "encrypt",
	})
	must(t, gosmtp.SendMail(p.addr, nil, "ada@example.test", []string{"zofia@example.org"}, fmt.Appendf(nil, messageText, "Postfix")))
	h.arrived(t, "Postfix", false, false)
}
