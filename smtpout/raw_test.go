package smtpout

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/rules/rawmail"
	"mailer/app/rules/relayurl"
	"mailer/app/testing/apptest"
)

// rawOutgoing is a raw message of acme.test.
func rawOutgoing(t testing.TB, message string) *app.Outgoing {
	t.Helper()
	parsed, err := rawmail.Parse([]byte(message))
	if err != nil {
		t.Fatalf("%v\n%s", err, message)
	}
	parsed.Strip(false)
	m := testMessage("a@example.net")
	m.EnvelopeFrom, m.MessageID = "ann@acme.test", m.EmailID+"@acme.test"
	m.Mail = &app.Mail{From: parsed.From, To: parsed.To, Headers: parsed.Headers(), Raw: parsed.Raw}
	return m
}

// sendAndRead sends a raw message twice, and returns the received bytes.
func sendAndRead(t *testing.T, r *Relay, f *fake, m *app.Outgoing) string {
	t.Helper()
	var kept authorizer
	for range 2 {
		want(t, r.Send(t.Context(), m, kept.authorize), "done/dot/250 a=accepted/250")
		m.Signature = kept.signatures[0]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.messages)
	if m.Signature != "" && f.messages[n-2] != f.messages[n-1] {
		t.Error("another attempt sent other bytes")
	}
	return f.messages[n-1]
}

// rawMessages is how many generated messages a test sends: MAILER_TEST_MESSAGES, else few.
func rawMessages(few int) int {
	if n, err := strconv.Atoi(os.Getenv("MAILER_TEST_MESSAGES")); err == nil {
		return n
	}
	return few
}

func TestRawMessagesArriveUnchanged(t *testing.T) {
	t.Parallel()
	f := startFake(t, &fake{ehlo: []string{"8BITMIME", "SMTPUTF8", "PIPELINING"}})
	cfg := configFor(f.listener)
	cfg.DKIM = true
	r := newRelay(t, cfg)
	key, record := testKey(t)
	random := rand.New(rand.NewPCG(22, 2026))
	for i := range rawMessages(200) {
		message := apptest.GeneratedMessage(random, "acme.test")
		m := rawOutgoing(t, message)
		m.DKIM = key
		got := sendAndRead(t, r, f, m)
		signature, rest, _ := strings.Cut(got, app.EmailIDHeader)
		if !strings.HasPrefix(signature, "DKIM-Signature: ") || !strings.HasSuffix(rest, message) {
			t.Fatalf("message %d arrived otherwise: %s", i, difference(rest, message))
		}
		checkSignature(t, got, record)
		if strings.Count(strings.ToLower(rest[:strings.Index(rest, "\r\n\r\n")]), "\r\nmessage-id:") != 1 {
			t.Errorf("message %d has not one Message-ID:\n%q", i, rest)
		}
	}
}

func TestTrackedRawMessagesVerify(t *testing.T) {
	eight := startFake(t, &fake{ehlo: []string{"8BITMIME", "SMTPUTF8"}})
	seven := startFake(t, &fake{ehlo: []string{"PIPELINING"}})
	key, record := testKey(t)
	random := rand.New(rand.NewPCG(5, 2026))
	changed := 0
	for range rawMessages(400) {
		m := rawOutgoing(t, apptest.GeneratedMessage(random, "acme.test"))
		before := m.Mail.Raw
		m.Mail.HTML, m.DKIM = "x", key // only its presence matters
		if m.Mail = tracked(t, m.Mail); bytes.Equal(m.Mail.Raw, before) {
			continue
		}
		changed++
		for _, f := range []*fake{eight, seven} {
			cfg := configFor(f.listener)
			cfg.DKIM = true
			m.Signature = ""
			got := sendAndRead(t, newRelay(t, cfg), f, m)
			checkSignature(t, got, record)
			if parsed, err := rawmail.Parse([]byte(got)); err != nil || !strings.Contains(parsed.HTML, "https://links.example.com/t/o/") {
				t.Fatalf("%v\n%q", err, got)
			}
		}
	}
	if changed < 3 {
		t.Errorf("%d messages were tracked", changed)
	}
}

// difference returns the ends of two texts from where they begin to differ.
func difference(got, want string) string {
	n := 0
	for n < min(len(got), len(want)) && got[len(got)-1-n] == want[len(want)-1-n] {
		n++
	}
	around := func(s string) string { return s[max(0, len(s)-n-60):min(len(s), len(s)-n+60)] }
	return fmt.Sprintf("%d bytes before the end\n got %q\nwant %q", n, around(got), around(want))
}

// checkSignature verifies the first signature, which is ours.
func checkSignature(t *testing.T, message, record string) {
	t.Helper()
	first, rest, _ := strings.Cut(message, app.EmailIDHeader)
	lines := strings.SplitAfter(rest, "\r\n")
	// The verifier looks at signatures of others too.
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "DKIM-Signature: v=1; d=elsewhere.example") })
	if _, err := verifyDKIM(t, []byte(first+app.EmailIDHeader+strings.Join(lines, "")), record); err != nil {
		t.Fatalf("%v\n%.3000q", err, message)
	}
}

