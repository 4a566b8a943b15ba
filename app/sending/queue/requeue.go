package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/db"
)

// Requeue sends mail again that failed, bounced or was captured, to the recipients that no real
// relay accepted and that are not suppressed. Id and content stay the same; priority, attempts and
// expiry start over, and quotas do not count it twice. Invalid recipients (hard bounces) are only
// tried again if the id is named.
func (s *Service) Requeue(ctx context.Context, f Filter) (Result, error) {
	var res Result
	if len(f.IDs) == 0 && f.FailedSince.IsZero() && !f.Captured && f.Broadcast == "" {
		return res, app.Errorf(app.CodeValidation, "Choose what to send again: mail that failed since a time, captured mail, emails by id, or those of a broadcast")
	}
	if f.State != "" || f.Restored {
		return res, app.Errorf(app.CodeValidation, "`state` and `restored` are about queued mail, and requeue is about mail that is no longer queued")
	}
	p, err := s.prepare(ctx, f)
	if err != nil {
		return res, err
	}
	if err := s.walks.Acquire(ctx, p.team, 1); err != nil {
		return res, err
	}
	defer s.walks.Release(p.team, 1)
	defer s.summaries.clear()
	q := &requeueRun{s: s, p: p, message: "Requeued by " + app.ActorOf(ctx).Description() + ": sent again", skipped: map[string]int{}}
	err = q.run(ctx)
	res = q.res
	for _, why := range slices.Sorted(maps.Keys(q.skipped)) {
		res.Notes = append(res.Notes, fmt.Sprintf("%d not requeued: %s", q.skipped[why], why))
	}
	if res.Changed > 0 {
		s.wake()
		err = errors.Join(err, s.audit(ctx, "queue.requeue", p, f, res))
	}
	return res, base.Unavailable(err)
}

// requeueRun is one call of Requeue.
type requeueRun struct {
	s       *Service
	p       *preparedFilter
	message string
	res     Result
	skipped map[string]int // matched but not changed, by reason
}

// requeuePlan is the unit and the recipients of an email that is sent again.
type requeuePlan struct {
	unit       app.Unit
	keyID      string // of the API key that sent it
	recipients []db.RecipientState
}

// Reasons why mail is not sent again.
const (
	skipWaits      = "still waiting"
	skipContent    = "the content was deleted, by retention or because it was asked for"
	skipDamaged    = "the database is damaged there"
	skipNobody     = "no recipient is left: accepted by a relay, a hard bounce (name its id to try it all the same) or canceled"
	skipSuppressed = "the recipients are suppressed or opted out"
	skipHistory    = "another server sent it, and it came here as history: send it anew"
	skipDoubt      = "a relay may have taken it, since its reply was lost: name its id to send it all the same"
	skipCapture    = "this server captures mail"
	skipCaptured   = "the broadcast was captured, and that can't be undone: send it anew"
	skipDomain     = "the team can't send from its domain any more: "
)

func (q *requeueRun) run(ctx context.Context) error {
	switch {
	case q.p.Broadcast != "":
		return q.requeueBroadcast(ctx)
	case len(q.p.IDs) > 0:
		return q.requeueNamed(ctx)
	}
	after := ""
	for {
		var found []db.RequeueCandidate
		err := q.s.DB.Read(ctx, func(r *db.Reader) (err error) {
			found = nil
			var last string
			if last, err = r.RequeueRange(after, readBatch); err != nil {
				return err
			}
			scope := &db.RequeueScope{TeamID: q.p.team, Relay: q.p.Filter.Relay, Captured: q.p.Captured}
			found, err = r.RequeueCandidates(scope, after, last)
			after = last
			return err
		})
		if errors.Is(err, db.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read failed mail: %w", err)
		}
		found = slices.DeleteFunc(found, func(c db.RequeueCandidate) bool {
			return q.p.scope.To != "" && c.ID >= q.p.scope.To || c.ID < q.p.scope.From
		})
		if err := q.requeueEmails(ctx, found); err != nil {
			return err
		}
	}
}

