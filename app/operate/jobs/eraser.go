package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"mailer/app/base"
	"mailer/app/rules/erase"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// eraseScanRows is how many emails one snapshot reads.
const eraseScanRows = 500

// eraseRows is the same for rows of other tables.
const eraseRows = 2000

// rowsPerErase is the maximum number of rows that one write changes, and erasePieces the maximum
// number of pieces of their content that it deletes, since other writes wait for it.
const (
	rowsPerErase = 32
	erasePieces  = 8
)

// erase works on all open erasures until they are done or ctx is done. later reports that some
// wait for mail in flight.
func (s *Service) erase(ctx context.Context) (later bool, err error) {
	select {
	case s.eraser.mu <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() {
		<-s.eraser.mu
		if r := recover(); r != nil { // the panic value might contain an address
			s.Log.Error("panic in the eraser", "stack", string(debug.Stack()))
			err = errors.New("panic in the eraser")
		}
	}()
	teams, err := s.audience.OpenErasures(ctx)
	if err != nil {
		return false, err
	}
	work := s.eraser.waiting
	s.eraser.waiting = nil // after a failure erasures start again
	for _, t := range teams {
		if t.Jobs = withoutJobs(t.Jobs, work); len(t.Jobs) > 0 {
			work = append(work, &erasure{s: s, team: t, all: t.Set(""), first: t.First(), inFlight: map[string]bool{}, mails: map[string]bool{},
				expansions: s.broadcasts.Expansions()})
		}
	}
	var errs []error
	for _, w := range work {
		err := w.run(ctx)
		errs = append(errs, err)
		if err == nil && !w.done {
			s.eraser.waiting = append(s.eraser.waiting, w)
		}
	}
	return len(s.eraser.waiting) > 0, errors.Join(errs...)
}

// withoutJobs returns the jobs that no erasure in work has.
func withoutJobs(jobs []audience.Erasure, work []*erasure) []audience.Erasure {
	return slices.DeleteFunc(jobs, func(job audience.Erasure) bool {
		return slices.ContainsFunc(work, func(w *erasure) bool {
			return slices.ContainsFunc(w.team.Jobs, func(other audience.Erasure) bool { return other.ID == job.ID })
		})
	})
}

// erasure is the work on the erasure jobs of one team in one pass.
type erasure struct {
	s        *Service
	team     *audience.TeamErasures
	all      *erase.Set
	first    string // all rows up to this id are in the scope of all jobs
	walked   bool
	done     bool
	inFlight map[string]bool // mail in flight
	mails    map[string]bool // mail of broadcasts in flight
	// expansions are broadcasts whose recipients were expanded from a snapshot before the erasure.
	expansions []string
	examined   time.Time // last check of mail in flight
}

// run processes all data once, then retries mail in flight until it is finished.
func (w *erasure) run(ctx context.Context) error {
	if !w.walked {
		for _, part := range []func(context.Context) error{w.emails, w.received, w.routes, w.broadcasts, w.runs, w.texts, w.imports, w.requests, w.answers} {
			err := part(ctx)
			if errors.Is(err, db.ErrDamaged) { // the rest must be done all the same
				w.s.Log.Error("an erasure leaves rows that can't be read: the database file is damaged there", "team", w.team.ID, "err", err, "help", "mailer check names all that is damaged")
			} else if err != nil {
				return err
			}
		}
		w.walked = true
	}
	if err := w.retry(ctx); err != nil || len(w.inFlight)+len(w.mails) > 0 {
		return err
	}
	if w.s.broadcasts.ExpandsAny(w.expansions) {
		return nil // audience.Unerased still needs this erasure
	}
	return w.finish(ctx)
}

// finish deletes the jobs. After a crash before it, the erasure starts again.
func (w *erasure) finish(ctx context.Context) error {
	err := w.s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		for _, job := range w.team.Jobs {
			if err := tx.DeleteErasure(w.team.ID, job.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete finished erasures: %w", err)
	}
	w.done = true
	return nil
}

// set returns the erased addresses that apply to an object's id.
func (w *erasure) set(id string) *erase.Set {
	if id <= w.first {
		return w.all
	}
	return w.team.Set(id)
}

// emails processes the team's emails.
func (w *erasure) emails(ctx context.Context) error {
	span := db.Span{Until: w.team.Until()}
	for {
		var hit map[string]bool
		var next string
		err := w.s.DB.Read(ctx, func(r *db.Reader) (err error) {
			hit, next, err = r.EmailsWithTraces(w.team.ID, span, eraseScanRows, w.set)
			return err
		})
		if err != nil {
			return err
		}
		if err := w.eraseEmails(ctx, slices.Sorted(maps.Keys(hit))); err != nil {
			return err
		}
		if time.Since(w.examined) > leavingPause {
			if err := w.retry(ctx); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		span.After = next
	}
}

// received deletes the emails that an address sent to the team, or that name it as a recipient.
func (w *erasure) received(ctx context.Context) error {
	span := db.Span{Until: w.team.Until()}
	for {
		var hit []string
		var next string
		err := w.s.DB.Read(ctx, func(r *db.Reader) (err error) {
			hit, next, err = r.ReceivedWithTraces(w.team.ID, span, eraseRows, w.set)
			return err
		})
		if err != nil {
			return err
		}
		for _, id := range hit {
			for more := true; more; {
				err := w.s.DB.Write(ctx, func(tx *db.Tx) (err error) {
					more, err = tx.DeleteReceived(w.team.ID, id, erasePieces)
					return base.IgnoreNotFound(err)
				})
				if err != nil {
					return fmt.Errorf("delete received email %s: %w", id, err)
				}
			}
		}
		if next == "" {
			return nil
		}
		span.After = next
	}
}

// routes removes the addresses from routes of received mail and their destinations.
func (w *erasure) routes(ctx context.Context) error {
	return w.s.mailRoutes.Erase(ctx, w.team.ID, w.set)
}

// retry processes mail that was in flight.
func (w *erasure) retry(ctx context.Context) error {
	w.examined = time.Now()
	if err := w.recipients(ctx, slices.Sorted(maps.Keys(w.mails))); err != nil {
		return err
	}
	return w.eraseEmails(ctx, slices.Sorted(maps.Keys(w.inFlight)))
}

// eraseEmails erases addresses from emails, some in each write, except for those in flight.
func (w *erasure) eraseEmails(ctx context.Context, ids []string) error {
	var found []db.ErasableEmail
	for _, id := range ids {
		m, err := w.erasable(ctx, id)
		if errors.Is(err, db.ErrNotFound) || errors.Is(err, db.ErrDamaged) { // deleted since; the store logs damage
			delete(w.inFlight, id)
			continue
		}
		if err != nil {
			return fmt.Errorf("read email %s: %w", id, err)
		}
		found = append(found, m)
	}
	for len(found) > 0 {
		var leaving map[string]bool
		err := w.s.DB.Write(ctx, func(tx *db.Tx) (err error) {
			leaving, err = w.eraseChunk(tx, found[:min(len(found), rowsPerErase)])
			return err
		})
		if err != nil {
			return err
		}
		for id, is := range leaving {
			delete(w.inFlight, id)
			if is {
				w.inFlight[id] = true
			}
		}
		found = found[len(leaving):]
	}
	return nil
}

func (w *erasure) erasable(ctx context.Context, id string) (db.ErasableEmail, error) {
	return db.Get(ctx, w.s.DB, func(r *db.Reader) (db.ErasableEmail, error) { return r.ErasableEmail(w.team.ID, id, w.set(id)) })
}

// eraseChunk erases addresses from emails. It returns those that it processed, up to a large one,
// and whether each is in flight.
func (w *erasure) eraseChunk(tx *db.Tx, part []db.ErasableEmail) (leaving map[string]bool, err error) {
	leaving = map[string]bool{}
	pieces := erasePieces
	for _, m := range part {
		is, more, err := w.eraseEmail(tx, m, &pieces)
		if err != nil {
			return nil, fmt.Errorf("email %s: %w", m.ID, err)
		}
		if more {
			break
		}
		leaving[m.ID] = is
	}
	return leaving, nil
}

// eraseEmail erases addresses from an email, unless it is in flight. It first deletes the content,
// up to a number of pieces: more means that a part is left and the addresses are unchanged.
func (w *erasure) eraseEmail(tx *db.Tx, m db.ErasableEmail, pieces *int) (leaving, more bool, err error) {
	set := w.set(m.ID)
	if m.Addressed {
		if leaving, err = w.s.withdrawFrom(tx, w.team.ID, m.ID, set); err != nil || leaving {
			return leaving, false, err
		}
	}
	if m.Unsendable {
		if err := w.s.cancelUnaddressed(tx, w.team.ID, m.ID); err != nil {
			return false, false, err
		}
	}
	if m.Alone && !m.Unreadable {
		if err := tx.MarkContentDeleted(m.ID); err != nil {
			return false, false, err
		}
		for more = true; more; *pieces-- {
			if *pieces == 0 {
				return false, true, nil
			}
			if more, err = tx.DeleteContentPiece(m.ID); err != nil {
				return false, false, err
			}
		}
	}
	return false, false, tx.EraseEmail(w.team.ID, m, set)
}

// runs erases addresses from runs of automations.
func (w *erasure) runs(ctx context.Context) error {
	span := db.Span{Until: w.team.Until()}
	for {
		var hit map[string]bool
		var next string
		err := w.s.DB.Read(ctx, func(r *db.Reader) (err error) {
			hit, next, err = r.RunsWithTraces(w.team.ID, span, eraseScanRows, w.set)
			return err
		})
		if err != nil {
			return err
		}
		for part := range slices.Chunk(slices.Sorted(maps.Keys(hit)), rowsPerErase) {
			err := w.s.DB.Write(ctx, func(tx *db.Tx) error {
				for _, id := range part {
					if err := tx.EraseTracesOfRun(w.team.ID, id, w.set(id)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		span.After = next
	}
}

// requests erases logged requests that mention an address.
func (w *erasure) requests(ctx context.Context) error {
	return w.s.requestLog.Forget(ctx, w.team.ID, w.team.Until(), w.all, w.set)
}

// answers deletes stored responses to sends that contain an address.
func (w *erasure) answers(ctx context.Context) error {
	return w.s.DB.Write(ctx, func(tx *db.Tx) error { return tx.PurgeAnswersWithTraces(w.team.ID, w.all) })
}

// texts erases addresses from other columns.
func (w *erasure) texts(ctx context.Context) error {
	var damage error
	for kind := range db.TextKinds {
		err := w.column(ctx, kind)
		if err != nil && !errors.Is(err, db.ErrDamaged) {
			return err
		}
		damage = errors.Join(damage, err)
	}
	return damage
}

func (w *erasure) column(ctx context.Context, kind db.TextKind) error {
	span := db.Span{Until: w.team.Until()}
	for {
		var rows []db.TextRow
		var next string
		err := w.s.DB.Read(ctx, func(r *db.Reader) (err error) {
			rows, next, err = r.Texts(kind, w.team.ID, span, eraseRows, w.all)
			return err
		})
		if err != nil {
			return err
		}
		for chunk := range slices.Chunk(rows, rowsPerErase) {
			err := w.s.DB.Write(ctx, func(tx *db.Tx) error {
				for _, row := range chunk {
					if err := tx.ScrubText(kind, w.team.ID, row.ID, w.set(row.ID)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		span.After = next
	}
}

// imports masks erased addresses in uploaded files that are still stored. Such a row then fails as
// a row without an address, so that a running import does not restore the contact.
func (w *erasure) imports(ctx context.Context) error {
	ids, err := db.Get(ctx, w.s.DB, func(r *db.Reader) ([]string, error) { return r.ImportsWithPieces(w.team.ID, w.team.Until()) })
	if err != nil {
		return err
	}
	for _, id := range ids {
		for n := -1; err == nil; {
			set, before := w.set(id), n
			err = w.s.DB.Write(ctx, func(tx *db.Tx) (err error) {
				n, err = tx.MaskPiece(id, before, set)
				return err
			})
		}
		if err = base.IgnoreNotFound(err); err != nil {
			return err
		}
	}
	return nil
}
