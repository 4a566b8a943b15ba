package receiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/emersion/go-smtp"

	"mailer/app"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/feedback"
	"mailer/app/sending/providerevents"
	"mailer/app/sending/receiving"
	"mailer/app/tenants/reports"
	"mailer/web/smtp/conn"
	"mailer/web/smtp/spool"
)

// session is the SMTP session of one connection. Its methods are called one at a time.
type session struct {
	server      *Server
	conn        *conn.LineConn
	hello       func() string
	from        string
	accepted    bool // the peer named a recipient that is received
	returnPaths []app.ReturnPath
	targets     []receiving.Target
	domains     []reports.Target // to which the message is a report
	refusals    int
	taken       bool // the message was taken
}

// Reset drops the message that was begun, or ends the one that was taken.
func (s *session) Reset() {
	s.conn.EndMessageText()
	s.setTimeout(s.server.limits.greet)
	if s.taken {
		s.conn.Expire(s.server.limits.session)
		s.conn.AllowMessage()
	}
	s.from, s.returnPaths, s.targets, s.domains, s.taken = "", nil, nil, nil, false
}

// setTimeout sets the time for each following command, at a listener of this server.
func (s *session) setTimeout(d time.Duration) {
	if !s.conn.Port().Bounces {
		s.conn.SetCommandTimeout(d)
	}
}

// Logout ends the session.
func (s *session) Logout() error { return nil }

// Mail accepts any sender.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.Reset()
	if len(from) > mailbox.MaxInput || !utf8.ValidString(from) || app.HasControl(from) {
		return errSender
	}
	s.setTimeout(s.server.limits.command)
	s.conn.Refill()
	s.from = from
	return nil
}

// Rcpt accepts own return paths, and addresses that teams receive. A message has recipients of one kind alone.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if isIndirect(s.conn.Command()) {
		return s.refuse(errNoRelay)
	}
	if path, ok := s.server.cfg.ProviderEvents.ReadReturnPath(to); ok {
		if len(s.targets)+len(s.domains) > 0 {
			return errSeparate
		}
		s.returnPaths = append(s.returnPaths, path)
		s.accept()
		return nil
	}
	if app.IsReturnPath(to) {
		s.server.cfg.ProviderEvents.NoteRefused(providerevents.SourceBounces, "a return path that is none of this server's")
		return s.refuse(errNoSuchPath)
	}
	if s.server.cfg.Reports != nil && s.server.cfg.Reports.IsAddress(to) {
		return s.rcptReport(to)
	}
	target, err := s.target(to)
	switch {
	case err == errNoRelay:
		return s.refuse(err)
	case err != nil:
		s.count(err, 0)
		return err
	case len(s.returnPaths)+len(s.domains) > 0:
		return errSeparate
	}
	if !slices.Contains(s.targets, target) {
		s.targets = append(s.targets, target)
	}
	s.accept()
	return nil
}

