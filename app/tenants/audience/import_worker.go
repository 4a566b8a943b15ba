package audience

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/contactfile"
	"mailer/db"
)

const (
	// erasureWait is between two tries of an import that waits for an erasure.
	erasureWait          = 200 * time.Millisecond
	importPiecesPerWrite = 4  // deleted by one Write
	maxImportFailures    = 10 // tries of an import that fails
	importSweep          = base.IdleSweepMinutes * time.Minute
	// maxOpenImports is how many files stay open between the turns of their teams. Of
	// any more, the rows that were done are read over in each turn.
	maxOpenImports = 16
)

// importer works off imports, with one Write at a time and turns between teams: each
// takes one batch of its oldest import, so that a small file never waits for a large one
// of somebody else. All but the bell is the worker's alone.
type importer struct {
	signal           base.Signal
	lastTeam         string                // team whose turn it was
	runs             map[string]*importRun // open files, by team
	delayed          map[string]time.Time  // teams whose import waits, and until when
	failures         map[string]int        // tries in a row that failed, by import
	purgeAfter       time.Time             // nothing is deleted before, since that failed
	nextPartialCheck time.Time             // when files that never arrived whole are looked for again
}

func newImporter() importer {
	return importer{signal: base.NewSignal(), runs: map[string]*importRun{}, delayed: map[string]time.Time{}, failures: map[string]int{}}
}

// keepOpen holds the file of an import that is not over open, while there is room.
func (im *importer) keepOpen(run *importRun) {
	team := run.imp.TeamID
	delete(im.runs, team)
	if run.imp.CompletedAt.IsZero() && len(im.runs) < maxOpenImports {
		im.runs[team] = run
	}
}

// forget closes the file of an import that is gone.
func (im *importer) forget(id string) {
	delete(im.failures, id)
	for team, run := range im.runs {
		if run.imp.ID == id {
			delete(im.runs, team)
		}
	}
}

// wait has the import of a team wait, which is read anew then.
func (im *importer) delay(team string, d time.Duration) {
	delete(im.runs, team)
	im.delayed[team] = time.Now().Add(d)
}

// idleTime returns how long there is nothing to do, unless the bell rings.
func (im *importer) idleTime() time.Duration {
	now := time.Now()
	next := importSweep
	if im.purgeAfter.After(now) {
		next = im.purgeAfter.Sub(now)
	}
	for team, until := range im.delayed {
		if !until.After(now) {
			delete(im.delayed, team)
			continue
		}
		next = min(next, until.Sub(now))
	}
	return next
}

// remoteUploadTimeout is how long a file may be on its way through another server.
const remoteUploadTimeout = time.Hour

// startImports deletes what a crash left of files that were arriving, and sets
// the importer to work.
func (s *Imports) startImports(ctx context.Context) error {
	partial, err := s.partialImports(ctx)
	if err != nil {
		return err
	}
	s.Workers.Go(func() {
		s.purgePartial(partial)
		s.runImports(s.Claiming)
	})
	return nil
}

// nextPartialCheck returns the ids of imports whose files nobody brings any more.
func (s *Imports) partialImports(ctx context.Context) ([]string, error) {
	before := clock.Now()
	if s.DB.Cluster().Shared() {
		before = before.Add(-remoteUploadTimeout)
	}
	ids, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]string, error) { return r.StoredImports(contactfile.Uploading, before) })
	if err != nil {
		return nil, fmt.Errorf("look for partial imports: %w", err)
	}
	return ids, nil
}

func (s *Imports) purgePartial(ids []string) {
	for _, id := range ids {
		if err := s.purgeImport(s.Claiming, id); err != nil && s.Claiming.Err() == nil {
			s.Log.Warn("file of a partial import not deleted", "import", id, "err", err)
		}
	}
}

// purgeRemotePartial deletes, now and then, what other servers that died left of files that
// were arriving. Where no other server can be, the start has done so.
func (s *Imports) purgeRemotePartial(ctx context.Context) error {
	now := time.Now()
	if !s.DB.Cluster().Shared() || now.Before(s.imports.nextPartialCheck) {
		return nil
	}
	s.imports.nextPartialCheck = now.Add(importSweep)
	ids, err := s.partialImports(ctx)
	s.purgePartial(ids)
	return err
}

// Wake has the importer look for work that another process left.
func (s *Imports) Wake() { s.imports.signal.Notify() }

// runImports works until ctx ends. What fails is tried again a little later.
func (s *Imports) runImports(ctx context.Context) {
	for {
		wait, err := s.importRound(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.Log.Error("import contacts", "err", err)
		}
		if wait > 0 && !base.Sleep(ctx, wait, s.imports.signal) {
			return
		}
	}
}

