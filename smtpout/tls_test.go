package smtpout

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"mailer/app/rules/relayurl"
)

// peer is a relay on go-smtp's server, an SMTP implementation other than our fake.
type peer struct {
	listener net.Listener
	mechs    []string

	mu       sync.Mutex
	messages []string
	utf8     bool
	resumed  []bool
}

func startPeer(t *testing.T, p *peer, config *tls.Config, implicit bool) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if implicit {
		l = tls.NewListener(l, config)
	}
	p.listener = l
	s := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &peerSession{p: p, c: c}, nil }))
	s.Domain, s.EnableSMTPUTF8, s.AllowInsecureAuth = "peer", true, true
	s.ErrorLog = noLog{}
	if !implicit {
		s.TLSConfig = config
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() { s.Close(); wg.Wait() })
	return p
}

type noLog struct{}

func (noLog) Printf(string, ...any) {}
func (noLog) Println(...any)        {}

type peerSession struct {
	p        *peer
	c        *smtp.Conn
	loggedIn bool
}

func (s *peerSession) AuthMechanisms() []string { return s.p.mechs }

func (s *peerSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "user" || password != "pass-word" {
			return errors.New("wrong")
		}
		s.loggedIn = true
		return nil
	}), nil
}

func (s *peerSession) Mail(_ string, opts *smtp.MailOptions) error {
	if len(s.p.mechs) > 0 && !s.loggedIn {
		return smtp.ErrAuthRequired
	}
	state, _ := s.c.TLSConnectionState()
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.utf8 = opts.UTF8
	s.p.resumed = append(s.p.resumed, state.DidResume)
	return nil
}

func (s *peerSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasPrefix(to, "refused@") {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "unknown"}
	}
	return nil
}

func (s *peerSession) Data(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.messages = append(s.p.messages, string(b))
	return nil
}

func (s *peerSession) Reset()        {}
func (s *peerSession) Logout() error { return nil }

func TestPeerDelivery(t *testing.T) {
	config, ca := certificate(t)
	for _, mode := range []relayurl.TLSMode{relayurl.TLSRequired, relayurl.TLSImplicit, relayurl.TLSOpportunistic, relayurl.TLSOff} {
		t.Run(string(mode), func(t *testing.T) {
			p := startPeer(t, &peer{mechs: []string{"PLAIN"}}, config, mode == relayurl.TLSImplicit)
			cfg := configFor(p.listener)
			cfg.TLS, cfg.CAFile, cfg.User, cfg.Password = mode, ca, "user", "pass-word"
			r := newRelay(t, cfg)
			r.pool.connLimit = 1 // one handshake per message
			m := testMessage("a@example.net", "refused@example.net", "jürgen@example.net")
			m.Mail.Text = ".\n.dots\n" + strings.Repeat("some words\n", 500)
			message, err := compose(m)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				want(t, r.Send(t.Context(), m, authorizeAll), "done/dot/250 a=accepted/250 refused=refused/550 jürgen=accepted/250")
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.messages) != 2 || p.messages[1] != string(message) || !p.utf8 {
				t.Errorf("%d messages, SMTPUTF8 %v", len(p.messages), p.utf8)
			}
			if encrypted := mode != relayurl.TLSOff; p.resumed[1] != encrypted {
				t.Errorf("TLS session resumed: %v", p.resumed[1])
			}
		})
	}
}

func TestSelfSignedCertificateIsRefused(t *testing.T) {
	config, _ := certificate(t)
	for _, mode := range []relayurl.TLSMode{relayurl.TLSRequired, relayurl.TLSImplicit, relayurl.TLSOpportunistic} {
		t.Run(string(mode), func(t *testing.T) {
			p := startPeer(t, &peer{mechs: []string{"PLAIN"}}, config, mode == relayurl.TLSImplicit)
			cfg := configFor(p.listener)
			cfg.TLS, cfg.User, cfg.Password = mode, "user", "pass-word"
			res := newRelay(t, cfg).Send(t.Context(), testMessage("a@example.net"), authorizeAll)
			want(t, res, "trouble/tls/0")
			wantWords(t, res, "certificate")
		})
	}
}

