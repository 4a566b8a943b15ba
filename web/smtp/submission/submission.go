// Package submission is the door by which programs hand in mail by SMTP (RFC 6409), as
// they would at any provider: host, port, and an API key as the password.
//
// Failure policy: the dot of a message is answered with 250 only once the email is safe
// on disk. What the API refuses, this door refuses in the same words, with a reply code
// that says whether trying again is of use; a fault of ours is temporary, is logged, and
// tells nothing. Whatever a peer sends, the time, memory, disk and connections that it
// gets are bounded.
package submission

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/emersion/go-smtp"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/web/smtp/conn"
)

// Messages are taken and become emails. Errors: an *app.Error, which the peer may read;
// all others are faults of ours.
type Messages interface {
	// Check refuses what a key may not hand in at all.
	Check(ctx context.Context, key *app.Key) error
	// Accept makes an email of a message and returns its id once it is safe on disk.
	Accept(ctx context.Context, key *app.Key, m *mail.Submission) (id string, err error)
}

// API is what this door shares with that of HTTP: keys, rates and memory. All of its
// errors are *app.Error.
type API interface {
	// SignIn finds the key of a token and counts a wrong one against the address. Errors:
	// CodeInvalidAPIKey, CodeForbidden, CodeRateLimitExceeded after too many wrong ones.
	SignIn(ctx context.Context, token string, from netip.Addr) (*app.Key, error)
	// Standing finds it once more.
	Standing(ctx context.Context, token string, from netip.Addr) (*app.Key, error)
	// Rate counts a message of a key.
	Rate(key *app.Key) error
	// Room waits for memory for a message of a team.
	Room(ctx context.Context, team string, size int64) (release func(), err error)
}

// Config is what a Server is made of.
type Config struct {
	Messages Messages
	API      API
	Host     string      // in the banner and the answer to EHLO
	TLS      *tls.Config // nil: there is no certificate
	// Anybody is the token of the key that counts for who has none; empty: nobody
	// hands in anything without a key.
	Anybody string
	// Bounces serve what comes to return paths at ports where both are taken; nil: none.
	Bounces func(c *conn.Conn) smtp.Session
	// Dir is where messages lie while they arrive.
	Dir string
	Log *slog.Logger
	// Silent: of messages only those have a line in the log that fail by the server's
	// fault.
	Silent func() bool // nil: all have lines
}

// MaxMessage is how large a message may be, in bytes.
const MaxMessage = 40 << 20

// limits bound what one peer, and all of them, can take.
type limits struct {
	door      conn.Limits
	other     time.Duration // the age of a connection at a port where bounces come too
	patience  time.Duration // for which a message that is over the rate of its key waits
	message   int64         // bytes of a message
	memory    int64         // bytes of a message up to which it arrives in memory
	disk      int64         // bytes of all messages that arrive on the disk
	share     int64         // bytes of those of one team
	command   int           // bytes of a line that is no text
	commands  int           // between two messages
	handshake time.Duration // of TLS
	stall     time.Duration // for the next part of a message
	grace     time.Duration // before the rate of a message counts
	rate      int64         // the least bytes a second of a message
	transfer  time.Duration // of a message in all
	store     time.Duration // for one Accept
}

func defaultLimits() limits {
	return limits{
		door:  conn.Limits{Conns: 200, PerAddress: 20, Reserve: 40, Session: 2 * MaxMessage, Idle: 5 * time.Minute, Age: 30 * time.Second},
		other: 5 * time.Minute, patience: 30 * time.Second, message: MaxMessage, memory: 64 << 10, disk: 1 << 30, share: 512 << 20, command: 2048, commands: 20_000,
		handshake: 30 * time.Second, stall: time.Minute, grace: time.Minute, rate: 8 << 10, transfer: 30 * time.Minute, store: 2 * time.Minute,
	}
}

// Port is how a listener is served.
type Port struct {
	TLS     bool // from the start; else by STARTTLS, where there is a certificate
	Bounces bool // takes what comes to return paths too
}

// Server is the SMTP server. It is made by New.
type Server struct {
	cfg      Config
	limits   limits
	smtp     *smtp.Server
	door     *conn.Door
	disk     *pool
	turns    *turns
	upgraded *handover
	begun    sync.Once
	ctx      context.Context // of what is at work; ends when a stop has waited long enough
	cancel   context.CancelFunc
}

// New makes a Server that waits for Serve.
func New(cfg Config) *Server { return newServer(cfg, defaultLimits()) }

func newServer(cfg Config, l limits) *Server {
	s := &Server{cfg: cfg, limits: l, door: conn.New(l.door), disk: newDiskBudget(l.disk, l.share), turns: newStoreLimiter(), upgraded: newUpgradedListener()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.smtp = smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		w, ok := c.Conn().(*wire)
		if !ok {
			return nil, errors.New("not a connection of this door")
		}
		return newSession(s, w), nil
	}))
	s.smtp.Domain = cfg.Host
	s.smtp.MaxRecipients, s.smtp.MaxMessageBytes = app.MaxRecipients, l.message
	s.smtp.MaxLineLength = 0        // the wire bounds lines, and the texts of messages by other rules
	s.smtp.AllowInsecureAuth = true // the session says where
	s.smtp.EnableSMTPUTF8 = true
	s.smtp.ErrorLog = conn.Log{Log: cfg.Log, Name: "submission listener"}
	return s
}

// Serve takes connections of l until Shutdown, and is nil then. It may be called for
// several.
func (s *Server) Serve(l net.Listener, p Port) error {
	counted := s.door.Open(l)
	if counted == nil {
		return l.Close()
	}
	s.begun.Do(func() { go func() { _ = s.smtp.Serve(s.upgraded) }() }) // it ends with the others
	err := s.smtp.Serve(&wired{counted, s, p})
	if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) && s.door.Closing() {
		return nil
	}
	return err
}

// Shutdown takes no new connection, closes those that wait for a command, and
// waits for messages that are on their way; when ctx ends it drops them
// unanswered, so that their senders keep them. It returns when all is over.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.upgraded.Close()
	return s.door.Shutdown(ctx, s.smtp, s.cancel)
}
