package delivery

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/outcome"
	"mailer/app/rules/reputation"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// tripRelay opens the relay's breaker after a trouble of the relay itself.
func (l *relayQueue) tripRelay(p permits, s sender, res app.Result) {
	l.trip(l.breaker, p.relay, sender{}, trouble{sender: s, delay: l.outagePause}, res)
}

// trip opens a breaker and records the trouble. affected is the sender of a sender's breaker. It
// returns when the next try is.
func (l *relayQueue) trip(b *breaker, p permit, affected sender, t trouble, res app.Result) time.Time {
	failures, until, fresh := b.trip(p, t)
	if fresh {
		if t.quota {
			failures = 0
		}
		l.recordTrouble(b, affected, failures, until, res)
		l.wake() // dispatch schedules the next try
	}
	return until
}

// relaySucceeded records that the relay could be used, whatever it decided on the mail.
func (l *relayQueue) relaySucceeded(p permits) {
	if l.breaker.success(p.relay) {
		l.endTrouble(l.breaker, "relay takes mail again")
	}
}

// succeeded records that the relay could be used and accepts mail of the sender.
func (l *relayQueue) succeeded(p permits) {
	l.relaySucceeded(p)
	for _, own := range p.senders {
		if own.breaker.success(own.permit) {
			l.senderBreakers.remove(own.breaker)
			l.endTrouble(own.breaker, "relay takes mail of the sender again")
		}
	}
}

// maxCounted bounds how many waiting units are counted for the log.
const maxCounted = 1_000_000

// recordTrouble stores a trouble for the timelines of waiting emails, logs it, and announces it to
// the team if it is about a sender.
func (l *relayQueue) recordTrouble(b *breaker, affected sender, failures int, until time.Time, res app.Result) {
	b.mu.Lock()
	first := b.trouble == nil
	other := ""
	if !first && (b.trouble.Failures == 0) != (failures == 0) { // a used daily limit and a failing relay are separate troubles
		other = b.trouble.ID
	}
	if first || other != "" {
		b.trouble = &app.RelayTrouble{ID: app.NewID(), Relay: l.name, TeamID: affected.Team, Domain: affected.Domain, StartedAt: clock.Now()}
	}
	b.trouble.Failures, b.lastResult = failures, res
	b.trouble.Detail = l.troubleDetail(affected, res, until)
	copied := *b.trouble
	b.mu.Unlock()
	waiting, err := db.Get(context.Background(), l.s.DB, func(r *db.Reader) (int64, error) { return l.countWaiting(r, affected) })
	if err != nil {
		l.s.Log.Error("count what waits for a relay", "relay", l.name, "err", err)
	}
	l.warn(affected, res, "waiting", waiting, "since", copied.StartedAt.UTC().Format(time.RFC3339), "next_try", until.UTC().Format(time.RFC3339))
	err = l.s.DB.WriteCritical(context.Background(), func(tx *db.Tx) error {
		if err := tx.CloseTrouble(other); err != nil {
			return err
		}
		if err := tx.OpenTrouble(copied); err != nil {
			return err
		}
		if !first || affected.Domain == "" {
			return nil
		}
		return l.s.announcePaused(tx, &copied)
	})
	if err != nil {
		l.s.Log.Error("note a relay's trouble", "relay", l.name, "err", err)
	}
}

// countWaiting counts the waiting mail of a sender for this relay, including recipients of
// broadcasts that have not begun. The zero sender means all.
func (l *relayQueue) countWaiting(r *db.Reader, affected sender) (int64, error) {
	n, err := r.CountWaiting(l.key, affected.Team, affected.Domain, maxCounted)
	if err != nil {
		return 0, err
	}
	working, err := r.CountInWork(l.claims.emailsOf(affected)) // units that went back to the queue are counted above
	if err != nil {
		return 0, err
	}
	open, err := r.OpenBroadcasts(app.QueuedBroadcast)
	for i := range open {
		b := &open[i]
		if b.Relay == l.key && (affected.Team == "" || affected.Team == b.TeamID) && (affected.Domain == "" || affected.Domain == b.From.Domain) {
			n += b.Remaining()
		}
	}
	return n + working, err
}