func TestCertificateOfAnotherHostIsRefused(t *testing.T) {
	config, ca := certificate(t)
	p := startPeer(t, &peer{}, config, false)
	cfg := configFor(p.listener)
	cfg.Host, cfg.TLS, cfg.CAFile = "localhost", relayurl.TLSRequired, ca // the certificate names 127.0.0.1
	want(t, newRelay(t, cfg).Send(t.Context(), testMessage("a@example.net"), authorizeAll), "trouble/tls/0")
}

// The password must not be sent if STARTTLS was removed from the reply.
func TestStrippedSTARTTLS(t *testing.T) {
	f := startFake(t, &fake{ehlo: []string{"AUTH PLAIN"}})
	cfg := configFor(f.listener)
	cfg.TLS, cfg.User, cfg.Password = relayurl.TLSRequired, "user", "pass-word"
	res := newRelay(t, cfg).Send(t.Context(), testMessage("a@example.net"), authorizeAll)
	want(t, res, "trouble/tls/0")
	wantWords(t, res, "STARTTLS")
	if said := f.said("AUTH"); len(said) != 0 {
		t.Errorf("said %q", said)
	}
}

func TestSTARTTLSTrouble(t *testing.T) {
	tests := []struct{ name, reply, want string }{
		{"refused", "454 4.7.0 not now", "trouble/tls/454"},
		{"dropped", hangUp, "trouble/tls/0"},
		{"stalled", stall, "trouble/tls/0"},
		{"data in the clear after the reply", "220 go on\r\n250 injected", "trouble/tls/0"},
		{"no handshake", "220 go on\x00", "trouble/tls/0"},
	}
	for _, mode := range []relayurl.TLSMode{relayurl.TLSRequired, relayurl.TLSOpportunistic} {
		for _, tt := range tests {
			t.Run(string(mode)+" "+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					config, ca := certificate(t)
					if tt.name == "no handshake" {
						config = &tls.Config{} // no certificate: the server gives up
					}
					f := &fake{ehlo: []string{"STARTTLS", "AUTH PLAIN"}, tls: config, script: on("STARTTLS", tt.reply)}
					r := inBubbleAs(t, f, relayurl.Relay{TLS: mode, CAFile: ca, User: "user", Password: "pass-word"})
					want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), tt.want)
					if said := f.said("AUTH"); len(said) != 0 {
						t.Errorf("said %q", said)
					}
				})
			})
		}
	}
}

