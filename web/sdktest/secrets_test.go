package sdktest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// secretPatterns returns byte strings that must be in no log and no database: private keys in their
// usual encodings, and the relay's credentials.
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

// TestNoSecretsInLogOrDatabase sends through a relay with a password, which
// first refuses it, and then looks at everything that was written.
func TestNoSecretsInLogOrDatabase(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	const user, password = "relay-user", "relay-p4ssw0rd-that-must-not-leak"
	ca := newAuthority(t)
	relay := newSink(t, sinkOptions{implicit: ca.issue(t), password: password})
	relay.set(behaviour{conn: script{
		extensions: []string{"AUTH PLAIN LOGIN"}, replies: map[string]string{"AUTH": "535 5.7.8 no"},
	}.serve})
	in := newInstance(t)
	file := filepath.Join(t.TempDir(), "relay")
	must(t, os.WriteFile(file, []byte("smtps://"+user+":"+password+"@"+relay.addr+"?ca="+ca.file+"&timeout=1s\n"), 0o600))
	in.args, in.wrap = nil, []string{"env", "MAILER_RELAY_FILE=" + file} // as the list of processes is to show nothing
	in.serve(t)
	in.addDomain(t, "example.test")
	key := in.newKey(t)
	api := client{in.url, key}
	const marker = "subject-that-the-database-must-hold"
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "hidden-recipient@example.com", "subject": marker, "text": "hi"})
	api.waitEvent(t, id, time.Minute, "relay_trouble")
	relay.set(behaviour{})
	api.waitLast(t, id, time.Minute, "sent")
	client{in.url, key[:len(key)-1] + "!"}.do(t, "GET", "/emails/"+id, nil) // a wrong key is logged, too

	patterns := secretPatterns(user, password)
	patterns["API key secret"] = []byte(key[strings.LastIndex(key, "_")+1:])
	planted := plantSecrets(t, in, api, patterns)
	patterns["API key secret, but for its end"] = patterns["API key secret"][:42]
	scan := func(when string) {
		var held bool
		files, _ := filepath.Glob(in.db + "*")
		files = slices.DeleteFunc(files, func(file string) bool { return file == in.db+".key" }) // it is the secret
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
	checkAnswers(t, api, patterns)
	checkProcess(t, in, patterns)
	if planted < 5 {
		t.Errorf("%d secrets were planted", planted)
	}
	in.stop(t)
	scan("stopped")
	if bytes.Contains(in.log(t), []byte("hidden-recipient@example.com")) {
		t.Error("the log holds a recipient's address unmasked")
	}
	checkPrivateFiles(t, in)
}

// plantSecrets creates one of each further kind of secret, adds them to the patterns, and returns
// their number.
func plantSecrets(t *testing.T, in *instance, api client, patterns map[string][]byte) int {
	t.Helper()
	before := len(patterns)
	var hook struct {
		ID     string
		Secret string `json:"signing_secret"`
	}
	status, b := api.do(t, "POST", "/webhooks", map[string]any{"endpoint": "https://hooks.example.test/x", "events": []string{"email.sent"}})
	if err := json.Unmarshal(b, &hook); err != nil || len(hook.Secret) < 20 {
		t.Fatalf("a webhook: %d %s", status, b)
	}
	bare := strings.TrimPrefix(hook.Secret, "whsec_")
	patterns["webhook secret"] = []byte(bare)
	raw, err := base64.StdEncoding.DecodeString(bare)
	must(t, err)
	patterns["webhook secret, bytes"] = raw
	master, err := os.ReadFile(in.db + ".key")
	must(t, err)
	master = bytes.TrimSpace(master)
	patterns["master key"] = master
	if plain, err := base64.StdEncoding.DecodeString(string(master)); err == nil {
		patterns["master key, bytes"] = plain
	}
	for _, line := range strings.Fields(in.run(t, "ingest")) {
		if at := strings.LastIndexByte(line, '/'); at >= 0 && strings.Contains(line, "/ingest/") && len(line)-at > 20 {
			patterns["ingest secret "+line[:at]] = []byte(line[at+1:])
		}
	}
	api.do(t, "POST", "/contacts", map[string]any{"email": "reader@example.net"})
	status, b = api.do(t, "POST", "/contacts/reader@example.net/preferences-link", nil)
	var link struct{ URL string }
	if err := json.Unmarshal(b, &link); err != nil || link.URL == "" {
		t.Fatalf("a preferences link: %d %s", status, b)
	}
	token := link.URL[strings.LastIndexByte(link.URL, '/')+1:]
	patterns["token of a page"] = []byte(token)
	for _, path := range []string{"/preferences/" + token, "/unsubscribe/" + token, "/t/c/" + token, "/t/o/" + token} { // known and not
		client{in.url, ""}.do(t, "GET", path, nil)
	}
	return len(patterns) - before
}

// checkAnswers looks for secrets in what the API lists.
func checkAnswers(t *testing.T, api client, patterns map[string][]byte) {
	t.Helper()
	for _, path := range []string{"/api-keys", "/domains", "/webhooks", "/emails", "/contacts", "/usage", "/healthz", "/readyz", "/openapi.json"} {
		_, b := api.do(t, "GET", path, nil)
		for _, secret := range findSecrets(b, patterns) {
			t.Errorf("GET %s answers with %s", path, secret)
		}
	}
}

// checkProcess searches what other users see of the process.
func checkProcess(t *testing.T, in *instance, patterns map[string][]byte) {
	t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", in.cmd.Process.Pid))
	if err != nil {
		return // no Linux
	}
	for _, secret := range findSecrets(line, patterns) {
		t.Errorf("the list of processes shows %s", secret)
	}
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