// importRound deletes a little of what is over and works off a batch of the import whose
// turn it is. It returns how long there is nothing more to do.
func (s *Imports) importRound(ctx context.Context) (wait time.Duration, err error) {
	purged, purgeErr := s.purgeFinished(ctx)
	i, err := s.nextImport(ctx)
	switch {
	case errors.Is(err, db.ErrNotFound) && purged:
		return 0, nil
	case errors.Is(err, db.ErrNotFound):
		return s.imports.idleTime(), errors.Join(purgeErr, s.purgeRemotePartial(ctx))
	case err != nil:
		return base.SweepEvery, errors.Join(purgeErr, fmt.Errorf("look for imports: %w", err))
	}
	s.imports.lastTeam = i.TeamID
	wait, err = s.runBatch(ctx, i)
	return wait, errors.Join(purgeErr, err)
}

// nextImport returns the import whose turn it is: of the first team after the last one,
// round in a circle, that need not wait. Error: db.ErrNotFound for none.
func (s *Imports) nextImport(ctx context.Context) (i contactfile.Import, err error) {
	im, now := &s.imports, time.Now()
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		after, wrapped := im.lastTeam, false
		for {
			i, err = r.NextImport(after)
			switch {
			case errors.Is(err, db.ErrNotFound) && !wrapped:
				after, wrapped = "", true
				continue
			case err != nil:
				return err
			case wrapped && i.TeamID > im.lastTeam:
				return db.ErrNotFound
			case !im.delayed[i.TeamID].After(now):
				return nil
			}
			after = i.TeamID
		}
	})
	return i, err
}

// runImport does a batch of an import, whose file stays open for the next one.
func (s *Imports) runBatch(ctx context.Context, i contactfile.Import) (wait time.Duration, err error) {
	im := &s.imports
	run := im.runs[i.TeamID]
	if run == nil || run.imp.ID != i.ID || run.imp.Total() != i.Total() {
		run = &importRun{s: s, imp: i, erasures: s.erasuresBegun.get(i.TeamID)}
	}
	err = run.step(ctx)
	switch {
	case err == nil:
		delete(im.failures, i.ID)
		im.keepOpen(run)
		return 0, nil
	case errors.Is(err, errGone):
		im.forget(i.ID)
		return 0, nil
	case errors.Is(err, db.ErrFull), base.IsUnavailable(err):
		im.keepOpen(run)
		return base.SweepEvery, nil
	case errors.Is(err, errErasing):
		im.delay(i.TeamID, erasureWait)
		return 0, nil
	}
	im.delay(i.TeamID, base.SweepEvery)
	return 0, s.countFailure(ctx, i, err)
}

// countFailure counts failures of an import in a row. One that fails again and again while
// the store works is ended: the others of its team wait behind it.
func (s *Imports) countFailure(ctx context.Context, i contactfile.Import, err error) error {
	failures := s.imports.failures
	failures[i.ID]++
	err = fmt.Errorf("import %s: %w", i.ID, err)
	if ctx.Err() != nil || s.DB.Err() != nil || failures[i.ID] < maxImportFailures {
		return err
	}
	delete(failures, i.ID)
	run := &importRun{s: s, imp: i}
	if failErr := run.fail(ctx, "The rows could not be stored; the server's log has the details"); !errors.Is(failErr, errGone) {
		err = errors.Join(err, failErr)
	}
	return err
}

// purgeFinished deletes, in one Write, a little of an import that is over or was deleted: of
// the file of the one, of all of the other.
func (s *Imports) purgeFinished(ctx context.Context) (purged bool, err error) {
	im := &s.imports
	if time.Now().Before(im.purgeAfter) {
		return false, nil
	}
	id, err := db.Get(ctx, s.DB, (*db.Reader).NextImportOver)
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		im.forget(id)
		_, err = s.purgeChunk(ctx, id)
	}
	if err != nil {
		im.purgeAfter = time.Now().Add(base.SweepEvery)
		return false, fmt.Errorf("delete what is left of import %q: %w", id, err)
	}
	return true, nil
}

// purgeImport deletes a file in small Writes.
func (s *Imports) purgeImport(ctx context.Context, id string) error {
	for more := true; more; {
		var err error
		if more, err = s.purgeChunk(ctx, id); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// purgeChunk deletes a part of a file or of what else is left of an import, in a vital
// Write: it makes room.
func (s *Imports) purgeChunk(ctx context.Context, id string) (more bool, err error) {
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) (err error) {
		more, err = tx.PurgeImport(id, importPiecesPerWrite, base.PurgeChunk)
		return err
	})
	return more, err
}

// PurgeImports marks imports that were over for longer than contactfile.Retention as deleted,
// and has the importer delete them.
func (s *Imports) PurgeImports(ctx context.Context) error {
	return s.InChunks(ctx, "old imports", func(tx *db.Tx) (bool, error) {
		n, err := tx.DeleteOldImports(tx.Now.Add(-contactfile.Retention), base.PurgeChunk)
		if n > 0 {
			tx.AfterCommit(s.imports.signal.Notify)
		}
		return n == base.PurgeChunk, err
	})
}
