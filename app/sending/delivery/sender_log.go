package delivery

import (
	"strings"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/outcome"
)

const (
	// soleSenderWindow is how far back senders count that used a relay.
	soleSenderWindow = time.Hour
	// maxLoggedSenders bounds the senders that are remembered; the relay counts as used by many then.
	maxLoggedSenders = 1000
)

// senderLog remembers which senders used a relay lately, and whose mail it accepted.
type senderLog struct {
	mu   sync.Mutex
	used map[sender]time.Time // by sender: the last transaction
	took map[sender]bool      // senders of accepted mail, since the server started
}

// record notes a transaction.
func (s *senderLog) record(from sender, accepted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == nil {
		s.used, s.took = map[sender]time.Time{}, map[sender]bool{}
	}
	if len(s.used) < maxLoggedSenders {
		s.used[from] = clock.Now()
	}
	if accepted && len(s.took) < maxLoggedSenders {
		s.took[from] = true
	}
}

// takes reports whether the relay accepted mail of a sender before.
func (s *senderLog) takes(from sender) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took[from]
}

// sole returns the only sender that used the relay lately; false: there is none, or several.
func (s *senderLog) sole() (one sender, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := clock.Now().Add(-soleSenderWindow)
	for from, at := range s.used {
		switch {
		case at.Before(limit):
			delete(s.used, from)
		case ok:
			return sender{}, false
		default:
			one, ok = from, true
		}
	}
	return one, ok
}

// refusesSole returns since when and how a relay refuses the only sender that uses it, for which
// that is no different from refusing everybody; zero: it does not, or the refusals are about the
// content of the mail.
func (l *relayState) refusesSole() (since time.Time, why string) {
	s, ok := l.senders.sole()
	if !ok {
		return since, ""
	}
	b := l.senderBreakers.find(s)
	if b == nil {
		return since, ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.trouble == nil || b.trouble.Failures == 0 || aboutContent(b.lastResult.Reply) {
		return since, ""
	}
	return b.trouble.StartedAt, replyText(b.lastResult)
}

// aboutContent reports whether a reply speaks of the content of a message (RFC 3463 3.7), or of spam.
func aboutContent(r app.Reply) bool {
	if strings.HasPrefix(r.Enhanced, "5.6.") || strings.HasPrefix(r.Enhanced, "4.6.") {
		return true
	}
	text := strings.ToLower(r.Text)
	return strings.HasPrefix(r.Enhanced[min(1, len(r.Enhanced)):], ".7.") && (strings.Contains(text, "spam") || strings.Contains(text, "junk") || strings.Contains(text, "virus"))
}

// leniently turns the final refusal of a whole message by a reserve that never took mail of its
// sender into a deferral: the reserve may not know the domain, and the message is not to blame.
func (l *relayQueue) leniently(s sender, res app.Result, h outcome.History) (app.Result, outcome.History) {
	if !l.reserve || h.Ruling != outcome.RulingFail || res.Kind != app.ResultRefused || res.Reply.Code < 500 || l.senders.takes(s) {
		return res, h
	}
	res = outcome.Postponed(res)
	res.Kind, h.Ruling = app.ResultDeferred, outcome.RulingWait
	return res, h
}
