package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mailer/app"
	"mailer/db"
)

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
			e := &Engine{cfg: Config{Capture: true, MaxAttachments: 1}, db: store}
			mail := &app.Mail{From: app.Address{Local: "a", Domain: "example.com"}, Subject: "s", Text: "t"}
			for i := range n {
				mail.To = append(mail.To, app.Address{Local: fmt.Sprintf("u%d", i), Domain: "example.org"})
			}
			err = store.Write(b.Context(), func(tx *db.Tx) error {
				team, err := tx.FindTeam("")
				if err != nil {
					return err
				}
				key := &app.Key{TeamID: team.ID}
				for b.Loop() {
					if err := e.accept(tx, newEmail(key, mail), &idempotencyClaim{}); err != nil {
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
