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

// ExpireEvery is how often mail is looked for that waits and has expired. What begins
// or is about to leave is judged at that moment.
const ExpireEvery = time.Minute

const (
	// expiredPerRead is how many units of a team one look reads.
	expiredPerRead = 2000
	// expiredPerWrite is how many of them end in one Write.
	expiredPerWrite = 100
)

// doubtGivenUp is what becomes of the doubts of mail that expires.
const doubtGivenUp = "given up: whether the relay took it is unknown"

// maxWait is how long the clock of a unit runs until it expires; 0: it never does.
func (l *lane) maxWait(u app.Unit) time.Duration {
	switch {
	case u.ExpiresIn > 0:
		return u.ExpiresIn
	case l.relay.MaxWait != 0:
		return max(0, l.relay.MaxWait)
	}
	return max(0, l.s.tuning.Load().MaxWait)
}

// ExpiresAt is when a unit that is not in work expires, unless its clock stands meanwhile;
// zero: never, or its relay is none of this process's.
func (s *Service) ExpiresAt(r *db.Reader, u app.Unit, now time.Time) (at time.Time, err error) {
	for _, l := range s.Outlets.all() {
		most := l.maxWait(u)
		if l.name != u.Relay || most == 0 {
			continue
		}
		stands, err := r.PausesOf(l.name)
		if err != nil {
			return at, fmt.Errorf("read when no mail could leave: %w", err)
		}
		return now.Add(most - u.Waited(s.began.Adjust(u.ClockStart(), now), stands.Of(u.TeamID))), nil
	}
	return at, nil
}

// overdue reports whether a unit has expired at a time, and how long its clock ran. When
// it stood is looked up where that may matter.
func (l *lane) overdue(r *db.Reader, u app.Unit, at time.Time) (waited time.Duration, over bool, err error) {
	most := l.maxWait(u)
	at = l.s.began.Adjust(u.ClockStart(), at)
	if most == 0 || at.Sub(u.ClockStart()) < most {
		return 0, false, nil
	}
	stands, err := r.PausesOf(l.name)
	if err != nil {
		return 0, false, fmt.Errorf("read when no mail could leave: %w", err)
	}
	waited = u.Waited(at, stands.Of(u.TeamID))
	return waited, waited >= most, nil
}

// expireNow ends a unit in work that has expired, and reports whether it has. One that
// was withdrawn or moved meanwhile is left to whoever finds that out.
func (l *lane) expireNow(tx *db.Tx, u app.Unit) (bool, error) {
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
func (l *lane) expire(tx *db.Tx, u app.Unit, waited time.Duration) error {
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
	words := fmt.Sprintf("Expired after %s %s: it may wait %s at most", app.FormatSpan(waited), tried, app.FormatSpan(l.maxWait(u)))
	return l.ledger.failExpired(tx, u, app.EventDetail{Message: words, Relay: l.name, Attempt: u.Attempts})
}

// ExpireMail ends what waits and has expired, of all relays of this server: those that
// are down, and the teams whose turn does not come, too.
func (s *Service) ExpireMail(ctx context.Context) error {
	for _, l := range s.Outlets.all() {
		for _, bulk := range []bool{false, true} {
			for after := ""; ; {
				teams, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]string, error) { return r.DueTeams(l.name, bulk, after, teamsPerScan) })
				if err != nil {
					return fmt.Errorf("look for expired mail: %w", err)
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

// expireTeam ends the expired units of a team in small writes, until a look finds no
// more.
func (l *lane) expireTeam(ctx context.Context, team string, bulk bool) error {
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

// expireDue ends those of units that are due still and have expired.
func (l *lane) expireDue(tx *db.Tx, units []app.Unit) error {
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

// expired returns due units of a team that have expired, the longest waiting first of
// those of each kind, about expiredPerRead at most.
func (l *lane) expired(r *db.Reader, team string, bulk bool, now time.Time) ([]app.Unit, error) {
	stands, err := r.PausesOf(l.name)
	if err != nil {
		return nil, err
	}
	stood := stands.Of(team)
	units, err := r.ExpiredBy(l.name, team, clockRanUntil(stood, now), expiredPerRead)
	if err != nil {
		return nil, err
	}
	if most := l.maxWait(app.Unit{}); most > 0 {
		more, err := l.begunBefore(r, team, bulk, app.WaitedSince(now, most, stood))
		if err != nil {
			return nil, err
		}
		units = append(units, more...)
	}
	return slices.DeleteFunc(units, func(u app.Unit) bool {
		most := l.maxWait(u)
		return most == 0 || u.Waited(l.s.began.Adjust(u.ClockStart(), now), stood) < most
	}), nil
}

// begunBefore returns due units without an expiry of their own whose clock began at a
// time or before.
func (l *lane) begunBefore(r *db.Reader, team string, bulk bool, began time.Time) ([]app.Unit, error) {
	units, err := r.BegunBefore(l.name, team, began, expiredPerRead)
	if err != nil {
		return nil, err
	}
	domains, err := r.DueSenders(l.name, bulk, team)
	if err != nil {
		return nil, err
	}
	for _, domain := range domains {
		more, err := r.DueBefore(l.name, bulk, team, domain, began, expiredPerRead)
		if err != nil {
			return nil, err
		}
		units = append(units, more...)
	}
	return units, nil
}

// clockRanUntil is when clocks ran last: now, unless they stand.
func clockRanUntil(stood []app.Span, now time.Time) time.Time {
	at := now
	for _, s := range stood {
		if s.To.IsZero() && s.From.Before(at) {
			at = s.From
		}
	}
	return at
}

// finalCheck decides inside the Write that lets a message leave, and returns the state
// that this leaves its job in.
func (l *lane) finalCheck(tx *db.Tx, j *job, signature string) (state, error) {
	if over, err := l.expireNow(tx, j.unit); err != nil || over {
		return stateWithdrawn, err
	}
	if j.standings != tx.SuppressionVersion() { // else nobody was suppressed or opted out since
		if spared, err := l.s.spare(tx, j.unit, j.letter.Recipients); err != nil || spared {
			return stateBlocked, err
		}
	}
	err := l.markCommitted(tx, j, signature)
	if base.IgnoreNotFound(err) != err { // withdrawn or moved, or it must wait
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
