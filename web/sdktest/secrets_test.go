package sdktest

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// secretPatterns are byte strings that must stand in no log and no database:
// private keys in their usual forms, and the relay's credentials.
func secretPatterns(user, password string) map[string][]byte {
	encoded := func(s string) []byte { return []byte(base64.StdEncoding.EncodeToString([]byte(s))) }
	return map[string][]byte{
		"PEM private key": []byte("PRIVATE KEY"),
		// RFC 5958: version 0, then rsaEncryption, then the octet string that
		// holds the key; a public key has no version.
		"PKCS #8 private key":           []byte("\x02\x01\x00\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\x04\x82"),
		"PKCS #8 private key in base64": []byte("IBADANBgkqhkiG9w0BAQEFAASC"),
		// RFC 8017 A.1.2: the public exponent, followed by the private one, which
		// has a byte less than the modulus now and then.
		"PKCS #1 private key":        []byte("\x02\x03\x01\x00\x01\x02\x82\x01"),
		"PKCS #1 private key, short": []byte("\x02\x03\x01\x00\x01\x02\x81"),
		"relay password":             []byte(password),
		"relay password, base64":     encoded(password),
		"relay credentials, AUTH":    encoded("\x00" + user + "\x00" + password),
	}
}

// findSecrets names the patterns that data holds.
func findSecrets(data []byte, patterns map[string][]byte) []string {
	var found []string
	for name, pattern := range patterns {
		if bytes.Contains(data, pattern) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// TestNothingSecretInLogOrDatabase sends through a relay with a password, which
// first refuses it, and then looks at everything that was written.
func TestNothingSecretInLogOrDatabase(t *testing.T) {
	t.Parallel()
	const user, password = "relay-user", "relay-p4ssw0rd-that-must-not-leak"
	ca := newAuthority(t)
	relay := newSink(t, sinkOptions{implicit: ca.issue(t), password: password})
	relay.set(behaviour{conn: script{
		extensions: []string{"AUTH PLAIN LOGIN"}, replies: map[string]string{"AUTH": "535 5.7.8 no"},
	}.serve})
	in := start(t, "--relay", "smtps://"+user+":"+password+"@"+relay.addr+"?ca="+ca.file+"&timeout=1s")
	in.addDomain(t, "example.test")
	key := in.newKey(t)
	api := client{in.url, key}
	const marker = "subject-that-the-database-must-hold"
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "hidden-recipient@example.com", "subject": marker, "text": "hi"})
	api.waitEvent(t, id, 15*time.Second, "relay_trouble")
	relay.set(behaviour{})
	api.waitLast(t, id, time.Minute, "sent")
	client{in.url, key[:len(key)-1] + "!"}.do(t, "GET", "/emails/"+id, nil) // a wrong key is logged, too

	patterns := secretPatterns(user, password)
	patterns["API key secret"] = []byte(key[strings.LastIndex(key, "_")+1:])
	patterns["API key secret, but for its end"] = patterns["API key secret"][:42]
	scan := func(when string) {
		var held bool
		files, _ := filepath.Glob(in.db + "*")
		for _, file := range append(files, in.logFile()) {
			data, err := os.ReadFile(file)
			must(t, err)
			held = held || (file != in.logFile() && bytes.Contains(data, []byte(marker)))
			for _, secret := range findSecrets(data, patterns) {
				t.Errorf("%s: %s stands in %s", when, secret, filepath.Base(file))
			}
		}
		if !held {
			t.Errorf("%s: the scan did not see the database's content", when)
		}
	}
	scan("running")
	in.stop(t)
	scan("stopped")
	if bytes.Contains(in.log(t), []byte("hidden-recipient@example.com")) {
		t.Error("the log holds a recipient's address unmasked")
	}
	checkPrivateFiles(t, in)
}

// checkPrivateFiles fails the test for a file of the service, but the log of
// the test's own, that others may read.
func checkPrivateFiles(t *testing.T, in *instance) {
	t.Helper()
	entries, err := os.ReadDir(in.dir)
	must(t, err)
	for _, e := range entries {
		info, err := e.Info()
		must(t, err)
		if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v: others may read it", e.Name(), info.Mode())
		}
	}
}
