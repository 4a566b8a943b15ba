package mail_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"mailer/app"
	"mailer/app/kit/seal"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/delivery"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/db/dbtest"
)

func TestSuppressionChangesOnFullDisk(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		ctx := t.Context()
		old, err := w.Services.Suppressions.AddSuppression(ctx, w.Key, app.SuppressionInput{Email: "old@example.net"})
		testserver.Must(t, err)
		for _, change := range []func() error{
			func() error {
				_, err := w.Services.Suppressions.AddSuppression(ctx, w.Key, app.SuppressionInput{Email: "bob@example.net"})
				return err
			},
			func() error {
				_, err := w.Services.Suppressions.AddSuppressions(ctx, w.Key, app.SuppressionBatch{Emails: []string{"eve@example.net", "joe@example.net"}})
				return err
			},
			func() error { _, err := w.Services.Suppressions.RemoveSuppression(ctx, w.Key, old.ID); return err },
			func() error {
				_, err := w.Services.Suppressions.RemoveSuppressions(ctx, w.Key, app.SuppressionRemoval{Emails: []string{"joe@example.net"}})
				return err
			},
		} {
			if err := w.FailWrite(testserver.DiskFullError(t)); !errors.Is(err, db.ErrFull) {
				t.Fatal(err)
			}
			testserver.Must(t, change())
		}
		list, _, err := w.Services.Suppressions.ListSuppressions(ctx, w.Key, "", app.Page{Limit: 10})
		testserver.Must(t, err)
		if len(list) != 2 || list[0].Email != "eve@example.net" || list[1].Email != "bob@example.net" {
			t.Errorf("list %+v", list)
		}
	})
}

// BenchmarkAccept measures the acceptance of an email inside its Write, without the commit, which
// several writes share.
func BenchmarkAccept(b *testing.B) {
	for _, n := range []int{1, 3, 50} {
		b.Run(fmt.Sprint("recipients=", n), func(b *testing.B) {
			store, err := db.Open(b.Context(), db.Options{Path: filepath.Join(b.TempDir(), "x.db"), Schema: dbtest.Schema(b), Create: true})
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			sealer, err := app.NewSealer(seal.MasterKey{Key: seal.NewMasterKey()})
			if err != nil {
				b.Fatal(err)
			}
			e, err := server.New(b.Context(), server.Config{DB: store, Capture: true, MaxAttachments: 1, Sealer: sealer, Routes: []delivery.Route{{Relay: relayurl.Relay{Region: app.CaptureRegion}}}})
			if err != nil {
				b.Fatal(err)
			}
			text := "t"
			message := &app.EmailInput{From: "a@example.com", Subject: "s", Text: &text}
			for i := range n {
				message.To = append(message.To, fmt.Sprintf("u%d@example.org", i))
			}
			err = store.Write(b.Context(), func(tx *db.Tx) error {
				team, err := tx.FindTeam("")
				if err != nil {
					return err
				}
				key := &app.Key{TeamID: team.ID}
				for b.Loop() {
					email, err := mail.NewEmail(key, message)
					if err != nil {
						return err
					}
					if err := e.Mail.Accept(tx, email); err != nil {
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
