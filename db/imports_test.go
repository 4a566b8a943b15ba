package db_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/contactfile"
	"mailer/db"
)

// importStore is a database with two teams.
type importStore struct {
	*testing.T
	*db.DB
	team, other string
}

func newImportStore(t *testing.T) *importStore {
	t.Helper()
	b := &importStore{T: t, DB: open(t, db.NewFile(t))}
	b.write(nil, func(tx *db.Tx) error {
		team, err := tx.FindTeam("")
		b.team, b.other = team.ID, app.NewID()
		return errors.Join(err, tx.InsertTeam(app.Team{ID: b.other, Name: "Other", CreatedAt: time.Now()}))
	})
	return b
}

func (b *importStore) write(want error, fn func(tx *db.Tx) error) {
	b.Helper()
	if err := b.Write(b.Context(), fn); !errors.Is(err, want) {
		b.Fatalf("error %v, want %v", err, want)
	}
}

func (b *importStore) read(want error, fn func(r *db.Reader) error) {
	b.Helper()
	if err := b.Read(b.Context(), fn); !errors.Is(err, want) {
		b.Fatalf("error %v, want %v", err, want)
	}
}

// add inserts an import with n pieces and queues it; a negative n leaves it uploading.
func (b *importStore) add(team string, n int) string {
	b.Helper()
	id := app.NewID()
	b.write(nil, func(tx *db.Tx) error {
		if err := tx.InsertImport(&contactfile.Import{ID: id, TeamID: team, CreatedAt: tx.Now}); err != nil {
			return err
		}
		for i := range max(n, -n) {
			if err := tx.AddPiece(id, i, []byte{byte(i)}); err != nil {
				return err
			}
		}
		if n < 0 {
			return nil
		}
		return tx.QueueImport(team, id, &contactfile.Plan{Conflict: app.ConflictUpsert, Sheet: contactfile.Sheet{Width: 3}})
	})
	return id
}

func TestImportVisibility(t *testing.T) {
	b := newImportStore(t)
	arriving, id := b.add(b.team, -1), b.add(b.team, 1)
	b.read(nil, func(r *db.Reader) error {
		i, err := r.Import(b.team, id)
		if i.Status != contactfile.Queued || i.Plan.Conflict != app.ConflictUpsert || i.Plan.Width != 3 || i.CreatedAt.IsZero() || !i.CompletedAt.IsZero() {
			t.Errorf("%+v", i)
		}
		for _, status := range []contactfile.Status{"", contactfile.Queued} {
			if rows, _, err := r.ListImports(b.team, status, app.Page{Limit: 5}); err != nil || len(rows) != 1 || rows[0].ID != id {
				t.Errorf("list %+v, %v", rows, err)
			}
			if rows, _, err := r.ListImports(b.other, status, app.Page{Limit: 5}); err != nil || len(rows) != 0 {
				t.Errorf("the other's list %+v, %v", rows, err)
			}
		}
		return err
	})
	b.read(db.ErrNotFound, func(r *db.Reader) error { _, err := r.Import(b.other, id); return err })
	b.read(db.ErrNotFound, func(r *db.Reader) error { _, err := r.Import(b.team, arriving); return err })
	b.write(db.ErrNotFound, func(tx *db.Tx) error { return tx.QueueImport(b.other, arriving, &contactfile.Plan{}) })
	b.write(db.ErrNotFound, func(tx *db.Tx) error { return tx.QueueImport(b.team, id, &contactfile.Plan{}) })
}

