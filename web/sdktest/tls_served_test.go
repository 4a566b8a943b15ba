package sdktest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certFiles is a server whose certificate comes from files.
type certFiles struct {
	*instance
	ca                *authority
	roots             *x509.CertPool
	tls, smtp, dir    string
	certFile, keyFile string
}

// newCertFiles starts a server at https://127.0.0.1; wrap is a command that runs it.
func newCertFiles(t *testing.T, ca *authority, wrap ...string) *certFiles {
	t.Helper()
	f := &certFiles{ca: ca, roots: x509.NewCertPool(), tls: freeAddr(t), smtp: freeAddr(t), dir: t.TempDir()}
	f.roots.AddCert(ca.cert)
	f.certFile, f.keyFile = writeCert(t, f.dir, ca.issue(t))
	f.instance = newInstance(t, "--tls-cert", f.certFile, "--tls-key", f.keyFile, "--listen-tls", f.tls, "--base-url", "https://"+f.tls, "--smtp-listen", f.smtp)
	f.wrap = wrap
	return f
}

// serial returns the serial number of the served certificate.
func (f *certFiles) serial() (string, error) {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", f.tls, &tls.Config{RootCAs: f.roots})
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

func needTool(t *testing.T, name string) {
	t.Helper()
	_, err := exec.LookPath(name)
	need(t, err == nil, name)
}

func TestTLSFromFiles(t *testing.T) {
	part(t, "tls", shortForm)
	f := newCertFiles(t, newAuthority(t))
	f.serve(t)
	t.Run("files that change", func(t *testing.T) { f.change(t) })
	t.Run("curl", func(t *testing.T) {
		needTool(t, "curl")
		out, err := exec.Command("curl", "-sS", "--cacert", f.ca.file, "-o", filepath.Join(f.dir, "out"), "-w", "%{http_version} %{response_code}", "-v", "https://"+f.tls+"/healthz").CombinedOutput()
		if err != nil || !bytes.HasSuffix(out, []byte("2 200")) || !bytes.Contains(out, []byte("TLSv1.3")) {
			t.Errorf("%v %s", err, out)
		}
	})
	t.Run("old faults", func(t *testing.T) { f.oldFaults(t) })
	t.Run("half a handshake", func(t *testing.T) { f.halfOpen(t) })
}

// change replaces the files by another pair, and by an invalid one.
func (f *certFiles) change(t *testing.T) {
	first, err := f.serial()
	must(t, err)
	writeCert(t, f.dir, f.ca.issue(t))
	second := first
	eventually(t, issueTimeout, "the new certificate", func() (bool, string) {
		second, err = f.serial()
		return err == nil && second != first, fmt.Sprint(second, err)
	})
	must(t, os.WriteFile(f.certFile, []byte("none"), 0o600))
	eventually(t, issueTimeout, "the log says that the files are of no use", func() (bool, string) {
		log := f.log(t)
		return bytes.Contains(log, []byte(`level=ERROR msg="the certificate files changed and can't be used`)), ""
	})
	if now, err := f.serial(); err != nil || now != second {
		t.Errorf("%s, %v; want %s", now, err, second)
	}
}

// client is what `openssl s_client` prints of a handshake.
func (f *certFiles) client(t *testing.T, addr, input string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "openssl", append([]string{"s_client", "-connect", addr, "-CAfile", f.ca.file}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, _ := cmd.CombinedOutput() // its exit code says less
	return string(out)
}

// oldFaults tries known attacks on TLS and its implementations.
func (f *certFiles) oldFaults(t *testing.T) {
	needTool(t, "openssl")
	const none = "Cipher is (NONE)"
	for what, args := range map[string][]string{
		"TLS 1.0":                    {"-tls1", "-cipher", "ALL:@SECLEVEL=0"},
		"TLS 1.1":                    {"-tls1_1", "-cipher", "ALL:@SECLEVEL=0"},
		"CBC (Lucky 13)":             {"-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES128-SHA256:AES128-SHA"},
		"no forward secrecy (ROBOT)": {"-tls1_2", "-cipher", "AES128-GCM-SHA256:AES256-GCM-SHA384"},
	} {
		for addr, more := range map[string][]string{f.tls: nil, f.smtp: {"-starttls", "smtp"}} {
			if out := f.client(t, addr, "", append(more, args...)...); !strings.Contains(out, none) {
				t.Errorf("%s: a handshake at %s:\n%s", what, addr, out)
			}
		}
	}
	for addr, more := range map[string][]string{f.tls: nil, f.smtp: {"-starttls", "smtp"}} {
		out := f.client(t, addr, "", append(more, "-tls1_2", "-comp")...)
		for _, want := range []string{"Verify return code: 0 (ok)", "Compression: NONE", "Secure Renegotiation IS supported"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q at %s:\n%s", want, addr, out)
			}
		}
		if out := f.client(t, addr, "R\n", append(more, "-tls1_2")...); !strings.Contains(out, "RENEGOTIATING") || !strings.Contains(out, "alert") {
			t.Errorf("a renegotiation at %s:\n%s", addr, out)
		}
	}
}

// halfOpen holds connections that never finish their handshake: nobody waits for them.
func (f *certFiles) halfOpen(t *testing.T) {
	for i := range 500 {
		conn, err := net.Dial("tcp", f.tls)
		must(t, err)
		defer conn.Close()
		if i%2 == 0 {
			_, _ = conn.Write([]byte{22, 3, 1, 2, 0, 1}) // the beginning of a ClientHello; it may be cut already
		}
	}
	for range 20 {
		if _, err := f.serial(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSocketsOfAServiceManager: the server takes inherited sockets, by name and by address, and
// refuses one that it has no use for.
func TestSocketsOfAServiceManager(t *testing.T) {
	part(t, "tls")
	handed := func(t *testing.T, names string, addrs ...string) *certFiles {
		t.Helper()
		f := newCertFiles(t, newAuthority(t), "sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=`+fmt.Sprint(len(addrs))+` LISTEN_FDNAMES=`+names+` exec "$@"`, "sh")
		for _, addr := range addrs {
			l, err := net.Listen("tcp", addr)
			must(t, err)
			file, err := l.(*net.TCPListener).File()
			must(t, err)
			must(t, l.Close())
			t.Cleanup(func() { file.Close() })
			f.extra = append(f.extra, file)
		}
		return f
	}
	named, other := freeAddr(t), freeAddr(t)
	f := handed(t, "listen-tls:smtp", named, other)
	f.args = append(f.args, "--bounce-listen", other)
	f.tls = named
	f.serve(t)
	if _, err := f.serial(); err != nil {
		t.Error(err)
	}
	for range 2 { // a restart closes no connection
		f.stop(t)
		waiting, err := net.Dial("tcp", other)
		must(t, err)
		f.serve(t)
		greeting := make([]byte, 3)
		must(t, waiting.SetDeadline(time.Now().Add(time.Minute)))
		if _, err := waiting.Read(greeting); err != nil || string(greeting) != "220" {
			t.Errorf("%q %v", greeting, err)
		}
		waiting.Close()
	}
	stray := handed(t, "nothing", freeAddr(t))
	stray.launch(t)
	<-stray.done
	stray.cmd = nil
	if log := stray.log(t); !bytes.Contains(log, []byte("and no flag is for it")) {
		t.Errorf("%s", log)
	}
}

// TestSystemdSocketActivate uses systemd's own tool.
func TestSystemdSocketActivate(t *testing.T) {
	part(t, "tls")
	needTool(t, "systemd-socket-activate")
	f := newCertFiles(t, newAuthority(t))
	f.wrap = []string{"systemd-socket-activate", "-l", f.tls, "--fdname=listen-tls"}
	f.launch(t)
	eventually(t, startTimeout, "a handshake that started the server", func() (bool, string) {
		_, err := f.serial()
		return err == nil, fmt.Sprint(err)
	})
}

// TestChromiumByTLS shows the dashboard with a certificate of a test's authority.
func TestChromiumByTLS(t *testing.T) {
	part(t, "tls")
	needTool(t, "chromium")
	f := newCertFiles(t, newAuthority(t))
	f.serve(t)
	b, err := os.ReadFile(f.certFile)
	must(t, err)
	block, _ := pem.Decode(b)
	leaf, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--ignore-certificate-errors-spki-list="+spkiHash(leaf), "--virtual-time-budget=5000", "--dump-dom", "https://"+f.tls+"/dashboard/")
	cmd.Env = cleanEnv(t.TempDir())
	out, err := cmd.Output()
	if err != nil || !bytes.Contains(out, []byte("<title>")) || !bytes.Contains(out, []byte("Mailer")) || bytes.Contains(out, []byte("ERR_CERT")) {
		t.Errorf("%v\n%.3000s", err, out)
	}
}

// spkiHash is a key as Chromium names it.
func spkiHash(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}