func TestRelayWithout8BITMIME(t *testing.T) {
	f := startFake(t, &fake{ehlo: []string{"PIPELINING"}})
	cfg := configFor(f.listener)
	cfg.DKIM = true
	r := newRelay(t, cfg)
	key, record := testKey(t)
	m := rawOutgoing(t, "From: Jörg <ann@acme.test>\r\nSubject: Grüße\r\nTo: a@example.net\r\nContent-Type: multipart/mixed; boundary=b\r\nContent-Transfer-Encoding: 8bit\r\n\r\npre\r\n"+
		"--b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nGrüße \r\n.\r\n--b\r\n\r\n  plain\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: x\r\n\r\n\xff\r\n--b--\r\npost\r\n")
	m.DKIM = key
	got := sendAndRead(t, r, f, m)
	if !isASCII(got) || m.Signature != "" {
		t.Errorf("%q, kept %q", got, m.Signature)
	}
	checkSignature(t, got, record)
	for _, part := range []string{"From: =?utf-8?b?SsO2cmc=?= <ann@acme.test>\r\nSubject: =?utf-8?b?R3LDvMOfZQ==?=\r\nTo: a@example.net\r\nContent-Type: multipart/mixed; boundary=b\r\nContent-Transfer-Encoding: 7bit\r\n\r\npre\r\n",
		"charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nGr=C3=BC=C3=9Fe=20\r\n.\r\n--b\r\n\r\n  plain\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: x\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=FF\r\n--b--\r\npost\r\n"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q\nis not in\n%q", part, got)
		}
	}
	// A part that its author signed can't be changed; the error names the relay.
	m = rawOutgoing(t, "From: ann@acme.test\r\nContent-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\nGrüße\r\n--b\r\nContent-Type: application/pgp-signature\r\n\r\nx\r\n--b--\r\n")
	res := r.Send(t.Context(), m, authorizeAll)
	if res.Kind != app.ResultRefused || !strings.Contains(res.Reply.Text, "8BITMIME") || !strings.Contains(res.Reply.Text, "signed") {
		t.Errorf("%+v", res)
	}
	// The connection can be reused.
	want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
}

func TestGeneratedMessagesWithout8BITMIME(t *testing.T) {
	f := startFake(t, &fake{ehlo: []string{"SIZE 100000000"}})
	cfg := configFor(f.listener)
	cfg.DKIM = true
	r := newRelay(t, cfg)
	key, record := testKey(t)
	random := rand.New(rand.NewPCG(8, 2026))
	sent := 0
	for range rawMessages(60) {
		m := rawOutgoing(t, apptest.GeneratedMessage(random, "acme.test"))
		before, err := rawmail.Parse(bytes.Clone(m.Mail.Raw))
		if err != nil {
			t.Fatal(err)
		}
		m.DKIM = key
		if res := r.Send(t.Context(), m, authorizeAll); res.Kind != app.ResultDone {
			continue // signed by its author
		}
		sent++
		f.mu.Lock()
		got := f.messages[len(f.messages)-1]
		f.mu.Unlock()
		checkSignature(t, got, record)
		after, err := rawmail.Parse([]byte(got))
		if err != nil || !isASCII(got) {
			t.Fatalf("%v\n%q", err, got)
		}
		if trimmed(after.Text) != trimmed(before.Text) || trimmed(after.HTML) != trimmed(before.HTML) || after.Subject != before.Subject || len(after.Attachments) != len(before.Attachments) {
			t.Fatalf("%.3000q\nsays something else than\n%.3000q", got, m.Mail.Raw)
		}
	}
	if sent < 20 {
		t.Errorf("%d messages were sent", sent)
	}
}

func trimmed(s string) string { return strings.TrimRight(s, "\r\n") }

// TestRawMessagesVerifyWithDkimpy uses a verifier that shares no code with the signer.
func TestRawMessagesVerifyWithDkimpy(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import dkim").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("python3-dkim is missing: %v", err)
		}
		t.Skip("python3-dkim is missing: the independent check of DKIM was not made")
	}
	key, record := testKey(t)
	dir, random := t.TempDir(), rand.New(rand.NewPCG(3, 2026))
	args := []string{"-c", dkimpyScript, record}
	b := newBuilder(Options{}, true, relayurl.ProfileGeneric)
	for i := range rawMessages(40) {
		m := rawOutgoing(t, apptest.GeneratedMessage(random, "acme.test"))
		m.DKIM = key
		out, bad := b.build(t.Context(), m)
		if bad != nil {
			t.Fatal(bad.Reply)
		}
		path := filepath.Join(dir, strconv.Itoa(i)+".eml")
		if err := os.WriteFile(path, slices.Concat(out.head, out.tail), 0o600); err != nil {
			t.Fatal(err)
		}
		b.release(out)
		args = append(args, path)
	}
	out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range args[3:] {
		if !strings.Contains(string(out), path+" True\n") {
			t.Errorf("%s does not verify", filepath.Base(path))
		}
	}
	if strings.Contains(string(out), "a second From passes") {
		t.Errorf("dkimpy says:\n%.2000s", out)
	}
}
