package submission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/emersion/go-smtp"

	"mailer/app"
	"mailer/app/kit/mailbox"
	"mailer/app/sending/mail"
)

// session is one connection's conversation. Its methods are called one after
// another.
type session struct {
	server   *Server
	wire     *wire
	token    string       // of the key that signed in; empty: nobody has
	team     string       // of the key
	bounces  smtp.Session // nil: none are taken here
	isBounce bool         // what is handed in is one
	rcpts    []string
}

func newSession(s *Server, w *wire) *session {
	made := &session{server: s, wire: w}
	if w.port.Bounces && s.cfg.Bounces != nil {
		made.bounces = s.cfg.Bounces(w.Conn)
	}
	return made
}

// Reset forgets the message that was begun.
func (s *session) Reset() {
	s.wire.endMessage()
	s.rcpts, s.isBounce = nil, false
	if s.bounces != nil {
		s.bounces.Reset()
	}
}

// Logout ends the session.
func (s *session) Logout() error { return nil }

// Mail begins a message. Whom it claims to be from counts for nothing.
func (s *session) Mail(from string, opts *smtp.MailOptions) error {
	s.Reset()
	s.wire.beginMessage()
	if s.token == "" && s.bounces != nil {
		if err := s.bounces.Mail(from, opts); err != nil {
			return err
		}
		if s.server.cfg.Anybody == "" {
			return nil // the recipient tells whether it is a bounce
		}
	}
	key, err := s.key()
	if err == nil {
		err = s.pace(key)
	}
	if err == nil {
		err = s.server.cfg.Messages.Check(s.server.ctx, key)
	}
	if err != nil {
		return s.refused("MAIL", err)
	}
	if s.token == "" {
		s.wire.Trust() // anybody may hand in here
	}
	return nil
}

// paceStep is how often a message that waits for its rate asks again.
const paceStep = 200 * time.Millisecond

// pace counts a message of a key, and waits where the key sends faster than it may: many
// programs give up what is refused in the middle of a connection. Errors:
// CodeRateLimitExceeded after limits.patience; errStopping.
func (s *session) pace(key *app.Key) error {
	until := time.Now().Add(s.server.limits.patience)
	for {
		err := s.server.cfg.API.Rate(key)
		if app.CodeOf(err) != app.CodeRateLimitExceeded || !time.Now().Before(until) {
			return err
		}
		select {
		case <-time.After(paceStep):
		case <-s.server.ctx.Done():
		}
		if s.wire.Stopping() || s.server.ctx.Err() != nil {
			return errStopping
		}
	}
}

// key is the key as it is now: it may have been taken away since it signed in.
func (s *session) key() (*app.Key, error) {
	token := s.token
	if token == "" {
		token = s.server.cfg.Anybody
	}
	if token == "" {
		return nil, errNoKey
	}
	key, err := s.server.cfg.API.Standing(s.server.ctx, token, s.wire.peer())
	if app.CodeOf(err) == app.CodeInvalidAPIKey {
		s.wire.End()
	}
	if err != nil {
		return nil, err
	}
	s.team = key.TeamID
	key.Via = mail.SourceSMTP
	return key, nil
}

// Rcpt takes any address that is one: what is wrong with a recipient is answered with
// the message, as the API does.
func (s *session) Rcpt(to string, opts *smtp.RcptOptions) error {
	if s.mayBounce(to) {
		err := s.bounces.Rcpt(to, opts)
		s.isBounce = s.isBounce || err == nil
		return err
	}
	if s.isBounce {
		return errRelayDenied
	}
	address, ok := recipient(to)
	if !ok {
		return errAddress
	}
	s.rcpts = append(s.rcpts, address)
	return nil
}

// mayBounce reports whether a recipient is to be a return path: nobody has signed in.
func (s *session) mayBounce(to string) bool {
	if s.token != "" || s.bounces == nil || len(s.rcpts) > 0 {
		return false
	}
	return s.server.cfg.Anybody == "" || app.IsReturnPath(to)
}

