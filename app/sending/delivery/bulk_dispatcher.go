package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/pacing"
	"mailer/app/rules/plan"
	"mailer/app/sending/mail"
	"mailer/db"
)

// idleBulk is how long the broadcast dispatcher sleeps while no broadcast can be sent. A change
// that matters wakes it.
const idleBulk = time.Minute

// bulkDispatcher is the dispatcher of broadcasts.
type bulkDispatcher struct{ *dispatcher }

// claim claims up to capacity messages of broadcasts: retries for up to half of it, then new
// recipients. It stores that their attempts begin and hands them to the workers. It returns how
// long to sleep.
func (q *bulkDispatcher) claim(ctx context.Context, capacity int) (time.Duration, error) {
	again, next, err := q.claimRetries(ctx, (capacity+1)/2)
	if err != nil {
		return 0, err
	}
	st := q.breaker.status()
	if q.paused() || st.affectedWait() && st.openUntil.After(clock.Now()) {
		return next, nil // dispatch adds when either ends
	}
	if capacity -= again; st.state == breakerHalfOpen {
		capacity = min(capacity, 1)
	}
	if capacity <= 0 || st.affectedWait() {
		return min(next, base.SweepEvery), nil
	}
	open, err := q.queuedBroadcasts(ctx)
	if err != nil {
		return 0, err
	}
	queues, held, err := q.s.limitToDay(ctx, bulkQueues(open))
	if err != nil {
		return 0, err
	}
	if held { // until midnight, when waiting mail goes first, or until the plan changes
		next = min(next, clock.Until(plan.DayEnd(clock.Now()))+base.SweepEvery)
	}
	if len(queues) == 0 {
		return next, nil
	}
	now := clock.Now()
	if q.limits.bulkRemaining(now) == 0 {
		return min(next, now.Truncate(time.Minute).Add(time.Minute).Sub(now)), nil // the earliest time at which more usage expires
	}
	var failed []error
	for _, share := range q.limits.shareBulk(now, queues, 0, capacity) {
		b := &open[slices.IndexFunc(open, func(b app.Broadcast) bool { return b.ID == share.ID })]
		err := q.beginBroadcast(ctx, b, q.jobs.FreeFor(b.TeamID, share.N, 0))
		if errors.Is(err, db.ErrDamaged) {
			err = q.s.HoldDamaged(ctx, b.TeamID, b.ID)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("broadcast %s: %w", b.ID, err))
		}
	}
	return min(next, base.SweepEvery), errors.Join(failed...)
}

// queuedBroadcasts returns the queued broadcasts of this relay that may be sent now: not held or
// paused, not of a suspended team, not stopped by a guardrail or an open circuit breaker.
func (q *bulkDispatcher) queuedBroadcasts(ctx context.Context) ([]app.Broadcast, error) {
	var suspended []string
	open, err := db.Get(ctx, q.s.DB, func(r *db.Reader) (open []app.Broadcast, err error) {
		read := func(r *db.Reader) (err error) {
			if suspended, err = r.SuspendedTeams(); err == nil {
				open, err = r.OpenBroadcasts(app.QueuedBroadcast)
			}
			return err
		}
		if err := r.Prefetch(func(r *db.Reader) { _ = read(r) }); err != nil {
			return nil, err
		}
		if err := read(r); err != nil {
			return nil, err
		}
		return q.leavingNow(r, open)
	})
	return slices.DeleteFunc(open, func(b app.Broadcast) bool {
		n, _ := q.claimable(sender{Team: b.TeamID, Domain: b.From.Domain}, 1)
		return n == 0 || b.Held != "" || !b.PausedAt.IsZero() || q.s.Guardrails.BroadcastsPaused(b.TeamID, app.QueueRegion(q.key)) || slices.Contains(suspended, b.TeamID)
	}), err
}

// leavingNow returns the broadcasts of this queue whose mail may leave through its relay.
func (q *bulkDispatcher) leavingNow(r *db.Reader, open []app.Broadcast) (out []app.Broadcast, err error) {
	for i := range open {
		b := &open[i]
		if key, _ := q.s.bulkKey(b.Relay); key != q.key {
			continue
		}
		waits, err := q.mustWait(r, sender{Team: b.TeamID, Domain: b.From.Domain})
		if err != nil {
			return nil, err
		}
		if !waits {
			out = append(out, *b)
		}
	}
	return out, nil
}

// bulkQueues converts queued broadcasts for the pacing rules, in the order in which they were
// queued.
func bulkQueues(open []app.Broadcast) []pacing.BulkQueue {
	open = slices.Clone(open)
	slices.SortStableFunc(open, func(a, b app.Broadcast) int { return a.QueuedAt.Compare(b.QueuedAt) })
	var queues []pacing.BulkQueue
	for i := range open {
		if n := open[i].Remaining(); n > 0 {
			queues = append(queues, pacing.BulkQueue{ID: open[i].ID, TeamID: open[i].TeamID, Remaining: n})
		}
	}
	return queues
}

// claimRetries claims due messages that were begun before, at most capacity. It returns how many.
func (q *bulkDispatcher) claimRetries(ctx context.Context, capacity int) (n int, next time.Duration, err error) {
	units, next, err := q.claimDue(ctx, capacity)
	if err != nil || len(units) == 0 {
		return 0, next, err
	}
	var jobs []*job
	for _, u := range units {
		j := &job{unit: u}
		if !q.reserve(j) {
			break
		}
		jobs = append(jobs, j)
	}
	q.claims.release(units[len(jobs):]...)
	begun, err := q.begin(ctx, units[:len(jobs)])
	n = len(begun)
	for _, j := range jobs {
		if len(begun) == 0 || begun[0].EmailID != j.unit.EmailID {
			q.unreserve(j)
			continue
		}
		j.unit, begun = begun[0], begun[1:]
		q.enqueue(j)
	}
	return n, next, err
}

