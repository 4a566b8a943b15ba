package mailroutes

import (
	"context"
	"errors"
	"maps"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/inbound"
	"mailer/db"
)

const (
	// workPerTurn is how much work of a team is done before that of the next team.
	workPerTurn = 20
	// idle is how long the dispatcher waits if nothing wakes it.
	idle = time.Minute
	// retryAfter is when work that failed is tried again: reading large emails again and again would hold up others.
	retryAfter = time.Minute
	// workFor is how long work that fails is tried again.
	workFor = 24 * time.Hour
	day     = 24 * time.Hour
)

// Start starts the dispatcher, which makes the emails of routes. Only the server that leads calls it.
func (s *Service) Start() { s.Workers.Go(s.dispatch) }

// Tick wakes the dispatcher if anything was committed since the last call, by this process or another.
func (s *Service) Tick(changed bool) {
	if changed {
		s.wake.Notify()
	}
}

// dispatch does due work until no new work may begin.
func (s *Service) dispatch() {
	wait := time.Duration(0)
	for base.Sleep(s.Claiming, wait, s.wake) {
		wait = idle
		if err := s.Round(s.Claiming); err != nil {
			if s.Claiming.Err() != nil {
				return
			}
			s.LogUnlessUnavailable("make the emails of routes", err)
			wait = base.SweepEvery
		}
	}
}

// Round does all due work once, some of each team in turn. Work that fails stays, and a Round within retryAfter leaves it
// out; the error is that of the last one. One goroutine at a time calls Round.
func (s *Service) Round(ctx context.Context) (failed error) {
	maps.DeleteFunc(s.failedAt, func(_ string, at time.Time) bool { return clock.Since(at) >= retryAfter })
	last := map[string]*db.RouteWork{} // done or failed, by team
	for more := true; more; {
		more = false
		for teamID := ""; ; {
			next := ""
			due, err := db.Get(ctx, s.DB, func(r *db.Reader) (_ []db.RouteWork, err error) {
				if next, err = r.NextTeamWithRouteWork(teamID); err != nil {
					return nil, err
				}
				after := last[next]
				if after == nil {
					after = &db.RouteWork{Effect: []byte{}}
				}
				return r.DueRouteWork(next, after, workPerTurn)
			})
			if errors.Is(err, db.ErrNotFound) {
				break
			}
			if err != nil {
				return errors.Join(failed, err)
			}
			for i := range due {
				key := due[i].TeamID + string(due[i].Effect)
				if _, ok := s.failedAt[key]; ok {
					continue
				}
				if err := s.do(ctx, &due[i]); err != nil {
					failed, s.failedAt[key] = err, clock.Now()
				}
				if ctx.Err() != nil {
					return failed
				}
			}
			if teamID = next; len(due) > 0 {
				last[teamID], more = &due[len(due)-1], true
			}
		}
	}
	return failed
}

// do makes the email of one work.
func (s *Service) do(ctx context.Context, w *db.RouteWork) error {
	var raw []byte
	m, err := db.Get(ctx, s.DB, func(r *db.Reader) (m app.Received, err error) {
		if m, err = r.Received(w.TeamID, w.ReceivedID); err != nil || w.N >= len(m.Effects) || m.Effects[w.N].Type != app.RouteForward {
			return m, err
		}
		raw, err = readRaw(r, &m)
		return m, err
	})
	if errors.Is(err, db.ErrNotFound) || err == nil && (w.N >= len(m.Effects) || w.Recipient >= len(m.Recipients)) {
		return s.end(ctx, w, app.RouteEffect{}) // deleted
	}
	if err != nil {
		return err
	}
	effect := m.Effects[w.N]
	if effect.Type == app.RouteForward {
		err = s.forward(ctx, w, &m, inbound.Parse(raw), raw, effect)
	} else {
		err = s.reply(ctx, w, &m, effect)
	}
	if refusal := (*app.Error)(nil); err != nil && (errors.As(err, &refusal) && refusal.Code != app.CodeServiceUnavailable || age(w) > workFor) {
		effect.Status, effect.Reason = app.EffectSkipped, reasonOf(err)
		return s.end(ctx, w, effect)
	}
	return err
}

// reasonOf returns what is stored of an error.
func reasonOf(err error) string {
	if refusal := (*app.Error)(nil); errors.As(err, &refusal) && refusal.Code != app.CodeServiceUnavailable {
		return app.CutText(refusal.Message, maxReason)
	}
	return "This server could not make the email for a day"
}

// maxReason bounds a stored reason, in bytes.
const maxReason = 500

// errDone: the work was done before.
var errDone = errors.New("the work of a route was done before")

// settle ends work in one Write with what became of it: neither a crash nor another server does it twice.
func (s *Service) settle(ctx context.Context, w *db.RouteWork, become func(tx *db.Tx) (app.RouteEffect, error)) error {
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		err := tx.EndRouteWork(w)
		if errors.Is(err, db.ErrNotFound) {
			return errDone
		}
		if err != nil {
			return err
		}
		effect, err := become(tx)
		if err != nil {
			return err
		}
		return tx.SetRouteEffect(w, effect)
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// end ends work without an email.
func (s *Service) end(ctx context.Context, w *db.RouteWork, effect app.RouteEffect) error {
	return s.settle(ctx, w, func(*db.Tx) (app.RouteEffect, error) { return effect, nil })
}

// accept accepts the email of work and ends the work. check may refuse it. Errors: those of mail.Accept.
func (s *Service) accept(ctx context.Context, w *db.RouteWork, effect app.RouteEffect, email *app.Email, check func(r *db.Reader) (reason string, err error)) error {
	return s.settle(ctx, w, func(tx *db.Tx) (done app.RouteEffect, err error) {
		done = effect
		if done.Reason, err = check(&tx.Reader); err != nil {
			return done, err
		}
		if done.Reason != "" {
			done.Status = app.EffectSkipped
			return done, nil
		}
		done.Status, done.EmailID = app.EffectAccepted, email.ID
		return done, s.mail.Accept(tx, email)
	})
}

// readRaw reads a received email as it was transferred.
func readRaw(r *db.Reader, m *app.Received) ([]byte, error) {
	raw := make([]byte, 0, m.Size)
	for n := 0; ; n++ {
		piece, err := r.ReceivedPiece(m.ID, n)
		if errors.Is(err, db.ErrNotFound) {
			return raw, nil
		}
		if err != nil {
			return nil, err
		}
		raw = append(raw, piece...)
	}
}
