package signup

import (
	"context"
	"errors"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/webhook"
	"mailer/db"
)

const (
	// restAfterRefusal is how long a form rests whose team may not send now.
	restAfterRefusal = time.Minute
	// maxPerRound is how many confirmations of a form are looked at before those of other forms.
	maxPerRound = 20
	// concurrentForms is how many forms send at the same time: a look-up in DNS may take seconds.
	concurrentForms = 8
	// idle is how long the dispatcher waits if nothing wakes it.
	idle = time.Minute
)

// Tick wakes the dispatcher if anything was committed since the last call, by this process or another.
func (s *Service) Tick(changed bool) {
	if changed {
		s.wake.Notify()
	}
}

// dispatch sends due confirmations until no new work may begin.
func (s *Service) dispatch() {
	wait := time.Duration(0)
	for base.Sleep(s.Claiming, wait, s.wake) {
		more, next, err := s.round(s.Claiming)
		switch {
		case err != nil && s.Claiming.Err() != nil:
			return
		case err != nil:
			s.LogUnlessUnavailable("send confirmations of opt-ins", err)
			wait = base.SweepEvery
		case more:
			wait = 0
		default:
			wait = min(idle, max(clock.Until(next), base.SweepEvery/10))
		}
	}
}

// round sends at most maxPerRound due confirmations of each form. It reports whether there may be more
// now, and when the first form that rests is due again.
func (s *Service) round(ctx context.Context) (more bool, next time.Time, err error) {
	next = clock.Now().Add(idle)
	var mu sync.Mutex
	var failed []error
	var group sync.WaitGroup
	slots := make(chan struct{}, concurrentForms)
	for at := (db.DueForm{}); ; {
		at, err = db.Get(ctx, s.DB, func(r *db.Reader) (db.DueForm, error) { return r.NextDueForm(at) })
		if errors.Is(err, db.ErrNotFound) {
			err = nil
			break
		}
		if err != nil {
			break
		}
		if until := s.restsUntil(at); !until.IsZero() {
			next = earlier(next, until)
			continue
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			again, err := s.sendForm(ctx, at)
			mu.Lock()
			defer mu.Unlock()
			more = more || again
			failed = append(failed, err)
		})
	}
	group.Wait()
	s.mu.Lock()
	for _, until := range s.resting {
		next = earlier(next, until)
	}
	s.mu.Unlock()
	return more, next, errors.Join(append(failed, err)...)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// restsUntil returns until when a form sends nothing; zero: it may send.
func (s *Service) restsUntil(f db.DueForm) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := s.resting[f]
	if !until.After(clock.Now()) {
		delete(s.resting, f)
		return time.Time{}
	}
	return until
}

// candidates are due confirmations of a form, the fairest first.
type candidates struct {
	form *app.Form // nil: asked for by API
	capacity
	ids []string
}

// sendForm sends due confirmations of a form, and reports whether there may be more now.
func (s *Service) sendForm(ctx context.Context, at db.DueForm) (more bool, err error) {
	c, err := db.Get(ctx, s.DB, func(r *db.Reader) (*candidates, error) { return readCandidates(r, at, clock.Now()) })
	if err != nil {
		return false, err
	}
	if c.left <= 0 {
		s.rest(at, c.next)
		return false, s.alert(ctx, c.form)
	}
	for _, id := range c.ids {
		done, err := s.confirmByMail(ctx, at, id, c.form)
		if err != nil || !done {
			return false, err
		}
	}
	return len(c.ids) > 0, nil
}

// readCandidates reads which confirmations of a form to send next.
func readCandidates(r *db.Reader, at db.DueForm, now time.Time) (*candidates, error) {
	c := &candidates{capacity: capacity{left: maxPerRound}}
	var err error
	if at.FormID != "" {
		f, err := r.Form(at.TeamID, at.FormID)
		if err == nil {
			c.form = &f
			c.capacity, err = capacityOf(r, &f, now)
		}
		if errors.Is(err, db.ErrNotFound) {
			err = nil // deleted: what waits is ended
		}
		if err != nil || c.left <= 0 {
			return c, err
		}
	}
	n := min(c.left, maxPerRound)
	alone, err := r.DueWithoutRange(at.TeamID, at.FormID, n)
	if err != nil {
		return nil, err
	}
	ranges, err := r.DueRanges(at.TeamID, at.FormID, now.Add(-day), n)
	if err != nil {
		return nil, err
	}
	c.ids = fairest(alone, ranges, n)
	return c, nil
}

// fairest merges the opt-ins that share limits with no others, oldest first, with those of ranges: an
// opt-in alone counts as a range of its own.
func fairest(alone []string, ranges []db.DueRange, n int) (ids []string) {
	for len(ids) < n && len(alone)+len(ranges) > 0 {
		if len(alone) > 0 && (len(ranges) == 0 || ranges[0].Sent > 0 || ranges[0].Due > 1 || alone[0] < ranges[0].Oldest) {
			ids, alone = append(ids, alone[0]), alone[1:]
			continue
		}
		ids, ranges = append(ids, ranges[0].Oldest), ranges[1:]
	}
	return ids
}

