//go:build perf

package teams_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/apptest"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestPerfKeyLookupUsesIndex looks up keys in the database, without the cache. With eight times as
// many keys a lookup takes less than twice as long, and it costs at most ten reads of a setting. A
// team can have 200 keys.
func TestPerfKeyLookupUsesIndex(t *testing.T) {
	testserver.SQLiteOnly(t) // with PostgreSQL network time dominates
	w := testserver.New(t, testserver.NewRelay(nil))
	var tokens []string
	each := func() time.Duration {
		return apptest.Fastest(func() {
			w.Services.Teams.Keys().Clear()
			for _, token := range tokens[:25] {
				_, err := w.Services.Teams.Authenticate(t.Context(), token)
				testserver.Must(t, err)
			}
		})
	}
	add := func(n int) {
		for range n {
			token, _, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
			testserver.Must(t, err)
			tokens = append(tokens, token)
		}
	}
	add(25)
	few := each()
	add(170)
	many := each()
	setting := w.SQL("SELECT name FROM settings LIMIT 1")[0]
	reads := apptest.Fastest(func() {
		for range 25 {
			_, err := db.Get(t.Context(), w.DB, func(r *db.Reader) ([]byte, error) { return r.Setting(setting) })
			testserver.Must(t, err)
		}
	})
	t.Logf("25 look-ups among 25 keys take %v, among 195 %v; 25 reads %v", few, many, reads)
	if many > 2*few || few > 10*reads {
		t.Errorf("25 look-ups among 25 keys take %v, among 195 %v; 25 reads %v", few, many, reads)
	}
}
