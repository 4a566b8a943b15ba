//go:build !race

package teams_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/world"
)

// TestAKeyIsFoundWithinFiftyMicroseconds looks keys up in the database, without
// the cache. The best of many rounds counts: a busy machine only adds.
func TestAKeyIsFoundWithinFiftyMicroseconds(t *testing.T) {
	world.OnAFile(t) // elsewhere the network's time is most of it
	w := world.Idle(t, world.NewRelay(nil))
	var tokens []string
	for range 100 {
		token, _, err := w.Server.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
		world.Must(t, err)
		tokens = append(tokens, token)
	}
	best := time.Hour
	for range 30 {
		w.Server.Teams.Keys().Clear()
		start := time.Now()
		for _, token := range tokens {
			_, err := w.Server.Teams.Authenticate(t.Context(), token)
			world.Must(t, err)
		}
		best = min(best, time.Since(start)/time.Duration(len(tokens)))
	}
	if best > 50*time.Microsecond {
		t.Errorf("a look-up takes %v", best)
	}
	t.Logf("a look-up takes %v", best)
}
