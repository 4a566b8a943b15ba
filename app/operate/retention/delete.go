package retention

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

const (
	// horizon is how many emails one snapshot reads.
	horizon = 200
	// slackDivisor and maxSlack: an email is first examined when it is older than its retention by
	// this fraction, since its last result came some time after it. If it is still too young it is
	// recorded and examined again at its time.
	slackDivisor = 20
	maxSlack     = 24 * time.Hour
)

// Run deletes all expired mail, alternating between teams, and returns pages to the disk, until
// nothing is left, ctx is done or the server stops. Errors of one team do not delay others.
func (s *Service) Run(ctx context.Context) error {
	failed := map[string]error{}
	for more := true; more; {
		teams, err := db.Get(ctx, s.DB, (*db.Reader).Retentions)
		if err != nil {
			return fmt.Errorf("read the retention of teams: %w", err)
		}
		more = false
		for i := range teams {
			id := teams[i].TeamID
			if failed[id] != nil {
				continue
			}
			done, err := s.step(ctx, &teams[i])
			if err != nil {
				failed[id] = fmt.Errorf("delete old mail of team %s: %w", id, err)
			}
			more = more || done
		}
		if s.Draining() || ctx.Err() != nil {
			return nil
		}
	}
	return errors.Join(append(slices.Collect(maps.Values(failed)), s.shrink(ctx))...)
}

// shrink returns pages to the disk in small steps.
func (s *Service) shrink(ctx context.Context) error {
	for more := true; more && s.quiet(ctx); {
		var took time.Duration
		var err error
		if took, more, err = s.DB.Shrink(ctx, targetTime/2); err != nil {
			return err
		}
		if !s.pause(ctx, took) {
			return nil
		}
	}
	return nil
}

// step examines one batch of each kind of a team's mail and reports whether there may be more.
func (s *Service) step(ctx context.Context, team *app.TeamRetention) (more bool, err error) {
	kept := team.Over(s.Settings.Rules().Keep)
	for _, w := range []walk{
		{s: s, team: team.TeamID, kind: db.AgedContent, retention: contentKept(kept)},
		{s: s, team: team.TeamID, kind: db.AgedEmail, retention: kept.Emails},
		{s: s, team: team.TeamID, kind: db.AgedRecipient, retention: kept.Broadcasts},
	} {
		if w.retention == 0 {
			continue
		}
		did, err := w.step(ctx)
		if err != nil {
			return false, err
		}
		more = more || did
	}
	return more, nil
}

// contentKept returns the retention of content, at most that of the email.
func contentKept(kept app.Retention) time.Duration {
	if kept.Emails > 0 && (kept.Content == 0 || kept.Emails < kept.Content) {
		return kept.Emails
	}
	return kept.Content
}

// walk is the deletion of one kind of a team's mail.
type walk struct {
	s         *Service
	team      string
	kind      db.AgedKind
	retention time.Duration
	// broadcast is the broadcast whose recipients are examined. last: its last recipients are
	// examined.
	broadcast db.AgingBroadcast
	last      bool
}

// old returns the time before which the last result must be for deletion.
func (w *walk) old(now time.Time) time.Time { return now.Add(-w.retention) }

// step examines emails that were too young before, then the next ones.
func (w *walk) step(ctx context.Context) (more bool, err error) {
	for _, look := range []func(*db.Reader) ([]db.Aged, error){w.restart, w.next} {
		rows, err := db.Get(ctx, w.s.DB, look)
		if err != nil {
			return false, err
		}
		if len(rows) == 0 && !w.last {
			continue
		}
		if err := w.work(ctx, rows); err != nil {
			return false, err
		}
		more = true
	}
	return more, nil
}

// restart returns emails that were too young and may be old enough now.
func (w *walk) restart(r *db.Reader) ([]db.Aged, error) {
	return r.TooYoung(w.team, w.kind, w.old(clock.Now()), horizon)
}

// next returns the next emails in the order of ids.
func (w *walk) next(r *db.Reader) (rows []db.Aged, err error) {
	if w.kind == db.AgedRecipient {
		return w.nextRecipients(r)
	}
	after, err := r.AgedUntil(w.team, w.kind)
	if err != nil {
		return nil, err
	}
	now := clock.Now()
	if after > app.FirstID(now) {
		after = "" // the clock was wrong: later emails have smaller ids
	}
	before := app.FirstID(w.old(now).Add(-min(w.retention/slackDivisor, maxSlack)))
	return r.AgedEmails(w.team, after, before, horizon)
}

func (w *walk) nextRecipients(r *db.Reader) ([]db.Aged, error) {
	broadcasts, err := r.AgingBroadcasts(w.team, w.old(clock.Now()), 1)
	if err != nil || len(broadcasts) == 0 {
		return nil, err
	}
	w.broadcast = broadcasts[0]
	rows, err := r.AgedRecipients(w.broadcast, horizon)
	w.last = len(rows) < horizon
	return rows, err
}

