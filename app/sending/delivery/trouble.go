package delivery

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/reputation"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// rest shuts the lane after a trouble that is nobody's but the relay's, for a pause
// that grows with each one in a row, and notes why.
func (l *lane) rest(v leave, s sender, res app.Result) {
	l.shut(l.gate, v.relay, sender{}, trouble{sender: s, delay: l.relayPause}, res)
}

// shut closes a gate and notes why: the relay's, or that of whose mail it takes
// nothing. It returns when the next try is.
func (l *lane) shut(g *rest, p pass, whose sender, t trouble, res app.Result) time.Time {
	failures, until, fresh := g.close(p, t)
	if fresh {
		if t.quota {
			failures = 0
		}
		l.recordTrouble(g, whose, failures, until, res)
		l.wake() // it looks when the pause ends
	}
	return until
}

// answered notes that the relay can be used, whatever it made of the mail.
func (l *lane) answered(v leave) {
	if l.gate.healthy(v.relay) {
		l.endTrouble(l.gate, "relay takes mail again")
	}
}

// healthy notes that the relay answered, and takes mail of the sender.
func (l *lane) healthy(v leave) {
	l.answered(v)
	for _, own := range v.own {
		if own.gate.healthy(own.pass) {
			l.rests.drop(own.gate)
			l.endTrouble(own.gate, "relay takes mail of the sender again")
		}
	}
}

// maxCounted bounds how many waiting units are counted for the log.
const maxCounted = 1_000_000

// recordTrouble keeps a trouble for the timelines of the emails that wait for its end, and
// tells the operator, and the team where it is the team's.
func (l *lane) recordTrouble(g *rest, whose sender, failures int, until time.Time, res app.Result) {
	g.mu.Lock()
	first := g.trouble == nil
	other := ""
	if !first && (g.trouble.Failures == 0) != (failures == 0) { // a used daily limit and a failing relay are told apart
		other = g.trouble.ID
	}
	if first || other != "" {
		g.trouble = &app.RelayTrouble{ID: app.NewID(), Relay: l.name, TeamID: whose.team, Domain: whose.domain, StartedAt: clock.Now()}
	}
	g.trouble.Failures, g.met = failures, res
	g.trouble.Detail = l.troubleDetail(whose, res, until)
	note := *g.trouble
	g.mu.Unlock()
	waiting, err := db.Get(context.Background(), l.s.DB, func(r *db.Reader) (int64, error) { return l.waiting(r, whose) })
	if err != nil {
		l.s.Log.Error("count what waits for a relay", "relay", l.name, "err", err)
	}
	l.warn(whose, res, "waiting", waiting, "since", note.StartedAt.UTC().Format(time.RFC3339), "next_try", until.UTC().Format(time.RFC3339))
	err = l.s.DB.WriteCritical(context.Background(), func(tx *db.Tx) error {
		if err := tx.CloseTrouble(other); err != nil {
			return err
		}
		if err := tx.OpenTrouble(note); err != nil {
			return err
		}
		if !first || whose.domain == "" {
			return nil
		}
		return l.s.announcePaused(tx, &note)
	})
	if err != nil {
		l.s.Log.Error("note a relay's trouble", "relay", l.name, "err", err)
	}
}

// waiting counts the mail of everybody, of a team or of its domain that this relay has
// not taken yet and could: recipients of broadcasts too whose turn has not come.
func (l *lane) waiting(r *db.Reader, whose sender) (int64, error) {
	n, err := r.CountWaiting(l.name, whose.team, whose.domain, maxCounted)
	if err != nil {
		return 0, err
	}
	working, err := r.CountInWork(l.claims.of(whose)) // what went back to the queue is counted there
	if err != nil {
		return 0, err
	}
	open, err := r.OpenBroadcasts(app.QueuedBroadcast)
	for i := range open {
		b := &open[i]
		if b.Relay == l.name && (whose.team == "" || whose.team == b.TeamID) && (whose.domain == "" || whose.domain == b.From.Domain) {
			n += b.Remaining()
		}
	}
	return n + working, err
}

