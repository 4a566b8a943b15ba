package audience_test

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
	"mailer/app/rules/contactfile"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// sheet returns a file of n good rows. Every seventh row is followed by a bad one, and every fifth
// is repeated.
func sheet(n int) (csv string, want contactfile.Counts) {
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

// openRun opens the file of the next import.
func openRun(w *testserver.Server) (run *audience.ImportRun) {
	w.T.Helper()
	w.Read(func(r *db.Reader) error {
		i, err := r.NextImport("")
		run = audience.NewImportRun(w.Services.Imports, i)
		return err
	})
	testserver.Must(w.T, run.Open(w.T.Context()))
	return run
}

// runImport runs up to n Writes of an import, as the importer does.
func runImport(w *testserver.Server, n int) (id string) {
	w.T.Helper()
	run := openRun(w)
	for range n {
		batch, err := run.Read()
		testserver.Must(w.T, err)
		testserver.Must(w.T, run.Write(w.T.Context(), batch))
	}
	return run.I().ID
}

func TestImportResumesExactlyAfterCrash(t *testing.T) {
	testserver.BothEngines(t)
	csv, want := sheet(700)
	writes := want.Total()/audience.ImportRows + 1
	for n := range writes + 1 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w := testserver.New(t, testserver.NewRelay(nil))
				id := upload(w, contactfile.Input{}, csv)
				wantImport(w, id, contactfile.Queued, "", contactfile.Counts{})
				runImport(w, n)
				before, _ := w.GetImport(id)
				if got := min(n*audience.ImportRows, want.Total()); before.Total() != got || before.CompletedAt.IsZero() != (n < writes) {
					t.Fatalf("after %d writes %+v", n, before)
				}
				next := w.Crash(testserver.NewRelay(nil))
				next.Start()
				synctest.Wait()
				wantImport(next, id, contactfile.Completed, "", want)
				if got := next.CountContacts(); got != want.Created {
					t.Errorf("%d contacts, want %d", got, want.Created)
				}
				_, rowErrors := next.GetImport(id)
				lines := map[int]bool{}
				for _, f := range rowErrors {
					lines[f.Line] = true
				}
				if len(lines) != min(want.Failed, contactfile.MaxErrorsShown) {
					t.Errorf("%d errors on %d lines, want %d", len(rowErrors), len(lines), want.Failed)
				}
				wantNoFiles(next, id)
			})
		})
	}
}

func TestCrashedUploadIsPurgedAtStart(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		var next *testserver.Server
		var id string
		_, err := w.Services.Imports.CreateImport(t.Context(), w.Key, func(file io.Writer) (contactfile.Input, error) {
			_, err := file.Write(make([]byte, 10*audience.ImportPiece+1))
			testserver.Must(t, err)
			w.Read(func(r *db.Reader) error {
				ids, err := r.StoredImports(contactfile.Uploading, time.Now())
				id = ids[0]
				return err
			})
			_, _, err = w.Services.Imports.GetImport(t.Context(), w.Key, id)
			testserver.WantCode(t, err, app.CodeNotFound)
			if rows, _, err := w.Services.Imports.ListImports(t.Context(), w.Key, "", app.Page{Limit: 10}); err != nil || len(rows) != 0 {
				t.Errorf("listed %+v, %v", rows, err)
			}
			next = w.Crash(testserver.NewRelay(nil))
			return contactfile.Input{}, io.ErrUnexpectedEOF
		})
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
		if next.Path != w.Path { // otherwise the old server can't write to the database of the new one
			wantNoFiles(w, id)
		}
		next.Start()
		if next.DB.Cluster().Shared() { // another server could still be receiving the file
			time.Sleep(90 * time.Minute)
		}
		synctest.Wait()
		wantNoFiles(next, id)
	})
}

func TestImportResumesAfterShutdown(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		csv, want := sheet(3000)
		w := testserver.Start(t, testserver.NewRelay(nil))
		id := upload(w, contactfile.Input{}, csv)
		w.Stop()
		w.Open()
		i, _ := w.GetImport(id)
		if i.Status == contactfile.Completed {
			t.Log("the import was done before the stop")
		}
		w.Start()
		synctest.Wait()
		wantImport(w, id, contactfile.Completed, "", want)
		if got := w.CountContacts(); got != want.Created {
			t.Errorf("%d contacts, want %d", got, want.Created)
		}
	})
}

