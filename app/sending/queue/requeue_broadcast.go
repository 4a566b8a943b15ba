package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/db"
)

// requeueBroadcast requeues the failed recipients of a broadcast.
func (q *requeueRun) requeueBroadcast(ctx context.Context) error {
	var b app.Broadcast
	err := q.s.DB.Read(ctx, func(r *db.Reader) error {
		team, err := r.TeamOfBroadcast(q.p.Broadcast)
		if err == nil {
			b, err = r.BroadcastHead(team, q.p.Broadcast)
		}
		return err
	})
	if err != nil {
		return base.Lookup("broadcast", err)
	}
	after := ""
	for b.EmailIDPrefix != "" {
		ids, err := db.Get(ctx, q.s.DB, func(r *db.Reader) ([]string, error) { return r.FailedRecipients(b.EmailIDPrefix, after, writeBatch) })
		if err != nil || len(ids) == 0 {
			return err
		}
		after = ids[len(ids)-1]
		if err := q.requeueRecipients(ctx, &b, ids); err != nil {
			return err
		}
	}
	return nil
}

// requeueRecipients requeues recipients of a broadcast by id.
func (q *requeueRun) requeueRecipients(ctx context.Context, b *app.Broadcast, ids []string) error {
	content, err := q.s.mail.BroadcastMail(ctx, b.TeamID, b.ID)
	if err != nil {
		q.res.Matched += int64(len(ids))
		q.skipped[skipContent] += len(ids)
		return base.IgnoreNotFound(err)
	}
	var matched, changed int64
	var skipped map[string]int
	began := time.Now()
	err = q.s.DB.Write(ctx, func(tx *db.Tx) error {
		matched, changed, skipped = 0, 0, map[string]int{}
		for _, id := range ids {
			fits, why, err := q.requeueRecipient(tx, b, id, content.MailSize)
			if err != nil {
				return fmt.Errorf("requeue %s: %w", id, err)
			}
			switch {
			case !fits:
				continue
			case why == "":
				changed++
			default:
				skipped[why]++
			}
			matched++
		}
		return nil
	})
	if err != nil {
		return err
	}
	q.res.Matched += matched
	q.res.Changed += changed
	for why, n := range skipped {
		q.skipped[why] += n
	}
	base.Sleep(ctx, time.Since(began), nil)
	return ctx.Err()
}

// requeueRecipient requeues one recipient of a broadcast, or returns the reason why not.
func (q *requeueRun) requeueRecipient(tx *db.Tx, b *app.Broadcast, id string, size func(language string) int64) (fits bool, why string, err error) {
	byID := len(q.p.IDs) > 0
	to, err := tx.BroadcastRecipient(id)
	if err != nil {
		return false, "", base.IgnoreNotFound(err)
	}
	if q.p.ToDomain != "" && domainOfAddress(to.Email) != q.p.ToDomain {
		return false, "", nil
	}
	if open, err := tx.HasUnit(id); err != nil || open {
		return true, skipWaits, err
	}
	events, err := tx.Events(id)
	if err != nil {
		return false, "", err
	}
	h := historyOf(events, "")
	if !byID && h.ended.Before(q.p.FailedSince) {
		return false, "", nil
	}
	if b.Relay == app.CaptureRegion {
		return true, skipCaptured, nil
	}
	if h.hard && !byID {
		return true, skipNobody, nil
	}
	u := app.Unit{EmailID: id, TeamID: b.TeamID, BroadcastID: b.ID, TopicID: b.TopicID, Relay: b.Relay, Domain: b.From.Domain, NextAt: tx.Now, Size: size(to.Language), MessageDate: tx.Now}
	if blocked, err := q.s.delivery.Blocked(&tx.Reader, u, to.Email); err != nil || blocked {
		return true, skipSuppressed, err
	}
	err = tx.RequeueBroadcastRecipient(b.ID, id)
	if errors.Is(err, db.ErrNotFound) {
		return true, skipNobody, nil
	}
	if err != nil {
		return true, "", err
	}
	if err := tx.InsertEvent(mail.NewEvent(tx, u, app.EventRequeued, "", app.EventDetail{Message: q.message, Relay: u.Relay})); err != nil {
		return true, "", err
	}
	return true, "", q.s.mail.InsertUnit(tx, &u, "", []string{to.Email})
}
