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
	"mailer/app/audience"
	"mailer/app/importing"
	"mailer/app/world"
	"mailer/db"
)

// importOf reads an import of any team.
func importOf(w *world.World, key *app.Key, id string) importing.Import {
	w.T.Helper()
	i, _, err := w.Server.Imports.GetImport(w.T.Context(), key, id)
	world.Must(w.T, err)
	return i
}

// slowly has each batch of an import take audience.ImportYield.
func slowly(w *world.World) {
	w.Server.Load = &app.Load{}
	w.T.Cleanup(w.Server.Load.Enter())
}

func TestAOneRowImportDoesNotWaitForAnotherTeamsFiles(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		slowly(w)
		other := w.AddTeam("other", "other.example")
		csv, want := sheet(4000)
		var large []string
		for range 5 {
			large = append(large, uploadAs(w, other, importing.Input{OnConflict: "upsert"}, csv))
		}
		w.Start()
		time.Sleep(10 * audience.ImportYield)
		start := time.Now()
		small := upload(w, importing.Input{}, "email\na@example.org\n")
		time.Sleep(10 * audience.ImportYield)
		i := importOf(w, w.Key, small)
		if took := i.CompletedAt.Sub(start); i.Status != importing.Completed || took > 2*audience.ImportYield {
			t.Errorf("it is %s after %v", i.Status, took)
		}
		if first := importOf(w, other, large[0]); first.Status != importing.InProgress || importOf(w, other, large[1]).Status != importing.Queued {
			t.Errorf("the other team's first is %+v", first)
		}
		time.Sleep(time.Minute)
		if got := importOf(w, other, large[0]).Counts; got.Created != want.Created || got.Total() != want.Total() {
			t.Errorf("the first large one has %+v, want %+v", got, want)
		}
		for _, id := range large[1:] {
			if got := importOf(w, other, id); got.Status != importing.Completed || got.Updated != want.Created+want.Skipped {
				t.Errorf("a later one %s %+v", got.Status, got.Counts)
			}
		}
	})
}

// A file that was read anew for each turn would cost the square of its length.
func TestAFileStaysOpenBetweenTheTurnsOfItsTeam(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		slowly(w)
		other := w.AddTeam("other", "other.example")
		csv, want := sheet(1000)
		ids := map[*app.Key]string{w.Key: upload(w, importing.Input{}, csv), other: uploadAs(w, other, importing.Input{}, csv)}
		w.Start()
		time.Sleep(3 * audience.ImportYield)
		w.Change(func(tx *db.Tx) error { // which nobody looks at again
			for _, id := range ids {
				if _, err := tx.PurgeImport(id, 10, 0); err != nil {
					return err
				}
			}
			return nil
		})
		time.Sleep(time.Minute)
		for key, id := range ids {
			if got := importOf(w, key, id); got.Status != importing.Completed || got.Counts != want {
				t.Errorf("%s %q %+v, want %+v", got.Status, got.Error, got.Counts, want)
			}
		}
	})
}

func TestMoreTeamsThanOpenFilesAllEnd(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		csv, want := sheet(500)
		ids := map[*app.Key]string{}
		for n := range audience.MaxOpenImports + 3 {
			key := w.AddTeam(fmt.Sprint("team ", n), fmt.Sprintf("team%d.example", n))
			ids[key] = uploadAs(w, key, importing.Input{}, csv)
		}
		w.Start()
		synctest.Wait()
		if n := w.Server.Imports.OpenImports(); n != 0 {
			t.Errorf("%d files are open", n)
		}
		for key, id := range ids {
			if got := importOf(w, key, id); got.Status != importing.Completed || got.Counts != want {
				t.Errorf("%s %q %+v, want %+v", got.Status, got.Error, got.Counts, want)
			}
		}
	})
}

func TestAnImportThatFailsAgainAndAgainHoldsUpNoOtherTeam(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		others := []*app.Key{w.AddTeam("b", "b.example"), w.AddTeam("c", "c.example")}
		plan := &importing.Plan{Conflict: app.ConflictError, Sheet: importing.Sheet{Width: 1, Columns: []importing.Column{{Name: `"email"`, Field: "email"}}}}
		var bad []string
		for _, key := range others {
			bad = append(bad, plantAs(w, key.TeamID, plan, "email\na@example.org\na@example.org\n"))
		}
		good := upload(w, importing.Input{}, "email\na@example.org\n")
		w.Start()
		synctest.Wait()
		wantImport(w, good, importing.Completed, "", importing.Counts{Created: 1})
		for n, key := range others {
			if got := importOf(w, key, bad[n]); got.Status != importing.Queued {
				t.Errorf("the bad one is %s at once", got.Status)
			}
		}
		time.Sleep(audience.ImportStrikes * 2 * time.Second)
		synctest.Wait()
		for n, key := range others { // each has its own tries
			if got := importOf(w, key, bad[n]); got.Status != importing.Failed || !strings.Contains(got.Error, "could not be stored") {
				t.Errorf("the bad one is %s %q", got.Status, got.Error)
			}
		}
	})
}

