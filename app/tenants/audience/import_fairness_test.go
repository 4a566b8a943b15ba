package audience_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/contactfile"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// importOf reads an import of any team.
func importOf(w *testserver.Server, key *app.Key, id string) contactfile.Import {
	w.T.Helper()
	i, _, err := w.Services.Imports.GetImport(w.T.Context(), key, id)
	testserver.Must(w.T, err)
	return i
}

// slowly makes each batch of an import take audience.ImportYield.
func slowly(w *testserver.Server) {
	w.Services.Load = &app.Load{}
	w.T.Cleanup(w.Services.Load.Enter())
}

func TestSmallImportDoesntWaitForOtherTeams(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		slowly(w)
		other := w.AddTeam("other", "other.example")
		csv, want := sheet(4000)
		var large []string
		for range 5 {
			large = append(large, uploadAs(w, other, contactfile.Input{OnConflict: "upsert"}, csv))
		}
		w.Start()
		time.Sleep(10 * audience.ImportYield)
		start := time.Now()
		small := upload(w, contactfile.Input{}, "email\na@example.org\n")
		time.Sleep(10 * audience.ImportYield)
		i := importOf(w, w.Key, small)
		if took := i.CompletedAt.Sub(start); i.Status != contactfile.Completed || took > 2*audience.ImportYield {
			t.Errorf("it is %s after %v", i.Status, took)
		}
		if first := importOf(w, other, large[0]); first.Status != contactfile.InProgress || importOf(w, other, large[1]).Status != contactfile.Queued {
			t.Errorf("the other team's first is %+v", first)
		}
		time.Sleep(time.Minute)
		if got := importOf(w, other, large[0]).Counts; got.Created != want.Created || got.Total() != want.Total() {
			t.Errorf("the first large one has %+v, want %+v", got, want)
		}
		for _, id := range large[1:] {
			if got := importOf(w, other, id); got.Status != contactfile.Completed || got.Updated != want.Created+want.Skipped {
				t.Errorf("a later one %s %+v", got.Status, got.Counts)
			}
		}
	})
}

// Reading the file again for each batch would take quadratic time.
func TestImportFileStaysOpenBetweenRounds(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		slowly(w)
		other := w.AddTeam("other", "other.example")
		csv, want := sheet(1000)
		ids := map[*app.Key]string{w.Key: upload(w, contactfile.Input{}, csv), other: uploadAs(w, other, contactfile.Input{}, csv)}
		w.Start()
		time.Sleep(3 * audience.ImportYield)
		w.WriteDB(func(tx *db.Tx) error { // the importer does not read it again
			for _, id := range ids {
				if _, err := tx.PurgeImport(id, 10, 0); err != nil {
					return err
				}
			}
			return nil
		})
		time.Sleep(time.Minute)
		for key, id := range ids {
			if got := importOf(w, key, id); got.Status != contactfile.Completed || got.Counts != want {
				t.Errorf("%s %q %+v, want %+v", got.Status, got.Error, got.Counts, want)
			}
		}
	})
}

func TestMoreImportsThanOpenFiles(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		csv, want := sheet(500)
		ids := map[*app.Key]string{}
		for n := range audience.MaxOpenImports + 3 {
			key := w.AddTeam(fmt.Sprint("team ", n), fmt.Sprintf("team%d.example", n))
			ids[key] = uploadAs(w, key, contactfile.Input{}, csv)
		}
		w.Start()
		synctest.Wait()
		if n := w.Services.Imports.OpenImports(); n != 0 {
			t.Errorf("%d files are open", n)
		}
		for key, id := range ids {
			if got := importOf(w, key, id); got.Status != contactfile.Completed || got.Counts != want {
				t.Errorf("%s %q %+v, want %+v", got.Status, got.Error, got.Counts, want)
			}
		}
	})
}

func TestFailingImportDelaysNoOtherTeam(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		others := []*app.Key{w.AddTeam("b", "b.example"), w.AddTeam("c", "c.example")}
		plan := &contactfile.Plan{Conflict: app.ConflictError, Sheet: contactfile.Sheet{Width: 1, Columns: []contactfile.Column{{Name: `"email"`, Field: "email"}}}}
		var bad []string
		for _, key := range others {
			bad = append(bad, queueImportAs(w, key.TeamID, plan, "email\na@example.org\na@example.org\n"))
		}
		good := upload(w, contactfile.Input{}, "email\na@example.org\n")
		w.Start()
		synctest.Wait()
		wantImport(w, good, contactfile.Completed, "", contactfile.Counts{Created: 1})
		for n, key := range others {
			if got := importOf(w, key, bad[n]); got.Status != contactfile.Queued {
				t.Errorf("the bad one is %s at once", got.Status)
			}
		}
		time.Sleep(audience.MaxImportFailures * 2 * time.Second)
		synctest.Wait()
		for n, key := range others { // failures count per import
			if got := importOf(w, key, bad[n]); got.Status != contactfile.Failed || !strings.Contains(got.Error, "could not be stored") {
				t.Errorf("the bad one is %s %q", got.Status, got.Error)
			}
		}
	})
}

