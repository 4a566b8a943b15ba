package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/importing"
	"mailer/db"
)

// upload imports a file and gives the import's id.
func (w *world) upload(in importing.ImportInput, csv string) string {
	w.t.Helper()
	id, err := w.e.CreateImport(w.t.Context(), w.key, func(file io.Writer) (importing.ImportInput, error) {
		_, err := io.WriteString(file, csv)
		return in, err
	})
	must(w.t, err)
	return id
}

func (w *world) imported(id string) (importing.Import, []importing.ImportError) {
	w.t.Helper()
	i, flaws, err := w.e.GetImport(w.t.Context(), w.key, id)
	must(w.t, err)
	return i, flaws
}

// wantImport checks status, error and counts (created, updated, skipped,
// failed), and that as many contacts are there as the team's counter says.
func (w *world) wantImport(id string, status importing.ImportStatus, words string, want importing.ImportCounts) {
	w.t.Helper()
	i, _ := w.imported(id)
	if i.Status != status || !strings.Contains(i.Error, words) || (words == "") != (i.Error == "") || i.ImportCounts != want {
		w.t.Errorf("import %s %q %+v, want %s %q %+v", i.Status, i.Error, i.ImportCounts, status, words, want)
	}
	if over := status == importing.ImportCompleted || status == importing.ImportFailed; over == i.CompletedAt.IsZero() {
		w.t.Errorf("%s, completed at %v", i.Status, i.CompletedAt)
	}
}

// contacts counts the team's contacts one by one and by the counter.
func (w *world) contacts() (n int) {
	w.t.Helper()
	w.read(func(r *db.Reader) error {
		page := app.Page{Limit: 100}
		for more := true; more; {
			var rows []app.Contact
			var err error
			if rows, more, err = r.ListContacts(w.key.TeamID, page); err != nil {
				return err
			}
			if n += len(rows); more {
				page.After = rows[len(rows)-1].ID
			}
		}
		counter, err := r.ContactCount(w.key.TeamID)
		if counter != n {
			w.t.Errorf("the counter says %d of %d contacts", counter, n)
		}
		return err
	})
	return n
}

// wantNoFiles proves that no piece of the import is left.
func (w *world) wantNoFiles(ids ...string) {
	w.t.Helper()
	w.read(func(r *db.Reader) error {
		for _, status := range []importing.ImportStatus{importing.ImportUploading, importing.ImportQueued, importing.ImportInProgress, importing.ImportCompleted, importing.ImportFailed} {
			if left, err := r.StoredImports(status); err != nil || len(left) > 0 {
				w.t.Errorf("files of %s imports %q, %v", status, left, err)
			}
		}
		for _, id := range ids {
			if _, err := r.Piece(id, 0); !errors.Is(err, db.ErrNotFound) {
				w.t.Errorf("the first piece of %s: %v", id, err)
			}
		}
		return nil
	})
}

// sheet is a file of n good rows, of which every seventh is followed by a bad
// one and every fifth comes again.
func sheet(n int) (csv string, want importing.ImportCounts) {
	var b strings.Builder
	b.WriteString("email,name\n")
	for i := range n {
		fmt.Fprintf(&b, "c%d@example.org,\"N\n%d\"\n", i, i)
		want.Created++
		if i%7 == 0 {
			b.WriteString("nobody,x\n\n")
			want.Failed++
		}
		if i%5 == 0 {
			fmt.Fprintf(&b, "C%d@example.org,y\n", i)
			want.Skipped++
		}
	}
	return b.String(), want
}

// work does up to n Writes of an import, as the importer would.
func (w *world) work(n int) (id string) {
	w.t.Helper()
	var run *importRun
	w.read(func(r *db.Reader) error {
		i, err := r.NextImport()
		run = &importRun{e: w.e, i: i}
		return err
	})
	var err error
	run.rows, _, err = importing.ReadImport(w.e.importFile(w.t.Context(), run.i.ID))
	must(w.t, err)
	must(w.t, run.skip(run.i.Total()))
	for range n {
		batch, err := run.read()
		must(w.t, err)
		must(w.t, run.write(w.t.Context(), batch))
	}
	return run.i.ID
}