// recipient reads an address of RCPT: a mailbox without a name.
func recipient(to string) (address string, ok bool) {
	at := strings.LastIndexByte(to, '@')
	if at < 0 || len(to) > mailbox.MaxInput {
		return "", false
	}
	domain, err := mailbox.ParseDomain(to[at+1:])
	if err != nil || mailbox.CheckLocal(to[:at]) != nil || at+1+len(domain) > mailbox.MaxLength {
		return "", false
	}
	return to[:at+1] + domain, true
}

// Data takes the message and answers once it is safe.
func (s *session) Data(r io.Reader) error {
	if s.isBounce {
		return s.bounces.Data(r)
	}
	if !s.wire.Begin() {
		return errIncomplete
	}
	defer s.wire.Done()
	in := &intake{pool: s.server.disk, team: s.team, dir: s.server.cfg.Dir, memory: s.server.limits.memory, log: s.server.cfg.Log}
	defer in.close()
	if _, err := io.Copy(in, r); err != nil {
		if errors.Is(err, smtp.ErrDataTooLarge) {
			return s.refused("DATA", smtp.ErrDataTooLarge)
		}
		s.wire.End()
		return s.refused("DATA", errIncomplete)
	}
	fault := in.end()
	if fault == errNUL && s.wire.bareCR {
		fault = errBareCR
	}
	if fault != nil {
		return s.refused("DATA", fault)
	}
	id, err := s.take(in)
	if err != nil {
		return s.refused("DATA", err)
	}
	if !s.server.silent() {
		s.server.cfg.Log.Debug("message taken by SMTP", "email", id, "team", s.team, "bytes", in.size, "recipients", len(s.rcpts))
	}
	return &smtp.SMTPError{Code: 250, EnhancedCode: smtp.EnhancedCode{2, 0, 0}, Message: "Ok: queued as " + id}
}

// take makes an email of a message that is here.
func (s *session) take(in *intake) (id string, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.server.cfg.Log.Error("panic over a message that came by SMTP", "panic", p, "stack", string(debug.Stack()))
			err = errInternal
		}
	}()
	ctx, cancel := context.WithTimeout(s.server.ctx, s.server.limits.store)
	defer cancel()
	key, err := s.key()
	if err != nil {
		return "", err
	}
	ctx = app.WithActor(ctx, func() app.Actor {
		return app.Actor{Type: app.ActorKey, Name: key.ID, Address: s.wire.peer().String()}
	})
	end, ok := s.server.turns.take(ctx, key.TeamID, in.size)
	if !ok {
		return "", errStoreBusy
	}
	defer end()
	release, err := s.server.cfg.API.Room(ctx, key.TeamID, in.size)
	if err != nil {
		return "", err
	}
	defer release()
	message, err := in.message()
	if err != nil {
		return "", err
	}
	return s.server.cfg.Messages.Accept(ctx, key, &mail.Submission{Recipients: s.rcpts, Message: message})
}

// silent reports whether messages have no line in the log but for those that fail by the server's fault.
func (s *Server) silent() bool { return s.cfg.Silent != nil && s.cfg.Silent() }

// refused is the answer to an error, of which there is a line in the log that names
// nobody.
func (s *session) refused(command string, err error) error {
	answer := s.server.answer(err)
	if answer.Code == 421 {
		s.wire.End()
	}
	if !s.server.silent() {
		s.server.cfg.Log.Info("message by SMTP refused", "command", command, "answer", fmt.Sprint(answer.Code, " ", enhancedText(answer.EnhancedCode)), "why", why(err), "team", s.team)
	}
	return answer
}

// why is what a log says of an error: the name that the API has for it, or this door's
// own words.
func why(err error) string {
	var own *smtp.SMTPError
	if errors.As(err, &own) {
		return own.Message
	}
	return string(app.CodeOf(err))
}

// enhancedText is an enhanced code as answers have it.
func enhancedText(e smtp.EnhancedCode) string { return fmt.Sprintf("%d.%d.%d", e[0], e[1], e[2]) }