// work deletes the expired ones of rows, some in each transaction. Each transaction is complete in
// itself and stores the position of the walk.
func (w *walk) work(ctx context.Context, rows []db.Aged) error {
	damaged, err := w.damaged(ctx, rows)
	if err != nil {
		return err
	}
	for len(rows) > 0 || w.last {
		var done int
		goOn, err := w.s.write(ctx, func(tx *db.Tx) (err error) {
			done, err = w.batch(tx, rows, damaged)
			return err
		})
		if err != nil || !goOn {
			return err
		}
		if rows = rows[done:]; len(rows) == 0 {
			w.last = false
		}
	}
	return nil
}

// damaged returns the rows whose content can't be read: a write would fail at them too, and end
// the process.
func (w *walk) damaged(ctx context.Context, rows []db.Aged) (map[string]bool, error) {
	bad := map[string]bool{}
	if w.kind == db.AgedRecipient {
		return bad, nil
	}
	for _, row := range rows {
		err := w.s.DB.Read(ctx, func(r *db.Reader) error {
			_, _, err := r.Outgoing(w.team, row.ID)
			return err
		})
		if errors.Is(err, db.ErrDamaged) {
			bad[row.ID] = true
			continue
		}
		if base.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	return bad, nil
}

// batch is one transaction. It processes the first rows and returns how many.
func (w *walk) batch(tx *db.Tx, rows []db.Aged, damaged map[string]bool) (done int, err error) {
	start := time.Now()
	for _, row := range rows[:min(len(rows), w.s.pace.batch)] {
		more, err := w.deleteOne(tx, row, damaged[row.ID], start)
		if err != nil {
			return 0, fmt.Errorf("%s %s: %w", w.kind, row.ID, err)
		}
		if more { // its content is large
			break
		}
		if done++; time.Since(start) > targetTime/2 {
			break
		}
	}
	return done, w.advance(tx, rows, done)
}

// advance moves the position of the walk after the processed rows.
func (w *walk) advance(tx *db.Tx, rows []db.Aged, done int) error {
	if w.kind == db.AgedRecipient && w.broadcast.ID != "" {
		if done > 0 {
			w.broadcast.After = rows[done-1].ID
		}
		return tx.AdvanceAging(w.broadcast.ID, w.broadcast.After, w.last && done == len(rows))
	}
	if done == 0 || !rows[0].Found.IsZero() {
		return nil
	}
	return tx.SetAgedUntil(w.team, w.kind, rows[done-1].ID)
}

// deleteOne deletes a row if it is expired, otherwise records it to be examined again. more
// reports that a part is left.
func (w *walk) deleteOne(tx *db.Tx, row db.Aged, damaged bool, start time.Time) (more bool, err error) {
	now, err := tx.Aged(w.team, w.kind, row.ID)
	switch {
	case errors.Is(err, db.ErrNotFound): // deleted since
		return false, w.drop(tx, row)
	case err != nil:
		return false, err
	case now.Open || damaged:
		return false, w.postpone(tx, row, tx.Now)
	case now.Last.After(w.old(tx.Now)):
		return false, w.postpone(tx, row, now.Last)
	}
	if w.kind != db.AgedRecipient {
		if more, err := w.deleteContent(tx, &now, start); more || err != nil {
			return more, err
		}
	}
	if err := w.delete(tx, row.ID); err != nil {
		return false, err
	}
	return false, w.drop(tx, row)
}

func (w *walk) delete(tx *db.Tx, id string) error {
	switch w.kind {
	case db.AgedEmail:
		return tx.DeleteAgedEmail(w.team, id)
	case db.AgedRecipient:
		return tx.DeleteAgedRecipient(id)
	}
	return nil
}

// deleteContent deletes the content of an email, a large one in several transactions.
func (w *walk) deleteContent(tx *db.Tx, email *db.Aged, start time.Time) (more bool, err error) {
	if !email.Deleted {
		if err := w.keepEnvelope(tx, email.ID); err != nil {
			return false, err
		}
		if err := tx.MarkContentDeleted(email.ID); err != nil {
			return false, err
		}
	} else if !email.Left {
		return false, nil
	}
	for {
		more, err = tx.DeleteContentPiece(email.ID)
		if err != nil || !more || time.Since(start) > targetTime/2 {
			return more, err
		}
	}
}

// keepEnvelope stores the recipients for an email's unsubscribe link if nothing else contains them
// after the email is deleted.
func (w *walk) keepEnvelope(tx *db.Tx, emailID string) error {
	mailboxes, err := tx.SharedUnsubscribePage(emailID)
	if err != nil || len(mailboxes) == 0 {
		return err
	}
	var hashes []app.AddressHash
	for _, mailbox := range mailboxes {
		if _, key, err := app.ParseBareAddress(mailbox); err == nil { // otherwise it was erased
			hashes = append(hashes, w.s.Sealer.AddressHash(w.team, key))
		}
	}
	return tx.KeepEnvelope(w.team, emailID, hashes)
}

// postpone records that a row must be examined again when an event at a time expires.
func (w *walk) postpone(tx *db.Tx, row db.Aged, at time.Time) error {
	if err := w.drop(tx, row); err != nil {
		return err
	}
	return tx.PutTooYoung(w.team, w.kind, row.ID, at)
}

// drop removes such a record.
func (w *walk) drop(tx *db.Tx, row db.Aged) error {
	if row.Found.IsZero() {
		return nil
	}
	return tx.DropTooYoung(w.team, w.kind, row.ID, row.Found)
}
