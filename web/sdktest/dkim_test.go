package sdktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// Debian's interpreter, for which python3-dkim is packaged; another one first
// on the PATH would not know it.
const python = "/usr/bin/python3"

// signature is what the verifier read of a good DKIM signature.
type signature struct {
	Domain string   `json:"domain"`
	Signed []string `json:"signed"`
}

func needPythonDKIM(t *testing.T) {
	t.Helper()
	err := exec.Command(python, "-c", "import dkim").Run()
	need(t, err == nil, "Debian package python3-dkim")
}

// verifyDKIM checks a message with python3-dkim against the record that is to
// be published.
func verifyDKIM(raw []byte, recordName, recordValue string) (signature, error) {
	cmd := exec.Command(python, "testdata/verify.py", recordName, recordValue)
	cmd.Stdin = bytes.NewReader(raw)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return signature{}, errors.Join(err, fmt.Errorf("python3-dkim: %s", strings.TrimSpace(errs.String())))
	}
	var sig signature
	return sig, json.Unmarshal(out.Bytes(), &sig)
}

// checkDKIM fails the test unless the signature is good, is the domain's, and
// covers what the reader is shown.
func checkDKIM(t *testing.T, in *instance, m *message, domain string) {
	t.Helper()
	name, value := in.dkimRecord(t, domain)
	if !strings.HasSuffix(name, domain) {
		name += "." + domain
	}
	sig, err := verifyDKIM(m.Raw, name, value)
	if err != nil {
		t.Errorf("DKIM: %v\n%s", err, m.Raw)
		return
	}
	if sig.Domain != domain {
		t.Errorf("DKIM d=%s, want %s", sig.Domain, domain)
	}
	signed := " " + strings.Join(sig.Signed, " ") + " "
	for _, field := range []string{"from", "to", "subject", "date", "message-id", "mime-version", "content-type"} {
		if !strings.Contains(signed, " "+field+" ") {
			t.Errorf("DKIM does not cover %s: h=%v", field, sig.Signed)
		}
	}
}