func TestErasureDelaysOnlyItsTeamsImports(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		other := w.AddTeam("other", "other.example")
		held := uploadAs(w, other, contactfile.Input{}, "email\nb@example.org\n")
		id := upload(w, contactfile.Input{}, "email\na@example.org\n")
		person := w.CreateContact(other.TeamID, "eve@example.org")
		w.WriteDB(func(tx *db.Tx) error {
			_, err := w.Services.Audience.BeginErasure(tx, other.TeamID, []app.Contact{person})
			return err
		})
		go w.Services.Imports.RunImports(w.Services.Claiming) // and nothing processes the erasure
		time.Sleep(time.Minute)
		synctest.Wait()
		wantImport(w, id, contactfile.Completed, "", contactfile.Counts{Created: 1})
		if got := importOf(w, other, held); got.Status != contactfile.Queued {
			t.Errorf("the other is %s", got.Status)
		}
		testserver.StopNow(w.Services)
	})
}

func TestOtherTeamsErasureDoesntRestartImport(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		other := w.AddTeam("other", "other.example")
		csv, _ := sheet(300)
		upload(w, contactfile.Input{}, csv)
		run := openRun(w)
		batch, err := run.Read()
		testserver.Must(t, err)
		w.CreateContact(other.TeamID, "eve@example.org")
		_, err = w.Services.Audience.DeleteContact(t.Context(), other, "eve@example.org", true)
		testserver.Must(t, err)
		testserver.Must(t, run.Write(t.Context(), batch))
	})
}

func TestEleventhImportIsRefusedUnread(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		other := w.AddTeam("other", "other.example")
		var ids []string
		for range contactfile.MaxUnfinished {
			ids = append(ids, upload(w, contactfile.Input{}, "email\na@example.org\n"))
		}
		_, err := w.Services.Imports.CreateImport(t.Context(), w.Key, func(io.Writer) (contactfile.Input, error) {
			t.Error("the file was received")
			return contactfile.Input{}, io.ErrUnexpectedEOF
		})
		testserver.WantCode(t, err, app.CodeConflict)
		if !strings.Contains(err.Error(), "at most 10 imports") || !strings.Contains(err.Error(), "delete one") {
			t.Errorf("words %q", err)
		}
		uploadAs(w, other, contactfile.Input{}, "email\na@example.org\n")
		testserver.Must(t, w.Services.Imports.DeleteImport(t.Context(), w.Key, ids[3]))
		upload(w, contactfile.Input{}, "email\nb@example.org\n")
		w.Start()
		synctest.Wait()
		upload(w, contactfile.Input{}, "email\nc@example.org\n") // finished imports don't count
	})
}

func TestConcurrentUploadsObeyLimit(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		var all sync.WaitGroup
		errs := make(chan error, 3*contactfile.MaxUnfinished)
		begun := make(chan struct{})
		for n := range cap(errs) {
			all.Go(func() {
				_, err := w.Services.Imports.CreateImport(t.Context(), w.Key, func(file io.Writer) (contactfile.Input, error) {
					<-begun // all of them passed the first check
					size := 1 + n%2*audience.ImportPiece
					_, err := io.WriteString(file, "email\n"+strings.Repeat("\n", size)+"a@example.org\n")
					return contactfile.Input{}, err
				})
				errs <- err
			})
		}
		synctest.Wait()
		close(begun)
		all.Wait()
		close(errs)
		taken := 0
		for err := range errs {
			if err == nil {
				taken++
			} else {
				testserver.WantCode(t, err, app.CodeConflict)
			}
		}
		if taken != contactfile.MaxUnfinished {
			t.Errorf("%d were taken", taken)
		}
		w.Start()
		synctest.Wait()
		wantNoFiles(w)
	})
}

// wantDeleted checks that no row of an import is left.
func wantDeleted(w *testserver.Server, id string) {
	w.T.Helper()
	for _, table := range []string{"imports WHERE id", "import_pieces WHERE import_id", "import_errors WHERE import_id"} {
		if n := w.SQL("SELECT count(*) FROM "+table+" = ?", id)[0]; n != "0" {
			w.T.Errorf("%s rows in %s", n, table)
		}
	}
}

