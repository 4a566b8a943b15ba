package delivery

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/metrics"
	"mailer/db"
)

// ExpireEvery is how often waiting mail is checked for expiry. Mail in work is checked when its
// attempt begins and before the final dot.
const ExpireEvery = time.Minute

const (
	// expiredPerRead is how many expired units of a team one query reads.
	expiredPerRead = 2000
	// expiredPerWrite is how many units expire in one Write.
	expiredPerWrite = 100
)

// doubtGivenUp is the resolution of the doubts of expired mail.
const doubtGivenUp = "given up: whether the relay took it is unknown"

// maxWait is how long a unit may wait until it expires, without stops of its clock; 0: no limit.
func (l *relayQueue) maxWait(u app.Unit) time.Duration {
	switch {
	case u.ExpiresIn > 0:
		return u.ExpiresIn
	case l.relay.MaxWait != 0:
		return max(0, l.relay.MaxWait)
	}
	return max(0, l.s.tuning.Load().MaxWait)
}

// ExpiresAt is when a waiting unit expires unless its clock stops meanwhile; zero: never, or this
// process does not have its relay.
func (s *Service) ExpiresAt(r *db.Reader, u app.Unit, now time.Time) (at time.Time, err error) {
	for _, l := range s.RelayQueues.all() {
		limit := l.maxWait(u)
		if l.key != u.Relay || limit == 0 {
			continue
		}
		stops, err := r.PausesOf(app.QueueRegion(l.key))
		if err != nil {
			return at, fmt.Errorf("read when expiry clocks stopped: %w", err)
		}
		return now.Add(limit - u.Waited(s.began.Adjust(u.ClockStart(), now), stops.Of(u.TeamID))), nil
	}
	return at, nil
}

// overdue reports whether a unit has expired at a time, and how long its clock ran. The times at
// which the clock stopped are only read if they matter.
func (l *relayQueue) overdue(r *db.Reader, u app.Unit, at time.Time) (waited time.Duration, over bool, err error) {
	limit := l.maxWait(u)
	at = l.s.began.Adjust(u.ClockStart(), at)
	if limit == 0 || at.Sub(u.ClockStart()) < limit {
		return 0, false, nil
	}
	stops, err := r.PausesOf(app.QueueRegion(l.key))
	if err != nil {
		return 0, false, fmt.Errorf("read when expiry clocks stopped: %w", err)
	}
	waited = u.Waited(at, stops.Of(u.TeamID))
	return waited, waited >= limit, nil
}

// expireNow ends a unit in work that has expired, and reports whether it has. It leaves alone a
// unit that was withdrawn or rescheduled meanwhile.
func (l *relayQueue) expireNow(tx *db.Tx, u app.Unit) (bool, error) {
	waited, over, err := l.overdue(&tx.Reader, u, tx.Now)
	if err != nil || !over {
		return false, err
	}
	if current, err := tx.IsAttempt(u); err != nil || !current {
		return false, err
	}
	return true, l.expire(tx, u, waited)
}

// expire ends a unit that has waited too long.
func (l *relayQueue) expire(tx *db.Tx, u app.Unit, waited time.Duration) error {
	open, err := tx.OpenRecipients(u)
	if err != nil {
		return err
	}
	tx.AfterCommit(func() {
		l.s.mail.ForgetRecent(u.EmailID)
		l.s.Metrics.Result(l.name, metrics.Failed, len(open))
		l.s.Log.Info("expired", "email", u.EmailID, "team", u.TeamID, "relay", l.name, "attempts", u.Attempts, "waited", app.FormatSpan(waited))
	})
	tried := "without an attempt"
	if u.Attempts > 0 {
		tried = fmt.Sprintf("and %d attempts", u.Attempts)
	}
	text := fmt.Sprintf("Expired after %s %s: it may wait %s at most", app.FormatSpan(waited), tried, app.FormatSpan(l.maxWait(u)))
	return l.recorder.failExpired(tx, u, app.EventDetail{Message: text, Relay: l.name, Attempt: u.Attempts})
}

// ExpireMail ends expired waiting mail of all relays of this server, including relays that are
// down.
func (s *Service) ExpireMail(ctx context.Context) error {
	if err := s.PassStuckParts(ctx); err != nil {
		return err
	}
	for _, l := range s.RelayQueues.all() {
		for _, bulk := range []bool{false, true} {
			for after := ""; ; {
				teams, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]string, error) { return r.DueTeams(l.key, bulk, after, teamsPerScan) })
				if err != nil {
					return fmt.Errorf("find expired mail: %w", err)
				}
				for _, team := range teams {
					if err := l.expireTeam(ctx, team, bulk); err != nil {
						return fmt.Errorf("end expired mail: %w", err)
					}
				}
				if len(teams) < teamsPerScan {
					break
				}
				after = teams[len(teams)-1]
			}
		}
	}
	return nil
}

