// Package receiver implements an SMTP server that receives bounces and complaints: mail to the
// signed return paths of this installation and nothing else. It relays nothing and answers no mail.
//
// Failure policy: the final dot is answered with 250 only after the reports in the message are
// stored, and with 451 if storing fails. Mail that reports nothing is accepted and dropped:
// returning it would bounce a bounce. The time, memory and connections of a peer are bounded.
package receiver

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"github.com/emersion/go-smtp"

	"mailer/app"
	"mailer/app/rules/feedback"
	"mailer/web/smtp/conn"
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

// Config configures a Server.
type Config struct {
	ProviderEvents ProviderEvents
	Host           string // in the greeting and the reply to EHLO
	Log            *slog.Logger
}

// Server is an SMTP server for bounces.
type Server struct {
	cfg     Config
	limits  limits
	parse   func(raw []byte, nullSender bool) []feedback.Claim
	smtp    *smtp.Server
	limiter *conn.Limiter
	ctx     context.Context // of storing; canceled when a shutdown has waited long enough
	cancel  context.CancelFunc
}

// New makes a Server without listeners.
func New(cfg Config) *Server { return newServer(cfg, defaultLimits()) }

func newServer(cfg Config, l limits) *Server {
	s := &Server{cfg: cfg, limits: l, parse: feedback.ReadBounce, limiter: conn.NewLimiter(l.conn)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.smtp = smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		conn, ok := c.Conn().(*conn.Conn)
		if !ok {
			return nil, errors.New("not a connection of this server")
		}
		return s.Session(conn), nil
	}))
	s.smtp.Domain = cfg.Host
	s.smtp.MaxRecipients, s.smtp.MaxMessageBytes, s.smtp.MaxLineLength = l.recipients, l.message, l.line
	s.smtp.EnableSMTPUTF8 = true // bounces of mail to international addresses may need it (RFC 6533)
	s.smtp.ErrorLog = conn.Log{Log: cfg.Log, Name: "bounce listener"}
	return s
}

// Session makes the session of a connection, also for another server's listener.
func (s *Server) Session(c *conn.Conn) smtp.Session { return &session{server: s, conn: c} }

// Serve serves l until Shutdown and returns nil then.
func (s *Server) Serve(l net.Listener) error {
	counted := s.limiter.Wrap(l)
	if counted == nil {
		return l.Close()
	}
	err := s.smtp.Serve(counted)
	if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) && s.limiter.Draining() {
		return nil
	}
	return err
}

// Shutdown refuses new connections, closes idle ones, and waits for running messages. When ctx ends
// it drops those without a reply, so that their senders keep them.
func (s *Server) Shutdown(ctx context.Context) error {
	return s.limiter.Shutdown(ctx, s.smtp, s.cancel)
}
