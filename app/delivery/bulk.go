package delivery

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/mail"
	"mailer/app/pacing"
	"mailer/app/plan"
	"mailer/app/service"
	"mailer/db"
)

// idleBulk is how long a relay is left alone where nothing of a broadcast can leave;
// what changes that wakes it.
const idleBulk = time.Minute

// claimBulk takes up to room messages of broadcasts: those that are to be tried
// again, up to half of it, then those whose turn it is. It stores that their
// attempts begin and hands them to the workers. It answers how long to sleep.
func (l *lane) claimBulk(ctx context.Context, room int) (time.Duration, error) {
	room = l.bulkRoom(room)
	if room == 0 {
		return service.SweepEvery, nil
	}
	again, next, err := l.claimAgain(ctx, max(1, room/2))
	if err != nil {
		return 0, err
	}
	open, err := l.queuedBroadcasts(ctx)
	if err != nil {
		return 0, err
	}
	queues, held, err := l.s.withinDay(ctx, bulkQueues(open))
	if err != nil {
		return 0, err
	}
	if held { // until midnight, when mail that waits goes first, or another plan
		next = min(next, time.Until(plan.DayEnd(time.Now()))+service.SweepEvery)
	}
	if len(queues) == 0 {
		return next, nil
	}
	now := time.Now()
	if l.limits.window(now) == 0 {
		return min(next, now.Truncate(time.Minute).Add(time.Minute).Sub(now)), nil // when more is free at the soonest
	}
	var failed []error
	for _, turn := range l.limits.turns(now, queues, 0, room-again) {
		b := &open[slices.IndexFunc(open, func(b app.Broadcast) bool { return b.ID == turn.ID })]
		if err := l.beginBroadcast(ctx, b, turn.N); err != nil {
			failed = append(failed, fmt.Errorf("broadcast %s: %w", b.ID, err))
		}
	}
	return min(next, service.SweepEvery), errors.Join(failed...)
}

// bulkRoom is how many of room messages may be begun now: at most what the rate
// lets leave in two seconds is claimed, so that who comes later gets a fair share
// soon.
func (l *lane) bulkRoom(room int) int {
	if l.relay.Rate == 0 {
		return room
	}
	ahead := max(2, int(math.Ceil(2*l.relay.Rate))) - int(l.flight.Load())
	return max(0, min(room, ahead))
}

