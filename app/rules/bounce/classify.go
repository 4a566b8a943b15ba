package bounce

import (
	"strings"

	"mailer/app"
)

// Evidence is what a report contains about one recipient. Every field may be empty.
type Evidence struct {
	// Reply is the text of the server that refused the message: the Diagnostic-Code of a report, a
	// relay's reply, or a provider's quote.
	Reply string
	// ReplyCode is the SMTP reply code, if it is not part of Reply.
	ReplyCode int
	// Status is the enhanced code that the reporter states. A code in Reply takes precedence.
	Status string
	// ReportedClass is the reporter's own classification.
	ReportedClass Reason
	// Temporary: the reporter calls the failure temporary or a block, so the address is not
	// suppressed.
	Temporary bool
}

// Classification is the result of Classify.
type Classification struct {
	Class   Class
	Reason  Reason
	Bounce  app.BounceType
	SubType string
	Status  string // the decisive enhanced code, otherwise the first one; empty: none
}

// Classify evaluates a report. Order of precedence:
//
//  1. a temporary reply, code or class never condemns an address;
//  2. the other server's enhanced code takes precedence over the reporter's;
//  3. a code that condemns the address is overruled by phrases about something else
//     (a rate, a full mailbox, spam) without one about a missing mailbox;
//  4. if the code is not conclusive, phrases decide, then the reporter's class, then the
//     reply code.
func Classify(e Evidence) Classification {
	reply := remoteReply(e.Reply)
	code, row := decisiveStatus(StatusIn(reply), StatusIn(e.Reply), e.Status)
	replyCode := e.ReplyCode
	if replyCode == 0 {
		replyCode = ReplyIn(firstBytes(reply, 100))
	}
	reason, certain := weigh(code, row, read(reply), replyCode)
	switch {
	case e.ReportedClass == ProviderList && (row.weight == silent || row.weight == address):
		reason = ProviderList
	case certain:
	case e.ReportedClass != "" && e.ReportedClass != NoReason:
		reason = e.ReportedClass
	case byReplyCode(replyCode) != NoReason:
		reason = byReplyCode(replyCode)
	}
	if reason.Class() == Hard && reason != ProviderList && (e.Temporary || replyCode/100 == 4) {
		reason = Temporary
	}
	return reason.classification(code)
}

// decisiveStatus returns the first conclusive code, otherwise the first one.
func decisiveStatus(candidates ...string) (code string, row codeRow) {
	row = codeRow{NoReason, silent}
	for _, c := range candidates {
		if !IsStatus(c) {
			continue
		}
		entry := lookUp(c)
		if entry.weight != silent {
			return c, entry
		}
		if code == "" {
			code, row = c, entry
		}
	}
	return code, row
}

// weigh combines a code and phrases. certain is false if neither is conclusive: reason is then
// only the subject of the code.
func weigh(code string, row codeRow, found phrases, replyCode int) (reason Reason, certain bool) {
	switch row.weight {
	case firm:
		if refines(row.reason, found.first) {
			return found.first, true
		}
		return row.reason, true
	case address:
		return weighAddress(row.reason, found), true
	case vague:
		return weighVague(row.reason, found, replyCode), true
	}
	switch {
	case found.first != "" && found.first == found.hard && found.weak && (replyCode/10 == 50 || replyCode == 552):
		return Protocol, true // some servers say "mailbox unavailable" to a wrong command
	case found.first == "" && strings.HasSuffix(code, ".1.0") && found.has(rejectedAddress...):
		return NoMailbox, true
	case found.first != "":
		return found.first, true
	}
	return row.reason, false
}

// weighAddress evaluates a code that condemns the address.
func weighAddress(reason Reason, found phrases) Reason {
	switch {
	case found.first == Sender || found.first == Rate || found.first == Full || found.first == Temporary && found.hard == Disabled:
		return found.first
	case found.hard != "" && !found.weak:
		return found.hard
	case found.first == "" || found.first.Class() != Soft && found.first.Class() != Blocked || found.has(deniedAtEdge):
		return reason
	case found.first == Unreachable && (reason == NoDomain || reason == NullMX):
		return reason
	}
	return found.first
}

// weighVague evaluates a vague code.
func weighVague(reason Reason, found phrases, replyCode int) Reason {
	switch {
	case reason == Unreachable && found.has(deniedAtEdge):
		return NoMailbox
	case found.first == "" || found.first == Protocol:
		return reason
	case found.first.Class() != Hard:
		return found.first
	case found.weak || replyCode/10 == 50:
		return reason
	}
	return found.first
}

// refines reports whether phrases may refine a code's reason: both must have the same class.
func refines(code, words Reason) bool {
	switch code {
	case Policy:
		return words.Class() == Blocked
	case Temporary:
		return words.Class() == Soft
	}
	return false
}

// byReplyCode evaluates an SMTP reply code if nothing else is conclusive.
func byReplyCode(code int) Reason {
	switch {
	case code == 552: // RFC 5321 4.2.3: exceeded storage allocation
		return Full
	case code/100 == 4:
		return Temporary
	}
	return NoReason
}

func (r Reason) classification(code string) Classification {
	m := meanings[r]
	return Classification{Class: m.class, Reason: r, Bounce: m.bounce, SubType: m.subType, Status: code}
}

// remoteReply returns the quoted reply of another server: "host mx said: 550 …".
func remoteReply(words string) string {
	if i := strings.LastIndex(words, " said: "); i >= 0 && ReplyIn(firstBytes(words[i+7:], 20)) != 0 {
		return words[i+7:]
	}
	return words
}

func firstBytes(s string, n int) string { return s[:min(len(s), n)] }