func TestAnErasureHoldsUpTheImportsOfItsTeamAlone(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		other := w.AddTeam("other", "other.example")
		held := uploadAs(w, other, importing.Input{}, "email\nb@example.org\n")
		id := upload(w, importing.Input{}, "email\na@example.org\n")
		person := w.Person(other.TeamID, "eve@example.org")
		w.Change(func(tx *db.Tx) error {
			_, err := w.Server.Audience.BeginErasure(tx, other.TeamID, []app.Contact{person})
			return err
		})
		go w.Server.Imports.RunImports(w.Server.Taking) // and nobody carries the erasure out
		time.Sleep(time.Minute)
		synctest.Wait()
		wantImport(w, id, importing.Completed, "", importing.Counts{Created: 1})
		if got := importOf(w, other, held); got.Status != importing.Queued {
			t.Errorf("the other is %s", got.Status)
		}
		world.StopNow(w.Server)
	})
}

func TestAnErasureOfAnotherTeamHasNoFileReadAnew(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		other := w.AddTeam("other", "other.example")
		csv, _ := sheet(300)
		upload(w, importing.Input{}, csv)
		run := openRun(w)
		batch, err := run.Read()
		world.Must(t, err)
		w.Person(other.TeamID, "eve@example.org")
		_, err = w.Server.Audience.DeleteContact(t.Context(), other, "eve@example.org", true)
		world.Must(t, err)
		world.Must(t, run.Write(t.Context(), batch))
	})
}

func TestTheEleventhImportOfATeamIsRefusedBeforeItIsReceived(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		other := w.AddTeam("other", "other.example")
		var ids []string
		for range importing.MaxWaiting {
			ids = append(ids, upload(w, importing.Input{}, "email\na@example.org\n"))
		}
		_, err := w.Server.Imports.CreateImport(t.Context(), w.Key, func(io.Writer) (importing.Input, error) {
			t.Error("the file was received")
			return importing.Input{}, io.ErrUnexpectedEOF
		})
		world.WantCode(t, err, app.CodeConflict)
		if !strings.Contains(err.Error(), "at most 10 imports") || !strings.Contains(err.Error(), "delete one") {
			t.Errorf("words %q", err)
		}
		uploadAs(w, other, importing.Input{}, "email\na@example.org\n")
		world.Must(t, w.Server.Imports.DeleteImport(t.Context(), w.Key, ids[3]))
		upload(w, importing.Input{}, "email\nb@example.org\n")
		w.Start()
		synctest.Wait()
		upload(w, importing.Input{}, "email\nc@example.org\n") // those that are over don't count
	})
}

