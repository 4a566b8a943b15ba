package world

import (
	"errors"
	"io"
	"strings"

	"mailer/app"
	"mailer/app/importing"
	"mailer/db"
)

// Upload imports a file and returns the import's id.
func (w *World) Upload(in importing.Input, csv string) string {
	w.T.Helper()
	id, err := w.Server.Imports.CreateImport(w.T.Context(), w.Key, func(file io.Writer) (importing.Input, error) {
		_, err := io.WriteString(file, csv)
		return in, err
	})
	Must(w.T, err)
	return id
}

func (w *World) Imported(id string) (importing.Import, []importing.RowError) {
	w.T.Helper()
	i, flaws, err := w.Server.Imports.GetImport(w.T.Context(), w.Key, id)
	Must(w.T, err)
	return i, flaws
}

// WantImport checks status, error and counts (created, updated, skipped,
// failed), and that as many contacts are there as the team's counter says.
func (w *World) WantImport(id string, status importing.Status, words string, want importing.Counts) {
	w.T.Helper()
	i, _ := w.Imported(id)
	if i.Status != status || !strings.Contains(i.Error, words) || (words == "") != (i.Error == "") || i.Counts != want {
		w.T.Errorf("import %s %q %+v, want %s %q %+v", i.Status, i.Error, i.Counts, status, words, want)
	}
	if over := status == importing.Completed || status == importing.Failed; over == i.CompletedAt.IsZero() {
		w.T.Errorf("%s, completed at %v", i.Status, i.CompletedAt)
	}
}

// Contacts counts the team's contacts one by one and by the counter.
func (w *World) Contacts() (n int) {
	w.T.Helper()
	w.Read(func(r *db.Reader) error {
		page := app.Page{Limit: 100}
		for more := true; more; {
			var rows []app.Contact
			var err error
			if rows, more, err = r.ListContacts(w.Key.TeamID, page); err != nil {
				return err
			}
			if n += len(rows); more {
				page.After = rows[len(rows)-1].ID
			}
		}
		counter, err := r.ContactCount(w.Key.TeamID)
		if counter != n {
			w.T.Errorf("the counter says %d of %d contacts", counter, n)
		}
		return err
	})
	return n
}

// WantNoFiles proves that no piece of the import is left.
func (w *World) WantNoFiles(ids ...string) {
	w.T.Helper()
	w.Read(func(r *db.Reader) error {
		for _, status := range []importing.Status{importing.Uploading, importing.Queued, importing.InProgress, importing.Completed, importing.Failed} {
			if left, err := r.StoredImports(status); err != nil || len(left) > 0 {
				w.T.Errorf("files of %s imports %q, %v", status, left, err)
			}
		}
		for _, id := range ids {
			if _, err := r.Piece(id, 0); !errors.Is(err, db.ErrNotFound) {
				w.T.Errorf("the first piece of %s: %v", id, err)
			}
		}
		return nil
	})
}

// Plant queues an import whose plan no upload would have.
func (w *World) Plant(plan *importing.Plan, csv string) string {
	w.T.Helper()
	id := app.NewID()
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		err := tx.InsertImport(&importing.Import{ID: id, TeamID: w.Key.TeamID, CreatedAt: tx.Now})
		return errors.Join(err, tx.AddPiece(id, 0, []byte(csv)), tx.QueueImport(w.Key.TeamID, id, plan))
	}))
	return id
}