// requeueNamed requeues the emails and recipients of broadcasts that a filter names by id.
func (q *requeueRun) requeueNamed(ctx context.Context) error {
	var mails []db.RequeueCandidate
	bulk := map[string][]string{} // by broadcast
	heads := map[string]app.Broadcast{}
	err := q.s.DB.Read(ctx, func(r *db.Reader) error {
		for _, id := range q.p.IDs {
			team, err := r.TeamOfMail(id)
			if errors.Is(err, db.ErrNotFound) || err == nil && q.p.team != "" && team != q.p.team {
				continue
			}
			if err != nil {
				return err
			}
			b, err := r.BroadcastOfMail(team, id)
			switch {
			case errors.Is(err, db.ErrNotFound):
				mails = append(mails, db.RequeueCandidate{ID: id, TeamID: team})
			case err != nil:
				return err
			default:
				bulk[b.ID], heads[b.ID] = append(bulk[b.ID], id), b
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read mail to requeue: %w", err)
	}
	for id, recipients := range bulk {
		b := heads[id]
		if err := q.requeueRecipients(ctx, &b, recipients); err != nil {
			return err
		}
	}
	return q.requeueEmails(ctx, mails)
}

// requeueEmails requeues emails in small Writes.
func (q *requeueRun) requeueEmails(ctx context.Context, found []db.RequeueCandidate) error {
	for piece := range slices.Chunk(found, writeBatch) {
		began := time.Now()
		plans, err := q.plans(ctx, piece)
		if err != nil {
			return err
		}
		var changed int64
		err = q.s.DB.Write(ctx, func(tx *db.Tx) error {
			changed = 0
			for i := range plans {
				done, err := q.apply(tx, &plans[i])
				if err != nil {
					return fmt.Errorf("requeue %s: %w", plans[i].unit.EmailID, err)
				}
				if done {
					changed++
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		q.res.Changed += changed
		base.Sleep(ctx, time.Since(began), nil)
	}
	return ctx.Err()
}

// plans returns the plans of some emails.
func (q *requeueRun) plans(ctx context.Context, piece []db.RequeueCandidate) (plans []requeuePlan, err error) {
	for _, c := range piece {
		var a requeuePlan
		var why string
		var matched bool
		err := q.s.DB.Read(ctx, func(r *db.Reader) (err error) {
			a, why, matched, err = q.plan(r, c)
			return err
		})
		if errors.Is(err, db.ErrDamaged) {
			why, matched, err = skipDamaged, true, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read email %s: %w", c.ID, err)
		}
		if !matched {
			continue
		}
		q.res.Matched++
		if why != "" {
			q.skipped[why]++
			continue
		}
		plans = append(plans, a)
	}
	return plans, nil
}

// plan returns the plan of an email, or the reason why it is not sent again. matched: the email
// matches the filter.
func (q *requeueRun) plan(r *db.Reader, c db.RequeueCandidate) (a requeuePlan, why string, matched bool, err error) {
	email, err := r.EmailRow(c.TeamID, c.ID)
	if err != nil {
		return a, "", false, base.IgnoreNotFound(err)
	}
	if q.p.FromDomain != "" && email.From.Domain != q.p.FromDomain || q.p.Filter.Relay != "" && email.Relay != q.p.Filter.Relay {
		return a, "", false, nil
	}
	events, err := r.Events(c.ID)
	if err != nil {
		return a, "", false, err
	}
	states, err := r.RecipientStates(c.ID)
	if err != nil {
		return a, "", false, err
	}
	chosen, fits := q.choose(email, states, events)
	if !fits {
		return a, "", false, nil
	}
	a = requeuePlan{unit: app.Unit{EmailID: c.ID, TeamID: c.TeamID, TopicID: email.TopicID, Relay: email.Relay, Domain: email.From.Domain}, keyID: email.KeyID, recipients: chosen}
	if a.unit.Automated, err = automatedOf(r, email); err != nil {
		return a, "", false, err
	}
	why, err = q.skipReason(r, &a, events)
	return a, why, true, err
}

// choose returns the recipients to whom an email is sent again. fits: the email is of the kind that
// the filter selects, whether or not it can be sent again.
func (q *requeueRun) choose(email *app.Email, states []db.RecipientState, events []app.Event) (chosen []db.RecipientState, fits bool) {
	byID := len(q.p.IDs) > 0
	for _, v := range states {
		if q.p.ToDomain != "" && domainOfAddress(v.Address) != q.p.ToDomain {
			continue
		}
		h := historyOf(events, v.Address)
		switch {
		case h.accepted:
			fits = fits || byID
			continue
		case v.State == app.Sent && email.Relay == app.CaptureRegion:
			if !byID && !q.p.Captured {
				continue
			}
		case v.State == app.Failed, v.State == app.Bounced:
			if !byID && (q.p.Captured || h.ended.Before(q.p.FailedSince)) {
				continue
			}
			if v.State == app.Bounced && h.hard && !byID {
				fits = true
				continue
			}
		default:
			fits = fits || byID
			continue
		}
		fits = true
		chosen = append(chosen, v)
	}
	return chosen, fits
}

// recipientHistory is what a timeline says of a recipient.
type recipientHistory struct {
	accepted bool      // a real relay accepted the message
	hard     bool      // the address itself was refused
	ended    time.Time // when it last failed or bounced
}

func historyOf(events []app.Event, address string) (h recipientHistory) {
	for _, ev := range events { // newest first
		if ev.Recipient != address {
			continue
		}
		switch ev.Type {
		case app.EventType(app.Sent):
			h.accepted = h.accepted || ev.Detail.Relay != app.CaptureRegion
		case app.EventType(app.Failed), app.EventType(app.Bounced):
			if h.ended.IsZero() {
				h.ended, h.hard = ev.CreatedAt, ev.Type == app.EventType(app.Bounced) && isHard(ev.Detail.EnhancedCode)
			}
		}
	}
	return h
}

// isHard reports whether an enhanced code is about the recipient's address: 5.1.7 and 5.1.8 are
// about the sender's.
func isHard(enhanced string) bool {
	return strings.HasPrefix(enhanced, "5.1.") && enhanced != "5.1.7" && enhanced != "5.1.8"
}

// skipReason returns why an email can't be sent again, or completes its unit.
func (q *requeueRun) skipReason(r *db.Reader, a *requeuePlan, events []app.Event) (why string, err error) {
	u := &a.unit
	if open, err := r.HasUnit(u.EmailID); err != nil || open {
		return skipWaits, err
	}
	if len(a.recipients) == 0 {
		return skipNobody, nil
	}
	if len(q.p.IDs) == 0 && inDoubt(events) {
		return skipDoubt, nil
	}
	if history, err := r.IsHistory(u.EmailID); err != nil || history {
		return skipHistory, err
	}
	if err := r.HasContent(u.EmailID); err != nil {
		return skipContent, base.IgnoreNotFound(err)
	}
	var addresses []string
	for _, v := range a.recipients {
		addresses = append(addresses, v.Address)
	}
	blocked, err := q.s.mail.Accounts.BlockedRecipients(r, u.TeamID, u.TopicID, u.EmailID, addresses)
	if err != nil {
		return "", err
	}
	a.recipients = slices.DeleteFunc(a.recipients, func(v db.RecipientState) bool { return blocked.Reason(v.Address) != "" })
	if len(a.recipients) == 0 {
		return skipSuppressed, nil
	}
	if why, err := q.route(r, u); why != "" || err != nil {
		return why, err
	}
	email, err := r.Email(u.TeamID, u.EmailID)
	if err == nil {
		u.Size = email.Size()
	}
	return "", err
}

// route sets the relay of a captured email to that of its domain.
func (q *requeueRun) route(r *db.Reader, u *app.Unit) (why string, err error) {
	if u.Relay != app.CaptureRegion {
		return "", nil
	}
	if q.s.Settings.Capture {
		return skipCapture, nil
	}
	region, _, err := q.s.mail.SendingRegion(r, u.TeamID, u.Domain)
	var refusal *app.Error
	if errors.As(err, &refusal) {
		return skipDomain + u.Domain, nil
	}
	u.Relay = region
	return "", err
}

// inDoubt reports whether the last attempt of an email ended in a doubt.
func inDoubt(events []app.Event) bool {
	for _, ev := range events { // newest first
		switch ev.Type {
		case app.EventInDoubt:
			return true
		case app.EventRequeued, app.EventDeferred, app.EventType(app.Bounced), app.EventType(app.Sent):
			return false
		}
	}
	return false
}

// apply requeues an email as planned, unless it changed meanwhile.
func (q *requeueRun) apply(tx *db.Tx, a *requeuePlan) (done bool, err error) {
	u := a.unit
	if open, err := tx.HasUnit(u.EmailID); err != nil || open {
		return false, err
	}
	for _, was := range a.recipients {
		err := tx.RequeueRecipient(u.EmailID, was)
		if base.IgnoreNotFound(err) != nil {
			return false, err
		}
		done = done || err == nil
	}
	if !done {
		return false, nil
	}
	if err := tx.RequeueEmail(u.EmailID, u.Relay); err != nil {
		return false, err
	}
	if err := tx.InsertEvent(mail.NewEvent(tx, u, app.EventRequeued, "", app.EventDetail{Message: q.message, Relay: u.Relay})); err != nil {
		return false, err
	}
	u.NextAt = tx.Now
	addresses := make([]string, len(a.recipients))
	for i, v := range a.recipients {
		addresses[i] = v.Address
	}
	if err := q.s.mail.InsertUnit(tx, &u, a.keyID, addresses); err != nil {
		return false, fmt.Errorf("insert unit: %w", err)
	}
	if q.s.delivery.SendsRegion(u.Relay) {
		return true, nil
	}
	return true, q.s.delivery.MarkUnroutable(tx, u.Relay)
}