func TestDeletedImportStopsAndKeepsContacts(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		slowly(w)
		other := w.AddTeam("other", "other.example")
		csv, _ := sheet(2000)
		running, waiting := upload(w, contactfile.Input{}, csv), upload(w, contactfile.Input{}, "email\nlate@example.org\n")
		untouched := uploadAs(w, other, contactfile.Input{}, csv)
		w.Start()
		time.Sleep(5 * audience.ImportYield)
		for _, id := range []string{running, waiting} {
			testserver.WantCode(t, w.Services.Imports.DeleteImport(t.Context(), other, id), app.CodeNotFound)
			testserver.Must(t, w.Services.Imports.DeleteImport(t.Context(), w.Key, id))
			testserver.WantCode(t, w.Services.Imports.DeleteImport(t.Context(), w.Key, id), app.CodeNotFound)
			_, _, err := w.Services.Imports.GetImport(t.Context(), w.Key, id)
			testserver.WantCode(t, err, app.CodeNotFound)
		}
		made := w.CountContacts()
		if made < audience.ImportRows/2 || made > 1900 {
			t.Errorf("%d contacts when it was deleted", made)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.CountContacts(); got != made {
			t.Errorf("%d contacts, want %d", got, made)
		}
		wantDeleted(w, running)
		wantDeleted(w, waiting)
		if got := importOf(w, other, untouched); got.Status != contactfile.Completed || got.Created != 2000 {
			t.Errorf("the other team's is %s %+v", got.Status, got.Counts)
		}
		if n := w.Services.Imports.OpenImports(); n != 0 || w.Log.Contains("level=ERROR") {
			t.Errorf("%d files are open; log\n%s", n, w.Log.String())
		}
	})
}

func TestBatchOfDeletedImportIsNotStored(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		csv, _ := sheet(300)
		id := upload(w, contactfile.Input{}, csv)
		run := openRun(w)
		batch, err := run.Read()
		testserver.Must(t, err)
		testserver.Must(t, w.Services.Imports.DeleteImport(t.Context(), w.Key, id))
		if err := run.Write(t.Context(), batch); !errors.Is(err, audience.ErrGone) {
			t.Errorf("stored: %v", err)
		}
		if got := w.CountContacts(); got != 0 {
			t.Errorf("%d contacts", got)
		}
	})
}

func TestDeletedImportIsPurgedAfterCrash(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		csv, want := sheet(9000)
		w := testserver.Start(t, testserver.NewRelay(nil))
		over := upload(w, contactfile.Input{}, csv)
		synctest.Wait()
		wantImport(w, over, contactfile.Completed, "", want)
		next := w.Crash(testserver.NewRelay(nil))
		waiting := upload(next, contactfile.Input{}, csv)
		for _, id := range []string{over, waiting} {
			testserver.Must(t, next.Services.Imports.DeleteImport(t.Context(), next.Key, id))
		}
		last := next.Crash(testserver.NewRelay(nil))
		last.Start()
		synctest.Wait()
		wantDeleted(last, over)
		wantDeleted(last, waiting)
	})
}

func TestImportDeletedDuringUpload(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		var id string
		_, err := w.Services.Imports.CreateImport(t.Context(), w.Key, func(file io.Writer) (contactfile.Input, error) {
			_, err := file.Write(make([]byte, audience.ImportPiece))
			testserver.Must(t, err)
			id = w.SQL("SELECT id FROM imports")[0]
			testserver.Must(t, w.Services.Imports.DeleteImport(t.Context(), w.Key, id))
			_, err = file.Write(make([]byte, audience.ImportPiece))
			return contactfile.Input{}, err
		})
		testserver.WantCode(t, err, app.CodeNotFound)
		synctest.Wait()
		wantDeleted(w, id)
	})
}

func TestFinishedImportsArePurgedAfterThirtyDays(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		go w.Services.Imports.RunImports(w.Services.Claiming) // without the other workers of a server, which would take long for a month
		old := upload(w, contactfile.Input{}, "email\nnobody\n")
		synctest.Wait()
		time.Sleep(contactfile.Retention - time.Hour)
		young := upload(w, contactfile.Input{}, "email\nnobody\n")
		testserver.Must(t, w.Services.Jobs.Purge(t.Context()))
		synctest.Wait()
		wantImport(w, old, contactfile.Completed, "", contactfile.Counts{Failed: 1})
		time.Sleep(2 * time.Hour)
		testserver.Must(t, w.Services.Jobs.Purge(t.Context()))
		synctest.Wait()
		wantDeleted(w, old)
		wantImport(w, young, contactfile.Completed, "", contactfile.Counts{Failed: 1})
		testserver.StopNow(w.Services)
	})
}
