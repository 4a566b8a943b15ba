package submission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/emersion/go-smtp"

	"mailer/app"
	"mailer/app/kit/mailbox"
	"mailer/app/sending/mail"
	"mailer/web/smtp/conn"
	"mailer/web/smtp/spool"
)

// session is the SMTP session of one connection. Its methods are called one at a time.
type session struct {
	server   *Server
	conn     *conn.LineConn
	token    string       // of the key that signed in; empty: none
	team     string       // of the key
	bounces  smtp.Session // nil: bounces are not received here
	isBounce bool         // the current message is a bounce
	rcpts    []string
}

func newSession(s *Server, w *conn.LineConn, hello func() string) *session {
	made := &session{server: s, conn: w}
	if w.Port().Bounces && s.cfg.Bounces != nil {
		made.bounces = s.cfg.Bounces(w, hello)
	}
	return made
}

// Reset drops the message that was begun.
func (s *session) Reset() {
	s.conn.EndMessageText()
	s.rcpts, s.isBounce = nil, false
	if s.bounces != nil {
		s.bounces.Reset()
	}
}

// Logout ends the session.
func (s *session) Logout() error { return nil }

// Mail begins a message. The envelope sender is ignored.
func (s *session) Mail(from string, opts *smtp.MailOptions) error {
	s.Reset()
	s.conn.AllowMessage()
	if s.token == "" && s.bounces != nil {
		if err := s.bounces.Mail(from, opts); err != nil {
			return err
		}
		if s.server.cfg.DefaultToken == "" {
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
		return s.logRefusal("MAIL", err)
	}
	if s.token == "" {
		s.conn.SetSignedIn() // no key is needed
	}
	return nil
}

// pace counts a message against the rate of its key, and waits if the rate is exceeded: many
// programs give up when they are refused in the middle of a connection. Errors:
// CodeRateLimitExceeded after limits.rateWait; errStopping.
func (s *session) pace(key *app.Key) error {
	until := time.Now().Add(s.server.limits.rateWait)
	for {
		err := s.server.cfg.API.Rate(key)
		if app.CodeOf(err) != app.CodeRateLimitExceeded || !time.Now().Before(until) {
			return err
		}
		select {
		case <-time.After(paceStep):
		case <-s.server.ctx.Done():
		}
		if s.conn.Stopping() || s.server.ctx.Err() != nil {
			return errStopping
		}
	}
}

// key authenticates again: the key may have been revoked since the sign-in.
func (s *session) key() (*app.Key, error) {
	token := s.token
	if token == "" {
		token = s.server.cfg.DefaultToken
	}
	if token == "" {
		return nil, errNoKey
	}
	key, err := s.server.cfg.API.Recheck(s.server.ctx, token, s.conn.Peer())
	if app.CodeOf(err) == app.CodeInvalidAPIKey {
		s.conn.CloseAfterReply()
	}
	if err != nil {
		return nil, err
	}
	s.team = key.TeamID
	key.Via = mail.SourceSMTP
	return key, nil
}

// Rcpt accepts any valid address. Other errors of a recipient are reported after the message, as in
// the API.
func (s *session) Rcpt(to string, opts *smtp.RcptOptions) error {
	if s.mayBounce(to) {
		err := s.bounces.Rcpt(to, opts)
		s.isBounce = s.isBounce || err == nil
		return err
	}
	if s.isBounce {
		return errRelayDenied
	}
	address, ok := mailbox.ParseRecipient(to)
	if !ok {
		return errAddress
	}
	s.rcpts = append(s.rcpts, address)
	return nil
}

// mayBounce reports whether a recipient must be a return path because the peer has not signed in.
func (s *session) mayBounce(to string) bool {
	if s.token != "" || s.bounces == nil || len(s.rcpts) > 0 {
		return false
	}
	return s.server.cfg.DefaultToken == "" || app.IsReturnPath(to)
}

// Data reads the message and replies once it is stored.
func (s *session) Data(r io.Reader) error {
	if s.isBounce {
		return s.bounces.Data(r)
	}
	if !s.conn.BeginMessage() {
		return errIncomplete
	}
	defer s.conn.EndMessage()
	in := s.server.spool.New(s.team)
	defer in.Close()
	if _, err := io.Copy(in, r); err != nil {
		if errors.Is(err, smtp.ErrDataTooLarge) {
			return s.logRefusal("DATA", smtp.ErrDataTooLarge)
		}
		s.conn.CloseAfterReply()
		return s.logRefusal("DATA", errIncomplete)
	}
	fault := in.Finish()
	if fault == spool.ErrNUL && s.conn.BareCR() {
		fault = spool.ErrBareCR
	}
	if fault != nil {
		return s.logRefusal("DATA", fault)
	}
	id, err := s.accept(in)
	if err != nil {
		return s.logRefusal("DATA", err)
	}
	if !s.server.logsFaultsOnly() {
		s.server.cfg.Log.Debug("message taken by SMTP", "email", id, "team", s.team, "bytes", in.Size(), "recipients", len(s.rcpts))
	}
	return &smtp.SMTPError{Code: 250, EnhancedCode: smtp.EnhancedCode{2, 0, 0}, Message: "Ok: queued as " + id}
}

// accept turns a received message into an email.
func (s *session) accept(in *spool.Message) (id string, err error) {
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
		return app.Actor{Type: app.ActorKey, Name: key.ID, Address: s.conn.Peer().String()}
	})
	end, ok := s.server.stores.acquire(ctx, key.TeamID, in.Size())
	if !ok {
		return "", errStoreBusy
	}
	defer end()
	release, err := s.server.cfg.API.ReserveMemory(ctx, key.TeamID, in.Size())
	if err != nil {
		return "", err
	}
	defer release()
	message, err := in.Bytes()
	if err != nil {
		return "", err
	}
	return s.server.cfg.Messages.Accept(ctx, key, &mail.Submission{Recipients: s.rcpts, Message: message})
}

// logsFaultsOnly reports whether only messages that fail with a server error are logged.
func (s *Server) logsFaultsOnly() bool { return s.cfg.LogFaultsOnly != nil && s.cfg.LogFaultsOnly() }

// logRefusal returns the reply to an error, and logs it without addresses.
func (s *session) logRefusal(command string, err error) error {
	answer := s.server.smtpError(err)
	if answer.Code == 421 {
		s.conn.CloseAfterReply()
	}
	if !s.server.logsFaultsOnly() {
		s.server.cfg.Log.Info("message by SMTP refused", "command", command, "answer", fmt.Sprint(answer.Code, " ", enhancedText(answer.EnhancedCode)), "why", reason(err), "team", s.team)
	}
	return answer
}

// reason returns the error for the log: the API's code, or the text of the server's own reply.
func reason(err error) string {
	var own *smtp.SMTPError
	if errors.As(err, &own) {
		return own.Message
	}
	return string(app.CodeOf(err))
}

// enhancedText formats an enhanced status code.
func enhancedText(e smtp.EnhancedCode) string { return fmt.Sprintf("%d.%d.%d", e[0], e[1], e[2]) }
