package sdktest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// allBytes is an attachment that no conversion of texts leaves as it is, of about 100 KB.
var allBytes = bytes.Repeat(everyByte(), 333)

// letterOf is a message with text in 8bit UTF-8 and two attachments. utf8: its header is in UTF-8 too (RFC 6532).
func letterOf(name, to string, utf8 bool) string {
	subject := "by " + name
	if utf8 {
		subject = "Grüße by " + name
	}
	var b strings.Builder
	fmt.Fprintf(&b, "From: Ann <ann@peer.test>\r\nTo: %s\r\nSubject: %s\r\nDate: %s\r\nMessage-ID: <%s-%v@peer.test>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"=_b\"\r\n\r\n",
		to, subject, time.Now().Format(time.RFC1123Z), strings.ToLower(name), utf8)
	b.WriteString("--=_b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nDzień dobry\r\n.\r\n..two dots, and blanks at the end  \r\n\r\n" +
		"--=_b\r\nContent-Type: text/csv; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\nContent-Disposition: attachment; filename=\"godziny.csv\"\r\n\r\ndzień,otwarte\r\n" +
		"--=_b\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename*=utf-8''all%20%E2%82%AC.bin\r\n\r\n")
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(allBytes)), 76) {
		b.Write(line)
		b.WriteString("\r\n")
	}
	b.WriteString("--=_b--\r\n")
	return b.String()
}

// secureReceivingFixture is a server that receives with a certificate.
func secureReceivingFixture(t *testing.T, mode compat, args ...string) (*receivingFixture, *authority) {
	t.Helper()
	ca := newAuthority(t)
	certFile, keyFile := writeCert(t, t.TempDir(), ca.issue(t))
	return newReceivingFixture(t, mode, append([]string{"--tls-cert", certFile, "--tls-key", keyFile}, args...)...), ca
}

// TestRealSendersOverSTARTTLS: what Postfix, Exim and swaks send by STARTTLS, with each extension that they offer, is
// read by the Node client byte by byte.
func TestRealSendersOverSTARTTLS(t *testing.T) {
	part(t, "clients", shortForm)
	needNode(t)
	t.Parallel()
	w, ca := secureReceivingFixture(t, likeResend)
	const ascii, international = "support@in.example.test", "zażalenia@in.example.test"
	sent := map[string]string{}
	letter := func(name, to string, utf8 bool) string {
		m := letterOf(name, to, utf8)
		if sent["by "+name] = m; utf8 {
			sent["Grüße by "+name] = m
			delete(sent, "by "+name)
		}
		return m
	}
	t.Run("swaks", func(t *testing.T) {
		w.sendBySwaks(t, ca, letter("swaks", ascii, false), ascii)
	})
	t.Run("Exim", func(t *testing.T) {
		e := newExim(t, w.at, ca)
		for line, wanted := range map[string][]string{
			e.send(t, letter("Exim", ascii, false), " BODY=8BITMIME", ascii):                         {" X=TLS1.3:", " CV=yes", " K ", "250 2.0.0"},
			e.send(t, letter("Exim", international, true), " BODY=8BITMIME SMTPUTF8", international): {" X=TLS1.3:", " CV=yes", " K ", "250 2.0.0"},
		} {
			for _, part := range wanted { // TLS, a trusted certificate, CHUNKING
				if !strings.Contains(line, part) {
					t.Errorf("Exim's log has no %q: %s", part, line)
				}
			}
		}
	})
	t.Run("Postfix", func(t *testing.T) {
		p := startPostfixBefore(t, w.at, nil, map[string]string{"smtp_tls_security_level": "secure", "smtp_tls_CAfile": ca.file, "smtp_tls_secure_cert_match": "relay.test", "smtp_tls_loglevel": "1", "smtputf8_enable": "yes"})
		p.handIn(t, letter("Postfix", ascii, false), &smtp.MailOptions{Body: smtp.Body8BitMIME}, ascii)
		p.handIn(t, letter("Postfix", international, true), &smtp.MailOptions{Body: smtp.Body8BitMIME, UTF8: true}, international)
		p.waitEmpty(t)
		if !bytes.Contains(p.log(), []byte("erified TLS connection established to 127.0.0.1")) || bytes.Contains(p.log(), []byte("status=bounced")) {
			t.Error("Postfix did not deliver by TLS")
		}
	})
	var got []struct {
		Subject, From, Text string
		ReceivedFor         []string `json:"received_for"`
		Raw                 []byte
		Files               []struct {
			Filename    string
			ContentType string `json:"content_type"`
			Content     []byte
		}
	}
	runNode(t, w.in.url, w.key, "received.mjs", nil).into(t, &got)
	for _, m := range got {
		want, ok := sent[m.Subject]
		if !ok {
			continue // the fixture's
		}
		delete(sent, m.Subject)
		head, ok := bytes.CutSuffix(m.Raw, []byte(want))
		if !ok || len(head) > 0 && !bytes.HasPrefix(head, []byte("Received: ")) {
			t.Errorf("%s: the bytes differ:\n%.2000q\nwant\n%.2000q", m.Subject, m.Raw, want)
		}
		if m.From != "Ann <ann@peer.test>" || m.Text != "Dzień dobry\n.\n..two dots, and blanks at the end  \n" && m.Text != "Dzień dobry\n.\n..two dots, and blanks at the end  " || len(m.Files) != 2 {
			t.Fatalf("%s: %s, %q, %d files", m.Subject, m.From, m.Text, len(m.Files))
		}
		if f := m.Files[0]; f.Filename != "godziny.csv" || strings.TrimSpace(string(f.Content)) != "dzień,otwarte" {
			t.Errorf("%s: %q %q", m.Subject, f.Filename, f.Content)
		}
		if f := m.Files[1]; f.Filename != "all €.bin" || !bytes.Equal(f.Content, allBytes) {
			t.Errorf("%s: %q, %d bytes, want %d", m.Subject, f.Filename, len(f.Content), len(allBytes))
		}
	}
	for subject := range sent {
		t.Errorf("%s did not arrive", subject)
	}
}

// sendBySwaks sends a message over TLS that swaks verifies.
func (w *receivingFixture) sendBySwaks(t *testing.T, ca *authority, message, to string) {
	t.Helper()
	_, err := exec.LookPath("swaks")
	need(t, err == nil, "Debian package swaks")
	need(t, imports("perl", "-e", "use Net::SSLeay")(), "Debian package libnet-ssleay-perl")
	file := filepath.Join(t.TempDir(), "message")
	must(t, os.WriteFile(file, []byte(strings.TrimSuffix(message, "\r\n")), 0o600)) // swaks adds the last line end
	cmd := exec.Command("swaks", "--server", w.at, "--tls", "--tls-verify", "--tls-ca-path", ca.file, "--ehlo", "swaks.test", "--from", "ann@peer.test", "--to", to, "--data", "@"+file)
	cmd.Env = cleanEnv(t.TempDir())
	cmd.Stdin = strings.NewReader("")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("TLS started")) {
		t.Errorf("swaks: %v\n%.4000s", err, out)
	}
}

// handIn gives Postfix a message to transfer.
func (p *postfix) handIn(t *testing.T, message string, options *smtp.MailOptions, to string) {
	t.Helper()
	c, err := smtp.Dial(p.addr)
	must(t, err)
	defer c.Close()
	must(t, c.Mail("ann@peer.test", options))
	must(t, c.Rcpt(to, nil))
	data, err := c.Data()
	must(t, err)
	_, err = data.Write([]byte(message))
	must(t, err)
	must(t, data.Close())
	must(t, c.Quit())
}
