package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mailer/app"
	"mailer/db"
)

func TestTheSuppressionListChangesWhileTheDiskIsFull(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		ctx := t.Context()
		old, err := w.e.AddSuppression(ctx, w.key, app.SuppressionInput{Email: "old@example.net"})
		must(t, err)
		for _, change := range []func() error{
			func() error {
				_, err := w.e.AddSuppression(ctx, w.key, app.SuppressionInput{Email: "bob@example.net"})
				return err
			},
			func() error {
				_, err := w.e.AddSuppressions(ctx, w.key, app.SuppressionBatch{Emails: []string{"eve@example.net", "joe@example.net"}})
				return err
			},
			func() error { _, err := w.e.RemoveSuppression(ctx, w.key, old.ID); return err },
			func() error {
				_, err := w.e.RemoveSuppressions(ctx, w.key, app.SuppressionRemoval{Emails: []string{"joe@example.net"}})
				return err
			},
		} {
			if err := w.strike(fullStorage(t)); !errors.Is(err, db.ErrFull) {
				t.Fatal(err)
			}
			must(t, change())
		}
		list, _, err := w.e.ListSuppressions(ctx, w.key, "", app.Page{Limit: 10})
		must(t, err)
		if len(list) != 2 || list[0].Email != "eve@example.net" || list[1].Email != "bob@example.net" {
			t.Errorf("list %+v", list)
		}
	})
}

// BenchmarkAcceptClosure is what accepting an email costs inside its Write: all
// but the commit, which others share.
func BenchmarkAcceptClosure(b *testing.B) {
	schema, err := os.ReadFile("../../schema.sql")
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 3, 50} {
		b.Run(fmt.Sprint("recipients=", n), func(b *testing.B) {
			store, err := db.Open(b.Context(), db.Options{Path: filepath.Join(b.TempDir(), "x.db"), Schema: string(schema), Create: true})
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			sealer, err := app.NewSealer(app.NewMasterKey())
			if err != nil {
				b.Fatal(err)
			}
			e := &Engine{cfg: Config{Capture: true, MaxAttachments: 1, Sealer: sealer}, db: store}
			text := "t"
			mail := &app.EmailInput{From: "a@example.com", Subject: "s", Text: &text}
			for i := range n {
				mail.To = append(mail.To, fmt.Sprintf("u%d@example.org", i))
			}
			err = store.Write(b.Context(), func(tx *db.Tx) error {
				team, err := tx.FindTeam("")
				if err != nil {
					return err
				}
				key := &app.Key{TeamID: team.ID}
				for b.Loop() {
					email, err := newEmail(key, mail)
					if err != nil {
						return err
					}
					if err := e.accept(tx, email); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
