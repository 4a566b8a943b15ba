package health

import (
	"strings"
	"testing"
	"time"

	"mailer/app/operate/certificates"
	"mailer/db"
	"mailer/db/engine"
)

// TestReadableKeyFileIsAFinding even if the certificate is valid for a year.
func TestReadableKeyFileIsAFinding(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	st := db.CertificateState{Host: "cert.pem", ExpiresAt: now.AddDate(1, 0, 0), LookAt: now.AddDate(0, 11, 0)}
	if c := judgeCertificate(&st, now); !c.OK {
		t.Errorf("%+v", c)
	}
	st.Failure = certificates.KeyExposed + "key.pem, whose mode is 0644"
	if c := judgeCertificate(&st, now); c.OK || !strings.Contains(c.Found, "key.pem, whose mode is 0644") || !strings.Contains(c.Fix, "chmod 600") {
		t.Errorf("%+v", c)
	}
}

// TestRemoteDatabaseConnectionIsChecked: TLS without verification, and a password in the process
// list.
func TestRemoteDatabaseConnectionIsChecked(t *testing.T) {
	for name, want := range map[string]struct {
		place Target
		ok    bool
		words string
	}{
		"weak":    {Target{TLS: engine.RemoteTLS{Host: "db.example.com", Mode: "prefer", Weak: true}}, false, "db.example.com is reached with sslmode=prefer"},
		"strong":  {Target{TLS: engine.RemoteTLS{Host: "db.example.com", Mode: "verify-full"}}, true, "verified TLS"},
		"in view": {Target{PasswordVisible: true}, false, "MAILER_DB_FILE"},
	} {
		checks := checkRemote(want.place)
		if len(checks) != 1 || checks[0].OK != want.ok || !strings.Contains(checks[0].Found+checks[0].Fix, want.words) {
			t.Errorf("%s: %+v", name, checks)
		}
	}
	if checks := checkRemote(Target{}); len(checks) != 0 {
		t.Errorf("a file: %+v", checks)
	}
}