// warn logs a trouble.
func (l *relayQueue) warn(affected sender, res app.Result, more ...any) {
	attrs := append([]any{"relay", l.name}, more...)
	msg := "relay can't be used"
	switch {
	case affected.Domain != "":
		msg, attrs = "relay takes nothing of a sender's domain", append(attrs, "team", affected.Team, "domain", affected.Domain)
	case affected.Team != "":
		msg, attrs = "a team has used its share of the relay's daily limit", append(attrs, "team", affected.Team)
	}
	l.s.Log.Warn(msg, append(attrs, "stage", res.Stage, "code", res.Reply.Code, "enhanced_code", res.Reply.Enhanced, "reply", maskAddresses(res.Reply.Text))...)
}

// maskAddresses hides the local parts of addresses in a relay's reply.
func maskAddresses(text string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		if at := strings.LastIndexByte(w, '@'); at >= 0 {
			words[i] = "***" + w[at:]
		}
	}
	return strings.Join(words, " ")
}

// troubleDetail describes a trouble for timelines. The reply in a transaction is only shown to the
// team whose transaction it was, because it may name others.
func (l *relayQueue) troubleDetail(affected sender, res app.Result, until time.Time) app.EventDetail {
	reply := res.Reply
	if affected.Team == "" && (outcome.InTransaction(res.Stage) || res.Stage == app.StageDot) {
		if reply.Text, _, _ = strings.Cut(reply.Text, ": "); reply.Code != 0 { // without a code the text is ours, and the quote was cut
			reply.Text = ""
		}
	}
	d := l.recorder.detail(app.Unit{}, res.Stage, reply, until)
	d.Message += "; no attempt is counted"
	return d
}

// announcePaused announces to a team's webhooks that a relay accepts no mail of its domain.
func (s *Service) announcePaused(tx *db.Tx, t *app.RelayTrouble) error {
	return s.events.Announce(tx, t.TeamID, webhook.DeliverabilityPaused, func() (any, error) {
		return reputation.BreakerData{TeamID: t.TeamID, Status: reputation.GuardrailPaused, Domain: t.Domain, Region: t.Relay,
			Reason: t.Detail.Message, ReplyCode: t.Detail.ReplyCode, EnhancedCode: t.Detail.EnhancedCode, NextAttemptAt: t.Detail.NextAttemptAt}, nil
	})
}

// endTrouble logs and stores that a breaker closed.
func (l *relayQueue) endTrouble(b *breaker, msg string) {
	l.wake()
	b.mu.Lock()
	t := b.trouble
	b.trouble = nil
	b.mu.Unlock()
	if t == nil {
		return
	}
	attrs := []any{"relay", l.name, "after", clock.Since(t.StartedAt).Round(time.Second).String()}
	if t.TeamID != "" {
		attrs = append(attrs, "team", t.TeamID, "domain", t.Domain)
	}
	l.s.Log.Info(msg, attrs...)
	if err := l.s.DB.WriteCritical(context.Background(), func(tx *db.Tx) error { return tx.CloseTrouble(t.ID) }); err != nil {
		l.s.Log.Error("note the end of a relay's trouble", "relay", l.name, "err", err)
	}
}

// tripDailyLimit opens the relay's breaker until the daily limit has capacity again.
func (l *relayQueue) tripDailyLimit(p permits, j *job, free time.Time) {
	l.trip(l.breaker, p.relay, sender{}, trouble{quota: true, delay: func(int) time.Duration { return clock.Until(free) }},
		app.Result{Stage: app.StageConnect, Reply: app.Reply{Text: fmt.Sprintf("its limit of %d messages in 24 hours is used up", l.relay.Daily)}})
	l.handBack(j)
}

// shareRecheck is how long a team waits that used its share of a daily limit, before the next try.
const shareRecheck = time.Minute

// tripTeamShare opens the breaker of a team that used its share of the daily limit while little is
// left.
func (l *relayQueue) tripTeamShare(p permits, j *job) {
	affected := sender{Team: j.unit.TeamID}
	b := l.senderBreakers.getOrCreate(affected)
	l.trip(b, p.permitOf(b), affected, trouble{sender: affected, quota: true, delay: func(int) time.Duration { return shareRecheck }},
		app.Result{Stage: app.StageConnect, Reply: app.Reply{Text: fmt.Sprintf("this team has used its share of the limit of %d messages in 24 hours, and what is left is for others", l.relay.Daily)}})
	l.handBack(j)
}
