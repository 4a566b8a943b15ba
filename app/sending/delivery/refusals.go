package delivery

import (
	"strconv"
	"strings"
	"sync"
	"unicode"

	"mailer/app"
)

// sender is a domain of a team, or the whole team if domain is empty.
type sender struct{ team, domain string }

func senderOf(u app.Unit) sender { return sender{u.TeamID, u.Domain} }

// ruling is what to do with an email that was refused, judged by the refusals of other emails.
type ruling int

const (
	rulingWait   ruling = iota // try once more soon: the relay may refuse other emails too
	rulingFail                 // refused twice while other mail was accepted: the message is at fault
	rulingSender               // many emails of one sender met the same refusal: the sender is at fault
	rulingRelay                // unrelated senders met the same refusal: the relay is at fault
)

const (
	// breakerTrips is how many emails of a sender must meet the same refusal, with no accepted
	// message in between, before the sender's breaker opens.
	breakerTrips = 3
	// looseTrips replaces breakerTrips where only the reply codes are the same, because a relay may
	// vary its text.
	looseTrips = 10
	// maxFirstRefusals bounds each of the two generations of remembered first refusals.
	maxFirstRefusals = 10_000
	// maxFailingSenders bounds the remembered senders.
	maxFailingSenders = 10_000
)

// refusal is a relay's refusal in a form that can be compared between emails.
type refusal struct {
	signature string // codes and normalized text; compared between emails of one sender
	class     string // stage and codes; compared between tries of one email and between senders
	ambiguous bool   // the connection may be at fault: counts towards looseTrips only
}

// refusalClassifier decides whether a refusal is the fault of the message, of the sender (a domain
// that the relay does not accept) or of the relay (a suspended account, a block list). Mail must
// not bounce for the latter two, and one sender's fault must not delay others.
type refusalClassifier struct {
	mu          sync.Mutex
	failing     map[sender]*senderFailures
	acceptCount uint64 // accepted messages of all senders
	tripped     string // class of the refusal that all senders met since; empty: none
	// firstRefusals holds the class of the first refusal by email. When it is full it becomes
	// olderRefusals, and the older ones are forgotten.
	firstRefusals, olderRefusals map[string]string
}

// senderFailures are the refusals of a sender since its last accepted message.
type senderFailures struct {
	refusal
	emails      map[string]bool // emails with the same signature, at most breakerTrips
	anyText     map[string]bool // emails with the same class, at most looseTrips
	acceptCount uint64          // at the latest refusal
}

func (c *senderFailures) proven() bool {
	return len(c.emails) >= breakerTrips || len(c.anyText) >= looseTrips
}

// refused records an email's refusal and returns the ruling. alone: no other team has mail for this
// relay.
func (b *refusalClassifier) refused(s sender, emailID string, r refusal, alone bool) ruling {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.failing[s]
	if c == nil || c.class != r.class {
		c = &senderFailures{refusal: r, emails: map[string]bool{}, anyText: map[string]bool{}}
		if b.failing == nil || len(b.failing) >= maxFailingSenders {
			b.failing = map[sender]*senderFailures{}
		}
		b.failing[s] = c
	}
	c.acceptCount = b.acceptCount
	if !c.proven() {
		if c.signature != r.signature {
			c.signature, c.emails = r.signature, map[string]bool{}
		}
		if c.anyText[emailID] = true; !r.ambiguous {
			c.emails[emailID] = true
		}
	}
	if c.proven() && b.affectsRelay(r.class, alone) {
		b.tripped = r.class
	}
	switch {
	case b.tripped == r.class:
		return rulingRelay
	case c.proven():
		return rulingSender
	case b.repeatedLocked(emailID, r.class):
		return rulingFail
	}
	return rulingWait
}

// affectsRelay reports whether unrelated senders met a refusal with no accepted message in between:
// senders of two teams, or, if there is only one team, two of its domains.
func (b *refusalClassifier) affectsRelay(class string, alone bool) bool {
	senders, team := 0, ""
	for s, c := range b.failing {
		if !c.proven() || c.acceptCount != b.acceptCount || c.class != class {
			continue
		}
		if senders++; team != "" && team != s.team {
			return true
		}
		team = s.team
	}
	return alone && senders > 1
}

// repeatedLocked records the class of an email's refusal. It reports whether the email met the same
// class before.
func (b *refusalClassifier) repeatedLocked(emailID, class string) bool {
	if b.firstRefusals[emailID] == class || b.firstRefusals[emailID] == "" && b.olderRefusals[emailID] == class {
		delete(b.firstRefusals, emailID)
		delete(b.olderRefusals, emailID)
		return true
	}
	if b.firstRefusals == nil || len(b.firstRefusals) >= maxFirstRefusals {
		b.firstRefusals, b.olderRefusals = map[string]string{}, b.firstRefusals
	}
	b.firstRefusals[emailID] = class
	return false
}

// repeated is repeatedLocked for an email that the relay accepted for some recipients: its refusal
// says nothing of other emails.
func (b *refusalClassifier) repeated(emailID string, r refusal) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.repeatedLocked(emailID, r.class)
}

// accepted records that the relay accepted a message of a sender. Later refusals are then the fault
// of single messages.
func (b *refusalClassifier) accepted(s sender) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.acceptCount++
	b.tripped = ""
	delete(b.failing, s)
}

// unaffected reports whether a sender has not met the refusal that opened the relay's breaker.
func (b *refusalClassifier) unaffected(s sender) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.failing[s]
	return c == nil || c.acceptCount != b.acceptCount || c.class != b.tripped
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