func TestAdvanceImportRequiresCurrentCount(t *testing.T) {
	b := newImportStore(t)
	id := b.add(b.team, 1)
	step := func(team string, status contactfile.Status, done int, c contactfile.Counts) func(*db.Tx) error {
		return func(tx *db.Tx) error {
			return tx.AdvanceImport(&contactfile.Import{ID: id, TeamID: team, Status: status, Counts: c, Error: "why", CompletedAt: tx.Now}, done)
		}
	}
	counts := contactfile.Counts{Created: 1, Updated: 2, Skipped: 3, Failed: 4}
	b.write(db.ErrNotFound, step(b.team, contactfile.InProgress, 1, counts))
	b.write(db.ErrNotFound, step(b.other, contactfile.InProgress, 0, counts))
	b.write(nil, step(b.team, contactfile.InProgress, 0, counts))
	b.write(db.ErrNotFound, step(b.team, contactfile.InProgress, 0, counts))
	b.write(nil, step(b.team, contactfile.Failed, 10, counts))
	b.write(db.ErrNotFound, step(b.team, contactfile.Failed, 10, counts))
	b.read(nil, func(r *db.Reader) error {
		i, err := r.Import(b.team, id)
		if i.Status != contactfile.Failed || i.Counts != counts || i.Error != "why" || i.CompletedAt.IsZero() {
			t.Errorf("%+v", i)
		}
		return err
	})
}

func TestNextImportAlternatesTeams(t *testing.T) {
	b := newImportStore(t)
	b.read(db.ErrNotFound, func(r *db.Reader) error { _, err := r.NextImport(""); return err })
	b.add(b.team, -1)
	small, large := min(b.team, b.other), max(b.team, b.other)
	first, second, third := b.add(large, 1), b.add(small, 1), b.add(small, 1)
	next := func(after, want string) {
		t.Helper()
		b.read(nil, func(r *db.Reader) error {
			i, err := r.NextImport(after)
			if i.ID != want {
				t.Errorf("next is %s, want %s", i.ID, want)
			}
			return err
		})
	}
	next("", second)
	next(small, first)
	b.read(db.ErrNotFound, func(r *db.Reader) error { _, err := r.NextImport(large); return err })
	b.write(nil, func(tx *db.Tx) error {
		return tx.AdvanceImport(&contactfile.Import{ID: third, TeamID: small, Status: contactfile.InProgress}, 0)
	})
	next("", third)
}

func TestPurgeDeletedImport(t *testing.T) {
	b := newImportStore(t)
	arriving, running, over := b.add(b.team, -1), b.add(b.team, 3), b.add(b.other, 1)
	b.write(nil, func(tx *db.Tx) error {
		for line := range 3 {
			if err := tx.InsertImportError(running, contactfile.RowError{ID: app.NewID(), Line: line, Message: "x"}); err != nil {
				return err
			}
		}
		return errors.Join(tx.AdvanceImport(&contactfile.Import{ID: running, TeamID: b.team, Status: contactfile.InProgress}, 0),
			tx.AdvanceImport(&contactfile.Import{ID: over, TeamID: b.other, Status: contactfile.Completed, CompletedAt: tx.Now}, 0))
	})
	waiting := func(want int) {
		t.Helper()
		b.read(nil, func(r *db.Reader) error {
			n, err := r.WaitingImports(b.team)
			if n != want {
				t.Errorf("%d are not over, want %d", n, want)
			}
			return err
		})
	}
	waiting(2)
	for _, id := range []string{arriving, running} {
		b.write(db.ErrNotFound, func(tx *db.Tx) error { return tx.DeleteImport(b.other, id) })
		b.write(nil, func(tx *db.Tx) error { return tx.DeleteImport(b.team, id) })
		b.write(db.ErrNotFound, func(tx *db.Tx) error { return tx.DeleteImport(b.team, id) })
		b.read(db.ErrNotFound, func(r *db.Reader) error { _, err := r.Import(b.team, id); return err })
	}
	waiting(0)
	b.write(db.ErrNotFound, func(tx *db.Tx) error { return tx.AddPiece(arriving, 1, []byte("x")) })
	b.write(db.ErrNotFound, func(tx *db.Tx) error { return tx.QueueImport(b.team, arriving, &contactfile.Plan{}) })
	b.write(db.ErrNotFound, func(tx *db.Tx) error {
		return tx.AdvanceImport(&contactfile.Import{ID: running, TeamID: b.team, Status: contactfile.InProgress}, 0)
	})
	b.read(nil, func(r *db.Reader) error {
		rows, _, err := r.ListImports(b.team, "", app.Page{Limit: 5})
		if len(rows) > 0 {
			t.Errorf("listed %+v", rows)
		}
		return err
	})
	purge := func(id string, want ...bool) {
		t.Helper()
		for i, want := range want {
			b.write(nil, func(tx *db.Tx) error {
				more, err := tx.PurgeImport(id, 2, 2)
				if more != want {
					t.Errorf("purge %d: more is %v", i, more)
				}
				return err
			})
		}
	}
	purge(running, true, true, true, true, false)
	purge(arriving, true, false)
	purge(over, true, false)
	b.read(db.ErrNotFound, func(r *db.Reader) error { _, err := r.NextImportOver(); return err })
	b.read(nil, func(r *db.Reader) error { _, err := r.Import(b.other, over); return err })
	for _, limit := range []int64{1, 0} {
		b.write(nil, func(tx *db.Tx) error {
			n, err := tx.DeleteOldImports(tx.Now.Add(time.Hour), 5)
			if n != limit {
				t.Errorf("%d old imports, want %d", n, limit)
			}
			return err
		})
	}
	b.read(nil, func(r *db.Reader) error {
		id, err := r.NextImportOver()
		if id != over {
			t.Errorf("next to be removed is %q, want %q", id, over)
		}
		return err
	})
	purge(over, false)
	b.read(db.ErrNotFound, func(r *db.Reader) error { _, err := r.NextImportOver(); return err })
}

