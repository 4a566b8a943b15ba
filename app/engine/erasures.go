package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/erase"
	"mailer/db"
)

const (
	// eraseWait is how long a caller waits for the end of an erasure at most.
	eraseWait = 10 * time.Second
	// leavingPause is between two looks at mail that was leaving when its
	// addresses were erased.
	leavingPause = 200 * time.Millisecond
	// doneLook is between two looks whether an erasure is done.
	doneLook = 10 * time.Millisecond
)

// eraser has one worker at a time: two could write one email from two readings.
// It is the background's, and a caller's where there is none.
type eraser struct {
	turn    chan struct{} // holds a token while somebody erases
	woken   chan struct{}
	started atomic.Bool
	waiting []*eraseWalker // for mail that is leaving, or for readers; whoever has the turn owns it
}

func newEraser() *eraser {
	return &eraser{turn: make(chan struct{}, 1), woken: make(chan struct{}, 1)}
}

// wake has the background erase what is left; it never blocks.
func (x *eraser) wake() {
	select {
	case x.woken <- struct{}{}:
	default:
	}
}

// erasure is what a row of erasures holds, sealed.
type erasure struct {
	ID        string   `json:"-"`
	Addresses []string `json:"addresses"` // folded
	Until     string   `json:"until"`     // what has a higher id came after
}

const erasePurpose = "erasure"

// eraseContacts deletes contacts of a team and every trace of their addresses
// but the hashes that keep mail from them. When it answers, nothing goes out to
// them any more but what was leaving at that moment. The traces are gone too
// unless that takes longer than eraseWait; the rest then follows in the
// background, also after a crash. Errors: those of the store.
func (e *Engine) eraseContacts(ctx context.Context, teamID string, contacts []app.Contact) error {
	if len(contacts) == 0 {
		return nil
	}
	var job erasure
	err := e.db.WriteVital(ctx, func(tx *db.Tx) (err error) {
		tx.AfterCommit(func() { e.erasuresBegun.Add(1) })
		job, err = e.beginErasure(tx, teamID, contacts)
		return err
	})
	if err != nil {
		return unavailable(fmt.Errorf("erase contacts: %w", err))
	}
	return e.carryErasure(ctx, teamID, job)
}

// finishErasure carries out an erasure that was begun, as eraseContacts promises.
func (e *Engine) finishErasure(ctx context.Context, teamID string, job erasure) error {
	ctx, cancel := context.WithTimeout(ctx, eraseWait)
	defer cancel()
	// The answer promises that nothing leaves: that much a caller who went away
	// gets as well.
	if err := e.withdrawErased(context.WithoutCancel(ctx), teamID, job); err != nil {
		e.eraser.wake()
		return unavailable(err)
	}
	if !e.eraser.started.Load() { // a command beside a server
		if err := e.eraseOpen(ctx); err != nil && ctx.Err() == nil {
			e.log.Error("erase; a server tries again", "err", err)
		}
		return nil
	}
	e.eraser.wake()
	e.awaitErasure(ctx, teamID, job.ID)
	return nil
}

// awaitErasure waits until the background is done with an erasure, or ctx ends.
func (e *Engine) awaitErasure(ctx context.Context, teamID, id string) {
	for open := true; open && pause(ctx, doneLook, nil) && e.taking.Err() == nil; {
		err := e.db.Read(ctx, func(r *db.Reader) (err error) {
			open, err = r.HasErasure(teamID, id)
			return err
		})
		if err != nil {
			return // the answer does not depend on it
		}
	}
}

// beginErasure is the Write that an erasure is as good as done with: contacts
// go, their suppressions forget them, and what remains to do is noted.
func (e *Engine) beginErasure(tx *db.Tx, teamID string, contacts []app.Contact) (job erasure, err error) {
	for i := range contacts {
		address, err := e.eraseContact(tx, teamID, &contacts[i])
		if err != nil {
			return job, err
		}
		job.Addresses = append(job.Addresses, address)
	}
	job.ID = app.NewID()
	newest, err := tx.NewestEmail(teamID)
	if err != nil {
		return job, fmt.Errorf("find the newest email: %w", err)
	}
	broadcast, err := tx.NewestBroadcast(teamID)
	if err != nil {
		return job, fmt.Errorf("find the newest broadcast: %w", err)
	}
	job.Until = max(job.ID, newest, broadcast) // a clock that was set back makes smaller ids
	plain, err := json.Marshal(job)
	if err != nil {
		return job, fmt.Errorf("encode erasure: %w", err)
	}
	return job, tx.InsertErasure(db.Erasure{ID: job.ID, TeamID: teamID, Sealed: e.cfg.Sealer.Seal(erasePurpose, job.ID, plain)})
}

// eraseContact deletes a contact and gives its folded address. One that was
// deleted meanwhile is erased all the same. Who was unsubscribed stays so.
func (e *Engine) eraseContact(tx *db.Tx, teamID string, c *app.Contact) (address string, err error) {
	_, address, err = app.ParseBareAddress(c.Email)
	if err != nil {
		return "", fmt.Errorf("read the address of contact %s", c.ID)
	}
	unsubscribed, hash := c.Unsubscribed, e.cfg.Sealer.AddressHash(teamID, address)
	now, err := tx.Contact(teamID, c.ID)
	if err == nil {
		unsubscribed = now.Unsubscribed
		err = e.deleteErased(tx, now)
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return "", err
	}
	err = tx.EraseSuppression(teamID, hash)
	if errors.Is(err, db.ErrNotFound) && unsubscribed {
		_, err = tx.InsertOptOut(&app.Suppression{ID: app.NewID(), TeamID: teamID, Hash: hash, CreatedAt: tx.Now})
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return "", fmt.Errorf("erase suppression: %w", err)
	}
	return address, nil
}

