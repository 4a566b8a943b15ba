package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/erase"
	"mailer/app/rules/pacing"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// eraseRecipients is how many recipients of a broadcast one snapshot reads.
const eraseRecipients = 10_000

// withdrawBroadcasts withdraws waiting mail of broadcasts to erased addresses.
func (s *Service) withdrawBroadcasts(ctx context.Context, teamID string, job audience.Erasure) error {
	set := erase.NewSet(job.Addresses)
	var ids []string
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		open, err := r.OpenBroadcasts(app.QueuedBroadcast)
		ids = nil
		for i := range open {
			b := &open[i]
			if err != nil || b.TeamID != teamID || b.EmailIDPrefix > job.Until {
				continue
			}
			var waiting []string
			waiting, err = r.WaitingRecipients(b, set)
			ids = append(ids, waiting...)
		}
		return err
	})
	for part := range slices.Chunk(ids, eraseChunk) {
		if err != nil {
			break
		}
		err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
			for _, id := range part {
				b, rec, err := audience.RecipientOf(&tx.Reader, teamID, id)
				if err != nil {
					return err
				}
				if _, err := s.withdrawRecipient(tx, &b, &rec); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("withdraw broadcasts to erased addresses: %w", err)
	}
	return nil
}

// withdrawRecipient settles a waiting recipient of a broadcast who was erased. If the final dot
// may have been sent, it changes nothing and returns leaving.
func (s *Service) withdrawRecipient(tx *db.Tx, b *app.Broadcast, rec *app.BroadcastRecipient) (leaving bool, err error) {
	unit, leaving, err := tx.OpenUnit(b.TeamID, rec.ID)
	open := !errors.Is(err, db.ErrNotFound)
	if open && (err != nil || leaving) {
		return leaving, err
	}
	unit.BroadcastID, unit.Domain = b.ID, b.From.Domain
	if rec.Seen&app.SeenEnded == 0 && (open || b.Status == app.QueuedBroadcast) {
		if err := tx.SettleRecipient(unit, rec.Email, app.Suppressed); err != nil {
			return false, err
		}
		detail := app.EventDetail{Message: "Not sent: the recipient was erased"}
		if err := tx.InsertEvent(mail.NewEvent(tx, unit, app.EventType(app.Suppressed), "", detail)); err != nil {
			return false, err
		}
	}
	if !open {
		return false, nil
	}
	if err := tx.DeleteUnit(unit); err != nil {
		return false, err
	}
	return false, tx.SettleDoubts(rec.ID, "not sent again: its recipients were erased")
}

// broadcasts scrubs the content and the recipients of the team's broadcasts.
func (w *erasure) broadcasts(ctx context.Context) error {
	const few = 20
	span := db.Span{Until: w.team.Until()}
	for {
		page, err := db.Get(ctx, w.s.DB, func(r *db.Reader) ([]app.Broadcast, error) { return r.BroadcastsOf(w.team.ID, span, few) })
		if err != nil {
			return err
		}
		for i := range page {
			if err := w.broadcast(ctx, &page[i]); err != nil {
				return fmt.Errorf("broadcast %s: %w", page[i].ID, err)
			}
		}
		if len(page) < few {
			return nil
		}
		span.After = page[few-1].ID
	}
}