func TestPurgeImportPiecesInSteps(t *testing.T) {
	b := newImportStore(t)
	arriving, over, waits := b.add(b.team, -3), b.add(b.team, 3), b.add(b.team, 1)
	b.write(nil, func(tx *db.Tx) error {
		return tx.AdvanceImport(&contactfile.Import{ID: over, TeamID: b.team, Status: contactfile.Completed, CompletedAt: tx.Now}, 0)
	})
	for _, id := range []string{arriving, over} {
		for _, want := range []bool{true, true, false} {
			b.write(nil, func(tx *db.Tx) error {
				more, err := tx.PurgeImport(id, 2, 2)
				if more != want {
					t.Errorf("more is %v", more)
				}
				return err
			})
		}
		b.read(db.ErrNotFound, func(r *db.Reader) error { _, err := r.Piece(id, 2); return err })
	}
	b.read(nil, func(r *db.Reader) error {
		for status, want := range map[contactfile.Status][]string{contactfile.Uploading: nil, contactfile.Completed: nil, contactfile.Queued: {waits}} {
			if ids, err := r.StoredImports(status, time.Now()); err != nil || !slices.Equal(ids, want) {
				t.Errorf("%s: %q, %v", status, ids, err)
			}
		}
		_, err := r.Import(b.team, over)
		return err
	})
}

func TestListImportErrorsInFileOrder(t *testing.T) {
	b := newImportStore(t)
	id, other := b.add(b.team, 1), b.add(b.team, 1)
	var ids []string
	b.write(nil, func(tx *db.Tx) error {
		ids = nil
		for line := range 5 {
			ids = append(ids, app.NewID())
			if err := tx.InsertImportError(id, contactfile.RowError{ID: ids[line], Line: line, Message: fmt.Sprint(line)}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, tt := range []struct {
		page app.Page
		want []string
		more bool
	}{
		{app.Page{Limit: 5}, ids, false}, {app.Page{Limit: 2}, ids[:2], true}, {app.Page{Limit: 2, After: ids[1]}, ids[2:4], true},
		{app.Page{Limit: 2, After: ids[2]}, ids[3:], false}, {app.Page{Limit: 2, Before: ids[3]}, ids[1:3], true}, {app.Page{Limit: 3, Before: ids[3]}, ids[:3], false},
	} {
		b.read(nil, func(r *db.Reader) error {
			rows, more, err := r.ListImportErrors(id, tt.page)
			var got []string
			for _, row := range rows {
				got = append(got, row.ID)
			}
			if !slices.Equal(got, tt.want) || more != tt.more {
				t.Errorf("%+v: %q more %v, want %q", tt.page, got, more, tt.want)
			}
			return err
		})
	}
	b.read(db.ErrNotFound, func(r *db.Reader) error {
		_, _, err := r.ListImportErrors(other, app.Page{Limit: 1, After: ids[0]})
		return err
	})
}