// confirmByMail sends the confirmation of one opt-in, or records that it is not sent. It reports whether
// the form may go on: false if the team may not send now.
func (s *Service) confirmByMail(ctx context.Context, at db.DueForm, id string, form *app.Form) (done bool, err error) {
	o, err := db.Get(ctx, s.DB, func(r *db.Reader) (db.OptIn, error) { return r.OptIn(at.TeamID, id) })
	if errors.Is(err, db.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	_, key, bad := app.ParseBareAddress(o.Email)
	lost := bad != nil || at.FormID != "" && form == nil
	if lost || !s.canReceive(ctx, key, form) {
		return true, s.DB.Write(ctx, func(tx *db.Tx) error { return tx.SetOptInNotSent(o.TeamID, o.ID, "") })
	}
	email, err := s.confirmation(ctx, &o, form)
	if err == nil {
		err = s.accept(ctx, at, &o, key, email)
	}
	refusal := (*app.Error)(nil)
	switch {
	case errors.Is(err, errFull):
		return false, nil // the next round finds when it is free again
	case errors.As(err, &refusal) && refusal.Code == app.CodeAllRecipientsSuppressed:
		return true, s.DB.Write(ctx, func(tx *db.Tx) error { return tx.SetOptInNotSent(o.TeamID, o.ID, "") })
	case errors.As(err, &refusal):
		s.rest(at, clock.Now().Add(restAfterRefusal))
		s.Log.Debug("confirmations of a form wait", "team", at.TeamID, "form", at.FormID, "err", err)
		return false, nil
	}
	return err == nil, err
}

// errFull: the form has sent as many confirmations as it may.
var errFull = errors.New("the form may send no confirmation now")

// accept accepts a confirmation and records it, in one Write: neither a crash nor another server sends it
// twice. The limits are read again in the same Write. Errors: errFull; those of mail.Accept.
func (s *Service) accept(ctx context.Context, at db.DueForm, o *db.OptIn, key app.AddressKey, email *app.Email) error {
	person := s.personOf(key)
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		now, err := tx.OptIn(o.TeamID, o.ID)
		if err != nil {
			return base.IgnoreNotFound(err)
		}
		if now.Mail != db.OptInDue || now.Status != app.OptInPending {
			return nil
		}
		if at.FormID != "" {
			f, err := tx.Form(at.TeamID, at.FormID)
			if err != nil {
				return base.IgnoreNotFound(err)
			}
			if c, err := capacityOf(&tx.Reader, &f, tx.Now); err != nil || c.left <= 0 {
				return errors.Join(err, errFull)
			}
		}
		state, err := readAddress(&tx.Reader, o.TeamID, o.Hash, person, tx.Now)
		if err != nil {
			return err
		}
		if !state.allowed || state.blocked {
			return tx.SetOptInNotSent(o.TeamID, o.ID, state.earlier(o.ID, tx.Now))
		}
		if err := s.mail.Accept(tx, email); err != nil {
			return err
		}
		tx.AfterCommit(func() { s.Metrics.OptIns("sent", 1) })
		if err := tx.InsertConfirmation(person, &now); err != nil {
			return err
		}
		return tx.SetOptInSent(o.TeamID, o.ID, email.ID)
	})
}

// lookupTimeout bounds the look-up of the domain of an address.
const lookupTimeout = 5 * time.Second

// canReceive reports whether the domain of an address can receive mail, and the form sends to it. A
// look-up without an answer counts as yes.
func (s *Service) canReceive(ctx context.Context, key app.AddressKey, form *app.Form) bool {
	domain := domainOf(key)
	if form != nil && form.RejectDisposable && s.isDisposable(domain) {
		return false
	}
	if s.Resolver == nil {
		return true
	}
	exists, err := s.domains.Load(ctx, domain, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		return receives(ctx, s.Resolver, domain)
	})
	return exists || err != nil
}

// alert tells the owner, once in 24 hours, that confirmations of a form wait for its limits.
func (s *Service) alert(ctx context.Context, form *app.Form) error {
	if form == nil || clock.Since(form.AlertedAt) < day {
		return nil
	}
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		f, err := tx.Form(form.TeamID, form.ID)
		if err != nil || tx.Now.Sub(f.AlertedAt) < day {
			return base.IgnoreNotFound(err)
		}
		if err := tx.SetFormAlerted(f.TeamID, f.ID, tx.Now); err != nil {
			return err
		}
		return s.events.Announce(tx, f.TeamID, webhook.FormLimited, func() (any, error) {
			waiting, err := tx.CountDue(f.TeamID, f.ID, maxDue)
			return webhook.FormLimitedData{ID: f.ID, Name: f.Name, PerHour: app.MaxConfirmationsPerHour, PerDay: f.PerDay(), Waiting: waiting}, err
		})
	})
}
