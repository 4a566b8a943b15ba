package outcome

import (
	"sync"

	"mailer/app"
)

// Sender is a domain of a team, or the whole team if Domain is empty.
type Sender struct{ Team, Domain string }

// SenderOf returns the sender of a unit.
func SenderOf(u app.Unit) Sender { return Sender{u.TeamID, u.Domain} }

// Ruling is what to do with an email that was refused, judged by the refusals of other emails.
type Ruling int

// The rulings. RulingWait: try once more soon, since the relay may refuse other emails too.
// RulingFail: refused twice while other mail was accepted, so the message is at fault.
// RulingSender: many emails of one sender met the same refusal. RulingRelay: unrelated senders met
// the same refusal.
const (
	RulingWait Ruling = iota
	RulingFail
	RulingSender
	RulingRelay
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

// Classifier decides whether a refusal is the fault of the message, of the sender (a domain
// that the relay does not accept) or of the relay (a suspended account, a block list). Mail must
// not bounce for the latter two, and one sender's fault must not delay others.
type Classifier struct {
	mu          sync.Mutex
	failing     map[Sender]*senderFailures
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

func (f *senderFailures) proven() bool {
	return len(f.emails) >= breakerTrips || len(f.anyText) >= looseTrips
}

// Record records the result of an email's transaction and returns what it and earlier results show.
// strikes is how many connections the email has lost in a row, with this one; alone: no other team
// has mail for this relay.
func (c *Classifier) Record(s Sender, emailID string, res *app.Result, strikes int, alone bool) History {
	h := History{Strikes: strikes}
	if res.Kind != app.ResultDoubt && AnyAccepted(res) {
		c.accepted(s)
	}
	switch cause, found := causeOf(res); {
	case found:
		cause.ambiguous = cause.class == connectionLost.class && strikes == 1
		h.Ruling = c.refused(s, emailID, cause, alone)
	case res.Kind != app.ResultTrouble:
		for _, r := range res.Recipients {
			h.Repeated = append(h.Repeated, IsAmbiguous(r) && c.repeated(emailID, refusalOf(app.StageRcpt, r.Reply)))
		}
	}
	return h
}

// refused records an email's refusal and returns the ruling. alone: no other team has mail for this
// relay.
func (c *Classifier) refused(s Sender, emailID string, r refusal, alone bool) Ruling {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.failing[s]
	if f == nil || f.class != r.class {
		f = &senderFailures{refusal: r, emails: map[string]bool{}, anyText: map[string]bool{}}
		if c.failing == nil || len(c.failing) >= maxFailingSenders {
			c.failing = map[Sender]*senderFailures{}
		}
		c.failing[s] = f
	}
	f.acceptCount = c.acceptCount
	if !f.proven() {
		if f.signature != r.signature {
			f.signature, f.emails = r.signature, map[string]bool{}
		}
		if f.anyText[emailID] = true; !r.ambiguous {
			f.emails[emailID] = true
		}
	}
	if f.proven() && c.affectsRelay(r.class, alone) {
		c.tripped = r.class
	}
	switch {
	case c.tripped == r.class:
		return RulingRelay
	case f.proven():
		return RulingSender
	case c.repeatedLocked(emailID, r.class):
		return RulingFail
	}
	return RulingWait
}

// affectsRelay reports whether unrelated senders met a refusal with no accepted message in between:
// senders of two teams, or, if there is only one team, two of its domains.
func (c *Classifier) affectsRelay(class string, alone bool) bool {
	senders, team := 0, ""
	for s, f := range c.failing {
		if !f.proven() || f.acceptCount != c.acceptCount || f.class != class {
			continue
		}
		if senders++; team != "" && team != s.Team {
			return true
		}
		team = s.Team
	}
	return alone && senders > 1
}

// repeatedLocked records the class of an email's refusal. It reports whether the email met the same
// class before.
func (c *Classifier) repeatedLocked(emailID, class string) bool {
	if c.firstRefusals[emailID] == class || c.firstRefusals[emailID] == "" && c.olderRefusals[emailID] == class {
		delete(c.firstRefusals, emailID)
		delete(c.olderRefusals, emailID)
		return true
	}
	if c.firstRefusals == nil || len(c.firstRefusals) >= maxFirstRefusals {
		c.firstRefusals, c.olderRefusals = map[string]string{}, c.firstRefusals
	}
	c.firstRefusals[emailID] = class
	return false
}

// repeated is repeatedLocked for an email that the relay accepted for some recipients: its refusal
// says nothing of other emails.
func (c *Classifier) repeated(emailID string, r refusal) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.repeatedLocked(emailID, r.class)
}

// accepted records that the relay accepted a message of a sender. Later refusals are then the fault
// of single messages.
func (c *Classifier) accepted(s Sender) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acceptCount++
	c.tripped = ""
	delete(c.failing, s)
}

// Unaffected reports whether a sender has not met the refusal that opened the relay's breaker.
func (c *Classifier) Unaffected(s Sender) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.failing[s]
	return f == nil || f.acceptCount != c.acceptCount || f.class != c.tripped
}
