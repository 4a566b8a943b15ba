package broadcasts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/mergetags"
	"mailer/app/sending/mail"
	"mailer/db"
)

const (
	// expandChunk is how many recipients one Write stores.
	expandChunk = 1000
	// maxExpansions is how many broadcasts are expanded at the same time.
	maxExpansions = 2
	// cleanChunk is how many units of a canceled broadcast one Write ends.
	cleanChunk = 500
	// broadcasterSweep bounds the delay after a lost wake-up.
	broadcasterSweep = base.IdleSweepMinutes * time.Minute
	// snapshotWait is how long a send waits for the snapshot of its audience.
	snapshotWait = 5 * time.Second
)

// broadcaster starts scheduled broadcasts, expands queued ones, ends the units of canceled ones and
// releases those of resumed ones. All of this is derived from the database, so a crash at any point
// only delays it.
type broadcaster struct {
	signal base.Signal

	mu        sync.Mutex
	running   map[string]bool          // broadcasts that are being expanded
	snapshots map[string]chan struct{} // closed once the audience snapshot is taken
}

func newBroadcaster() *broadcaster {
	return &broadcaster{signal: base.NewSignal(), running: map[string]bool{}, snapshots: map[string]chan struct{}{}}
}

// awaitSnapshot returns a channel that is closed once the audience snapshot of a broadcast, which
// is about to be queued, is taken.
func (x *broadcaster) awaitSnapshot(id string) <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.snapshots[id] == nil {
		x.snapshots[id] = make(chan struct{})
	}
	return x.snapshots[id]
}

// AwaitSnapshot calls send, which sends a broadcast, and waits for the snapshot of the audience, so
// that a change of a contact after the answer does not affect the audience. queued reports whether
// send queued the broadcast; the snapshot of a scheduled one is taken later.
func (s *Service) AwaitSnapshot(ctx context.Context, id string, send func() (queued bool, err error)) error {
	frozen := s.broadcaster.awaitSnapshot(id)
	queued, err := send()
	if err != nil || !queued || !s.delivery.Sends() {
		s.broadcaster.snapshotTaken(id)
		return err
	}
	timer := time.NewTimer(snapshotWait)
	defer timer.Stop()
	select {
	case <-frozen:
	case <-ctx.Done(): // the broadcast is sent anyway
	case <-timer.C:
		s.Log.Warn("other broadcasts are being written down: the audience of this one is frozen later", "broadcast", id)
	}
	return nil
}

// snapshotTaken wakes the waiters for a snapshot, which was taken or will not be taken.
func (x *broadcaster) snapshotTaken(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := x.snapshots[id]; c != nil {
		close(c)
		delete(x.snapshots, id)
	}
}

// claim claims a broadcast to expand. It returns false if the broadcast is being expanded, or
// enough others are.
func (x *broadcaster) claim(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.running[id] || len(x.running) >= maxExpansions {
		return false
	}
	x.running[id] = true
	return true
}

// expansions returns the broadcasts that are being expanded.
func (x *broadcaster) expansions() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.running))
}

// expandsAny reports whether one of some broadcasts is being expanded.
func (x *broadcaster) expandsAny(ids []string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(ids, func(id string) bool { return x.running[id] })
}

func (x *broadcaster) done(id string) {
	x.mu.Lock()
	delete(x.running, id)
	x.mu.Unlock()
	x.signal.Notify()
}

// broadcast is the broadcaster's loop. It ends with the service.
func (s *Service) broadcast() {
	for {
		next, err := s.broadcastRound(s.Claiming)
		if err != nil && s.Claiming.Err() == nil {
			s.LogUnlessUnavailable("broadcasts", err)
			next = base.SweepEvery
		}
		if !base.Sleep(s.Claiming, next, s.broadcaster.signal) {
			return
		}
	}
}

// broadcastRound does what is due and returns when to run again.
func (s *Service) broadcastRound(ctx context.Context) (next time.Duration, err error) {
	next, err = s.startDue(ctx)
	return next, errors.Join(err, s.expandQueued(ctx), s.cleanCanceled(ctx), s.releaseResumed(ctx))
}

// startDue queues due scheduled broadcasts.
func (s *Service) startDue(ctx context.Context) (next time.Duration, err error) {
	next = broadcasterSweep
	scheduled, err := s.openBroadcasts(ctx, app.ScheduledBroadcast)
	if err != nil {
		return next, fmt.Errorf("read scheduled broadcasts: %w", err)
	}
	var failed []error
	for i := range scheduled {
		b := &scheduled[i]
		if b.Held != "" {
			continue
		}
		if d := clock.Until(b.ScheduledAt); d > 0 {
			next = min(next, d)
			continue
		}
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			full, err := tx.Broadcast(b.TeamID, b.ID) // read before the write
			if err != nil {
				return base.IgnoreNotFound(err)
			}
			if err := mergetags.RefuseRaw(rawTags(full)); err != nil {
				return base.IgnoreNotFound(s.returnToDraft(tx, b, err))
			}
			return base.IgnoreNotFound(s.queueBroadcast(tx, b))
		})
		if err = s.holdIfDamaged(ctx, b, err); err != nil {
			failed = append(failed, fmt.Errorf("start broadcast %s: %w", b.ID, err))
		}
	}
	return next, errors.Join(failed...)
}

func (s *Service) openBroadcasts(ctx context.Context, status app.BroadcastStatus) ([]app.Broadcast, error) {
	return db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Broadcast, error) { return r.OpenBroadcasts(status) })
}

