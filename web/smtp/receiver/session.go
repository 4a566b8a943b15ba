package receiver

import (
	"context"
	"errors"
	"io"
	"runtime/debug"

	"github.com/emersion/go-smtp"

	"mailer/app"
	"mailer/app/rules/feedback"
	"mailer/app/sending/providerevents"
	"mailer/web/smtp/conn"
)

// Replies. They contain no text of a peer.
var (
	errNoSuchPath      = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "No such return path here"}
	errNoRelay         = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "This server takes bounces only and relays nothing"}
	errTooManyMessages = &smtp.SMTPError{Code: 421, EnhancedCode: smtp.EnhancedCode{4, 7, 0}, Message: "Enough for one session"}
	errNotStored       = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "Not stored, try again later"}
	errLongLine        = &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 0}, Message: "A line is too long"}
	errIncomplete      = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 4, 2}, Message: "The message broke off"}
)

// session is the SMTP session of one connection. Its methods are called one at a time.
type session struct {
	server      *Server
	conn        *conn.Conn
	null        bool // MAIL FROM:<>
	verified    bool // the peer named a valid return path
	returnPaths []app.ReturnPath
	messages    int
	refusals    int
}

func (s *session) Reset() { s.null, s.returnPaths = false, nil }

func (s *session) Logout() error { return nil }

// Mail accepts any sender.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.messages++; s.messages > s.server.limits.messages {
		s.conn.CloseAfterReply()
		return errTooManyMessages
	}
	s.conn.Refill()
	s.null, s.returnPaths = from == "", nil
	return nil
}

// Rcpt accepts own return paths only.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	path, ok := s.server.cfg.ProviderEvents.ReadReturnPath(to)
	if ok {
		if !s.verified {
			s.verified = true
			s.conn.Expire(s.server.limits.session)
		}
		s.returnPaths = append(s.returnPaths, path)
		return nil
	}
	if s.refusals++; s.refusals > s.server.limits.refusals {
		s.conn.CloseAfterReply()
		return errTooManyMessages
	}
	if app.IsReturnPath(to) {
		s.server.cfg.ProviderEvents.NoteRefused(providerevents.SourceBounces, "a return path that is none of this server's")
		return errNoSuchPath
	}
	return errNoRelay
}

// Data reads the whole message, keeps its beginning, and replies after the reports in it are
// stored.
func (s *session) Data(r io.Reader) error {
	if !s.conn.BeginMessage() {
		return errIncomplete
	}
	defer s.conn.EndMessage()
	raw, err := io.ReadAll(io.LimitReader(r, feedback.MaxBounceRead))
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return replyTo(err)
	}
	return s.store(s.read(raw))
}

// replyTo returns the reply if a message could not be read to its end.
func replyTo(err error) error {
	var answer *smtp.SMTPError
	switch {
	case errors.As(err, &answer):
		return answer
	case errors.Is(err, smtp.ErrTooLongLine):
		return errLongLine
	}
	return errIncomplete
}

// read returns what a message reports. A panic is caught: a bug triggered by a foreign message must
// not make its sender retry for days.
func (s *session) read(raw []byte) (found []feedback.Claim) {
	defer func() {
		if p := recover(); p != nil {
			s.server.cfg.Log.Error("panic over a message that came to a return path", "panic", p, "stack", string(debug.Stack()))
			found = nil
		}
	}()
	return s.server.parse(raw, s.null)
}

func (s *session) store(claims []feedback.Claim) error {
	log := s.server.cfg.Log
	ctx, cancel := context.WithTimeout(s.server.ctx, s.server.limits.store)
	defer cancel()
	for _, path := range s.returnPaths {
		if len(claims) == 0 {
			log.Info("mail to a return path reports nothing", "email", path.EmailID)
			s.server.cfg.ProviderEvents.NoteRefused(providerevents.SourceBounces, "mail to a return path that reports nothing")
			continue
		}
		if err := s.server.cfg.ProviderEvents.TakeBounce(ctx, path, claims); err != nil {
			s.server.cfg.ProviderEvents.NoteRefused(providerevents.SourceBounces, "it could not be stored")
			log.Error("store what came to a return path", "email", path.EmailID, "err", err)
			return errNotStored
		}
		s.server.cfg.ProviderEvents.NoteSeen(providerevents.SourceBounces)
		s.conn.MarkKnown()
		log.Info("report taken", "email", path.EmailID, "kind", claims[0].Kind, "recipients", len(claims))
	}
	return nil
}