// expireTeam ends the expired units of a team in small Writes.
func (l *relayQueue) expireTeam(ctx context.Context, team string, bulk bool) error {
	for {
		units, err := db.Get(ctx, l.s.DB, func(r *db.Reader) ([]app.Unit, error) { return l.expired(r, team, bulk, clock.Now()) })
		if err != nil || len(units) == 0 {
			return err
		}
		for some := range slices.Chunk(units, expiredPerWrite) {
			err := l.s.DB.WriteBatched(ctx, func(tx *db.Tx) error { return l.expireDue(tx, some) })
			if err != nil {
				return err
			}
		}
		if len(units) < expiredPerRead {
			return nil
		}
	}
}

// expireDue ends those units that are still due and have expired.
func (l *relayQueue) expireDue(tx *db.Tx, units []app.Unit) error {
	for _, u := range units {
		waited, over, err := l.overdue(&tx.Reader, u, tx.Now)
		if err != nil {
			return err
		}
		due, err := tx.IsDue(u)
		if err != nil {
			return err
		}
		if over && due {
			if err := l.expire(tx, u, waited); err != nil {
				return err
			}
		}
	}
	return nil
}

// expired returns expired due units of a team, at most about expiredPerRead, the longest waiting
// first.
func (l *relayQueue) expired(r *db.Reader, team string, bulk bool, now time.Time) ([]app.Unit, error) {
	stops, err := r.PausesOf(app.QueueRegion(l.key))
	if err != nil {
		return nil, err
	}
	stopped := stops.Of(team)
	units, err := r.ExpiredBy(l.key, team, clockRanUntil(stopped, now), expiredPerRead)
	if err != nil {
		return nil, err
	}
	if limit := l.maxWait(app.Unit{}); limit > 0 {
		more, err := l.begunBefore(r, team, bulk, app.WaitedSince(now, limit, stopped))
		if err != nil {
			return nil, err
		}
		units = append(units, more...)
	}
	return slices.DeleteFunc(units, func(u app.Unit) bool {
		limit := l.maxWait(u)
		return limit == 0 || u.Waited(l.s.began.Adjust(u.ClockStart(), now), stopped) < limit
	}), nil
}

// begunBefore returns due units without an expiry of their own whose clock began at a time or
// earlier.
func (l *relayQueue) begunBefore(r *db.Reader, team string, bulk bool, began time.Time) ([]app.Unit, error) {
	units, err := r.BegunBefore(l.key, team, began, expiredPerRead)
	if err != nil {
		return nil, err
	}
	domains, err := r.DueSenders(l.key, bulk, team)
	if err != nil {
		return nil, err
	}
	for _, domain := range domains {
		more, err := r.DueBefore(l.key, bulk, team, domain, began, expiredPerRead)
		if err != nil {
			return nil, err
		}
		units = append(units, more...)
	}
	return units, nil
}

// clockRanUntil is when expiry clocks ran last: now, unless they are stopped.
func clockRanUntil(stopped []app.Span, now time.Time) time.Time {
	at := now
	for _, s := range stopped {
		if s.To.IsZero() && s.From.Before(at) {
			at = s.From
		}
	}
	return at
}

// finalCheck decides inside a Write whether the final dot may be sent, and returns the resulting
// state of the job.
func (l *relayQueue) finalCheck(tx *db.Tx, j *job, signature string) (state, error) {
	if over, err := l.expireNow(tx, j.unit); err != nil || over {
		return stateWithdrawn, err
	}
	if j.checkedVersion != tx.SuppressionVersion() { // unchanged: nobody was suppressed or opted out since
		if spared, err := l.s.dropBlocked(tx, j.unit, j.message.Recipients); err != nil || spared {
			return stateBlocked, err
		}
	}
	err := l.markCommitted(tx, j, signature)
	if base.IgnoreNotFound(err) != err { // withdrawn, rescheduled, suspended or paused
		if suspended, lookup := tx.IsSuspended(j.unit.TeamID); lookup != nil || suspended {
			return statePaused, lookup
		}
		if j.bulk() {
			if paused, pausing := tx.PauseUnit(j.unit); pausing != nil || paused {
				return stateWithdrawn, pausing
			}
		}
	}
	return stateCommitted, err
}
