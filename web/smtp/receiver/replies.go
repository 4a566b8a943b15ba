package receiver

import (
	"errors"

	"github.com/emersion/go-smtp"

	"mailer/app/sending/receiving"
	"mailer/web/smtp/spool"
)

func newReply(code int, class, subject, detail int, text string) *smtp.SMTPError {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{class, subject, detail}, Message: text}
}

// Replies. They contain no text of a peer.
var (
	errNoSuchPath     = newReply(550, 5, 1, 1, "No such return path here")
	errNoRelay        = newReply(550, 5, 7, 1, "This address does not receive mail here, and this server relays nothing")
	errNotNow         = newReply(450, 4, 7, 1, "The domain of this address is not set up to receive mail at present, try again later")
	errFull           = newReply(452, 4, 3, 1, "No more mail can be stored for this address at present, try again later")
	errTooLarge       = newReply(552, 5, 3, 4, "The message is larger than this server has memory for")
	errBusy           = newReply(452, 4, 3, 1, "Too much mail arrives at the same time, try again later")
	errSeparate       = newReply(452, 4, 5, 3, "Send mail to this address in a transaction of its own")
	errTooManyRefused = newReply(421, 4, 7, 0, "Too many recipients were refused")
	errMalformed      = newReply(501, 5, 1, 3, "That is no address of a recipient") // only counted: the server above replies
	errSender         = newReply(553, 5, 1, 7, "That is no address of a sender")
	errNotStored      = newReply(451, 4, 3, 0, "Not stored, try again later")
	errNotFound       = newReply(451, 4, 3, 0, "The address can't be looked up now, try again later")
	errIncomplete     = newReply(451, 4, 4, 2, "The message broke off")
)

// results are the results of mail in the metrics, by reply.
var results = map[*smtp.SMTPError]string{
	errNoReports: "unknown", errReportTooLarge: "malformed", errNotAuthenticated: "failed",
	errNoSuchPath: "unknown", errNoRelay: "unknown", errNotNow: "not_now", errFull: "full", errBusy: "busy", errNotStored: "failed", errNotFound: "failed", errIncomplete: "incomplete",
	errMalformed: "malformed", smtp.ErrDataTooLarge: "malformed", errTooLarge: "malformed", spool.ErrBareCR: "malformed", spool.ErrBareLF: "malformed", spool.ErrNUL: "malformed", spool.ErrNoSpace: "full", spool.ErrInternal: "failed",
}

// replyTo returns the reply to an error of Mail; other is for internal errors.
func replyTo(err error, other *smtp.SMTPError) *smtp.SMTPError {
	switch {
	case errors.Is(err, receiving.ErrNotHere):
		return errNoRelay
	case errors.Is(err, receiving.ErrNotNow):
		return errNotNow
	case errors.Is(err, receiving.ErrFull):
		return errFull
	case errors.Is(err, receiving.ErrTooLarge):
		return errTooLarge
	}
	return other
}

// replyToRead returns the reply if a message could not be read to its end.
func replyToRead(err error) *smtp.SMTPError {
	if answer, ok := errors.AsType[*smtp.SMTPError](err); ok {
		return answer
	}
	return errIncomplete
}