// queuedBroadcasts gives the queued broadcasts of this relay that no guardrail holds
// back.
func (l *lane) queuedBroadcasts(ctx context.Context) (open []app.Broadcast, err error) {
	err = l.s.DB.Read(ctx, func(r *db.Reader) error {
		open, err = r.OpenBroadcasts(app.QueuedBroadcast)
		return err
	})
	return slices.DeleteFunc(open, func(b app.Broadcast) bool { return b.Relay != l.name || l.s.rests(b.TeamID, l.name) }), err
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

// claimAgain claims messages that were begun before and are due, at most room,
// and says how many.
func (l *lane) claimAgain(ctx context.Context, room int) (n int, next time.Duration, err error) {
	units, next, err := l.due(ctx, &l.bulk, room, idleBulk)
	if err != nil || len(units) == 0 {
		return 0, next, err
	}
	minutes := l.reserveBulk(len(units))
	l.release(units[len(minutes):]...)
	begun, err := l.begin(ctx, units[:len(minutes)])
	for i, minute := range minutes {
		if i >= len(begun) {
			l.limits.unreserve(minute, true)
			continue
		}
		l.send(&job{unit: begun[i], minute: minute})
	}
	return len(begun), next, err
}

// send hands a job to the workers of broadcasts; there is room, since only the
// dispatcher fills it.
func (l *lane) send(j *job) {
	l.flight.Add(1)
	l.bulk.jobs <- j
}

// reserveBulk takes up to n places in the daily limit and gives their minutes.
func (l *lane) reserveBulk(n int) (minutes []int64) {
	for range n {
		minute, _, ok := l.limits.reserve(time.Now(), true)
		if !ok {
			break
		}
		minutes = append(minutes, minute)
	}
	return minutes
}

// beginBroadcast begins the next n recipients of a broadcast: those that are
// suppressed or opted out by now are settled, the others get their unit.
func (l *lane) beginBroadcast(ctx context.Context, b *app.Broadcast, n int) error {
	content, err := l.s.mail.BroadcastMail(ctx, b.TeamID, b.ID)
	if err != nil {
		return err
	}
	minutes := l.reserveBulk(n)
	var jobs []*job
	if len(minutes) > 0 {
		err = l.s.DB.WritePatient(ctx, func(tx *db.Tx) (err error) {
			jobs, err = l.beginRecipients(tx, b, content, len(minutes))
			return service.IgnoreGone(err)
		})
	}
	if err != nil {
		jobs = nil
	}
	l.mu.Lock()
	for _, j := range jobs {
		l.claimed[j.unit.EmailID] = true
	}
	l.mu.Unlock()
	for i, minute := range minutes {
		if i >= len(jobs) {
			l.limits.unreserve(minute, true)
			continue
		}
		jobs[i].minute = minute
		l.send(jobs[i])
	}
	return err
}

func (l *lane) beginRecipients(tx *db.Tx, b *app.Broadcast, content *mail.BroadcastMail, n int) ([]*job, error) {
	n, err := l.s.bulkRoomOfDay(&tx.Reader, b.TeamID, tx.Now, n)
	if err != nil || n == 0 {
		return nil, err
	}
	next, err := tx.NextRecipients(b, n)
	if err != nil || len(next) == 0 {
		return nil, err
	}
	var jobs []*job
	for i := range next {
		to := &next[i]
		u := app.Unit{EmailID: to.ID, TeamID: b.TeamID, BroadcastID: b.ID, TopicID: b.TopicID, Relay: l.name, Attempts: 1,
			NextAt: tx.Now.Add(app.CrashDelay(1)), Size: content.Size(), Dated: tx.Now}
		waits, err := l.s.beginRecipient(tx, u, to)
		if err != nil {
			return nil, err
		}
		if waits {
			jobs = append(jobs, &job{unit: u, to: to})
		}
	}
	if err := tx.BeginRecipients(b, len(next), len(jobs)); err != nil {
		return nil, err
	}
	return jobs, l.s.teams.Count(tx, b.TeamID, int64(len(jobs)))
}

// beginRecipient gives a recipient its unit, unless it is settled: withdrawn
// before its turn, suppressed or opted out.
func (s *Service) beginRecipient(tx *db.Tx, u app.Unit, to *app.BroadcastRecipient) (waits bool, err error) {
	if to.Seen&app.SeenEnded != 0 {
		return false, nil
	}
	blocked, err := s.blockedOf(&tx.Reader, u, []string{to.Email})
	if err != nil {
		return false, err
	}
	if len(blocked) > 0 {
		return false, s.mail.LeaveOut(tx, u, []string{to.Email}, blocked)
	}
	return true, tx.InsertUnit(u)
}

// blockedOf gives what keeps a unit from recipients that it still has.
func (s *Service) blockedOf(r *db.Reader, u app.Unit, recipients []string) (app.Blocked, error) {
	if u.BroadcastID == "" {
		return s.audience.BlockedAmong(r, u.TeamID, u.TopicID, recipients)
	}
	blocked := app.Blocked{}
	for _, email := range recipients { // there is one
		folded := app.FoldAddress(email)
		bulkStanding, err := r.BulkStanding(u.TeamID, u.TopicID, s.Sealer.AddressHash(u.TeamID, folded))
		if err != nil {
			return nil, fmt.Errorf("look up opt-outs: %w", err)
		}
		switch reason := bulkStanding.Standing.Reason(); {
		case bulkStanding.Suppression != nil:
			bulkStanding.Suppression.Address = folded
			blocked[folded] = app.NewBlocked([]app.Suppression{*bulkStanding.Suppression}, true)[folded]
		case reason != "":
			blocked[folded] = reason
		}
	}
	return blocked, nil
}

// broadcastOutgoing reads the message of a broadcast's unit, and its recipient
// where that still waits.
func (l *lane) broadcastOutgoing(j *job) (*app.Outgoing, error) {
	content, err := l.s.mail.BroadcastMail(l.s.Sending, j.unit.TeamID, j.unit.BroadcastID)
	if err != nil {
		return nil, err
	}
	j.found = content.Insights
	to := j.to
	if to == nil {
		if to, err = l.readRecipient(j); err != nil {
			return nil, err
		}
	}
	key, err := l.s.domains.DkimKey(l.s.Sending, j.unit.TeamID, content.From.Domain)
	if err != nil {
		return nil, err
	}
	out := &app.Outgoing{EmailID: to.ID, EnvelopeFrom: l.returnPath(j.unit.TeamID, to.ID, content.From, onlyRecipient), MessageID: app.EmailMessageID(to.ID, content.From.Domain),
		Date: j.unit.Dated, DKIM: key, Bulk: true, Signature: j.unit.Signature}
	if to.Seen&app.SeenEnded != 0 {
		return out, nil
	}
	out.Recipients, out.Mail = []string{to.Email}, content.Mail(l.s.Sealer, to)
	return out, nil
}

func (l *lane) readRecipient(j *job) (*app.BroadcastRecipient, error) {
	var to app.BroadcastRecipient
	err := l.s.DB.Read(l.s.Sending, func(r *db.Reader) (err error) {
		if to, err = r.BroadcastRecipient(j.unit.EmailID); err == nil {
			j.blocked, err = l.s.blockedOf(r, j.unit, []string{to.Email})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read recipient: %w", err)
	}
	return &to, nil
}