func (w *erasure) broadcast(ctx context.Context, b *app.Broadcast) error {
	if err := w.broadcastContent(ctx, b); err != nil {
		return err
	}
	if b.EmailIDPrefix == "" || b.EmailIDPrefix > w.team.Until() {
		return nil
	}
	for n := int64(0); ; n += eraseRecipients {
		from, to := app.BroadcastEmailID(b.EmailIDPrefix, n), app.BroadcastEmailID(b.EmailIDPrefix, min(n+eraseRecipients, pacing.MaxBroadcastRecipients))
		var hit map[string]bool
		var written int64
		err := w.s.DB.Read(ctx, func(r *db.Reader) error {
			head, err := r.BroadcastHead(w.team.ID, b.ID) // more recipients may have been expanded
			if err == nil {
				written = head.Stored
				hit, err = r.MailsWithTraces(from, to, w.all)
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := w.recipients(ctx, slices.Sorted(maps.Keys(hit))); err != nil {
			return err
		}
		if n+eraseRecipients >= written {
			return nil
		}
	}
}

// broadcastContent scrubs the content of a broadcast. Captured messages are deleted first: after a
// crash nothing would show that they have to be.
func (w *erasure) broadcastContent(ctx context.Context, b *app.Broadcast) error {
	set, changed := w.set(b.ID), false
	err := w.s.DB.Read(ctx, func(r *db.Reader) error {
		whole, err := r.Broadcast(w.team.ID, b.ID)
		if err != nil {
			return base.IgnoreNotFound(err)
		}
		if changed, err = set.ScrubBroadcast(whole); err != nil || changed {
			return err
		}
		changed, err = r.HasLinkTraces(b.ID, set)
		return err
	})
	if err != nil || !changed {
		return err
	}
	from, to := app.BroadcastEmailID(b.EmailIDPrefix, 0), app.BroadcastEmailID(b.EmailIDPrefix, pacing.MaxBroadcastRecipients)
	for n := int64(1); n > 0 && b.EmailIDPrefix != ""; {
		err := w.s.DB.Write(ctx, func(tx *db.Tx) (err error) {
			n, err = tx.DeleteCaptures(from, to, eraseChunk)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete captures: %w", err)
		}
	}
	return w.s.DB.Write(ctx, func(tx *db.Tx) error { return w.rewriteBroadcast(tx, b.ID, set) })
}

// rewriteBroadcast reads a broadcast and stores it scrubbed. A broadcast whose sender was erased
// is canceled.
func (w *erasure) rewriteBroadcast(tx *db.Tx, id string, set *erase.Set) error {
	b, err := tx.Broadcast(w.team.ID, id)
	if err != nil {
		return base.IgnoreNotFound(err)
	}
	from := b.From
	if _, err := set.ScrubBroadcast(b); err != nil {
		return err
	}
	if b.From != from && b.From.IsErased() {
		if err := base.IgnoreNotFound(tx.CancelBroadcast(w.team.ID, id)); err != nil {
			return err
		}
	}
	if err := tx.RewriteBroadcast(b); err != nil {
		return err
	}
	tx.AfterCommit(func() {
		w.s.mail.DropBroadcastMail(id)
		w.s.broadcasts.WakeBroadcaster()
	})
	return tx.ScrubLinks(id, set)
}

// recipients erases recipients of broadcasts, some in each write, except for those in flight.
func (w *erasure) recipients(ctx context.Context, ids []string) error {
	for part := range slices.Chunk(ids, eraseChunk) {
		var busy map[string]bool
		err := w.s.DB.Write(ctx, func(tx *db.Tx) error {
			busy = map[string]bool{}
			for _, id := range part {
				leaving, err := w.recipient(tx, id)
				if err != nil {
					return fmt.Errorf("recipient %s: %w", id, err)
				}
				busy[id] = leaving
			}
			return nil
		})
		if err != nil {
			return err
		}
		for id, leaving := range busy {
			delete(w.mails, id)
			if leaving {
				w.mails[id] = true
			}
		}
	}
	return nil
}

func (w *erasure) recipient(tx *db.Tx, id string) (leaving bool, err error) {
	b, rec, err := audience.RecipientOf(&tx.Reader, w.team.ID, id)
	if err != nil {
		return false, err
	}
	set := w.set(id)
	if set.Has(rec.Email) {
		leaving, err = w.s.withdrawRecipient(tx, &b, &rec)
	} else {
		leaving, err = tx.IsCommitted(id)
	}
	if err != nil || leaving {
		return leaving, err
	}
	if set.ScrubRecipient(&rec) {
		if err := base.IgnoreNotFound(tx.OutdateUnit(id)); err != nil {
			return false, err
		}
		if err := tx.RewriteRecipient(&rec); err != nil {
			return false, err
		}
	}
	return false, tx.EraseTraces(id, set)
}
