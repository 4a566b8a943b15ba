// Package receiver implements the SMTP server that other mail servers reach (RFC 5321): it receives bounces and
// complaints at the signed return paths of this installation, and mail for domains whose teams receive. It relays
// nothing and answers no mail.
//
// Failure policy: the final dot is answered with 250 only after the message, or the reports in it, are stored, and with
// a temporary error if storing fails. Mail to a return path that reports nothing is accepted and dropped: returning it
// would bounce a bounce. The time, memory, disk and connections of a peer are bounded.
package receiver

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"

	"github.com/emersion/go-smtp"

	"mailer/app"
	"mailer/app/kit/fair"
	"mailer/app/kit/metrics"
	"mailer/app/rules/feedback"
	"mailer/app/sending/receiving"
	"mailer/app/tenants/reports"
	"mailer/web/smtp/conn"
	"mailer/web/smtp/spool"
)

// ProviderEvents verifies return paths and stores reports.
type ProviderEvents interface {
	// ReadReturnPath decodes a signed return path; ok is false for any other address.
	ReadReturnPath(mailbox string) (p app.ReturnPath, ok bool)
	// TakeBounce stores the reports that the path proves. It returns nil once they are on disk.
	TakeBounce(ctx context.Context, path app.ReturnPath, reports []feedback.Claim) error
	// NoteSeen and NoteRefused record that a source delivered something, and why it was refused.
	NoteSeen(source string)
	NoteRefused(source, reason string)
}

// Mail takes mail for teams.
type Mail interface {
	// Recipient returns the team that receives mail for an address. Errors: receiving.ErrNotHere, ErrNotNow and
	// ErrFull; all others are internal errors.
	Recipient(ctx context.Context, address string) (receiving.Target, error)
	// Take stores a message for each team among its recipients. It returns nil once the message is on disk, also for a
	// message that the peer repeats. Errors: receiving.ErrFull and ErrTooLarge; all others are internal errors.
	Take(ctx context.Context, in receiving.Delivery) error
}

// Reports takes the reports about domains of teams.
type Reports interface {
	// IsAddress reports whether an address has the form of one for reports.
	IsAddress(address string) bool
	// Recipient returns the domain that gets reports at an address. Errors: reports.ErrNotHere; all others are internal
	// errors.
	Recipient(ctx context.Context, address string) (reports.Target, error)
	// Take stores the report in a message. It returns nil once the report is on disk, and for a message that brings
	// none; why says for the log that it was not stored, or does not count. Errors: reports.ErrNotNow; all others are
	// internal errors.
	Take(ctx context.Context, in reports.Delivery) (why string, err error)
}

// Config configures a Server.
type Config struct {
	ProviderEvents ProviderEvents
	Mail           Mail             // nil: no mail for teams
	Reports        Reports          // nil: no reports
	Host           string           // in the greeting and the reply to EHLO
	TLS            *tls.Config      // nil: no certificate
	Dir            string           // of messages that are being received
	Metrics        *metrics.Metrics // nil: not counted
	Log            *slog.Logger
}

// Server is the SMTP server for mail from other servers.
type Server struct {
	cfg     Config
	limits  limits
	parse   func(raw []byte, nullSender bool) []feedback.Claim
	smtp    *smtp.Server
	limiter *conn.Limiter
	lines   *conn.Lines
	spool   *spool.Config
	intake  *intake
	ctx     context.Context // of storing; canceled when a shutdown has waited long enough
	cancel  context.CancelFunc
}

// New makes a Server without listeners.
func New(cfg Config) *Server { return newServer(cfg, defaultLimits()) }

func newServer(cfg Config, l limits) *Server {
	s := &Server{cfg: cfg, limits: l, parse: feedback.ReadBounce, limiter: conn.NewLimiter(l.conn), intake: newIntake(l.rate)}
	s.spool = &spool.Config{Disk: fair.New(fair.Config[string]{Capacity: l.disk, Share: l.share}), Dir: cfg.Dir, Memory: l.memory, LongLines: true, Log: cfg.Log}
	s.lines = conn.NewLines(conn.LineConfig{Host: cfg.Host, TLS: cfg.TLS, Log: cfg.Log, BadRecipient: "550 5.1.3 That is no address of a recipient\r\n",
		CommandLine: l.line, Commands: l.commands, Timeout: l.greet, Handshake: l.greet, Message: l.message, Deadline: l.deadline})
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.smtp = smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		conn, ok := c.Conn().(*conn.LineConn)
		if !ok {
			return nil, errors.New("not a connection of this server")
		}
		return s.Session(conn, c.Hostname), nil
	}))
	s.smtp.Domain = cfg.Host
	s.smtp.MaxRecipients, s.smtp.MaxMessageBytes = l.recipients, l.message
	s.smtp.MaxLineLength = 0     // LineConn bounds command lines
	s.smtp.EnableSMTPUTF8 = true // also for bounces of mail to international addresses (RFC 6533)
	s.smtp.ErrorLog = conn.Log{Log: cfg.Log, Name: "mail receiver"}
	return s
}

// Session makes the session of a connection, also for another server's listener. hello returns the name that the peer
// gave.
func (s *Server) Session(c *conn.LineConn, hello func() string) smtp.Session {
	one := &session{server: s, conn: c, hello: hello}
	c.OnMalformedRecipient(one.malformed)
	return one
}

// Serve serves l until Shutdown and returns nil then.
func (s *Server) Serve(l net.Listener) error {
	counted := s.limiter.Wrap(l)
	if counted == nil {
		return l.Close()
	}
	err := s.lines.Serve(s.smtp, counted, conn.Port{})
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
