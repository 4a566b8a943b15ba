package engine

import (
	"testing"
	"time"
)

// TestConnectTimeout: the URL and PGCONNECT_TIMEOUT override the default.
func TestConnectTimeout(t *testing.T) {
	const url = "postgres://u:p@db.example.com/mailer"
	check := func(url string, want time.Duration) {
		t.Helper()
		e := &postgresEngine{}
		if err := e.configure(url); err != nil || e.config.ConnectTimeout != want {
			t.Errorf("%s: %v, %v", url, e.config, err)
		}
	}
	check(url, dialTimeout)
	check(url+"?connect_timeout=60", time.Minute)
	t.Setenv("PGCONNECT_TIMEOUT", "20")
	check(url, 20*time.Second)
}

// TestPostgresTLSDefault checks that TLS with verification is the default over a network, and
// that only the URL overrides it.
func TestPostgresTLSDefault(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	t.Setenv("PGHOST", "")
	for name, want := range map[string]struct {
		host, mode   string
		weak         bool
		tls, checked bool
	}{
		"postgres://u:p@db.example.com/mailer":                                  {"db.example.com", "verify-full", false, true, true},
		"postgresql://u:p@10.0.0.5:5433/mailer":                                 {"10.0.0.5", "verify-full", false, true, true},
		"postgres://u:p@db.example.com/mailer?connect_timeout=3":                {"db.example.com", "verify-full", false, true, true},
		"postgres://u:p@a.example.com:5432,b.example.com:5432/mailer":           {"a.example.com", "verify-full", false, true, true},
		"postgres://u:p@127.0.0.1:5432,b.example.com:5432/mailer":               {"b.example.com", "verify-full", false, true, true},
		"postgres://u:p@db.example.com/mailer?sslmode=verify-full":              {"db.example.com", "verify-full", false, true, true},
		"postgres://u:p@db.example.com/mailer?sslmode=require":                  {"db.example.com", "require", true, true, false},
		"postgres://u:p@db.example.com/mailer?application_name=x&sslmode=allow": {"db.example.com", "allow", true, false, false},
		"postgres://u:p@db.example.com/mailer?sslmode=prefer":                   {"db.example.com", "prefer", true, true, false},
		"postgres://u:p@db.example.com/mailer?sslmode=disable":                  {"db.example.com", "disable", true, false, false},
		"postgres://u:p@127.0.0.1:5432/mailer?sslmode=disable":                  {},
		"postgres://u:p@[::1]/mailer?sslmode=disable":                           {},
		"postgres:///mailer?host=/run/postgresql":                               {},
		"mailer.db": {},
	} {
		got := TLSOf(name)
		if got != (RemoteTLS{want.host, want.mode, want.weak}) {
			t.Errorf("%s: %+v", name, got)
		}
		if want.host == "" {
			continue
		}
		e := &postgresEngine{}
		if err := e.configure(name); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c := e.config.TLSConfig
		if (c != nil) != want.tls || c != nil && (!c.InsecureSkipVerify && c.ServerName != "") != want.checked {
			t.Errorf("%s: TLS %+v", name, c)
		}
		for _, f := range e.config.Fallbacks {
			if want.checked && (f.TLSConfig == nil || f.TLSConfig.InsecureSkipVerify) {
				t.Errorf("%s: falls back to %s without proof", name, f.Host)
			}
		}
	}
	for _, local := range []string{"postgres://u:p@localhost/mailer", "postgres://u@127.0.0.2/mailer", "postgres:///mailer?host=/tmp"} {
		if got, err := withTLS(local); got != local || err != nil {
			t.Errorf("%s becomes %s, %v", local, got, err)
		}
	}
	t.Setenv("PGSSLMODE", "require")
	if got := TLSOf("postgres://u:p@db.example.com/mailer"); got.Mode != "require" || !got.Weak {
		t.Errorf("PGSSLMODE: %+v", got)
	}
}

func TestHasPassword(t *testing.T) {
	for name, want := range map[string]bool{
		"postgres://u:p@h/d": true, "postgres://h/d?password=x&user=u": true, "postgres://u@h/d": false, "postgres:///d?host=/tmp": false, "a:b@c.db": false, "postgres://u:p%zz@h/d": true,
	} {
		if HasPassword(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}