// warn tells the operator of a trouble.
func (l *lane) warn(whose sender, res app.Result, more ...any) {
	words := append([]any{"relay", l.name}, more...)
	msg := "relay can't be used"
	switch {
	case whose.domain != "":
		msg, words = "relay takes nothing of a sender's domain", append(words, "team", whose.team, "domain", whose.domain)
	case whose.team != "":
		msg, words = "a team has used its share of the relay's daily limit", append(words, "team", whose.team)
	}
	l.s.Log.Warn(msg, append(words, "stage", res.Stage, "code", res.Reply.Code, "enhanced_code", res.Reply.Enhanced, "reply", maskAddresses(res.Reply.Text))...)
}

// maskAddresses leaves the domains alone of the addresses in a relay's words.
func maskAddresses(text string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		if at := strings.LastIndexByte(w, '@'); at >= 0 {
			words[i] = "***" + w[at:]
		}
	}
	return strings.Join(words, " ")
}

// troubleDetail is what timelines show of a trouble. What the relay said in a
// transaction is for those alone whose transaction it was: it may name others.
func (l *lane) troubleDetail(whose sender, res app.Result, until time.Time) app.EventDetail {
	reply := res.Reply
	if whose.team == "" && (inTransaction(res.Stage) || res.Stage == app.StageDot) {
		if reply.Text, _, _ = strings.Cut(reply.Text, ": "); reply.Code != 0 { // without a code they are ours, and what they quote
			reply.Text = ""
		}
	}
	d := l.ledger.detail(app.Unit{}, res.Stage, reply, until)
	d.Message += "; no attempt is counted"
	return d
}

// announcePaused tells a team's webhooks that a relay takes nothing of its domain.
func (s *Service) announcePaused(tx *db.Tx, t *app.RelayTrouble) error {
	return s.events.Announce(tx, t.TeamID, webhook.DeliverabilityPaused, func() (any, error) {
		return reputation.BreakerData{TeamID: t.TeamID, Status: reputation.GuardrailPaused, Domain: t.Domain, Region: t.Relay,
			Reason: t.Detail.Message, ReplyCode: t.Detail.ReplyCode, EnhancedCode: t.Detail.EnhancedCode, NextAttemptAt: t.Detail.NextAttemptAt}, nil
	})
}

// endTrouble notes that a gate is open again.
func (l *lane) endTrouble(g *rest, msg string) {
	l.wake()
	g.mu.Lock()
	t := g.trouble
	g.trouble = nil
	g.mu.Unlock()
	if t == nil {
		return
	}
	words := []any{"relay", l.name, "after", clock.Since(t.StartedAt).Round(time.Second).String()}
	if t.TeamID != "" {
		words = append(words, "team", t.TeamID, "domain", t.Domain)
	}
	l.s.Log.Info(msg, words...)
	if err := l.s.DB.WriteCritical(context.Background(), func(tx *db.Tx) error { return tx.CloseTrouble(t.ID) }); err != nil {
		l.s.Log.Error("note the end of a relay's trouble", "relay", l.name, "err", err)
	}
}

// tripDailyLimit rests the lane until the daily limit has a place again.
func (l *lane) tripDailyLimit(v leave, j *job, free time.Time) {
	l.shut(l.gate, v.relay, sender{}, trouble{quota: true, delay: func(int) time.Duration { return clock.Until(free) }},
		app.Result{Stage: app.StageConnect, Reply: app.Reply{Text: fmt.Sprintf("its limit of %d messages in 24 hours is used up", l.relay.Daily)}})
	l.handBack(j)
}

// shareRecheck is how soon a team that used its share of a daily limit is looked at again.
const shareRecheck = time.Minute

// tripTeamShare rests a team that used its share of the daily limit while little is left.
func (l *lane) tripTeamShare(v leave, j *job) {
	whose := sender{team: j.unit.TeamID}
	g := l.rests.at(whose)
	l.shut(g, v.through(g), whose, trouble{sender: whose, quota: true, delay: func(int) time.Duration { return shareRecheck }},
		app.Result{Stage: app.StageConnect, Reply: app.Reply{Text: fmt.Sprintf("this team has used its share of the limit of %d messages in 24 hours, and what is left is for others", l.relay.Daily)}})
	l.handBack(j)
}
