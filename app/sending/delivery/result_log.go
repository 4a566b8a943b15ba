package delivery

import (
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/metrics"
)

// resultOf is what the verdict on a recipient means for the log and the metrics; ok is
// false for a test recipient, of whom no relay said anything. over: who is put off is
// given up.
func resultOf(v app.Outcome, over bool) (r metrics.Result, ok bool) {
	switch v {
	case app.Accepted:
		return metrics.Sent, true
	case app.Refused:
		return metrics.Bounced, true
	case app.Postponed:
		if over {
			return metrics.Failed, true
		}
		return metrics.Deferred, true
	}
	return "", false
}

// logResults writes a line for each recipient of an attempt and counts them, once the result
// is stored: those that it names, and the others, of whom rest is the verdict ("": there
// are none).
func (l *relayQueue) logResults(j *job, res app.Result, rest app.Outcome, over, stored bool) {
	counts := map[metrics.Result]int{}
	for _, v := range res.Recipients {
		if r, ok := resultOf(v.Outcome, over); ok {
			l.logRecipient(r, j, v.Address, v.Reply)
			counts[r]++
		}
	}
	if rest != "" {
		r := metrics.Failed // a refused message is failed, not bounced: no recipient refused it
		if rest == app.Postponed && !over {
			r = metrics.Deferred
		}
		for _, address := range undecided(j.message.Recipients, res) {
			l.logRecipient(r, j, address, res.Reply)
			counts[r]++
		}
	}
	if !stored { // deleted, or canceled before its dot
		return
	}
	for r, n := range counts {
		l.s.Metrics.Result(l.name, r, n)
	}
}

// logRecipient writes the line of a recipient: the words of the log are the states of emails, but
// for mail that left, of which postmasters say that it was delivered.
func (l *relayQueue) logRecipient(r metrics.Result, j *job, address string, reply app.Reply) {
	msg := string(r)
	if r == metrics.Sent {
		msg = "delivered"
	}
	_, domain, _ := strings.Cut(address, "@")
	l.s.Log.Info(msg, "email", j.unit.EmailID, "team", j.unit.TeamID, "relay", l.name, "to_domain", domain, "attempt", j.unit.Attempts,
		"code", reply.Code, "enhanced_code", reply.Enhanced, "ms", time.Since(j.began).Milliseconds())
}
