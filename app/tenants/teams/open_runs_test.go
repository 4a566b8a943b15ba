package teams_test

import (
	"testing"

	"mailer/app"
	"mailer/app/rules/plan"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestOpenRunsLeft shows that plans bound the open runs of a team, and the server those of all teams.
func TestOpenRunsLeft(t *testing.T) {
	left := func(w *testserver.Server) int64 {
		t.Helper()
		n, err := db.Get(t.Context(), w.DB, func(r *db.Reader) (int64, error) { return w.Services.Teams.OpenRunsLeft(r, w.Key.TeamID) })
		testserver.Must(t, err)
		return n
	}
	own := testserver.New(t, testserver.NewRelay(nil))
	if got := left(own); got != app.MaxOpenRuns {
		t.Errorf("self-hosted: %d", got)
	}
	w := accepting(t, plan.Input{Name: plan.Free}, testserver.NewRelay(nil))
	w.SQL(`INSERT INTO automation_teams (team_id, open_runs) VALUES (?, 400)`, w.Key.TeamID)
	if got := left(w); got != app.MaxFreeOpenRuns-400 {
		t.Errorf("free: %d", got)
	}
	w.SetPlan(plan.Input{Name: plan.Pro})
	if got := left(w); got != app.MaxOpenRuns-400 {
		t.Errorf("pro: %d", got)
	}
	other := testserver.New(t, testserver.NewRelay(nil))
	other.SQL(`INSERT INTO teams (id, name, created_at) VALUES ('other', 'other', 1)`)
	other.SQL(`INSERT INTO automation_teams (team_id, open_runs) VALUES ('other', ?)`, app.MaxServerOpenRuns-5)
	if got := left(other); got != 5 {
		t.Errorf("a server that is nearly full: %d", got)
	}
}
