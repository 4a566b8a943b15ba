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
	for part := range slices.Chunk(ids, rowsPerErase) {
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

// broadcasts erases addresses from the team's broadcasts and their recipients.
func (w *erasure) broadcasts(ctx context.Context) error {
	const few = 20
	span := db.Span{Until: w.team.Until()}
	for {
		page, err := db.Get(ctx, w.s.DB, func(r *db.Reader) ([]db.ErasableBroadcast, error) { return r.ErasableBroadcasts(w.team.ID, span, few) })
		if err != nil {
			return err
		}
		for _, b := range page {
			if err := w.broadcast(ctx, b); err != nil {
				return fmt.Errorf("broadcast %s: %w", b.ID, err)
			}
		}
		if len(page) < few {
			return nil
		}
		span.After = page[few-1].ID
	}
}

func (w *erasure) broadcast(ctx context.Context, b db.ErasableBroadcast) error {
	if err := errors.Join(w.broadcastHead(ctx, b), w.frozenFilter(ctx, b)); err != nil {
		return err
	}
	if b.Mails == "" || b.Mails > w.team.Until() {
		return nil
	}
	for n := int64(0); ; n += eraseRecipients {
		from, to := app.BroadcastEmailID(b.Mails, n), app.BroadcastEmailID(b.Mails, min(n+eraseRecipients, pacing.MaxBroadcastRecipients))
		var hit map[string]bool
		var written int64
		err := w.s.DB.Read(ctx, func(r *db.Reader) error {
			head, err := r.BroadcastHead(w.team.ID, b.ID) // more recipients may have been expanded
			if err == nil {
				written = head.Stored
				hit, err = r.MailsWithTraces(from, to, w.all.OnlyDomain(), w.set)
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

// broadcastHead erases the sender and the reply addresses of a broadcast, and cancels a broadcast
// whose sender was erased. Captured messages are deleted first: after a crash nothing would show
// that they have to be.
func (w *erasure) broadcastHead(ctx context.Context, b db.ErasableBroadcast) error {
	set := w.set(b.ID)
	if !b.Addressed(set) {
		return nil
	}
	from, to := app.BroadcastEmailID(b.Mails, 0), app.BroadcastEmailID(b.Mails, pacing.MaxBroadcastRecipients)
	for n := int64(1); n > 0 && b.Mails != ""; {
		err := w.s.DB.Write(ctx, func(tx *db.Tx) (err error) {
			n, err = tx.DeleteCaptures(from, to, rowsPerErase)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete captures: %w", err)
		}
	}
	return w.s.DB.Write(ctx, func(tx *db.Tx) error {
		if b.Unsendable(set) {
			if err := base.IgnoreNotFound(tx.CancelBroadcast(w.team.ID, b.ID)); err != nil {
				return err
			}
		}
		w.dropAfterCommit(tx, b.ID)
		return tx.EraseBroadcast(w.team.ID, b, set)
	})
}

// frozenFilter erases addresses from the filter of a broadcast that was queued. The rest of its
// content is not searched. Damage is left to the attempts to send it.
func (w *erasure) frozenFilter(ctx context.Context, b db.ErasableBroadcast) error {
	set := w.set(b.ID)
	hit, err := db.Get(ctx, w.s.DB, func(r *db.Reader) (bool, error) { return r.HasFilterTraces(b.ID, set) })
	if err != nil || !hit {
		if errors.Is(err, db.ErrDamaged) {
			return nil
		}
		return err
	}
	return w.s.DB.Write(ctx, func(tx *db.Tx) error {
		w.dropAfterCommit(tx, b.ID)
		return tx.EraseFrozenFilter(b.ID, set)
	})
}

func (w *erasure) dropAfterCommit(tx *db.Tx, broadcastID string) {
	tx.AfterCommit(func() {
		w.s.mail.DropBroadcastMail(broadcastID)
		w.s.broadcasts.WakeBroadcaster()
	})
}

// recipients erases recipients of broadcasts, some in each write, except for those in flight.
func (w *erasure) recipients(ctx context.Context, ids []string) error {
	for part := range slices.Chunk(ids, rowsPerErase) {
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
	if !set.Has(rec.Email) {
		return false, tx.EraseTraces(id, set)
	}
	if leaving, err = w.s.withdrawRecipient(tx, &b, &rec); err != nil || leaving {
		return leaving, err
	}
	if err := tx.EraseRecipient(id); err != nil {
		return false, err
	}
	return false, tx.EraseTraces(id, set)
}
