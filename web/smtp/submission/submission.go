// Package submission implements the SMTP submission server (RFC 6409). Programs connect with host,
// port, and an API key as the password.
//
// Failure policy: the final dot is answered with 250 only after the email is on disk. Errors of the
// API have the same texts here, with a reply code that tells whether a retry is useful. An internal
// error is temporary, is logged, and reveals nothing. The time, memory, disk and connections of a
// peer are bounded.
package submission

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"

	"github.com/emersion/go-smtp"

	"mailer/app"
	"mailer/app/kit/fair"
	"mailer/app/sending/mail"
	"mailer/web/smtp/conn"
	"mailer/web/smtp/spool"
)

// Messages turns messages into emails. Errors: an *app.Error, which the peer may read; all others
// are internal errors.
type Messages interface {
	// Check refuses a key that may not send at all.
	Check(ctx context.Context, key *app.Key) error
	// Accept creates an email from a message and returns its id once the email is on disk.
	Accept(ctx context.Context, key *app.Key, m *mail.Submission) (id string, err error)
}

// API holds the keys, rates and memory that the listener shares with the HTTP API. All errors are
// *app.Error.
type API interface {
	// SignIn returns the key of a token, and counts a wrong token against the address. Errors:
	// CodeInvalidAPIKey, CodeForbidden, CodeRateLimitExceeded after too many wrong ones.
	SignIn(ctx context.Context, token string, from netip.Addr) (*app.Key, error)
	// Recheck is SignIn without counting.
	Recheck(ctx context.Context, token string, from netip.Addr) (*app.Key, error)
	// Rate counts a message of a key.
	Rate(key *app.Key) error
	// ReserveMemory waits for memory for a message of a team.
	ReserveMemory(ctx context.Context, team string, size int64) (release func(), err error)
}

// Config configures a Server.
type Config struct {
	Messages Messages
	API      API
	Host     string      // in the greeting and the reply to EHLO
	TLS      *tls.Config // nil: no certificate
	// DefaultToken is the key for peers without one; empty: a key is required.
	DefaultToken string
	// Bounces makes sessions for mail from other servers, at ports that receive it too; nil: none. hello
	// returns the name that the peer gave.
	Bounces func(c *conn.LineConn, hello func() string) smtp.Session
	// Dir is the directory of messages that are being received.
	Dir string
	Log *slog.Logger
	// LogFaultsOnly reports whether only messages that fail with a server error are logged.
	LogFaultsOnly func() bool // nil: all are logged
}

// Server is the SMTP submission server.
type Server struct {
	cfg     Config
	limits  limits
	smtp    *smtp.Server
	limiter *conn.Limiter
	lines   *conn.Lines
	disk    *fair.Semaphore[string] // disk space of messages that are being received, by team
	spool   *spool.Config
	stores  *storeLimiter
	ctx     context.Context // of running messages; canceled when a shutdown has waited long enough
	cancel  context.CancelFunc
}

// New makes a Server without listeners.
func New(cfg Config) *Server { return newServer(cfg, defaultLimits()) }

func newServer(cfg Config, l limits) *Server {
	s := &Server{cfg: cfg, limits: l, limiter: conn.NewLimiter(l.conn), disk: fair.New(fair.Config[string]{Capacity: l.disk, Share: l.share}), stores: newStoreLimiter()}
	s.spool = &spool.Config{Disk: s.disk, Dir: cfg.Dir, Memory: l.memory, Log: cfg.Log}
	s.lines = conn.NewLines(conn.LineConfig{Host: cfg.Host, TLS: cfg.TLS, Log: cfg.Log, BadRecipient: "550 5.1.3 That is no address of a recipient\r\n",
		CommandLine: l.command, Commands: l.commands, Timeout: l.conn.Idle, Handshake: l.handshake, Message: l.message, Deadline: l.deadline})
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.smtp = smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		w, ok := c.Conn().(*conn.LineConn)
		if !ok {
			return nil, errors.New("not a connection of this server")
		}
		return newSession(s, w, c.Hostname), nil
	}))
	s.smtp.Domain = cfg.Host
	s.smtp.MaxRecipients, s.smtp.MaxMessageBytes = app.MaxRecipients, l.message
	s.smtp.MaxLineLength = 0        // LineConn bounds command lines, spool.Message those of messages
	s.smtp.AllowInsecureAuth = true // the session decides
	s.smtp.EnableSMTPUTF8 = true
	s.smtp.ErrorLog = conn.Log{Log: cfg.Log, Name: "submission listener"}
	return s
}

// Serve serves l until Shutdown and returns nil then. It may be called for several listeners.
func (s *Server) Serve(l net.Listener, p conn.Port) error {
	counted := s.limiter.Wrap(l)
	if counted == nil {
		return l.Close()
	}
	if p.Bounces {
		p.MaxAge = s.limits.bouncePortAge // mail servers never sign in
	}
	err := s.lines.Serve(s.smtp, counted, p)
	if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) && s.limiter.Draining() {
		return nil
	}
	return err
}

// Shutdown refuses new connections, closes idle ones, and waits for running messages. When ctx ends
// it drops those without a reply, so that their senders keep them.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.lines.Close()
	return s.limiter.Shutdown(ctx, s.smtp, s.cancel)
}
