package health

import (
	"strings"
	"testing"
	"time"

	"mailer/db"
)

// TestCertificateExpiryFinding: a finding within the warning period, with the authority's message.
func TestCertificateExpiryFinding(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		state db.CertificateState
		ok    bool
		found string
	}{
		{db.CertificateState{Host: "a.example", ExpiresAt: now.Add(60 * 24 * time.Hour), LookAt: now.Add(46 * 24 * time.Hour)}, true, "certificate of a.example is valid until 2027-01-22"},
		{db.CertificateState{Host: "a.example", ExpiresAt: now.Add(14 * 24 * time.Hour), LookAt: now, Failure: "rate limited"}, false, "The certificate of a.example expires on 2026-12-07T12:00:00.000Z and is not renewed. rate limited"},
		{db.CertificateState{Host: "a.example", ExpiresAt: now, LookAt: now.Add(-time.Hour)}, false, "The certificate of a.example expired on 2026-11-23T12:00:00.000Z."},
		{db.CertificateState{Host: "a.example", Failure: "connection refused"}, false, "a.example has no certificate: connection refused."},
	} {
		got := judgeCertificate(&c.state, now)
		if got.OK != c.ok || got.Found != c.found || !c.ok && !strings.Contains(got.Fix, "443") {
			t.Errorf("of %+v: %+v", c.state, got)
		}
	}
}
