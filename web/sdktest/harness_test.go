package sdktest

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"
	"github.com/emersion/go-smtp"
)

// The tests of this file prove the tools that the others rely on: each would
// pass anything if its tool did.

// sendPlain sends plainMessage to an SMTP server without TLS.
func sendPlain(addr string, to ...string) error {
	c, err := smtp.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SendMail("bounces@example.test", to, strings.NewReader(plainMessage)); err != nil {
		return err
	}
	return c.Quit()
}

const plainMessage = "From: a@example.test\r\nTo: b@example.com\r\nBcc: c@example.com\r\nSubject: harness\r\n\r\nhello\r\n"

func TestHarnessPostfixPassesMessageToSink(t *testing.T) {
	part(t, "harness")
	s := newSink(t, sinkOptions{})
	p := startPostfix(t, s, nil)
	must(t, sendPlain(p.addr, "b@example.com", "c@example.com"))
	m := s.wait(t, 1, time.Minute, subjectIs("harness"))[0]
	if m.From != "bounces@example.test" || len(m.To) != 2 {
		t.Errorf("envelope %s -> %v", m.From, m.To)
	}
	if m.header("Bcc") == "" {
		t.Error("Postfix hides a Bcc header from the checks")
	}
	p.waitEmpty(t)
}

func TestHarnessPostfixStartTLS(t *testing.T) {
	part(t, "harness")
	ca := newAuthority(t)
	s := newSink(t, sinkOptions{})
	p := startPostfix(t, s, ca.issue(t))
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	conn, err := net.Dial("tcp", p.addr)
	must(t, err)
	defer conn.Close()
	c, err := smtp.NewClientStartTLS(conn, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"})
	must(t, err)
	must(t, c.SendMail("bounces@example.test", []string{"b@example.com"}, strings.NewReader(plainMessage)))
	s.wait(t, 1, time.Minute, subjectIs("harness"))
}

func TestHarnessDKIMVerifierTellsGoodFromBad(t *testing.T) {
	part(t, "harness", shortForm)
	needPythonDKIM(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(t, err)
	record := "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(public)
	var signed bytes.Buffer
	must(t, dkim.Sign(&signed, strings.NewReader(plainMessage), &dkim.SignOptions{
		Domain: "example.test", Selector: "mailer", Signer: key,
		HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed,
	}))
	const name = "mailer._domainkey.example.test"
	sig, err := verifyDKIM(signed.Bytes(), name, record)
	if err != nil || sig.Domain != "example.test" {
		t.Errorf("good signature: %+v, %v", sig, err)
	}
	bad := map[string][]byte{
		"body":      bytes.Replace(signed.Bytes(), []byte("hello"), []byte("hallo"), 1),
		"subject":   bytes.Replace(signed.Bytes(), []byte("Subject: harness"), []byte("Subject: other"), 1),
		"unsigned":  []byte(plainMessage),
		"no record": signed.Bytes(),
	}
	for what, raw := range bad {
		asked := name
		if what == "no record" {
			asked = "other._domainkey.example.test"
		}
		if _, err := verifyDKIM(raw, asked, record); err == nil {
			t.Errorf("%s: passed", what)
		}
	}
}

func TestHarnessSecretScanFindsWhatItLooksFor(t *testing.T) {
	part(t, "harness")
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(t, err)
	planted := map[string][]byte{
		"PKCS #8":        der,
		"PKCS #8 base64": []byte(base64.StdEncoding.EncodeToString(der)),
		"PKCS #1":        x509.MarshalPKCS1PrivateKey(key),
		"PEM":            []byte("-----BEGIN PRIVATE KEY-----"),
		"password":       []byte("a relay-password here"),
		"password AUTH":  []byte(base64.StdEncoding.EncodeToString([]byte("\x00user\x00relay-password"))),
	}
	secrets := secretPatterns("user", "relay-password")
	for what, bytes := range planted {
		if len(findSecrets(append([]byte("before "), bytes...), secrets)) == 0 {
			t.Errorf("%s: not found", what)
		}
	}
	if found := findSecrets(append(public, "nothing secret"...), secrets); len(found) > 0 {
		t.Errorf("found %v in a public key", found)
	}
}

func TestHarnessScriptedRelay(t *testing.T) {
	part(t, "harness")
	s := newSink(t, sinkOptions{})
	s.set(behaviour{conn: script{replies: map[string]string{"RCPT": "451 4.3.0 later"}}.serve})
	err := sendPlain(s.addr, "b@example.com")
	if e, ok := err.(*smtp.SMTPError); !ok || e.Code != 451 {
		t.Errorf("scripted RCPT: %v", err)
	}
	s.set(behaviour{conn: script{replies: map[string]string{"": "421 4.3.2 closed"}}.serve})
	if err := sendPlain(s.addr, "b@example.com"); err == nil {
		t.Error("banner 421 was taken for a greeting")
	}
	s.set(behaviour{})
	must(t, sendPlain(s.addr, "b@example.com"))
	if n := len(s.messages()); n != 1 {
		t.Errorf("%d messages kept, want 1", n)
	}
	if got := s.messages()[0].Raw; string(got) != plainMessage {
		t.Errorf("bytes changed on the way: %q", got)
	}
}

func TestHarnessNodeClientSurfacesErrors(t *testing.T) {
	part(t, "harness")
	needNode(t)
	api := stubAPI(t)
	out := runNode(t, api, "re_stub", "errors.mjs", map[string]string{"RESTRICTED_KEY": "r", "WRONG_KEY": "w", "FROM": "a@example.test", "UNVERIFIED": "a@other.test"})
	got := out.errors(t)["wrong_key"]
	if got.StatusCode != 418 || got.Name != "stub" {
		t.Errorf("the client gave %+v", got)
	}
}