// expandQueued expands queued broadcasts, smaller ones first.
func (s *Service) expandQueued(ctx context.Context) error {
	queued, err := s.openBroadcasts(ctx, app.QueuedBroadcast)
	if err != nil {
		return fmt.Errorf("read queued broadcasts: %w", err)
	}
	slices.SortStableFunc(queued, func(a, b app.Broadcast) int { return int(min(max(a.Audience-b.Audience, -1), 1)) })
	for i := range queued {
		b := &queued[i]
		if b.Expanded || b.Held != "" || !s.broadcaster.claim(b.ID) {
			continue
		}
		s.Workers.Go(func() {
			defer s.broadcaster.done(b.ID)
			defer s.broadcaster.snapshotTaken(b.ID)
			defer func() {
				if r := recover(); r != nil {
					s.Log.Error("panic while writing down recipients", "broadcast", b.ID, "panic", r, "stack", string(debug.Stack()))
				}
			}()
			if err := s.holdIfDamaged(s.Claiming, b, s.expand(s.Claiming, b)); err != nil && s.Claiming.Err() == nil {
				s.LogUnlessUnavailable("write down recipients", err, "broadcast", b.ID)
				base.Sleep(s.Claiming, base.SweepEvery, nil)
			}
		})
	}
	return nil
}

// holdIfDamaged holds a broadcast with damaged data. It returns other errors as they are.
func (s *Service) holdIfDamaged(ctx context.Context, b *app.Broadcast, err error) error {
	if !errors.Is(err, db.ErrDamaged) {
		return err
	}
	return s.delivery.HoldDamaged(ctx, b.TeamID, b.ID)
}

// expand stores the recipients of a broadcast, continuing at its cursor. The audience is read in
// one snapshot, so concurrent changes do not affect it. After a crash the rest is read in a new
// snapshot.
func (s *Service) expand(ctx context.Context, b *app.Broadcast) error {
	content, err := s.mail.BroadcastMail(ctx, b.TeamID, b.ID)
	if err != nil {
		return err
	}
	links, languages := content.Links(), content.Languages()
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		return errors.Join(tx.InsertBroadcastLinks(b.ID, links), tx.InsertBroadcastLanguages(b.ID, languages))
	})
	if err != nil {
		return fmt.Errorf("store links and languages: %w", err)
	}
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		cursor, err := r.ExpandCursor(b.ID)
		if err != nil {
			return err
		}
		s.broadcaster.snapshotTaken(b.ID)
		for {
			contacts, err := r.AudienceContacts(ctx, &content.Audience, cursor, expandChunk)
			if err != nil {
				return fmt.Errorf("read audience: %w", err)
			}
			if len(contacts) == 0 {
				return nil
			}
			cursor = contacts[len(contacts)-1].ID
			if err := s.appendRecipients(ctx, b, content, contacts); err != nil {
				return err
			}
		}
	})
	if err == nil {
		err = s.DB.Write(ctx, func(tx *db.Tx) error { return tx.EndExpansion(b.ID) })
	}
	s.delivery.WakeBulk(b.Relay)
	return base.IgnoreNotFound(err) // the broadcast was canceled meanwhile
}

func (s *Service) appendRecipients(ctx context.Context, b *app.Broadcast, content *mail.BroadcastMail, contacts []app.Contact) error {
	rows := make([]app.BroadcastRecipient, len(contacts))
	for i := range contacts {
		c := &contacts[i]
		rows[i] = app.BroadcastRecipient{ContactID: c.ID, Email: c.Email, Fields: content.Fields(c), Language: content.Language(c)}
	}
	err := s.DB.WriteBatched(ctx, func(tx *db.Tx) error {
		rows, err := s.audience.WithoutErasing(tx, b.TeamID, rows)
		if err != nil || len(rows) == 0 {
			return err
		}
		tx.AfterCommit(func() { s.Metrics.Accepted(len(rows)) })
		return tx.AppendRecipients(b, rows)
	})
	if err != nil {
		return err
	}
	s.delivery.WakeBulk(b.Relay)
	return nil
}

// cleanCanceled ends the units that canceled broadcasts still have.
func (s *Service) cleanCanceled(ctx context.Context) error {
	canceled, err := db.Get(ctx, s.DB, (*db.Reader).CanceledBroadcasts)
	if err != nil {
		return fmt.Errorf("read canceled broadcasts: %w", err)
	}
	for i := range canceled {
		for more := true; more; {
			err := s.DB.WriteCritical(ctx, func(tx *db.Tx) (err error) {
				more, err = s.cleanUnits(tx, &canceled[i])
				return err
			})
			if err != nil {
				return fmt.Errorf("end the units of canceled broadcast %s: %w", canceled[i].ID, err)
			}
		}
	}
	return nil
}

func (s *Service) cleanUnits(tx *db.Tx, b *app.Broadcast) (more bool, err error) {
	units, err := tx.WaitingUnits(b.ID, cleanChunk)
	if err != nil {
		return false, err
	}
	for _, u := range units {
		if err := s.mail.Withdraw(tx, u, "Its broadcast was canceled"); err != nil {
			return false, err
		}
	}
	return len(units) == cleanChunk, nil
}

// WakeBroadcaster wakes the broadcaster. It never blocks.
func (s *Service) WakeBroadcaster() { s.broadcaster.signal.Notify() }

// Expansions returns the broadcasts that are being expanded.
func (s *Service) Expansions() []string { return s.broadcaster.expansions() }

// ExpandsAny reports whether one of some broadcasts is being expanded.
func (s *Service) ExpandsAny(ids []string) bool { return s.broadcaster.expandsAny(ids) }