func TestUploadsAtTheSameTimeAreNoMoreThanTen(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		var all sync.WaitGroup
		errs := make(chan error, 3*importing.MaxWaiting)
		begun := make(chan struct{})
		for n := range cap(errs) {
			all.Go(func() {
				_, err := w.Server.Imports.CreateImport(t.Context(), w.Key, func(file io.Writer) (importing.Input, error) {
					<-begun // all were let in
					size := 1 + n%2*audience.ImportPiece
					_, err := io.WriteString(file, "email\n"+strings.Repeat("\n", size)+"a@example.org\n")
					return importing.Input{}, err
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
				world.WantCode(t, err, app.CodeConflict)
			}
		}
		if taken != importing.MaxWaiting {
			t.Errorf("%d were taken", taken)
		}
		w.Start()
		synctest.Wait()
		wantNoFiles(w)
	})
}

// wantDeleted checks that nothing is left of an import.
func wantDeleted(w *world.World, id string) {
	w.T.Helper()
	for _, table := range []string{"imports WHERE id", "import_pieces WHERE import_id", "import_errors WHERE import_id"} {
		if n := w.Sql("SELECT count(*) FROM "+table+" = ?", id)[0]; n != "0" {
			w.T.Errorf("%s rows in %s", n, table)
		}
	}
}

func TestADeletedImportStopsAndItsContactsStay(t *testing.T) {
	world.BothEngines(t)
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		slowly(w)
		other := w.AddTeam("other", "other.example")
		csv, _ := sheet(2000)
		running, waiting := upload(w, importing.Input{}, csv), upload(w, importing.Input{}, "email\nlate@example.org\n")
		untouched := uploadAs(w, other, importing.Input{}, csv)
		w.Start()
		time.Sleep(5 * audience.ImportYield)
		for _, id := range []string{running, waiting} {
			world.WantCode(t, w.Server.Imports.DeleteImport(t.Context(), other, id), app.CodeNotFound)
			world.Must(t, w.Server.Imports.DeleteImport(t.Context(), w.Key, id))
			world.WantCode(t, w.Server.Imports.DeleteImport(t.Context(), w.Key, id), app.CodeNotFound)
			_, _, err := w.Server.Imports.GetImport(t.Context(), w.Key, id)
			world.WantCode(t, err, app.CodeNotFound)
		}
		made := w.Contacts()
		if made < audience.ImportRows/2 || made > 1900 {
			t.Errorf("%d contacts when it was deleted", made)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.Contacts(); got != made {
			t.Errorf("%d contacts, want %d", got, made)
		}
		wantDeleted(w, running)
		wantDeleted(w, waiting)
		if got := importOf(w, other, untouched); got.Status != importing.Completed || got.Created != 2000 {
			t.Errorf("the other team's is %s %+v", got.Status, got.Counts)
		}
		if n := w.Server.Imports.OpenImports(); n != 0 || w.Log.Has("level=ERROR") {
			t.Errorf("%d files are open; log\n%s", n, w.Log.Text.String())
		}
	})
}

func TestABatchThatWasReadWhenItsImportWasDeletedIsNotStored(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		csv, _ := sheet(300)
		id := upload(w, importing.Input{}, csv)
		run := openRun(w)
		batch, err := run.Read()
		world.Must(t, err)
		world.Must(t, w.Server.Imports.DeleteImport(t.Context(), w.Key, id))
		if err := run.Write(t.Context(), batch); !errors.Is(err, audience.ErrGone) {
			t.Errorf("stored: %v", err)
		}
		if got := w.Contacts(); got != 0 {
			t.Errorf("%d contacts", got)
		}
	})
}

func TestWhatADeletedImportLeftAtACrashGoesAfterTheStart(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		csv, want := sheet(9000)
		w := world.Serving(t, world.NewRelay(nil))
		over := upload(w, importing.Input{}, csv)
		synctest.Wait()
		wantImport(w, over, importing.Completed, "", want)
		next := w.Crash(world.NewRelay(nil))
		waiting := upload(next, importing.Input{}, csv)
		for _, id := range []string{over, waiting} {
			world.Must(t, next.Server.Imports.DeleteImport(t.Context(), next.Key, id))
		}
		last := next.Crash(world.NewRelay(nil))
		last.Start()
		synctest.Wait()
		wantDeleted(last, over)
		wantDeleted(last, waiting)
	})
}

func TestAnImportThatIsDeletedWhileItArrivesIsNotFound(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Serving(t, world.NewRelay(nil))
		var id string
		_, err := w.Server.Imports.CreateImport(t.Context(), w.Key, func(file io.Writer) (importing.Input, error) {
			_, err := file.Write(make([]byte, audience.ImportPiece))
			world.Must(t, err)
			id = w.Sql("SELECT id FROM imports")[0]
			world.Must(t, w.Server.Imports.DeleteImport(t.Context(), w.Key, id))
			_, err = file.Write(make([]byte, audience.ImportPiece))
			return importing.Input{}, err
		})
		world.WantCode(t, err, app.CodeNotFound)
		synctest.Wait()
		wantDeleted(w, id)
	})
}

func TestImportsThatAreOverGoAfterThirtyDays(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		go w.Server.Imports.RunImports(w.Server.Taking) // without what else a server does in a month
		old := upload(w, importing.Input{}, "email\nnobody\n")
		synctest.Wait()
		time.Sleep(importing.Kept - time.Hour)
		young := upload(w, importing.Input{}, "email\nnobody\n")
		world.Must(t, w.Server.Upkeep.Purge(t.Context()))
		synctest.Wait()
		wantImport(w, old, importing.Completed, "", importing.Counts{Failed: 1})
		time.Sleep(2 * time.Hour)
		world.Must(t, w.Server.Upkeep.Purge(t.Context()))
		synctest.Wait()
		wantDeleted(w, old)
		wantImport(w, young, importing.Completed, "", importing.Counts{Failed: 1})
		world.StopNow(w.Server)
	})
}
