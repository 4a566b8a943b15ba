package delivery

import (
	"strconv"
	"strings"
	"sync"
	"unicode"

	"mailer/app"
)

// sender is whose mail something is about: a domain of a team, or with an empty
// domain all of them.
type sender struct{ team, domain string }

func senderOf(u app.Unit) sender { return sender{u.TeamID, u.Domain} }

// ruling is what becomes of an email that was refused, as the others that met the
// same tell.
type ruling int

const (
	rulingWait   ruling = iota // once more, soon: the relay may refuse more than this email
	rulingFail                 // refused twice while other mail was not: it is the message
	rulingSender               // many emails of one sender, one refusal: it is the sender
	rulingRelay                // senders that have nothing in common met it: it is the relay
)

const (
	// breakerTrips is how many different emails of a sender must meet the same refusal,
	// with no message of it accepted in between, before it counts as the sender's.
	breakerTrips = 3
	// looseTrips is breakerTrips where only the codes are the same: a relay may put
	// something else into its words each time.
	looseTrips = 10
	// maxFirstRefusals bounds the memory of first refusals, in two generations.
	maxFirstRefusals = 10_000
	// maxFailingSenders bounds the senders that are remembered.
	maxFailingSenders = 10_000
)

// refusal is what an email met, so that it can be told whether others met the same.
type refusal struct {
	signature string // of the words, for different emails of one sender
	class     string // of the codes, for one email, and for senders that have nothing in common
	ambiguous bool   // it may come of the connection: only many count
}

// refusalClassifier tells a message that a relay refuses from a sender of whom it takes nothing
// (a domain that is not verified there), and from a relay that takes nothing at all
// (an account suspended, a list that blocks us): a queue must not be bounced for the
// latter two, and nobody must wait for another's trouble.
type refusalClassifier struct {
	mu          sync.Mutex
	failing     map[sender]*senderFailures
	acceptCount uint64 // counts messages that were accepted, whoever's they were
	tripped     string // the class of the refusal that everybody met since; empty: none
	// firstRefusals have the class of the refusal that an email met first; the older
	// generation goes when the newer is full.
	firstRefusals, olderRefusals map[string]string
}

// senderFailures is what a sender's mail has met since a message of it was accepted.
type senderFailures struct {
	refusal
	emails      map[string]bool // different ones in the same words, breakerTrips at most
	anyText     map[string]bool // and in whatever words, looseTrips at most
	acceptCount uint64          // of the latest
}

func (c *senderFailures) proven() bool {
	return len(c.emails) >= breakerTrips || len(c.anyText) >= looseTrips
}

// refused rules on an email's refusal. alone: no other team has mail for this relay.
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

// affectsRelay reports whether senders that have nothing in common met a refusal, and
// nobody was accepted in between: those of two teams, or where there is but one, two
// of its domains.
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

// repeatedLocked notes what an email met, and reports whether it met the same before.
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

// repeated is suspect for an email of which the relay took a part: what it refuses of
// such a one says nothing of the others.
func (b *refusalClassifier) repeated(emailID string, r refusal) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.repeatedLocked(emailID, r.class)
}

// accepted notes that the relay took a message of a sender: what it refuses of that
// one now it refuses for the message's sake, and what it refuses of others, for theirs.
func (b *refusalClassifier) accepted(s sender) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.acceptCount++
	b.tripped = ""
	delete(b.failing, s)
}

// unaffected reports whether a sender has not met what everybody meets since the last
// message was accepted.
func (b *refusalClassifier) unaffected(s sender) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.failing[s]
	return c == nil || c.acceptCount != b.acceptCount || c.class != b.tripped
}

// refusalOf is a refusal without what differs from message to message: words with
// digits, dots or an @ inside (queue ids, addresses, hosts, times) are left out.
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

// connectionLost is what an email meets whose connection ends in the midst of its
// transaction.
var connectionLost = refusal{signature: "line lost", class: "line lost"}

// replyLost is what an email meets whose connection ends after its final dot, before
// the reply.
var replyLost = refusal{signature: "reply lost", class: "reply lost"}

// concernsRecipient reports whether a refusal at RCPT says something of the recipient alone
// (RFC 3463 3.2 and 3.3): a mailbox or its address, but for the codes that speak of the
// sender's. What this program refuses itself is meant so too.
func concernsRecipient(r app.Reply) bool {
	switch {
	case r.Code == 0:
		return true
	case r.Enhanced == "5.1.7", r.Enhanced == "5.1.8":
		return false
	}
	return strings.HasPrefix(r.Enhanced, "5.1.") || strings.HasPrefix(r.Enhanced, "5.2.")
}
