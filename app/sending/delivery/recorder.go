package delivery

import (
	"errors"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/feedback"
	"mailer/app/rules/outcome"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/reputation"
	"mailer/app/rules/verdict"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// recorder stores what a relay decided: the states of recipients, the events of their emails,
// counters and webhook events. Its methods run inside a Write.
type recorder struct {
	s     *Service
	relay relayurl.Relay
}

// simulated maps the outcome of a test recipient to its final state and the text of its event.
var simulated = map[app.Outcome]struct {
	state app.LastEvent
	words string
}{
	app.SimulatedSuccess: {app.Delivered, verdict.TestWords + "delivered, without leaving this server"},
	app.SimulatedBounce:  {app.Bounced, verdict.TestWords + "bounced, without leaving this server"},
	app.SimulatedSpam:    {app.Complained, verdict.TestWords + "reported as spam, without leaving this server"},
	app.SimulatedDelay:   {app.DeliveryDelayed, verdict.TestWords + "delayed, without leaving this server"},
	app.SimulatedBlock:   {app.Suppressed, verdict.TestWords + "suppressed, without leaving this server"},
}

// detail describes a relay's answer for a timeline.
func (l *recorder) detail(u app.Unit, stage app.Stage, r app.Reply, next time.Time) app.EventDetail {
	d := app.EventDetail{ReplyCode: r.Code, EnhancedCode: r.Enhanced, Reply: r.Text, Stage: stage, Relay: l.relay.FullName(), Attempt: u.Attempts}
	d.Message = d.Description(l.label())
	if !next.IsZero() {
		d.NextAttemptAt = app.FormatTime(next)
		d.Message += "; next try at " + d.NextAttemptAt
	}
	return d
}

// label names the relay in texts for the sender of an email.
func (l *recorder) label() string {
	if l.s.Settings.Capture {
		return l.relay.FullName()
	}
	return l.relay.String()
}

// settleRecipient stores the outcome of one recipient. reason is added to the event of a postponed
// one.
func (l *recorder) settleRecipient(tx *db.Tx, j *job, v app.RecipientResult, next time.Time, reason string) error {
	u := j.unit
	u.Hidden, u.ForwardID = j.message.hidden, j.message.forward
	if test, ok := simulated[v.Outcome]; ok {
		d := l.detail(u, "", v.Reply, time.Time{})
		d.Message = test.words
		if test.state != app.Suppressed && !u.Hidden {
			tx.CountSent(j.message.countKey, 1)
		}
		return l.finish(tx, u, v.Address, test.state, d)
	}
	switch v.Outcome {
	case app.Accepted:
		d := l.detail(u, v.Stage, v.Reply, time.Time{})
		d.TLS, d.DurationMs = j.tls, j.took.Milliseconds()
		if j.note != "" {
			d.Message += "; " + j.note
		} else if u.BroadcastID != "" {
			d.Message = "" // composed when it is read, to save space in large broadcasts
			if rule := l.s.mail.BroadcastRule(app.QueueRegion(u.Relay), u.EmailID, v.Address); rule != nil && rule.Queue == u.Relay {
				d.Rule = rule.Words()
			}
		}
		if err := l.countResult(tx, j, v, app.Sent); err != nil {
			return err
		}
		return l.recordFinished(tx, u, v.Address, app.Sent, d)
	case app.Refused:
		if err := l.s.audience.SuppressRefused(tx, u, v); err != nil {
			return err
		}
		if err := l.countResult(tx, j, v, app.Bounced); err != nil {
			return err
		}
		return l.recordFinished(tx, u, v.Address, app.Bounced, l.detail(u, v.Stage, v.Reply, time.Time{}))
	}
	return tx.InsertEvent(mail.NewEvent(tx, u, app.EventDeferred, v.Address, l.detailWithReason(u, v.Stage, v.Reply, next, reason)))
}

// recordAttempt stores the SMTP conversation of a transaction that the relay did not accept for all
// recipients.
func (l *recorder) recordAttempt(tx *db.Tx, j *job, res app.Result) error {
	j.tls, j.took = res.TLS, res.Took
	if res.Kind == app.ResultDone && !slices.ContainsFunc(res.Recipients, func(v app.RecipientResult) bool { return v.Outcome == app.Refused || v.Outcome == app.Postponed }) {
		return nil
	}
	if res.Kind == app.ResultDone { // the reply of a refused or postponed recipient
		for _, v := range res.Recipients {
			if v.Outcome == app.Refused || v.Outcome == app.Postponed {
				res.Stage, res.Reply = v.Stage, v.Reply
			}
		}
	}
	d := l.detail(j.unit, res.Stage, res.Reply, time.Time{})
	d.TLS, d.DurationMs = res.TLS, res.Took.Milliseconds()
	return tx.InsertAttempt(j.unit.EmailID, db.Attempt{ID: app.NewID(), CreatedAt: tx.Now, Outcome: attemptOutcome(res), Detail: d, Conversation: res.Conversation})
}

// attemptOutcome returns the stored outcome of an attempt that was not fully successful.
func attemptOutcome(res app.Result) string {
	switch {
	case res.Kind == app.ResultDoubt:
		return "in_doubt"
	case res.Kind == app.ResultTrouble:
		return "interrupted"
	case outcome.AnyAccepted(&res):
		return "partly_sent"
	case res.Reply.Code >= 500 || res.Kind == app.ResultRefused:
		return "refused"
	}
	return "deferred"
}

// detailWithReason is detail with a reason added; empty: none.
func (l *recorder) detailWithReason(u app.Unit, stage app.Stage, r app.Reply, next time.Time, reason string) app.EventDetail {
	d := l.detail(u, stage, r, next)
	if reason != "" {
		d.Message += "; " + reason
	}
	return d
}

// anySent reports whether an email was sent to some recipient, or simulated for a test recipient.
func anySent(res app.Result) bool {
	return outcome.AnyAccepted(&res) || slices.ContainsFunc(res.Recipients, func(r app.RecipientResult) bool {
		_, simulates := simulated[r.Outcome]
		return simulates
	})
}

// settleEach stores the outcomes of all recipients, and the message if the capture transport
// returned it.
func (l *recorder) settleEach(tx *db.Tx, j *job, res app.Result, open []string, rest app.Outcome, next time.Time, reason string) error {
	u := j.unit
	u.ForwardID = j.message.forward
	if anySent(res) {
		if err := l.s.mail.AnnounceEmail(tx, u.TeamID, webhook.EmailSent, u.EmailID, webhook.EmailExtra{}); err != nil {
			return err
		}
	}
	for _, v := range res.Recipients {
		if err := l.settleRecipient(tx, j, v, next, reason); err != nil {
			return err
		}
	}
	if id := feedback.ProviderIDIn(res.Reply.Text); id != "" && l.relay.Profile == relayurl.ProfileSES && res.Kind == app.ResultDone && res.Stage == app.StageDot {
		if err := tx.InsertProviderID(id, u.EmailID); err != nil {
			return err
		}
	}
	if res.Captured != nil && !j.message.private {
		if err := tx.InsertCapture(u.EmailID, res.Captured); err != nil {
			return err
		}
	}
	return l.settleRest(tx, u, open, res, rest, next, reason)
}

// settleRest applies the outcome of the message to the recipients without an outcome of their own. A
// refused message is failed, not bounced, because no recipient refused it.
func (l *recorder) settleRest(tx *db.Tx, u app.Unit, open []string, res app.Result, rest app.Outcome, next time.Time, reason string) error {
	switch rest {
	case app.Postponed:
		return tx.InsertEvent(mail.NewEvent(tx, u, app.EventDeferred, "", l.detailWithReason(u, res.Stage, res.Reply, next, reason)))
	case app.Refused:
		for _, address := range open {
			if err := l.finish(tx, u, address, app.Failed, l.detail(u, res.Stage, res.Reply, time.Time{})); err != nil {
				return err
			}
		}
	}
	return nil
}

// markDeferred stores that the relay deferred an email, and announces it the first time. open are
// the recipients without an outcome of their own. A broken connection is not an answer.
func (l *recorder) markDeferred(tx *db.Tx, u app.Unit, res app.Result, open []string) error {
	if !u.DeferredAt.IsZero() {
		return nil
	}
	answered, waiting := res.Reply.Code != 0, slices.Clone(open)
	for _, v := range res.Recipients {
		if v.Outcome == app.Postponed {
			waiting, answered = append(waiting, v.Address), answered || v.Reply.Code != 0
		}
	}
	if !answered {
		return nil
	}
	if err := tx.MarkDeferred(u.EmailID); err != nil {
		return err
	}
	extra := webhook.EmailExtra{}
	if len(waiting) == 1 {
		extra.Recipient = waiting[0]
	}
	return l.s.mail.AnnounceEmail(tx, u.TeamID, webhook.EmailDeliveryDelayed, u.EmailID, extra)
}

// failExpired fails the open recipients of an expired email, with detail in their events.
func (l *recorder) failExpired(tx *db.Tx, u app.Unit, detail app.EventDetail) error {
	detail.Reason = app.ReasonExpired
	return l.failOpen(tx, u, detail)
}

// failOpen fails the open recipients of an email, with detail in their events.
func (l *recorder) failOpen(tx *db.Tx, u app.Unit, detail app.EventDetail) error {
	open, err := tx.OpenRecipients(u)
	if err != nil {
		return err
	}
	if u.QuotaOwed > 0 {
		if err := l.s.teams.DropFromBacklog(tx, u.TeamID, u.EmailID); err != nil {
			return err
		}
	}
	doubts, err := tx.CountDoubts(u.EmailID)
	if err != nil {
		return err
	}
	if doubts > 0 {
		detail.Message += ". At an earlier attempt the relay may have accepted it, since its reply was lost"
		if err := tx.SettleDoubts(u.EmailID, doubtGivenUp); err != nil {
			return err
		}
	}
	for _, address := range open {
		if err := l.finish(tx, u, address, app.Failed, detail); err != nil {
			return err
		}
	}
	return base.IgnoreNotFound(tx.DeleteUnit(u))
}

// finish moves one recipient to its final state and records the event.
func (l *recorder) finish(tx *db.Tx, u app.Unit, address string, state app.LastEvent, detail app.EventDetail) error {
	if err := base.IgnoreNotFound(tx.SettleRecipient(u, address, state)); err != nil {
		return err
	}
	return l.recordFinished(tx, u, address, state, detail)
}

// recordFinished records the event of a recipient that was moved to its final state.
func (l *recorder) recordFinished(tx *db.Tx, u app.Unit, address string, state app.LastEvent, detail app.EventDetail) error {
	if err := tx.InsertEvent(mail.NewEvent(tx, u, app.EventType(state), address, detail)); err != nil {
		return err
	}
	if u.BroadcastID == "" && !u.Hidden && (state == app.Sent || state == app.Delivered) {
		tx.NoteActivity(u.TeamID, l.s.Sealer.AddressHash(u.TeamID, app.KeyOf(address)), app.EventType(state), tx.Now)
	}
	if err := mail.SetLastEvent(tx, u, state); err != nil {
		return err
	}
	if u.ForwardID != "" && (state != app.Failed || detail.ReplyCode/100 == 5) {
		if err := l.s.mail.OnForward(tx, u.TeamID, u.ForwardID, state); err != nil {
			return err
		}
	}
	return l.s.mail.AnnounceState(tx, u, address, state, &detail)
}

// requeue schedules the next attempt of a unit that the relay deferred.
func requeue(tx *db.Tx, u app.Unit, attempts int, next time.Time) error {
	return base.IgnoreNotFound(tx.RequeueUnit(u, attempts, next))
}

// countResult moves a recipient on which the relay decided to its final state, and counts it unless
// a provider event did so before.
func (l *recorder) countResult(tx *db.Tx, j *job, v app.RecipientResult, state app.LastEvent) error {
	err := tx.SettleRecipient(j.unit, v.Address, state)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if j.message.hidden {
		return nil
	}
	if j.message.forward != "" { // a stranger wrote it: it says nothing about the mail of the team
		tx.CountSent(j.message.countKey, 1)
		return nil
	}
	o := reputation.Outcome{Sent: 1}
	if j.message.insights != nil {
		o.Scored, o.Points = 1, j.message.insights.Points()
	}
	if state == app.Bounced && audience.IsHardBounce(v) {
		if o.HardBounced, err = l.s.CountOnce(tx, feedback.Bounced, j.unit.EmailID, app.KeyOf(v.Address)); err != nil {
			return err
		}
	}
	l.s.CountOutcome(tx, j.message.countKey, o)
	tx.CountSent(j.message.countKey, 1)
	return nil
}
