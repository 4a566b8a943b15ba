package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/erase"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// eraseScanRows is how many emails one snapshot reads.
const eraseScanRows = 500

// eraseRows is the same for rows of other tables.
const eraseRows = 2000

// eraseChunk is the maximum number of emails that one write changes, and eraseBytes the maximum of
// their sizes, since other writes wait for it.
const eraseChunk = 32

const eraseBytes = 1 << 20

// erase works on all open erasures until they are done or ctx is done. later reports that some
// wait for mail in flight or for readers.
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
	cleaned  bool // database pages were cleaned
	done     bool
	inFlight map[string]bool // mail in flight
	mails    map[string]bool // mail of broadcasts in flight
	// expansions are broadcasts whose recipients were expanded from a snapshot before the erasure.
	expansions []string
	examined   time.Time // last check of mail in flight
	kept       time.Time // since when readers have prevented truncation of the log
	emptied    time.Time // last attempt to truncate it
	logged     bool      // the delay was logged
}

// Readers can delay the truncation of the write-ahead log. One that lasts longer than walWait
// belongs to another program: it is logged, and attempts become rarer, since each blocks writers.
const (
	walWait  = time.Minute
	walPause = 10 * time.Second
)

// run processes all data once, then retries mail in flight until it is finished.
func (w *erasure) run(ctx context.Context) error {
	if !w.walked {
		if err := w.emails(ctx); err != nil {
			return fmt.Errorf("erase from emails: %w", err)
		}
		if err := w.broadcasts(ctx); err != nil {
			return fmt.Errorf("erase from broadcasts: %w", err)
		}
		if err := w.others(ctx); err != nil {
			return fmt.Errorf("erase from other tables: %w", err)
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

// finish removes the old bytes from the files, then deletes the jobs: after a crash in between,
// the erasure starts again. Readers can delay it.
func (w *erasure) finish(ctx context.Context) error {
	if !w.cleaned {
		if err := w.s.DB.CleanPages(ctx, w.all.InBytes); err != nil {
			return fmt.Errorf("clean pages: %w", err)
		}
		w.cleaned = true
	}
	if w.logged && time.Since(w.emptied) < walPause {
		return nil
	}
	w.emptied = time.Now()
	err := w.s.DB.TruncateLog(ctx)
	if errors.Is(err, db.ErrBusy) {
		w.wait()
		return nil
	}
	if err != nil {
		return err
	}
	err = w.s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
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

// wait logs readers that delay the truncation for long.
func (w *erasure) wait() {
	if w.kept.IsZero() {
		w.kept = w.emptied
	}
	if !w.logged && time.Since(w.kept) >= walWait {
		w.logged = true
		w.s.Log.Warn("old bytes of erased addresses stay in the database's log: another program reads it all the time, so that it can't be emptied",
			"help", "end what copies or reads the database file, like Litestream or an sqlite3 shell, for a moment")
	}
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
		var files []string
		var next string
		err := w.s.DB.Read(ctx, func(r *db.Reader) (err error) {
			hit, files, next, err = r.EmailsWithTraces(w.team.ID, span, eraseScanRows, w.all)
			return err
		})
		if err != nil {
			return err
		}
		for _, id := range files {
			hit[id] = true
		}
		if err := w.rewrite(ctx, slices.Sorted(maps.Keys(hit))); err != nil {
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

// retry processes mail that was in flight.
func (w *erasure) retry(ctx context.Context) error {
	w.examined = time.Now()
	if err := w.recipients(ctx, slices.Sorted(maps.Keys(w.mails))); err != nil {
		return err
	}
	if len(w.inFlight) == 0 {
		return nil
	}
	return w.rewrite(ctx, slices.Sorted(maps.Keys(w.inFlight)))
}

// scrubbed is an email that was read and scrubbed, ready to be stored.
type scrubbed struct {
	id          string
	set         *erase.Set
	email       *app.Email // nil: the content has no erased address
	attachments []*app.Attachment
	unaddressed bool // its sender was erased
}

// rewrite scrubs emails, some in each write.
func (w *erasure) rewrite(ctx context.Context, ids []string) error {
	var batch []scrubbed
	var size int64
	for i, id := range ids {
		s, n, err := w.scrub(ctx, id)
		if err != nil {
			return fmt.Errorf("scrub email %s: %w", id, err)
		}
		batch, size = append(batch, s), size+n
		if i+1 < len(ids) && len(batch) < eraseChunk && size < eraseBytes {
			continue
		}
		if err := w.write(ctx, batch); err != nil {
			return err
		}
		batch, size = nil, 0
	}
	return nil
}

// scrub reads an email and scrubs its content. Only erasures, one at a time, change content, so
// this need not be within the write.
func (w *erasure) scrub(ctx context.Context, id string) (s scrubbed, size int64, err error) {
	s = scrubbed{id: id, set: w.set(id)}
	var email *app.Email
	err = w.s.DB.Read(ctx, func(r *db.Reader) (err error) {
		email, _, err = r.CompleteEmail(w.team.ID, id)
		return err
	})
	if errors.Is(err, db.ErrNotFound) {
		return s, 0, nil // deleted since
	}
	if err != nil {
		return s, 0, err
	}
	from := email.From
	changed, attachments := s.set.ScrubMail(&email.Mail)
	if !changed {
		return s, 0, nil
	}
	s.email, s.attachments = email, attachments
	s.unaddressed = email.From != from && email.From.IsErased()
	for _, a := range attachments {
		size += a.Size
	}
	return s, size + int64(len(email.HTML)+len(email.Text)), nil
}

// write stores scrubbed emails, except for those in flight.
func (w *erasure) write(ctx context.Context, batch []scrubbed) error {
	var busy map[string]bool
	err := w.s.DB.Write(ctx, func(tx *db.Tx) error {
		busy = map[string]bool{}
		for _, s := range batch {
			leaving, err := w.writeOne(tx, s)
			if err != nil {
				return fmt.Errorf("email %s: %w", s.id, err)
			}
			busy[s.id] = leaving
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, leaving := range busy {
		delete(w.inFlight, id)
		if leaving {
			w.inFlight[id] = true
		}
	}
	return nil
}

func (w *erasure) writeOne(tx *db.Tx, s scrubbed) (leaving bool, err error) {
	holds, err := tx.HoldsTraces(s.id, s.set)
	if err != nil || !holds && s.email == nil {
		return false, err
	}
	if leaving, err = w.s.withdrawFrom(tx, w.team.ID, s.id, s.set); err != nil || leaving {
		return leaving, err
	}
	if s.unaddressed {
		if err := w.s.cancelUnaddressed(tx, w.team.ID, s.id); err != nil {
			return false, err
		}
	}
	if s.email != nil {
		if err := tx.RewriteEmail(s.email, s.attachments); err != nil {
			return false, err
		}
	}
	return false, tx.EraseTraces(s.id, s.set)
}

// others processes all other tables.
func (w *erasure) others(ctx context.Context) error {
	for kind := range db.TextKinds {
		if err := w.texts(ctx, kind); err != nil {
			return err
		}
	}
	if err := w.contacts(ctx); err != nil {
		return err
	}
	if err := w.imports(ctx); err != nil {
		return err
	}
	if err := w.s.requestLog.Forget(ctx, w.team.ID, w.team.Until(), w.all, w.set); err != nil {
		return err
	}
	return w.s.DB.Write(ctx, func(tx *db.Tx) error { return tx.PurgeAnswersWithTraces(w.team.ID, w.all) })
}

func (w *erasure) texts(ctx context.Context, kind db.TextKind) error {
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
		for chunk := range slices.Chunk(rows, eraseChunk) {
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

// contacts scrubs names and properties of other contacts.
func (w *erasure) contacts(ctx context.Context) error {
	span := db.Span{Until: w.team.Until()}
	for {
		var rows []app.Contact
		var next string
		err := w.s.DB.Read(ctx, func(r *db.Reader) (err error) {
			rows, next, err = r.ContactsWithTraces(w.team.ID, span, eraseRows)
			return err
		})
		if err != nil {
			return err
		}
		for _, c := range rows {
			if !w.all.ScrubContact(&c) {
				continue
			}
			if err := w.contact(ctx, c.ID); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		span.After = next
	}
}

func (w *erasure) contact(ctx context.Context, id string) error {
	return w.s.DB.Write(ctx, func(tx *db.Tx) error {
		c, err := tx.Contact(w.team.ID, id)
		if err != nil {
			return base.IgnoreNotFound(err)
		}
		if !w.set(id).ScrubContact(&c) {
			return nil
		}
		return tx.UpdateContact(&c)
	})
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
