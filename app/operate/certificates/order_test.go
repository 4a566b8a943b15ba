package certificates

import (
	"slices"
	"testing"

	"mailer/db"
)

// TestNewHostsPrecedeFailedOnes in whatever order their names sort.
func TestNewHostsPrecedeFailedOnes(t *testing.T) {
	s := &Service{cfg: &Config{hosts: []string{"mail.example.com", "smtp.example.com"}}, states: map[string]*state{}}
	for host, failures := range map[string]int{"a.bad.test": 5, "b.bad.test": 1, "mail.example.com": 9} {
		s.states[host] = &state{CertificateState: db.CertificateState{Host: host, Failures: failures}}
	}
	hosts := []string{"a.bad.test", "b.bad.test", "mail.example.com", "new.test", "smtp.example.com", "z.new.test"}
	s.sort(hosts)
	if want := []string{"mail.example.com", "smtp.example.com", "new.test", "z.new.test", "b.bad.test", "a.bad.test"}; !slices.Equal(hosts, want) {
		t.Errorf("%q", hosts)
	}
}
