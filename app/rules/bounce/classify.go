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
		says := lookUp(c)
		if says.weight != silent {
			return c, says
		}
		if code == "" {
			code, row = c, says
		}
	}
	return code, row
}

// weigh combines a code and phrases. certain is false if neither is conclusive: reason is then
// only the subject of the code.
func weigh(code string, row codeRow, said phrases, replyCode int) (reason Reason, certain bool) {
	switch row.weight {
	case firm:
		if refines(row.reason, said.first) {
			return said.first, true
		}
		return row.reason, true
	case address:
		return weighAddress(row.reason, said), true
	case vague:
		return weighVague(row.reason, said, replyCode), true
	}
	switch {
	case said.first != "" && said.first == said.hard && said.weak && (replyCode/10 == 50 || replyCode == 552):
		return Protocol, true // some servers say "mailbox unavailable" to a wrong command
	case said.first == "" && strings.HasSuffix(code, ".1.0") && said.has(rejectedAddress...):
		return NoMailbox, true
	case said.first != "":
		return said.first, true
	}
	return row.reason, false
}

// weighAddress evaluates a code that condemns the address.
func weighAddress(reason Reason, said phrases) Reason {
	switch {
	case said.first == Sender || said.first == Rate || said.first == Full || said.first == Temporary && said.hard == Disabled:
		return said.first
	case said.hard != "" && !said.weak:
		return said.hard
	case said.first == "" || said.first.Class() != Soft && said.first.Class() != Blocked || said.has(deniedAtEdge):
		return reason
	case said.first == Unreachable && (reason == NoDomain || reason == NullMX):
		return reason
	}
	return said.first
}

// weighVague evaluates a vague code.
func weighVague(reason Reason, said phrases, replyCode int) Reason {
	switch {
	case reason == Unreachable && said.has(deniedAtEdge):
		return NoMailbox
	case said.first == "" || said.first == Protocol:
		return reason
	case said.first.Class() != Hard:
		return said.first
	case said.weak || replyCode/10 == 50:
		return reason
	}
	return said.first
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
