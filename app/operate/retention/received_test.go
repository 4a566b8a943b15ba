package retention_test

import (
	"fmt"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestOldReceivedMailIsDeleted shows that received emails go with all their pieces after --keep-received, that younger
// ones stay, and that pieces that are in no email go after a day.
func TestOldReceivedMailIsDeleted(t *testing.T) {
	testserver.BothEngines(t)
	synctestDays(t, func(t *testing.T) {
		w := testserver.NewWithConfig(t, server.Config{Retention: app.Retention{Received: 30 * 24 * time.Hour}}, testserver.NewRelay(nil))
		add := func(whole bool) {
			w.WriteDB(func(tx *db.Tx) error {
				m := app.Received{ID: app.NewID(), TeamID: w.Key.TeamID, DomainID: app.NewID(), CreatedAt: tx.Now}
				for n := range 9 {
					if err := tx.InsertReceivedPiece(m.ID, n, []byte("x")); err != nil {
						return err
					}
				}
				if !whole {
					return nil
				}
				return tx.InsertReceived(&m, []byte(m.ID))
			})
		}
		want := func(emails, contents, pieces int) {
			t.Helper()
			if err := w.Services.Retention.PurgeReceived(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%s emails, %s contents, %s pieces", w.Count("received_emails"), w.Count("received_contents"), w.Count("received_pieces"))
			if got != fmt.Sprintf("%d emails, %d contents, %d pieces", emails, contents, pieces) {
				t.Error(got)
			}
		}
		add(true)
		add(false)
		want(1, 1, 18)
		time.Sleep(25 * time.Hour)
		add(true)
		want(2, 2, 18) // the pieces without an email are gone
		time.Sleep(29 * 24 * time.Hour)
		want(1, 1, 9)
		time.Sleep(2 * 24 * time.Hour)
		want(0, 0, 0)
	})
}
