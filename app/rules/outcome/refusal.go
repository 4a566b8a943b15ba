package outcome

import (
	"strconv"
	"strings"
	"unicode"

	"mailer/app"
)

// refusal is a relay's refusal in a form that can be compared between emails.
type refusal struct {
	signature string // codes and normalized text; compared between emails of one sender
	class     string // stage and codes; compared between tries of one email and between senders
	ambiguous bool   // the connection may be at fault: counts towards looseTrips only
}

// refusalOf normalizes a reply: words with digits, dots or an @ inside (queue ids, addresses,
// hosts, times) are left out of its signature.
func refusalOf(stage app.Stage, r app.Reply) refusal {
	words := strings.FieldsFunc(r.Text, unicode.IsSpace)
	kept := words[:0]
	for _, w := range words {
		if !strings.ContainsAny(strings.TrimRight(w, ".,;:!?)"), "0123456789@.") {
			kept = append(kept, w)
		}
	}
	class := string(stage) + " " + strconv.Itoa(r.Code) + " " + r.Enhanced
	return refusal{signature: class + " " + strings.Join(kept, " "), class: class}
}

// connectionLost is the refusal of an email whose connection ended during its transaction.
var connectionLost = refusal{signature: "line lost", class: "line lost"}

// replyLost is the refusal of an email whose connection ended after the final dot, before the
// reply.
var replyLost = refusal{signature: "reply lost", class: "reply lost"}

// concernsRecipient reports whether a refusal at RCPT is about the recipient alone (RFC 3463 3.2
// and 3.3): its mailbox or address, but not the codes about the sender's address. Refusals by
// Mailer itself, without a code, are about the recipient too.
func concernsRecipient(r app.Reply) bool {
	switch {
	case r.Code == 0:
		return true
	case r.Enhanced == "5.1.7", r.Enhanced == "5.1.8":
		return false
	}
	return strings.HasPrefix(r.Enhanced, "5.1.") || strings.HasPrefix(r.Enhanced, "5.2.")
}