func TestACrashInAnImportGoesOnExactlyWhereItStood(t *testing.T) {
	csv, want := sheet(700)
	writes := want.Total()/importRows + 1
	for n := range writes + 1 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := idle(t, newRelay(nil))
				id := w.upload(importing.ImportInput{}, csv)
				w.wantImport(id, importing.ImportQueued, "", importing.ImportCounts{})
				w.work(n)
				before, _ := w.imported(id)
				if got := min(n*importRows, want.Total()); before.Total() != got || before.CompletedAt.IsZero() != (n < writes) {
					t.Fatalf("after %d writes %+v", n, before)
				}
				next := w.crash(newRelay(nil))
				next.start()
				synctest.Wait()
				next.wantImport(id, importing.ImportCompleted, "", want)
				if got := next.contacts(); got != want.Created {
					t.Errorf("%d contacts, want %d", got, want.Created)
				}
				_, flaws := next.imported(id)
				lines := map[int]bool{}
				for _, f := range flaws {
					lines[f.Line] = true
				}
				if len(lines) != min(want.Failed, importing.MaxImportErrorsShown) {
					t.Errorf("%d errors on %d lines, want %d", len(flaws), len(lines), want.Failed)
				}
				next.wantNoFiles(id)
			})
		})
	}
}

func TestACrashInAnUploadLeavesNothingAfterTheStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		var next *world
		var id string
		_, err := w.e.CreateImport(t.Context(), w.key, func(file io.Writer) (importing.ImportInput, error) {
			_, err := file.Write(make([]byte, 10*importPiece+1))
			must(t, err)
			w.read(func(r *db.Reader) error {
				ids, err := r.StoredImports(importing.ImportUploading)
				id = ids[0]
				return err
			})
			_, _, err = w.e.GetImport(t.Context(), w.key, id)
			wantCode(t, err, app.CodeNotFound)
			if rows, _, err := w.e.ListImports(t.Context(), w.key, "", app.Page{Limit: 10}); err != nil || len(rows) != 0 {
				t.Errorf("listed %+v, %v", rows, err)
			}
			next = w.crash(newRelay(nil))
			return importing.ImportInput{}, io.ErrUnexpectedEOF
		})
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
		w.wantNoFiles(id)
		next.start()
		synctest.Wait()
		next.wantNoFiles(id)
	})
}

func TestAStoppedImportGoesOnAfterTheStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		csv, want := sheet(3000)
		w := serving(t, newRelay(nil))
		id := w.upload(importing.ImportInput{}, csv)
		w.stop()
		w.open()
		i, _ := w.imported(id)
		if i.Status == importing.ImportCompleted {
			t.Log("the import was done before the stop")
		}
		w.start()
		synctest.Wait()
		w.wantImport(id, importing.ImportCompleted, "", want)
		if got := w.contacts(); got != want.Created {
			t.Errorf("%d contacts, want %d", got, want.Created)
		}
	})
}

func TestImportsComeOneByOneOldestFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		first := w.upload(importing.ImportInput{}, "email\na@example.org\nb@example.org\n")
		second := w.upload(importing.ImportInput{OnConflict: "upsert"}, "email\nb@example.org\nc@example.org\n")
		w.start()
		synctest.Wait()
		w.wantImport(first, importing.ImportCompleted, "", importing.ImportCounts{Created: 2})
		w.wantImport(second, importing.ImportCompleted, "", importing.ImportCounts{Created: 1, Updated: 1})
		third := w.upload(importing.ImportInput{}, "email\nd@example.org\n") // while the importer sleeps
		synctest.Wait()
		w.wantImport(third, importing.ImportCompleted, "", importing.ImportCounts{Created: 1})
		w.wantNoFiles(first, second, third)
	})
}

func TestAnImportWaitsForAFullDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		csv, want := sheet(300)
		w := idle(t, newRelay(nil))
		id := w.upload(importing.ImportInput{}, csv)
		w.work(1)
		half, _ := w.imported(id)
		if err := w.strike(fullStorage(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		go w.e.runImports(w.e.taking)
		synctest.Wait()
		w.wantImport(id, importing.ImportInProgress, "", half.ImportCounts)
		_, err := w.e.CreateImport(t.Context(), w.key, nil)
		wantCode(t, err, app.CodeServiceUnavailable)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		w.wantImport(id, importing.ImportCompleted, "", want)
		stopNow(w.e)
	})
}

func TestAnUploadThatMeetsAFullDiskIsDeletedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		_, err := w.e.CreateImport(t.Context(), w.key, func(file io.Writer) (importing.ImportInput, error) {
			_, err := file.Write(make([]byte, 5*importPiece))
			must(t, err)
			_ = w.strike(fullStorage(t))
			_, err = file.Write(make([]byte, importPiece))
			return importing.ImportInput{}, err
		})
		wantCode(t, err, app.CodeServiceUnavailable)
		w.wantNoFiles()
	})
}

func TestACallerThatGoesAwayLeavesNoFile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		ctx, cancel := context.WithCancel(t.Context())
		_, err := w.e.CreateImport(ctx, w.key, func(file io.Writer) (importing.ImportInput, error) {
			_, err := file.Write(make([]byte, importPiece))
			must(t, err)
			cancel()
			return importing.ImportInput{}, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		w.wantNoFiles()
	})
}

func TestASegmentDeletedInMidImportFailsItInWords(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, kind := range []string{"segment", "topic"} {
			csv, _ := sheet(300)
			w := idle(t, newRelay(nil))
			s := app.Segment{ID: app.NewID(), TeamID: w.key.TeamID, Name: "s", CreatedAt: time.Now()}
			topic := app.Topic{ID: app.NewID(), TeamID: w.key.TeamID, Name: "t", Default: app.OptIn, Visibility: app.PublicTopic, CreatedAt: time.Now()}
			must(t, w.db.Write(t.Context(), func(tx *db.Tx) error { return errors.Join(tx.InsertSegment(&s), tx.InsertTopic(&topic)) }))
			id := w.upload(importing.ImportInput{Segments: []app.SegmentRef{{ID: s.ID}, {ID: s.ID}}, Topics: []app.TopicChoice{{ID: topic.ID, Subscription: app.OptOut}}}, csv)
			w.work(1)
			half, _ := w.imported(id)
			must(t, w.db.Write(t.Context(), func(tx *db.Tx) error {
				if kind == "topic" {
					return tx.DeleteTopic(w.key.TeamID, topic.ID)
				}
				members, err := tx.Segment(w.key.TeamID, s.ID)
				if members.Members != half.Created {
					t.Errorf("%d members of %d contacts", members.Members, half.Created)
				}
				return errors.Join(err, tx.DeleteSegment(w.key.TeamID, s.ID))
			}))
			w.start()
			synctest.Wait()
			w.wantImport(id, importing.ImportFailed, "The requested "+kind+" was not found; it was deleted while the import ran", half.ImportCounts)
			if got := w.contacts(); got != half.Created {
				t.Errorf("%d contacts, want %d", got, half.Created)
			}
			w.wantNoFiles(id)
		}
	})
}

// plant queues an import whose plan no upload would have.
func (w *world) plant(plan *importing.ImportPlan, csv string) string {
	w.t.Helper()
	id := app.NewID()
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		err := tx.InsertImport(&importing.Import{ID: id, TeamID: w.key.TeamID, CreatedAt: tx.Now})
		return errors.Join(err, tx.AddPiece(id, 0, []byte(csv)), tx.QueueImport(w.key.TeamID, id, plan))
	}))
	return id
}