func TestImportsRunOldestFirst(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		first := upload(w, contactfile.Input{}, "email\na@example.org\nb@example.org\n")
		second := upload(w, contactfile.Input{OnConflict: "upsert"}, "email\nb@example.org\nc@example.org\n")
		w.Start()
		synctest.Wait()
		wantImport(w, first, contactfile.Completed, "", contactfile.Counts{Created: 2})
		wantImport(w, second, contactfile.Completed, "", contactfile.Counts{Created: 1, Updated: 1})
		third := upload(w, contactfile.Input{}, "email\nd@example.org\n") // while the importer sleeps
		synctest.Wait()
		wantImport(w, third, contactfile.Completed, "", contactfile.Counts{Created: 1})
		wantNoFiles(w, first, second, third)
	})
}

func TestImportWaitsOnFullDisk(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		csv, want := sheet(300)
		w := testserver.New(t, testserver.NewRelay(nil))
		id := upload(w, contactfile.Input{}, csv)
		runImport(w, 1)
		half, _ := w.GetImport(id)
		if err := w.FailWrite(testserver.DiskFullError(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		go w.Services.Imports.RunImports(w.Services.Claiming)
		synctest.Wait()
		wantImport(w, id, contactfile.InProgress, "", half.Counts)
		_, err := w.Services.Imports.CreateImport(t.Context(), w.Key, nil)
		testserver.WantCode(t, err, app.CodeServiceUnavailable)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		wantImport(w, id, contactfile.Completed, "", want)
		testserver.StopNow(w.Services)
	})
}

func TestUploadOnFullDiskIsDeleted(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		_, err := w.Services.Imports.CreateImport(t.Context(), w.Key, func(file io.Writer) (contactfile.Input, error) {
			_, err := file.Write(make([]byte, 5*audience.ImportPiece))
			testserver.Must(t, err)
			_ = w.FailWrite(testserver.DiskFullError(t))
			_, err = file.Write(make([]byte, audience.ImportPiece))
			return contactfile.Input{}, err
		})
		testserver.WantCode(t, err, app.CodeServiceUnavailable)
		wantNoFiles(w)
	})
}

func TestCanceledUploadLeavesNoFile(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		ctx, cancel := context.WithCancel(t.Context())
		_, err := w.Services.Imports.CreateImport(ctx, w.Key, func(file io.Writer) (contactfile.Input, error) {
			_, err := file.Write(make([]byte, audience.ImportPiece))
			testserver.Must(t, err)
			cancel()
			return contactfile.Input{}, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		wantNoFiles(w)
	})
}

func TestSegmentDeletedDuringImport(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		for _, kind := range []string{"segment", "topic"} {
			csv, _ := sheet(300)
			w := testserver.New(t, testserver.NewRelay(nil))
			s := app.Segment{ID: app.NewID(), TeamID: w.Key.TeamID, Name: "s", CreatedAt: time.Now()}
			topic := app.Topic{ID: app.NewID(), TeamID: w.Key.TeamID, Name: "t", Default: app.OptIn, Visibility: app.PublicTopic, CreatedAt: time.Now()}
			testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return errors.Join(tx.InsertSegment(&s), tx.InsertTopic(&topic)) }))
			id := upload(w, contactfile.Input{Segments: []app.SegmentRef{{ID: s.ID}, {ID: s.ID}}, Topics: []app.TopicChoice{{ID: topic.ID, Subscription: app.OptOut}}}, csv)
			runImport(w, 1)
			half, _ := w.GetImport(id)
			testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
				if kind == "topic" {
					return tx.DeleteTopic(w.Key.TeamID, topic.ID)
				}
				members, err := tx.Segment(w.Key.TeamID, s.ID)
				if members.Members != half.Created {
					t.Errorf("%d members of %d contacts", members.Members, half.Created)
				}
				return errors.Join(err, tx.DeleteSegment(w.Key.TeamID, s.ID))
			}))
			w.Start()
			synctest.Wait()
			wantImport(w, id, contactfile.Failed, "The requested "+kind+" was not found; it was deleted while the import ran", half.Counts)
			if got := w.CountContacts(); got != half.Created {
				t.Errorf("%d contacts, want %d", got, half.Created)
			}
			wantNoFiles(w, id)
		}
	})
}