// deleteErased deletes a contact and tells webhooks so without saying who it was.
func (e *Engine) deleteErased(tx *db.Tx, c app.Contact) error {
	segments, err := tx.SegmentsOf(c.ID)
	if err != nil {
		return fmt.Errorf("read segments: %w", err)
	}
	if err := tx.DeleteContact(&c); err != nil {
		return err
	}
	c.Email, c.FirstName, c.LastName = app.Erased, "", ""
	return e.announceContact(tx, app.ContactDeleted, &c, segments)
}

// withdrawErased keeps what waits for the erased addresses from leaving. What is
// leaving at this moment is looked at again by erase.
func (e *Engine) withdrawErased(ctx context.Context, teamID string, job erasure) error {
	set := erase.NewErasure(job.Addresses)
	var ids []string
	err := e.db.Read(ctx, func(r *db.Reader) error {
		relays, err := r.UnitRelays()
		ids = nil
		for _, relay := range relays {
			waiting, err := r.WaitingFor(relay, teamID, job.Until, set)
			if err != nil {
				return err
			}
			ids = append(ids, waiting...)
		}
		return err
	})
	for len(ids) > 0 && err == nil {
		n := min(len(ids), eraseChunk)
		err = e.db.WriteVital(ctx, func(tx *db.Tx) error {
			for _, id := range ids[:n] {
				if _, err := e.withdrawFrom(tx, teamID, id, set); err != nil {
					return err
				}
			}
			return nil
		})
		ids = ids[n:]
	}
	if err != nil {
		return fmt.Errorf("withdraw mail to erased addresses: %w", err)
	}
	return e.withdrawBroadcasts(ctx, teamID, job)
}

// withdrawFrom settles those recipients of an email that are in the set and
// still wait, and invalidates an attempt under way. It changes nothing, and
// answers leaving, while the final dot may be on its way.
func (e *Engine) withdrawFrom(tx *db.Tx, teamID, emailID string, set *erase.Erasure) (leaving bool, err error) {
	unit, leaving, err := tx.OpenUnit(teamID, emailID)
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	if err != nil || leaving {
		return leaving, err
	}
	tx.AfterCommit(func() { e.takeFresh(emailID) })
	if err := tx.OutdateUnit(emailID); err != nil {
		return false, err
	}
	open, err := tx.OpenRecipients(app.Unit{EmailID: emailID})
	if err != nil {
		return false, err
	}
	gone := 0
	for _, address := range open {
		if !set.Has(address) {
			continue
		}
		gone++
		if err := tx.SettleRecipient(app.Unit{EmailID: emailID}, address, app.Suppressed); err != nil {
			return false, err
		}
		detail := app.EventDetail{Message: "Not sent: the recipient was erased"}
		if err := tx.InsertEvent(newEvent(tx, unit, app.EventType(app.Suppressed), app.Erased, detail)); err != nil {
			return false, err
		}
		if err := tx.SetLastEvent(emailID, app.Suppressed); err != nil {
			return false, err
		}
	}
	if gone < len(open) {
		return false, nil
	}
	if err := tx.DeleteUnit(app.Unit{EmailID: emailID}); err != nil {
		return false, err
	}
	return false, tx.SettleDoubts(emailID, "not sent again: its recipients were erased")
}

// cancelNameless withdraws an email whose sender was erased: nothing leaves in
// that name.
func (e *Engine) cancelNameless(tx *db.Tx, teamID, emailID string) error {
	unit, leaving, err := tx.OpenUnit(teamID, emailID)
	if errors.Is(err, db.ErrNotFound) || leaving {
		return nil
	}
	if err != nil {
		return err
	}
	if err := tx.WithdrawUnit(emailID); err != nil {
		return err
	}
	if err := tx.CancelRecipients(emailID); err != nil {
		return err
	}
	if err := tx.SettleDoubts(emailID, "canceled"); err != nil {
		return err
	}
	detail := app.EventDetail{Message: "Canceled; its sender was erased"}
	if err := tx.InsertEvent(newEvent(tx, unit, app.EventType(app.Canceled), "", detail)); err != nil {
		return err
	}
	return tx.SetLastEvent(emailID, app.Canceled)
}

// startEraser erases in the background what an earlier process left and what
// callers did not wait for. Nothing may leave before its first step.
func (e *Engine) startEraser(ctx context.Context) error {
	teams, err := e.openErasures(ctx)
	if err != nil {
		return err
	}
	for _, t := range teams {
		for _, job := range t.jobs {
			if err := e.withdrawErased(ctx, t.id, job); err != nil {
				return err
			}
		}
	}
	if len(teams) > 0 {
		e.eraser.wake()
	}
	e.eraser.started.Store(true)
	e.workers.Go(func() {
		for {
			select {
			case <-e.taking.Done():
				return
			case <-e.eraser.woken:
			}
			if err := e.eraseOpen(e.taking); err != nil && e.taking.Err() == nil {
				e.log.Error("erase; the next sweep tries again", "err", err)
			}
		}
	})
	return nil
}

// eraseOpen repeats erase until nothing is left or ctx ends.
func (e *Engine) eraseOpen(ctx context.Context) error {
	for {
		later, err := e.erase(ctx)
		if err != nil || !later {
			return err
		}
		if !pause(ctx, leavingPause, e.eraser.woken) {
			return ctx.Err()
		}
	}
}

// sweepErasures wakes the eraser where work is left.
func (e *Engine) sweepErasures(ctx context.Context) error {
	return e.db.Read(ctx, func(r *db.Reader) error {
		open, err := r.Erasures(1)
		if len(open) > 0 {
			e.eraser.wake()
		}
		return err
	})
}