// reserve reserves a message of the daily limit for a job.
func (q *bulkDispatcher) reserve(j *job) bool {
	j.reservedMinute, _, j.reserved = q.limits.reserve(clock.Now(), j.unit.TeamID, true)
	return j.reserved
}

// maxRouted bounds the recipients of a broadcast that wait in the queue of a rule while others are
// begun without a pause.
const maxRouted = 1000

// beginBroadcast begins the next n recipients of a broadcast: those that are suppressed or opted
// out are settled, the others get a unit. Recipients that a rule sends through another relay wait in
// that queue.
func (q *bulkDispatcher) beginBroadcast(ctx context.Context, b *app.Broadcast, n int) error {
	content, err := q.s.mail.BroadcastMail(ctx, b.TeamID, b.ID)
	if err != nil {
		return err
	}
	if _, err := content.Files(ctx); err != nil { // damaged ones must hold the broadcast, not each recipient
		return err
	}
	var reservations, jobs []*job
	var routed []string
	for range n {
		j := &job{unit: app.Unit{TeamID: b.TeamID, BroadcastID: b.ID}}
		if !q.reserve(j) {
			break
		}
		reservations = append(reservations, j)
	}
	if len(reservations) > 0 {
		err = q.s.DB.WriteBatched(db.Prefetch(ctx), func(tx *db.Tx) (err error) {
			jobs, routed, err = q.beginRecipients(tx, *b, content, len(reservations))
			return err
		})
	}
	if err != nil {
		jobs, routed = nil, nil
	}
	q.claims.add(jobs)
	for i, reservation := range reservations {
		if i >= len(jobs) {
			q.unreserve(reservation)
			continue
		}
		jobs[i].reservedMinute, jobs[i].reserved = reservation.reservedMinute, true
		q.enqueue(jobs[i])
	}
	return errors.Join(err, q.wakeRouted(ctx, b, routed))
}

// wakeRouted wakes the queues in which recipients of a broadcast wait by a rule, and continues without
// a pause if few wait there.
func (q *bulkDispatcher) wakeRouted(ctx context.Context, b *app.Broadcast, queues []string) error {
	for _, queue := range queues {
		for _, l := range q.s.RelayQueues.all() {
			if l.key == queue {
				l.wakeBulk()
			}
		}
		n, err := db.Get(ctx, q.s.DB, func(r *db.Reader) (int64, error) { return r.CountWaiting(queue, b.TeamID, b.From.Domain, maxRouted) })
		if err != nil {
			return err
		}
		if n < maxRouted {
			q.wakeup.Notify()
		}
	}
	return nil
}

// beginRecipients takes the next n recipients of a broadcast, or as many as the team's daily quota
// allows, and returns the jobs of those that get mail, and the queues of those that wait by a rule.
func (q *bulkDispatcher) beginRecipients(tx *db.Tx, b app.Broadcast, content *mail.BroadcastMail, n int) (jobs []*job, routed []string, err error) {
	if b.Started, b.Stored, err = tx.Progress(b.ID); err != nil { // read again: other servers begin recipients too
		return nil, nil, base.IgnoreNotFound(err)
	}
	n, err = q.s.bulkDayQuota(&tx.Reader, b.TeamID, tx.Now, n)
	if err != nil || n == 0 {
		return nil, nil, err
	}
	next, err := tx.NextRecipients(&b, n)
	if err != nil || len(next) == 0 {
		return nil, nil, err
	}
	check, err := q.s.needCheck(&tx.Reader, &b, next)
	if err != nil {
		return nil, nil, err
	}
	version, units := tx.SuppressionVersion(), 0
	for i := range next {
		to := &next[i]
		u := app.Unit{EmailID: to.ID, TeamID: b.TeamID, BroadcastID: b.ID, TopicID: b.TopicID, Relay: q.key, Domain: b.From.Domain, Attempts: 1,
			NextAt: tx.Now, Size: content.MailSize(to.Language), MessageDate: tx.Now, Owner: q.s.DB.Cluster().Owner()}
		if queue := q.ruleQueue(&b, to); queue != q.key {
			u.Relay, u.Attempts, u.Owner = queue, 0, ""
		}
		waits, err := q.s.beginRecipient(tx, u, to, check[i])
		if err != nil {
			return nil, nil, err
		}
		if !waits {
			continue
		}
		if units++; u.Relay == q.key {
			jobs = append(jobs, &job{unit: u, recipient: to, checkedVersion: version})
		} else if !slices.Contains(routed, u.Relay) {
			routed = append(routed, u.Relay)
		}
	}
	if err := tx.BeginRecipients(&b, len(next), units); err != nil {
		return nil, nil, err
	}
	return jobs, routed, q.s.teams.CountRecipients(tx, b.TeamID, int64(units))
}

// ruleQueue returns the queue of a recipient of a broadcast.
func (q *bulkDispatcher) ruleQueue(b *app.Broadcast, to *app.BroadcastRecipient) string {
	if _, each := q.s.bulkKey(b.Relay); !each {
		return q.key
	}
	if rule := q.s.mail.BroadcastRule(b.Relay, to.ID, to.Email); rule != nil {
		return rule.Queue
	}
	return b.Relay
}
