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
	"mailer/db/engine"
)

// idleBulk is how long a relay is left alone where nothing of a broadcast can leave;
// what changes that wakes it.
const idleBulk = time.Minute

// bulkDispatcher is the line of broadcasts.
type bulkDispatcher struct{ *line }

// claim takes up to room messages of broadcasts: those that are to be tried
// again, up to half of it, then those whose turn it is. It stores that their
// attempts begin and hands them to the workers. It answers how long to sleep.
func (q *bulkDispatcher) claim(ctx context.Context, room int) (time.Duration, error) {
	again, next, err := q.claimRetries(ctx, (room+1)/2)
	if err != nil {
		return 0, err
	}
	o, _, until := q.gate.look()
	if q.halted() || o < probe && until.After(clock.Now()) {
		return next, nil // the dispatcher knows when either ends
	}
	if room -= again; o == probe {
		room = min(room, 1)
	}
	if room <= 0 || o < probe {
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
	if held { // until midnight, when mail that waits goes first, or another plan
		next = min(next, clock.Until(plan.DayEnd(clock.Now()))+base.SweepEvery)
	}
	if len(queues) == 0 {
		return next, nil
	}
	now := clock.Now()
	if q.limits.window(now) == 0 {
		return min(next, now.Truncate(time.Minute).Add(time.Minute).Sub(now)), nil // when more is free at the soonest
	}
	var failed []error
	for _, turn := range q.limits.turns(now, queues, 0, room) {
		b := &open[slices.IndexFunc(open, func(b app.Broadcast) bool { return b.ID == turn.ID })]
		err := q.beginBroadcast(ctx, b, q.jobs.FreeFor(b.TeamID, turn.N, 0))
		if errors.Is(err, db.ErrDamaged) {
			err = q.s.HoldDamaged(ctx, b.TeamID, b.ID)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("broadcast %s: %w", b.ID, err))
		}
	}
	return min(next, base.SweepEvery), errors.Join(failed...)
}

// queuedBroadcasts returns the queued broadcasts of this relay that are neither held nor paused, of
// teams that are not suspended, that no guardrail holds back and that the relay takes.
func (q *bulkDispatcher) queuedBroadcasts(ctx context.Context) ([]app.Broadcast, error) {
	var suspended []string
	open, err := db.Get(ctx, q.s.DB, func(r *db.Reader) (open []app.Broadcast, err error) {
		err = r.Ask(func(r *db.Reader) (err error) {
			suspended, err = r.SuspendedTeams()
			return err
		}, func(r *db.Reader) (err error) {
			open, err = r.OpenBroadcasts(app.QueuedBroadcast)
			return err
		})
		return open, err
	})
	return slices.DeleteFunc(open, func(b app.Broadcast) bool {
		n, _ := q.may(sender{b.TeamID, b.From.Domain}, 1)
		return n == 0 || b.Relay != q.name || b.Held != "" || !b.PausedAt.IsZero() || q.s.Guardrails.BroadcastsPaused(b.TeamID, q.name) || slices.Contains(suspended, b.TeamID)
	}), err
}

// bulkQueues is how pacing sees queued broadcasts, in the order in which they were
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

// claimRetries claims messages that were begun before and are due, at most room,
// and says how many.
func (q *bulkDispatcher) claimRetries(ctx context.Context, room int) (n int, next time.Duration, err error) {
	units, next, err := q.due(ctx, room)
	if err != nil || len(units) == 0 {
		return 0, next, err
	}
	var jobs []*job
	for _, u := range units {
		j := &job{unit: u}
		if !q.place(j) {
			break
		}
		jobs = append(jobs, j)
	}
	q.claims.release(units[len(jobs):]...)
	begun, err := q.begin(ctx, units[:len(jobs)])
	n = len(begun)
	for _, j := range jobs {
		if len(begun) == 0 || begun[0].EmailID != j.unit.EmailID {
			q.unplace(j)
			continue
		}
		j.unit, begun = begun[0], begun[1:]
		q.send(j)
	}
	return n, next, err
}

// place takes a place in the daily limit for a job.
func (q *bulkDispatcher) place(j *job) bool {
	j.minute, _, j.placed = q.limits.reserve(clock.Now(), j.unit.TeamID, true)
	return j.placed
}

// beginBroadcast begins the next n recipients of a broadcast: those that are
// suppressed or opted out by now are settled, the others get their unit.
func (q *bulkDispatcher) beginBroadcast(ctx context.Context, b *app.Broadcast, n int) error {
	content, err := q.s.mail.BroadcastMail(ctx, b.TeamID, b.ID)
	if err != nil {
		return err
	}
	var places, jobs []*job
	for range n {
		j := &job{unit: app.Unit{TeamID: b.TeamID, BroadcastID: b.ID}}
		if !q.place(j) {
			break
		}
		places = append(places, j)
	}
	if len(places) > 0 {
		err = q.s.DB.WriteBatched(engine.Pipelined(ctx), func(tx *db.Tx) (err error) {
			jobs, err = q.beginRecipients(tx, *b, content, len(places))
			return err
		})
	}
	if err != nil {
		jobs = nil
	}
	q.claims.hold(jobs)
	for i, place := range places {
		if i >= len(jobs) {
			q.unplace(place)
			continue
		}
		jobs[i].minute, jobs[i].placed = place.minute, true
		q.send(jobs[i])
	}
	return err
}

// beginRecipients takes the next n recipients of a broadcast, or as many as the day
// has a place for, and returns the jobs of those whose mail may leave.
func (q *bulkDispatcher) beginRecipients(tx *db.Tx, b app.Broadcast, content *mail.BroadcastMail, n int) ([]*job, error) {
	if q.s.Settings.Cloud {
		tx.Serialize() // what the day has used decides, and changes with it
	}
	var err error
	if b.Started, b.Stored, err = tx.Progress(b.ID); err != nil { // as it is by now: other servers take their turns too
		return nil, base.IgnoreNotFound(err)
	}
	n, err = q.s.bulkDayQuota(&tx.Reader, b.TeamID, tx.Now, n)
	if err != nil || n == 0 {
		return nil, err
	}
	next, err := tx.NextRecipients(&b, n)
	if err != nil || len(next) == 0 {
		return nil, err
	}
	standOut, err := q.s.needCheck(&tx.Reader, &b, next)
	if err != nil {
		return nil, err
	}
	standings, jobs := tx.SuppressionVersion(), []*job(nil)
	for i := range next {
		to := &next[i]
		u := app.Unit{EmailID: to.ID, TeamID: b.TeamID, BroadcastID: b.ID, TopicID: b.TopicID, Relay: q.name, Domain: b.From.Domain, Attempts: 1,
			NextAt: tx.Now, Size: content.Size(), MessageDate: tx.Now, Owner: q.s.DB.Cluster().Owner()}
		waits, err := q.s.beginRecipient(tx, u, to, standOut[i])
		if err != nil {
			return nil, err
		}
		if waits {
			jobs = append(jobs, &job{unit: u, to: to, standings: standings})
		}
	}
	if err := tx.BeginRecipients(&b, len(next), len(jobs)); err != nil {
		return nil, err
	}
	return jobs, q.s.teams.CountRecipients(tx, b.TeamID, int64(len(jobs)))
}
