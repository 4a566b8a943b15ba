package delivery

import (
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/metrics"
	"mailer/app/rules/outcome"
)

// resultOf returns the log message and metric of the outcome of a recipient; ok is false for test
// recipients. over: postponed recipients have expired.
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

// logResults logs and counts each recipient of an attempt after the result was stored: the
// recipients that res names by their own outcome, the others by rest ("": there are none).
func (l *relayQueue) logResults(j *job, res app.Result, rest app.Outcome, over, stored bool) {
	counts := map[metrics.Result]int{}
	for _, v := range res.Recipients {
		if r, ok := resultOf(v.Outcome, over); ok {
			l.logRecipient(r, j, v.Address, v.Reply)
			counts[r]++
		}
	}
	if rest != "" {
		r := metrics.Failed // failed, not bounced: no recipient refused the message
		if rest == app.Postponed && !over {
			r = metrics.Deferred
		}
		for _, address := range outcome.Open(j.message.Recipients, &res) {
			l.logRecipient(r, j, address, res.Reply)
			counts[r]++
		}
	}
	if !stored { // the email was deleted or canceled
		return
	}
	for r, n := range counts {
		l.s.Metrics.Result(l.name, r, n)
	}
}

// logRecipient logs the result of a recipient. The message is the metric's name, except that sent
// mail is logged as delivered.
func (l *relayQueue) logRecipient(r metrics.Result, j *job, address string, reply app.Reply) {
	msg := string(r)
	if r == metrics.Sent {
		msg = "delivered"
	}
	_, domain, _ := strings.Cut(address, "@")
	l.s.Log.Info(msg, "email", j.unit.EmailID, "team", j.unit.TeamID, "relay", l.name, "to_domain", domain, "attempt", j.unit.Attempts,
		"code", reply.Code, "enhanced_code", reply.Enhanced, "ms", time.Since(j.began).Milliseconds())
}
