package smtpout

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/emersion/go-smtp"

	"mailer/app"
)

// maxReplyText bounds the text of an app.Reply, in bytes.
const maxReplyText = 500

// replySanitizer makes a relay's text safe to store, log and show. The zero value hides no secrets.
type replySanitizer struct {
	secrets *strings.Replacer
}

// newReplySanitizer hides the password in the forms in which a relay that repeats our commands
// could return it.
func newReplySanitizer(user, password string) replySanitizer {
	if password == "" {
		return replySanitizer{}
	}
	encode := base64.StdEncoding.EncodeToString
	return replySanitizer{secrets: strings.NewReplacer(
		encode([]byte("\x00"+user+"\x00"+password)), "***",
		encode([]byte(password)), "***",
		password, "***",
	)}
}

// text returns one printable line of at most maxReplyText bytes.
func (c replySanitizer) text(text string) string {
	// Twice: squeezing blanks may join the parts of a secret.
	return cut(c.hide(oneLine(c.hide(text))), maxReplyText)
}

func (c replySanitizer) hide(text string) string {
	if c.secrets == nil {
		return text
	}
	return c.secrets.Replace(text)
}

// reply returns the Reply for a code and its text, lines joined by LF.
func (c replySanitizer) reply(code int, text string) app.Reply {
	enhanced, rest := splitEnhanced(code, text)
	return app.Reply{Code: code, Enhanced: enhanced, Text: c.text(rest)}
}

// replyOf returns the Reply for an error of go-smtp.
func (c replySanitizer) replyOf(e *smtp.SMTPError) app.Reply {
	text := e.Message
	if e.EnhancedCode != (smtp.EnhancedCode{}) {
		// go-smtp accepts any three numbers as an enhanced code: check again.
		text = fmt.Sprintf("%d.%d.%d %s", e.EnhancedCode[0], e.EnhancedCode[1], e.EnhancedCode[2], text)
	}
	return c.reply(e.Code, text)
}

// splitEnhanced removes the enhanced status code from the front of each line of a reply (RFC 2034,
// RFC 3463 2). Its class must match the reply code.
func splitEnhanced(code int, text string) (enhanced, rest string) {
	first := text
	if i := strings.IndexAny(text, " \n"); i >= 0 {
		first = text[:i]
	}
	if !app.IsEnhancedCode(first) || int(first[0]-'0') != code/100 {
		return "", text
	}
	rest = strings.ReplaceAll(text[len(first):], "\n"+first+" ", "\n")
	return first, rest
}

// oneLine replaces unprintable characters by blanks and squeezes blanks.
func oneLine(text string) string {
	var b strings.Builder
	b.Grow(min(len(text), 2*maxReplyText))
	blank := false
	for _, r := range strings.ToValidUTF8(text, "?") {
		if r == ' ' || !unicode.IsPrint(r) {
			blank = b.Len() > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// cut shortens text to at most n bytes without splitting a rune.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.TrimRight(text[:n], " ")
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// errorText describes a network error.
func errorText(err error, timeout time.Duration) string {
	var lookup *net.DNSError
	switch {
	case errors.As(err, &lookup) && lookup.Timeout(): // DNS has its own timeout
		return "the name server does not answer for " + lookup.Name
	case isTimeout(err):
		return fmt.Sprintf("no answer within %s", timeout)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the relay closed the connection"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the relay reset the connection"
	}
	return err.Error()
}

// replyRules define what the relay's replies mean.
type replyRules struct {
	soft bool // soft on bounces: 5xx is treated like 4xx
}

// kindOf classifies a reply before the final dot. Codes about the session (RFC 5321 4.2, RFC 4954
// 6, RFC 3207 4) say nothing about the message: 421 and 454, commands unknown or out of order,
// authentication required. A code that is no error means that the dialogue is out of sync.
func (r replyRules) kindOf(code int) app.ResultKind {
	switch code {
	case 421, 454, 502, 503, 530, 534, 535, 538:
		return app.ResultTrouble
	}
	return r.kindAtDot(code, app.ResultTrouble)
}

// kindAtDot classifies a reply by its class only.
func (r replyRules) kindAtDot(code int, other app.ResultKind) app.ResultKind {
	switch {
	case code/100 == 4, code/100 == 5 && r.soft:
		return app.ResultDeferred
	case code/100 == 5:
		return app.ResultRefused
	}
	return other
}

// outcomeOf classifies a 4xx or 5xx reply to RCPT. "Too many recipients" is about the other
// recipients, whatever its class (RFC 5321 4.5.3.1.10, RFC 3463 3.6).
func (r replyRules) outcomeOf(reply app.Reply) app.Outcome {
	if r.kindOf(reply.Code) == app.ResultRefused && reply.Enhanced != "5.5.3" {
		return app.Refused
	}
	return app.Postponed
}

// replyError returns the relay's reply in err; nil: there is none.
func replyError(err error) *smtp.SMTPError {
	var answer *smtp.SMTPError
	if errors.As(err, &answer) {
		return answer
	}
	var raw *textproto.Error
	if errors.As(err, &raw) {
		return &smtp.SMTPError{Code: raw.Code, Message: raw.Msg}
	}
	return nil
}