// Our name, not localhost, is in both EHLO, and extensions offered before TLS are discarded.
func TestSTARTTLSOnFake(t *testing.T) {
	config, ca := certificate(t)
	f := startFake(t, &fake{ehlo: []string{"STARTTLS", "AUTH LOGIN"}, tls: config, script: func(_ int, verb, line string) string {
		switch {
		case verb == "AUTH":
			return "334 UGFzc3dvcmQ6" // Password:
		case line == "cGFzcy13b3Jk":
			return "235 2.7.0 welcome"
		}
		return ""
	}})
	cfg := configFor(f.listener)
	cfg.TLS, cfg.CAFile, cfg.User, cfg.Password = relayurl.TLSRequired, ca, "user", "pass-word"
	want(t, newRelay(t, cfg).Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
	if got := f.said("EHLO"); len(got) != 2 || got[0] != got[1] || got[0] != "EHLO mailer.example.com" {
		t.Errorf("said %q", got)
	}
	if got := f.said("AUTH"); len(got) != 1 || got[0] != "AUTH LOGIN dXNlcg==" {
		t.Errorf("said %q", got)
	}
}

func TestOpportunisticGoesOnInTheClear(t *testing.T) {
	f := startFake(t, &fake{ehlo: []string{"AUTH LOGIN PLAIN"}})
	cfg := configFor(f.listener)
	cfg.TLS, cfg.User, cfg.Password = relayurl.TLSOpportunistic, "user", "pass-word"
	want(t, newRelay(t, cfg).Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
	if got := f.said("AUTH"); len(got) != 1 || !strings.HasPrefix(got[0], "AUTH PLAIN ") {
		t.Errorf("said %q", got)
	}
}

func TestAuthTrouble(t *testing.T) {
	const plain = "AHVzZXIAcGFzcy13b3Jk" // base64 of \0user\0pass-word
	tests := []struct{ name, offer, reply, want string }{
		{"refused for good", "AUTH PLAIN", "535 5.7.8 user pass-word is wrong: AUTH PLAIN " + plain, "trouble/auth/535"},
		{"refused for now", "AUTH PLAIN", "454 4.7.0 later", "trouble/auth/454"},
		{"any other code", "AUTH PLAIN", "550 5.0.0 no", "trouble/auth/550"},
		{"not offered", "8BITMIME", "", "trouble/auth/0"},
		{"no mechanism of ours", "AUTH XOAUTH2", "", "trouble/auth/0"},
		{"dropped", "AUTH PLAIN", hangUp, "trouble/auth/0"},
		{"stalled", "AUTH PLAIN", stall, "trouble/auth/0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{ehlo: []string{tt.offer}, script: on("AUTH", tt.reply)}
				r := inBubbleAs(t, f, relayurl.Relay{TLS: relayurl.TLSOff, User: "user", Password: "pass-word"})
				res := r.Send(t.Context(), testMessage("a@example.net"), authorizeAll)
				want(t, res, tt.want)
				if res.Reply.Text == "" || strings.Contains(res.Reply.Text, "pass-word") || strings.Contains(res.Reply.Text, plain) {
					t.Errorf("reply %q", res.Reply.Text)
				}
				if len(f.said("MAIL")) != 0 {
					t.Error("MAIL was said")
				}
			})
		})
	}
}

func TestNewRelayErrors(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := relayurl.Relay{Region: "eu", Host: "127.0.0.1", User: "user", Password: "pass-word"}
	tests := []struct {
		name  string
		cfg   func(*relayurl.Relay)
		hello string
		words string
	}{
		{"no host", func(c *relayurl.Relay) { c.Host = "" }, "", "host"},
		{"mode", func(c *relayurl.Relay) { c.TLS = "sometimes" }, "", "sometimes"},
		{"ca missing", func(c *relayurl.Relay) { c.CAFile = "/nowhere/ca.pem" }, "", "/nowhere/ca.pem"},
		{"ca empty", func(c *relayurl.Relay) { c.CAFile = empty }, "", empty},
		{"hello", func(*relayurl.Relay) {}, "two words", "two words"},
		{"hello with a line end", func(*relayurl.Relay) {}, "a\r\nRSET", "EHLO"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := base
			tt.cfg(&cfg)
			_, err := NewRelay(cfg, Options{Hello: tt.hello})
			if err == nil || !strings.Contains(err.Error(), tt.words) || strings.Contains(err.Error(), "pass-word") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestRelayDefaults(t *testing.T) {
	r := newRelay(t, relayurl.Relay{Host: "relay.example.com"})
	if r.addr != "relay.example.com:587" || r.cfg.TLS != relayurl.TLSRequired || r.cfg.Timeout != 30*time.Second || r.pool.slots.limit() != 8 {
		t.Errorf("%s %+v", r.addr, r.cfg)
	}
	r = newRelay(t, relayurl.Relay{Host: "relay.example.com", TLS: relayurl.TLSImplicit})
	if r.addr != "relay.example.com:465" || r.tls.MinVersion != tls.VersionTLS12 {
		t.Errorf("%s", r.addr)
	}
}
