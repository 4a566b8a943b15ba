package health

import (
	"strings"
	"testing"
	"time"

	"mailer/app/operate/certificates"
	"mailer/db"
	"mailer/db/engine"
)

// TestAKeyThatOthersReadIsNotWell: the certificate may be good for a year.
func TestAKeyThatOthersReadIsNotWell(t *testing.T) {
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

// TestTheWayToADatabaseElsewhereIsLookedAt: TLS that proves nothing, and a password that
// stands in the process list.
func TestTheWayToADatabaseElsewhereIsLookedAt(t *testing.T) {
	for name, want := range map[string]struct {
		place Place
		ok    bool
		words string
	}{
		"weak":    {Place{TLS: engine.RemoteTLS{Host: "db.example.com", Mode: "prefer", Weak: true}}, false, "db.example.com is reached with sslmode=prefer"},
		"strong":  {Place{TLS: engine.RemoteTLS{Host: "db.example.com", Mode: "verify-full"}}, true, "verified TLS"},
		"in view": {Place{PasswordShown: true}, false, "MAILER_DB_FILE"},
	} {
		checks := checkWay(want.place)
		if len(checks) != 1 || checks[0].OK != want.ok || !strings.Contains(checks[0].Found+checks[0].Fix, want.words) {
			t.Errorf("%s: %+v", name, checks)
		}
	}
	if checks := checkWay(Place{}); len(checks) != 0 {
		t.Errorf("a file: %+v", checks)
	}
}
