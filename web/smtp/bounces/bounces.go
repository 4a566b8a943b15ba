// Package bounces is the door by which bounces and complaints come back when no
// provider reports them: an SMTP server that takes mail to our own signed return
// paths and nothing else. It relays nothing and answers no mail.
//
// Failure policy: the dot of a message is answered with 250 only after what it
// reports is stored, with 451 when that fails; mail that reports nothing is taken
// and dropped, since sending it back would bounce a bounce. Whatever a peer
// sends, the time, memory and connections that it gets are bounded.
package bounces

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/emersion/go-smtp"

	"mailer/app"
	"mailer/app/rules/feedback"
	"mailer/web/smtp/conn"
)

// Reports knows the return paths and takes what came to them.
type Reports interface {
	// ReadReturnPath tells what an address stands for that is a return path of
	// ours; ok is false for any other.
	ReadReturnPath(mailbox string) (p app.ReturnPath, ok bool)
	// TakeBounce stores what the reports say as far as the path proves it. nil:
	// it is on disk.
	TakeBounce(ctx context.Context, path app.ReturnPath, reports []feedback.Claim) error
	// NoteSeen and NoteRefused note when something came from a source, and why it was not
	// taken.
	NoteSeen(source string)
	NoteRefused(source, reason string)
}

// Config is what a Server is made of.
type Config struct {
	Reports Reports
	Host    string // in the banner and the answer to EHLO
	Log     *slog.Logger
}

// limits bound what one peer, and all of them, can take.
type limits struct {
	door       conn.Limits
	session    time.Duration // from the first return path of ours on
	recipients int           // of a message
	refusals   int           // of recipients, before the connection is closed
	messages   int           // begun in a session
	message    int64         // bytes of a message
	line       int           // bytes of a line
	store      time.Duration // for one TakeBounce
}

func defaultLimits() limits {
	return limits{door: conn.Limits{Conns: 100, PerAddress: 10, Reserve: 20, Session: 20 << 20, Idle: time.Minute, Age: 30 * time.Second},
		session:    5 * time.Minute,
		recipients: 10, refusals: 10, messages: 100, message: 10 << 20, line: 8 << 10, store: 30 * time.Second}
}

// Server is the SMTP server. It is made by New.
type Server struct {
	cfg    Config
	limits limits
	parse  func(raw []byte, nullSender bool) []feedback.Claim
	smtp   *smtp.Server
	door   *conn.Door
	ctx    context.Context // of storing; ends when a stop has waited long enough
	cancel context.CancelFunc
}

// New makes a Server that waits for Serve.
func New(cfg Config) *Server { return newServer(cfg, defaultLimits()) }

func newServer(cfg Config, l limits) *Server {
	s := &Server{cfg: cfg, limits: l, parse: feedback.ReadBounce, door: conn.New(l.door)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.smtp = smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		conn, ok := c.Conn().(*conn.Conn)
		if !ok {
			return nil, errors.New("not a connection of this door")
		}
		return s.Session(conn), nil
	}))
	s.smtp.Domain = cfg.Host
	s.smtp.MaxRecipients, s.smtp.MaxMessageBytes, s.smtp.MaxLineLength = l.recipients, l.message, l.line
	s.smtp.EnableSMTPUTF8 = true // a bounce of mail to such an address may need it (RFC 6533)
	s.smtp.ErrorLog = conn.Log{Log: cfg.Log, Name: "bounce listener"}
	return s
}

// Session takes what one connection brings, also where another server listens.
func (s *Server) Session(c *conn.Conn) smtp.Session { return &session{server: s, conn: c} }

// Serve takes connections of l until Shutdown; then it gives nil.
func (s *Server) Serve(l net.Listener) error {
	counted := s.door.Open(l)
	if counted == nil {
		return l.Close()
	}
	err := s.smtp.Serve(counted)
	if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) && s.door.Closing() {
		return nil
	}
	return err
}

// Shutdown takes no new connection, closes those that wait for a command, and
// waits for messages that are on their way; when ctx ends it drops them
// unanswered, so that their senders keep them. It returns when all is over.
func (s *Server) Shutdown(ctx context.Context) error {
	return s.door.Shutdown(ctx, s.smtp, s.cancel)
}
