package broadcasts

import (
	"context"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// releaseChunk is how many units of a resumed broadcast one Write releases.
const releaseChunk = 500

// PauseBroadcast pauses a queued broadcast until ResumeBroadcast: after the answer only mail past
// its final dot leaves. A paused broadcast stays paused. Errors: CodeNotFound, CodeInvalidParameter
// if it is not queued.
func (s *Service) PauseBroadcast(ctx context.Context, key *app.Key, id string) (BroadcastView, error) {
	return s.setPaused(ctx, key, id, true)
}

// ResumeBroadcast resumes a paused broadcast. One that is not paused continues. Errors:
// CodeNotFound, CodeInvalidParameter if it is not queued.
func (s *Service) ResumeBroadcast(ctx context.Context, key *app.Key, id string) (BroadcastView, error) {
	return s.setPaused(ctx, key, id, false)
}

func (s *Service) setPaused(ctx context.Context, key *app.Key, id string, paused bool) (v BroadcastView, err error) {
	action, change := "broadcast.resume", (*db.Tx).ResumeBroadcast
	if paused {
		action, change = "broadcast.pause", (*db.Tx).PauseBroadcast
	}
	var b app.Broadcast
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		if b, err = tx.BroadcastHead(key.TeamID, id); err != nil {
			return base.Lookup("broadcast", err)
		}
		if b.Status != app.QueuedBroadcast {
			return app.Errorf(app.CodeInvalidParameter, "Only a broadcast that is being sent can be paused or resumed; this one is %s", statusText(b.Status))
		}
		if paused == !b.PausedAt.IsZero() {
			return nil
		}
		if err := change(tx, key.TeamID, id); err != nil {
			return err
		}
		if b.PausedAt = tx.Now; !paused {
			b.PausedAt = time.Time{}
		}
		tx.AfterCommit(s.broadcaster.signal.Notify)
		return base.Audit(ctx, tx, key.TeamID, action, id, nil, map[string]any{"name": b.Name, "remaining": b.Remaining() + b.Open})
	})
	if err != nil {
		return v, base.Unavailable(err)
	}
	if !paused {
		s.delivery.WakeBulk(b.Relay)
	}
	views, err := s.views(ctx, b)
	if err != nil {
		return v, err
	}
	return views[0], nil
}

// releaseResumed releases the units of resumed broadcasts that are still paused.
func (s *Service) releaseResumed(ctx context.Context) error {
	queued, err := s.openBroadcasts(ctx, app.QueuedBroadcast)
	if err != nil {
		return fmt.Errorf("read queued broadcasts: %w", err)
	}
	for i := range queued {
		b := &queued[i]
		if b.Open == 0 || !b.PausedAt.IsZero() {
			continue
		}
		held, err := db.Get(ctx, s.DB, func(r *db.Reader) (bool, error) { return r.HasPausedUnits(b.ID) })
		for n := int64(releaseChunk); held && err == nil && n == releaseChunk; {
			err = s.DB.WriteCritical(ctx, func(tx *db.Tx) (err error) {
				n, err = tx.ReleasePaused(b.ID, releaseChunk)
				return err
			})
		}
		if err != nil {
			return fmt.Errorf("release the units of resumed broadcast %s: %w", b.ID, err)
		}
		if held {
			s.delivery.WakeBulk(b.Relay)
		}
	}
	return nil
}

// UnscheduleBroadcast makes a scheduled broadcast a draft again. Errors: CodeNotFound,
// CodeInvalidParameter if it is not scheduled.
func (s *Service) UnscheduleBroadcast(ctx context.Context, key *app.Key, id string) (v BroadcastView, err error) {
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		b, err := tx.BroadcastHead(key.TeamID, id)
		if err != nil {
			return base.Lookup("broadcast", err)
		}
		if b.Status != app.ScheduledBroadcast {
			return app.Errorf(app.CodeInvalidParameter, "Only a scheduled broadcast can be made a draft again; this one is %s", statusText(b.Status))
		}
		if err := tx.ReturnToDraft(key.TeamID, id); err != nil {
			return err
		}
		if err := base.Audit(ctx, tx, key.TeamID, "broadcast.unschedule", id, map[string]any{"scheduled_at": app.FormatTime(b.ScheduledAt)}, map[string]any{"name": b.Name}); err != nil {
			return err
		}
		v.Broadcast, err = tx.BroadcastHead(key.TeamID, id)
		return err
	})
	return v, base.Unavailable(err)
}

// auditSend appends the sending or scheduling of a broadcast to the audit log.
func auditSend(ctx context.Context, tx *db.Tx, b *app.Broadcast) error {
	after := map[string]any{"name": b.Name, "recipients": b.Audience}
	if b.Status == app.ScheduledBroadcast {
		after["scheduled_at"] = app.FormatTime(b.ScheduledAt)
	}
	return base.Audit(ctx, tx, b.TeamID, "broadcast.send", b.ID, nil, after)
}