func TestBrokenImportDelaysNoOther(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		column := contactfile.Column{Name: `"email"`, Field: "email"}
		panics := queueImport(w, &contactfile.Plan{Conflict: app.ConflictSkip, Sheet: contactfile.Sheet{Width: 1, Columns: []contactfile.Column{{Index: -1, Name: "0", Field: "email"}}}}, "email\na@example.org\n")
		conflicts := queueImport(w, &contactfile.Plan{Conflict: app.ConflictError, Sheet: contactfile.Sheet{Width: 1, Columns: []contactfile.Column{column}}}, "email\na@example.org\na@example.org\n")
		empty := queueImport(w, &contactfile.Plan{Conflict: app.ConflictSkip, Sheet: contactfile.Sheet{Width: 1, Columns: []contactfile.Column{column}}}, "")
		good := upload(w, contactfile.Input{}, "email\na@example.org\n")
		w.Start()
		time.Sleep(audience.MaxImportFailures * time.Minute)
		synctest.Wait()
		wantImport(w, panics, contactfile.Failed, "fault of its own", contactfile.Counts{})
		wantImport(w, conflicts, contactfile.Failed, "could not be stored", contactfile.Counts{})
		wantImport(w, empty, contactfile.Failed, "not stored any more", contactfile.Counts{})
		wantImport(w, good, contactfile.Completed, "", contactfile.Counts{Created: 1})
		wantNoFiles(w, panics, conflicts, empty, good)
	})
}

func TestRowErrorsAreBoundedAndCounted(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		id := upload(w, contactfile.Input{}, "email\n"+strings.Repeat("nobody\n", contactfile.MaxErrors+250)+"a@example.org\n")
		synctest.Wait()
		wantImport(w, id, contactfile.Completed, "", contactfile.Counts{Created: 1, Failed: contactfile.MaxErrors + 250})
		page, kept, line := app.Page{Limit: 100}, 0, 1
		for more := true; more; {
			var rows []contactfile.RowError
			var err error
			rows, more, err = w.Services.Imports.ListImportErrors(t.Context(), w.Key, id, page)
			testserver.Must(t, err)
			for _, row := range rows {
				if line++; row.Line != line {
					t.Fatalf("line %d where %d was to come", row.Line, line)
				}
			}
			kept += len(rows)
			page.After = rows[len(rows)-1].ID
		}
		if kept != contactfile.MaxErrors {
			t.Errorf("%d errors are kept", kept)
		}
	})
}

func TestImportYieldsToWaitingCallers(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		csv, want := sheet(1000)
		w := testserver.New(t, testserver.NewRelay(nil))
		w.Services.Load = &app.Load{}
		leave := w.Services.Load.Enter()
		defer leave()
		start := time.Now()
		id := upload(w, contactfile.Input{}, csv)
		w.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		wantImport(w, id, contactfile.Completed, "", want)
		i, _ := w.GetImport(id)
		writes := time.Duration(want.Total() / audience.ImportRows)
		if took := i.CompletedAt.Sub(start); took < writes*audience.ImportYield || took > 2*writes*audience.ImportYield {
			t.Errorf("it took %v of %d writes", took, writes)
		}
	})
}

func TestRowsReadBeforeErasureAreDropped(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		csv := "email\neve@erase.example\n"
		for i := range 250 {
			csv += fmt.Sprintf("c%d@example.org\n", i)
		}
		id := upload(w, contactfile.Input{OnConflict: string(app.ConflictUpsert)}, csv+"Eve@erase.example\n")
		run := openRun(w)
		first, err := run.Read()
		testserver.Must(t, err)
		testserver.Must(t, run.Write(t.Context(), first))
		second, err := run.Read()
		testserver.Must(t, err)
		_, err = w.Services.Audience.DeleteContact(t.Context(), w.Key, "eve@erase.example", true)
		testserver.Must(t, err)
		if err := run.Write(t.Context(), second); !errors.Is(err, audience.ErrErasing) {
			t.Errorf("rows that were read before: %v", err)
		}
		w.Start()
		synctest.Wait()
		wantImport(w, id, contactfile.Completed, "", contactfile.Counts{Created: 251, Failed: 1})
		if _, err := w.Services.Audience.GetContact(t.Context(), w.Key, "eve@erase.example"); app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("the contact is back: %v", err)
		}
	})
}
