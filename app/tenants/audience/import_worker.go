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
	// erasureWait is the pause of an import that waits for an erasure.
	erasureWait          = 200 * time.Millisecond
	importPiecesPerWrite = 4  // deleted by one Write
	maxImportFailures    = 10 // consecutive failures after which an import is ended
	importSweep          = base.IdleSweepMinutes * time.Minute
	// maxOpenImports is how many files stay open between batches. Further files are reopened for
	// each batch, and the rows that are done are skipped.
	maxOpenImports = 16
)

// importer processes imports, one Write at a time. Teams take turns: each gets one batch of its
// oldest import, so that a small file does not wait for a large file of another team. Only the
// worker uses its fields, except signal.
type importer struct {
	signal           base.Signal
	lastTeam         string                // team of the last batch
	runs             map[string]*importRun // open files, by team
	delayed          map[string]time.Time  // teams whose import waits, and until when
	failures         map[string]int        // consecutive failures, by import
	purgeAfter       time.Time             // earliest time of the next deletion, after one that failed
	nextPartialCheck time.Time             // when incomplete uploads are looked for again
}

func newImporter() importer {
	return importer{signal: base.NewSignal(), runs: map[string]*importRun{}, delayed: map[string]time.Time{}, failures: map[string]int{}}
}

// keepOpen keeps the file of an unfinished import open, if there is space.
func (im *importer) keepOpen(run *importRun) {
	team := run.imp.TeamID
	delete(im.runs, team)
	if run.imp.CompletedAt.IsZero() && len(im.runs) < maxOpenImports {
		im.runs[team] = run
	}
}

// forget closes the file of a deleted import.
func (im *importer) forget(id string) {
	delete(im.failures, id)
	for team, run := range im.runs {
		if run.imp.ID == id {
			delete(im.runs, team)
		}
	}
}

// delay makes the import of a team wait, after which its file is opened again.
func (im *importer) delay(team string, d time.Duration) {
	delete(im.runs, team)
	im.delayed[team] = time.Now().Add(d)
}

// idleTime returns how long there is nothing to do without a signal.
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

// remoteUploadTimeout is how long an upload to another server may take.
const remoteUploadTimeout = time.Hour

// startImports deletes incomplete uploads of a crashed process and starts the importer.
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

// partialImports returns the ids of incomplete uploads that nobody continues.
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

// purgeRemotePartial deletes, now and then, incomplete uploads of other servers that crashed. A
// database with one server needs only the deletion at the start.
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

// Wake makes the importer look for imports of other processes.
func (s *Imports) Wake() { s.imports.signal.Notify() }

// runImports works until ctx ends. After a failure it tries again later.
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

// importRound deletes a part of a finished import and processes one batch of the next import. It
// returns how long there is nothing more to do.
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

// nextImport returns the next import: of the first team after the last one, in a circle, that is
// not delayed. Error: db.ErrNotFound for none.
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

// runBatch processes one batch of an import. Its file stays open for the next one.
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

// countFailure counts consecutive failures of an import, and ends an import that keeps failing
// while the store works: it delays the other imports of its team.
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

// purgeFinished deletes, in one Write, a part of a finished or deleted import: of the file of the
// former, of all rows of the latter.
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
		return false, fmt.Errorf("delete the data of import %q: %w", id, err)
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

// purgeChunk deletes a part of an import's data. The Write is critical, since it frees space.
func (s *Imports) purgeChunk(ctx context.Context, id string) (more bool, err error) {
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) (err error) {
		more, err = tx.PurgeImport(id, importPiecesPerWrite, base.PurgeChunk)
		return err
	})
	return more, err
}

// PurgeImports marks imports as deleted that ended longer than contactfile.Kept ago. The importer
// then deletes them.
func (s *Imports) PurgeImports(ctx context.Context) error {
	return s.InChunks(ctx, "old imports", func(tx *db.Tx) (bool, error) {
		n, err := tx.DeleteOldImports(tx.Now.Add(-contactfile.Retention), base.PurgeChunk)
		if n > 0 {
			tx.AfterCommit(s.imports.signal.Notify)
		}
		return n == base.PurgeChunk, err
	})
}
