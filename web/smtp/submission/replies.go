package submission

import (
	"context"
	"errors"
	"strings"

	"github.com/emersion/go-smtp"

	"mailer/app"
	"mailer/app/base"
)

func newReply(code int, class, subject, detail int, text string) *smtp.SMTPError {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{class, subject, detail}, Message: text}
}

// Replies of the server itself. They contain no text of a peer.
var (
	errNoKey          = newReply(530, 5, 7, 0, "Sign in first: the password is an API key, the user name can be any")
	errBadKey         = newReply(535, 5, 7, 8, "API key not found")
	errTooManyGuesses = newReply(421, 4, 7, 0, "Too many attempts with an invalid API key, try again later")
	errNeedsTLS       = newReply(538, 5, 7, 11, "Signing in needs TLS")
	errBadResponse    = newReply(501, 5, 5, 2, "That is no answer of this mechanism")
	errAddress        = newReply(550, 5, 1, 3, "That is no address of a recipient")
	errRelayDenied    = newReply(550, 5, 7, 1, "This server relays nothing: sign in, or send a bounce to the return path that it is for")
	errIncomplete     = newReply(451, 4, 4, 2, "The message broke off")
	errStopping       = newReply(421, 4, 3, 2, "The server is stopping, try again later")
	errInternal       = newReply(451, 4, 3, 0, "Something went wrong on the server, try again later")
)

// reply is a reply code with an enhanced code (RFC 3463).
type reply struct {
	code     int
	enhanced smtp.EnhancedCode
}

// replies maps errors of the API to replies.
var replies = map[app.Code]reply{
	app.CodeMissingAPIKey:           {530, smtp.EnhancedCode{5, 7, 0}},
	app.CodeInvalidAPIKey:           {535, smtp.EnhancedCode{5, 7, 8}},
	app.CodeRestrictedAPIKey:        {550, smtp.EnhancedCode{5, 7, 1}},
	app.CodeForbidden:               {550, smtp.EnhancedCode{5, 7, 1}},
	app.CodeSendingPaused:           {550, smtp.EnhancedCode{5, 7, 1}},
	app.CodeBroadcastsPaused:        {550, smtp.EnhancedCode{5, 7, 1}},
	app.CodePlanLimitReached:        {550, smtp.EnhancedCode{5, 7, 1}},
	app.CodeAllRecipientsSuppressed: {550, smtp.EnhancedCode{5, 7, 1}},
	app.CodePayloadTooLarge:         {552, smtp.EnhancedCode{5, 3, 4}},
	app.CodeInvalidIdempotent:       {550, smtp.EnhancedCode{5, 5, 0}},
	app.CodeConcurrentIdempotent:    {451, smtp.EnhancedCode{4, 5, 0}},
	app.CodeRateLimitExceeded:       {450, smtp.EnhancedCode{4, 7, 1}},
	app.CodeDailyQuotaExceeded:      {452, smtp.EnhancedCode{4, 7, 1}},
	app.CodeMonthlyQuotaExceeded:    {452, smtp.EnhancedCode{4, 7, 1}},
	app.CodeServiceUnavailable:      {451, smtp.EnhancedCode{4, 3, 0}},
	app.CodeInternal:                {451, smtp.EnhancedCode{4, 3, 0}},
}

// replyTo returns the reply to an error of the API. Errors in a message have one code in the API:
// the field that the text names first decides.
func replyTo(e *app.Error) reply {
	r, known := replies[e.Code]
	switch {
	case known && base.IsFull(e):
		return reply{452, smtp.EnhancedCode{4, 3, 1}}
	case known && base.IsClosed(e):
		return reply{421, smtp.EnhancedCode{4, 3, 2}}
	case known:
		return r
	case strings.HasPrefix(e.Message, "`from` uses the domain "):
		return reply{550, smtp.EnhancedCode{5, 7, 1}}
	case strings.HasPrefix(e.Message, "`to`"):
		return reply{550, smtp.EnhancedCode{5, 1, 3}}
	}
	return reply{550, smtp.EnhancedCode{5, 6, 0}}
}

// smtpError turns any error into a reply, and logs internal ones.
func (s *Server) smtpError(err error) *smtp.SMTPError {
	var own *smtp.SMTPError
	if errors.As(err, &own) {
		return own
	}
	var known *app.Error
	switch {
	case errors.As(err, &known) && known.Code == app.CodeInvalidAPIKey:
		return errBadKey
	case errors.As(err, &known) && known.Code != app.CodeInternal:
		if known.Err != nil {
			s.cfg.Log.Warn("message by SMTP refused", "name", known.Code, "err", known.Err)
		}
		r := replyTo(known)
		return &smtp.SMTPError{Code: r.code, EnhancedCode: r.enhanced, Message: splitLines(r.enhanced, known.Message)}
	case s.ctx.Err() != nil && errors.Is(err, context.Canceled):
		return errStopping
	}
	s.cfg.Log.Error("take a message by SMTP", "err", err)
	return errInternal
}

// maxReplyText is the maximum length of an error text in one line of a reply (RFC 5321 4.5.3.1.5:
// 512 bytes with code and line end); maxReplyLines is the maximum number of lines.
const (
	maxReplyText  = 400
	maxReplyLines = 8
)

// splitLines splits a text into lines of a reply, each but the last with the enhanced code (RFC
// 2034 4); the server above adds it to the last.
func splitLines(e smtp.EnhancedCode, text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	prefix := enhancedText(e) + " "
	var out strings.Builder
	for range maxReplyLines {
		if len(text) <= maxReplyText {
			return out.String() + text
		}
		at := strings.LastIndexByte(text[:maxReplyText], ' ')
		if at <= 0 {
			at = maxReplyText
		}
		out.WriteString(prefix + text[:at] + "\n")
		text = strings.TrimLeft(text[at:], " ")
	}
	return out.String() + text[:maxReplyText]
}
