package world

import (
	"database/sql"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/reputation"
	"mailer/db"
)

// Suffered adds to the counters of the world's team.
func (w *World) Suffered(o reputation.Outcome) {
	w.T.Helper()
	w.SufferedBy(w.Key.TeamID, o)
}

func (w *World) SufferedBy(teamID string, o reputation.Outcome) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		w.Server.Delivery.CountOutcome(tx, reputation.OutcomeKey{TeamID: teamID, Region: app.DefaultRegion, Domain: TestDomain}, o)
		return nil
	}))
}

// Age moves everything that was counted some hours back, which is faster than to
// wait for it.
func (w *World) Age(hours int) {
	w.T.Helper()
	pool, err := sql.Open("sqlite", "file:"+w.Path+"?_busy_timeout=5000")
	Must(w.T, err)
	defer pool.Close()
	for _, table := range []string{"outcomes", "region_outcomes"} {
		_, err = pool.ExecContext(w.T.Context(), `UPDATE `+table+` SET hour = hour - ?`, hours)
		Must(w.T, err)
	}
}

func (w *World) WantTold(want ...string) {
	w.T.Helper()
	got := strings.Fields(w.Rows(`SELECT type FROM happenings WHERE type LIKE 'deliverability.%' ORDER BY id`))
	if !slices.Equal(got, want) {
		w.T.Errorf("the team was told %q, want %q", got, want)
	}
}