func TestAnImportThatCantBeDoneHoldsUpNoOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		column := importing.ImportColumn{Name: `"email"`, Field: "email"}
		panics := w.plant(&importing.ImportPlan{Conflict: app.ConflictSkip, Width: 1, Columns: []importing.ImportColumn{{Index: 5, Name: "6", Field: "email"}}}, "email\na@example.org\n")
		conflicts := w.plant(&importing.ImportPlan{Conflict: app.ConflictError, Width: 1, Columns: []importing.ImportColumn{column}}, "email\na@example.org\na@example.org\n")
		empty := w.plant(&importing.ImportPlan{Conflict: app.ConflictSkip, Width: 1, Columns: []importing.ImportColumn{column}}, "")
		good := w.upload(importing.ImportInput{}, "email\na@example.org\n")
		w.start()
		time.Sleep(importStrikes * time.Minute)
		synctest.Wait()
		w.wantImport(panics, importing.ImportFailed, "fault of its own", importing.ImportCounts{})
		w.wantImport(conflicts, importing.ImportFailed, "could not be stored", importing.ImportCounts{})
		w.wantImport(empty, importing.ImportFailed, "not stored any more", importing.ImportCounts{})
		w.wantImport(good, importing.ImportCompleted, "", importing.ImportCounts{Created: 1})
		w.wantNoFiles(panics, conflicts, empty, good)
	})
}

func TestTheFirstTenThousandRowErrorsAreKeptAndAllAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		id := w.upload(importing.ImportInput{}, "email\n"+strings.Repeat("nobody\n", importing.MaxImportErrors+250)+"a@example.org\n")
		synctest.Wait()
		w.wantImport(id, importing.ImportCompleted, "", importing.ImportCounts{Created: 1, Failed: importing.MaxImportErrors + 250})
		page, kept, line := app.Page{Limit: 100}, 0, 1
		for more := true; more; {
			var rows []importing.ImportError
			var err error
			rows, more, err = w.e.ListImportErrors(t.Context(), w.key, id, page)
			must(t, err)
			for _, row := range rows {
				if line++; row.Line != line {
					t.Fatalf("line %d where %d was to come", row.Line, line)
				}
			}
			kept += len(rows)
			page.After = rows[len(rows)-1].ID
		}
		if kept != importing.MaxImportErrors {
			t.Errorf("%d errors are kept", kept)
		}
	})
}

func TestAnImportStandsBackWhileCallersWaitAndEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		csv, want := sheet(1000)
		w := idle(t, newRelay(nil))
		w.e.cfg.Load = &app.Load{}
		leave := w.e.cfg.Load.Enter()
		defer leave()
		start := time.Now()
		id := w.upload(importing.ImportInput{}, csv)
		w.start()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.wantImport(id, importing.ImportCompleted, "", want)
		i, _ := w.imported(id)
		writes := time.Duration(want.Total() / importRows)
		if took := i.CompletedAt.Sub(start); took < writes*importYield || took > 2*writes*importYield {
			t.Errorf("it took %v of %d writes", took, writes)
		}
	})
}

func TestRowsThatWereReadBeforeAnErasureDoNotBringTheAddressBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		csv := "email\neve@erase.example\n"
		for i := range 250 {
			csv += fmt.Sprintf("c%d@example.org\n", i)
		}
		id := w.upload(importing.ImportInput{OnConflict: string(app.ConflictUpsert)}, csv+"Eve@erase.example\n")
		var run *importRun
		w.read(func(r *db.Reader) error {
			i, err := r.NextImport()
			run = &importRun{e: w.e, i: i}
			return err
		})
		var err error
		run.rows, _, err = importing.ReadImport(w.e.importFile(t.Context(), id))
		must(t, err)
		first, err := run.read()
		must(t, err)
		must(t, run.write(t.Context(), first))
		second, err := run.read()
		must(t, err)
		_, err = w.e.DeleteContact(t.Context(), w.key, "eve@erase.example", true)
		must(t, err)
		if err := run.write(t.Context(), second); !errors.Is(err, errErasing) {
			t.Errorf("rows that were read before: %v", err)
		}
		w.start()
		synctest.Wait()
		w.wantImport(id, importing.ImportCompleted, "", importing.ImportCounts{Created: 251, Failed: 1})
		if _, err := w.e.GetContact(t.Context(), w.key, "eve@erase.example"); app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("the contact is back: %v", err)
		}
	})
}
