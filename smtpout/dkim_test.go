package smtpout

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/emersion/go-msgauth/dkim"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/testing/apptest"
)

func testKey(t testing.TB) (*app.DKIMKey, string) {
	t.Helper()
	private := apptest.RSAKey(0)
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return &app.DKIMKey{Domain: "acme.test", Selector: app.DKIMSelector, Signer: private},
		"v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(der)
}

// verifyDKIM returns the names that a valid signature covers.
func verifyDKIM(t testing.TB, signed []byte, record string) ([]string, error) {
	t.Helper()
	list, err := dkim.VerifyWithOptions(bytes.NewReader(signed), &dkim.VerifyOptions{
		LookupTXT: func(name string) ([]string, error) {
			if name != "mailer._domainkey.acme.test" {
				return nil, errors.New("no such name: " + name)
			}
			return []string{record}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		t.Fatalf("%d signatures", len(list))
	}
	return list[0].HeaderKeys, list[0].Err
}

func signedGolden(t testing.TB, key *app.DKIMKey, profile relayurl.Profile) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for name, in := range goldenInputs() {
		b, err := compose(outgoing(t, in))
		if err != nil {
			t.Fatal(err)
		}
		field, err := sign(b, key, profile)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = append([]byte(field), b...)
	}
	return out
}

func TestSignVerifies(t *testing.T) {
	key, record := testKey(t)
	for _, profile := range []relayurl.Profile{relayurl.ProfileGeneric, relayurl.ProfileSES} {
		for name, signed := range signedGolden(t, key, profile) {
			names, err := verifyDKIM(t, signed, record)
			if err != nil {
				t.Errorf("%s %s: %v\n%s", profile, name, err, signed)
				continue
			}
			checkCoverage(t, profile, name, names, signed)
		}
	}
}

// checkCoverage checks that each field of the list is signed once more than it occurs.
func checkCoverage(t *testing.T, profile relayurl.Profile, mail string, names []string, signed []byte) {
	t.Helper()
	header, _, _ := bytes.Cut(signed, []byte("\r\n\r\n"))
	occurs := map[string]int{}
	for line := range strings.SplitSeq(string(header), "\r\n") {
		if name, _, found := strings.Cut(line, ":"); found && line[0] != ' ' {
			occurs[strings.ToLower(name)]++
		}
	}
	listed := map[string]int{}
	for _, name := range names {
		listed[strings.ToLower(name)]++
	}
	for _, name := range signedNames {
		lower := strings.ToLower(name)
		want := occurs[lower] + 1
		if profile == relayurl.ProfileSES && (name == "Message-ID" || name == "Date") {
			want = 0
		}
		if listed[lower] != want {
			t.Errorf("%s %s: %s is listed %d times, want %d", profile, mail, name, listed[lower], want)
		}
	}
	for _, name := range signedIfPresent {
		if lower := strings.ToLower(name); listed[lower] != occurs[lower] {
			t.Errorf("%s %s: %s is listed %d times and occurs %d times", profile, mail, name, listed[lower], occurs[lower])
		}
	}
}

func TestSignatureIsFolded(t *testing.T) {
	key, _ := testKey(t)
	for name, signed := range signedGolden(t, key, relayurl.ProfileGeneric) {
		checkWire(t, signed)
		lines := strings.Split(string(signed), "\r\n")
		if !strings.HasPrefix(lines[0], "DKIM-Signature: ") {
			t.Fatalf("%s: begins with %q", name, lines[0])
		}
		for i, line := range lines {
			if i > 0 && line[0] != ' ' {
				break
			}
			if len(line) > 78 {
				t.Errorf("%s: %d octets: %s", name, len(line), line)
			}
		}
	}
}

// Each change abuses a signed mail and must invalidate the signature.
func TestTamperingBreaksSignature(t *testing.T) {
	key, record := testKey(t)
	signed := string(signedGolden(t, key, relayurl.ProfileGeneric)["headers"])
	if _, err := verifyDKIM(t, []byte(signed), record); err != nil {
		t.Fatal(err)
	}
	for name, tampered := range map[string]string{
		"second From":         "From: x@evil.test\r\n" + signed,
		"second Subject":      "Subject: pay here\r\n" + signed,
		"second To":           "To: y@evil.test\r\n" + signed,
		"added Cc":            "Cc: y@evil.test\r\n" + signed,
		"added Reply-To":      "Reply-To: y@evil.test\r\n" + signed,
		"second Date":         "Date: Mon, 17 Aug 2026 12:00:01 +0000\r\n" + signed,
		"second Content-Type": "Content-Type: text/html\r\n" + signed,
		"second Message-ID":   "Message-ID: <x@evil.test>\r\n" + signed,
		"second MIME-Version": "MIME-Version: 1.0\r\n" + signed,
		"unsubscribe target":  strings.Replace(signed, "https://acme.test/u/", "https://evil.test/u/", 1),
		"one-click":           strings.Replace(signed, "List-Unsubscribe=One-Click", "x", 1),
		"email id":            strings.Replace(signed, "X-Mailer-Email-ID: 0", "X-Mailer-Email-ID: 1", 1),
		"body":                signed + "more\r\n",
	} {
		if tampered == signed {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := verifyDKIM(t, []byte(tampered), record); err == nil {
			t.Errorf("%s: still valid", name)
		}
	}
}

// A forwarder may add fields to a mail, but adding a signed field must invalidate the signature,
// whether the mail had it or not.
func TestForgedFieldBreaksSignature(t *testing.T) {
	key, record := testKey(t)
	const pair = "List-Unsubscribe: <https://evil.test/u>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
	for _, profile := range []relayurl.Profile{relayurl.ProfileGeneric, relayurl.ProfileSES} {
		for mail, signed := range signedGolden(t, key, profile) {
			forged := map[string]string{"the unsubscribe pair": pair}
			for _, name := range signedNames {
				forged[name] = name + ": <https://evil.test/u>\r\n"
			}
			if profile == relayurl.ProfileSES { // SES writes its own
				delete(forged, "Message-ID")
				delete(forged, "Date")
			}
			end := bytes.Index(signed, []byte("\r\n\r\n")) + 2
			for name, fields := range forged {
				for where, at := range map[string]int{"before": 0, "behind": end} {
					tampered := slices.Concat(signed[:at], []byte(fields), signed[at:])
					if _, err := verifyDKIM(t, tampered, record); err == nil {
						t.Errorf("%s %s: %s added %s the others: still valid", profile, mail, name, where)
					}
				}
			}
		}
	}
}

// A provider adds its Feedback-ID before ours. A changed value of ours is a forgery.
func TestProviderFeedbackIDKeepsSignature(t *testing.T) {
	key, record := testKey(t)
	signed := signedGolden(t, key, relayurl.ProfileGeneric)["headers_wide"]
	if names, err := verifyDKIM(t, append([]byte("Feedback-ID: 1.eu-west-1.x:AmazonSES\r\n"), signed...), record); err != nil || !slices.Contains(names, "Feedback-ID") {
		t.Error(names, err)
	}
	for _, field := range []string{"Feedback-ID: report", "Auto-Submitted: auto", "List-Help: <https"} {
		if _, err := verifyDKIM(t, bytes.Replace(signed, []byte(field), []byte(field+"x"), 1), record); err == nil {
			t.Errorf("%s may be changed", field)
		}
	}
}

// SES writes its own Message-ID and Date.
func TestProfileSESSurvivesRewriting(t *testing.T) {
	key, record := testKey(t)
	signed := string(signedGolden(t, key, relayurl.ProfileSES)["text"])
	signed = strings.Replace(signed, "Message-ID: <0198", "Message-ID: <0000", 1)
	signed = strings.Replace(signed, "Date: Mon, 17", "Date: Tue, 18", 1)
	if _, err := verifyDKIM(t, []byte(signed), record); err != nil {
		t.Error(err)
	}
}

func TestSignRefuses(t *testing.T) {
	key, _ := testKey(t)
	message := []byte("From: a@b.test\r\n\r\nx\r\n")
	broken := errors.New("token is gone")
	for name, c := range map[string]struct {
		message []byte
		key     *app.DKIMKey
	}{
		"no key":       {message, nil},
		"no signer":    {message, &app.DKIMKey{Domain: "a.test", Selector: "s"}},
		"no domain":    {message, &app.DKIMKey{Selector: "s", Signer: key.Signer}},
		"no body":      {[]byte("From: a@b.test\r\n"), key},
		"signer fails": {message, &app.DKIMKey{Domain: "a.test", Selector: "s", Signer: failingSigner{key.Signer, broken}}},
	} {
		if field, err := sign(c.message, c.key, relayurl.ProfileGeneric); err == nil {
			t.Errorf("%s: signed: %s", name, field)
		}
	}
}

type failingSigner struct {
	crypto.Signer
	err error
}

func (s failingSigner) Sign(_ io.Reader, _ []byte, _ crypto.SignerOpts) ([]byte, error) {
	return nil, s.err
}

func TestSignEd25519(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key := &app.DKIMKey{Domain: "acme.test", Selector: app.DKIMSelector, Signer: private}
	record := "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public)
	for name, signed := range signedGolden(t, key, relayurl.ProfileGeneric) {
		if _, err := verifyDKIM(t, signed, record); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The library hashes fields in the order of its keys, verifiers in the order of the list: for any
// header both must agree.
func TestSignedListFitsAnyHeader(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key := &app.DKIMKey{Domain: "acme.test", Selector: app.DKIMSelector, Signer: private}
	record := "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public)
	random := mathrand.New(mathrand.NewPCG(1, 2))
	for i := range 500 {
		profile := []relayurl.Profile{relayurl.ProfileGeneric, relayurl.ProfileSES}[i%2]
		message := "From: a@acme.test\r\n"
		for _, name := range slices.Concat(signedNames[:], signedIfPresent[:]) {
			for range random.IntN(3) {
				message += name + ": " + strconv.Itoa(len(message)) + "\r\n"
			}
		}
		field, err := sign([]byte(message+"\r\nx\r\n"), key, profile)
		if err != nil {
			t.Fatal(err)
		}
		signed := []byte(field + message + "\r\nx\r\n")
		names, err := verifyDKIM(t, signed, record)
		if err != nil {
			t.Fatalf("%v\n%s", err, signed)
		}
		checkCoverage(t, profile, "random", names, signed)
	}
}

const dkimpyScript = `
import sys
import dkim
record = sys.argv[1].encode()
for path in sys.argv[2:]:
    message = open(path, "rb").read()
    ok = dkim.verify(message, dnsfunc=lambda name, timeout=5: record)
    print(path, ok)
    if ok and dkim.verify(b"From: x@evil.test\r\n" + message, dnsfunc=lambda name, timeout=5: record):
        print(path, "a second From passes")
`

// TestSignVerifiesWithDkimpy uses a verifier that shares no code with the signer.
func TestSignVerifiesWithDkimpy(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import dkim").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("python3-dkim is missing: %v", err)
		}
		t.Skip("python3-dkim is missing: the independent check of DKIM was not made")
	}
	key, record := testKey(t)
	dir := t.TempDir()
	args := []string{"-c", dkimpyScript, record}
	for _, profile := range []relayurl.Profile{relayurl.ProfileGeneric, relayurl.ProfileSES} {
		for name, signed := range signedGolden(t, key, profile) {
			path := filepath.Join(dir, string(profile)+"-"+name+".eml")
			if err := os.WriteFile(path, signed, 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, path)
		}
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
	if strings.Contains(string(out), "a second From passes") || t.Failed() {
		t.Errorf("dkimpy says:\n%s", out)
	}
}

func BenchmarkRSASignAlone(b *testing.B) {
	key, _ := testKey(b)
	digest := sha256.Sum256([]byte("x"))
	for b.Loop() {
		if _, err := key.Signer.Sign(rand.Reader, digest[:], crypto.SHA256); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkComposeAndSign(b *testing.B) {
	key, _ := testKey(b)
	m := benchmarkMail(b)
	b.ReportAllocs()
	for b.Loop() {
		message, err := compose(m)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := sign(message, key, relayurl.ProfileGeneric); err != nil {
			b.Fatal(err)
		}
	}
}