// isIndirect reports whether RCPT names a source route or a quoted local part, which the server above simplifies before
// it calls Rcpt.
func isIndirect(command string) bool {
	_, path, _ := strings.Cut(command, ":")
	path = strings.TrimLeft(path, " \t")
	return strings.HasPrefix(path, "<@") || strings.HasPrefix(path, "@") || strings.ContainsAny(path, `"\`)
}

// target returns the team that receives mail for an address, or a reply.
func (s *session) target(to string) (receiving.Target, *smtp.SMTPError) {
	address, ok := mailbox.ParseRecipient(to)
	if !ok || s.server.cfg.Mail == nil || strings.ContainsAny(address, "%!") { // %-hack, bang path
		return receiving.Target{}, errNoRelay
	}
	ctx, cancel := context.WithTimeout(s.server.ctx, s.server.limits.lookup)
	defer cancel()
	t, err := s.server.cfg.Mail.Recipient(ctx, address)
	if err != nil {
		answer := replyTo(err, errNotFound)
		if answer == errNotFound {
			s.server.cfg.Log.Error("look up a recipient of mail from outside", "err", err)
		}
		return t, answer
	}
	if !s.server.intake.open() {
		return t, errBusy
	}
	return t, nil
}

// accept notes that the peer brings what the server is for.
func (s *session) accept() {
	if !s.accepted {
		s.accepted = true
		s.conn.AcceptRecipient()
		s.conn.Expire(s.server.limits.session)
	}
}

// refuse counts a refused recipient and returns the reply.
func (s *session) refuse(answer *smtp.SMTPError) error {
	s.count(answer, 0)
	if s.tooManyRefused() {
		return errTooManyRefused
	}
	return answer
}

// malformed counts a RCPT command that can't be parsed. It returns a reply if it was one too many.
func (s *session) malformed() string {
	s.count(errMalformed, 0)
	if !s.tooManyRefused() {
		return ""
	}
	e := errTooManyRefused
	return fmt.Sprintf("%d %d.%d.%d %s\r\n", e.Code, e.EnhancedCode[0], e.EnhancedCode[1], e.EnhancedCode[2], e.Message)
}

// tooManyRefused counts a refused recipient, and reports whether the connection ends.
func (s *session) tooManyRefused() bool {
	s.conn.CountRefusal()
	if s.refusals++; s.refusals <= s.server.limits.refusals {
		return false
	}
	s.conn.CloseAfterReply()
	return true
}

// count counts a reply in the metrics; nil: the message was taken.
func (s *session) count(answer *smtp.SMTPError, bytes int64) {
	result := "stored"
	if answer != nil {
		result = results[answer]
	}
	s.server.cfg.Metrics.Received(result, 1, bytes)
}

// Data reads the whole message and replies after it, or what it reports, is stored.
func (s *session) Data(r io.Reader) error {
	if !s.conn.BeginMessage() {
		return errIncomplete
	}
	defer s.conn.EndMessage()
	if len(s.returnPaths) > 0 {
		return s.bounce(r)
	}
	if len(s.domains) > 0 {
		return s.report(r)
	}
	in := s.server.spool.New(s.conn.Network().String())
	defer in.Close()
	answer := s.mail(in, r)
	s.count(answer, in.Size())
	if answer != nil {
		s.server.cfg.Log.Info("mail from outside refused", "answer", answer.Code, "why", answer.Message, "bytes", in.Size())
		return answer
	}
	s.taken = true
	s.conn.MarkKnown()
	s.server.cfg.Log.Debug("mail received", "bytes", in.Size(), "recipients", len(s.targets))
	return nil
}

// mail reads and stores a message for teams. It returns the reply; nil: the message is stored.
func (s *session) mail(in *spool.Message, r io.Reader) *smtp.SMTPError {
	delivery := receiving.Delivery{RemoteIP: s.conn.Peer(), Helo: s.peerName(), MailFrom: s.from, To: s.targets, Raw: in}
	if _, err := io.Copy(counted{in, s.server.intake}, r); err != nil {
		return replyToRead(err)
	}
	fault := in.Finish()
	if fault == spool.ErrNUL && s.conn.BareCR() {
		fault = spool.ErrBareCR
	}
	if fault != nil {
		return fault
	}
	delivery.Size = in.Size()
	if err := s.take(delivery); err != nil {
		answer := replyTo(err, errNotStored)
		if answer == errNotStored {
			s.server.cfg.Log.Error("store mail from outside", "err", err)
		}
		return answer
	}
	return nil
}

var errPanic = errors.New("panic over mail from outside")

// take stores a message. A panic is an error.
func (s *session) take(in receiving.Delivery) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.server.cfg.Log.Error("panic over mail from outside", "panic", p, "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	ctx, cancel := context.WithTimeout(s.server.ctx, s.server.limits.store)
	defer cancel()
	return s.server.cfg.Mail.Take(ctx, in)
}

// peerName returns the name of EHLO, as text that can be stored and shown.
func (s *session) peerName() string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || mailbox.IsControl(r) {
			return '?'
		}
		return r
	}, s.hello())
}

// bounce reads a message to return paths, keeps its beginning, and replies after the reports in it are stored.
func (s *session) bounce(r io.Reader) error {
	raw, err := io.ReadAll(io.LimitReader(r, feedback.MaxBounceRead))
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return replyToRead(err)
	}
	return s.store(s.read(raw))
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
	return s.server.parse(raw, s.from == "")
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
	s.taken = true
	return nil
}
