package world

import (
	"mailer/app"
	"mailer/app/reputation"
	"mailer/db"
)

// Outcome is what the counters of the world's team say.
func (w *World) Outcome() (o reputation.Outcome) {
	w.T.Helper()
	w.Read(func(r *db.Reader) (err error) {
		o, err = r.TeamOutcome(w.Key.TeamID, 0)
		return err
	})
	return o
}

// WantCounts compares the counters but for scores, of the team and of its region.
func (w *World) WantCounts(sent, hard, complained int64) {
	w.T.Helper()
	want := reputation.Outcome{Sent: sent, HardBounced: hard, Complained: complained}
	got := w.Outcome()
	if got.Scored, got.Points = 0, 0; got != want {
		w.T.Errorf("the team's counters are %+v, want %+v", got, want)
	}
	w.Read(func(r *db.Reader) error {
		got, err := r.RegionOutcome(app.DefaultRegion, 0)
		if got != want {
			w.T.Errorf("the region's counters are %+v, want %+v", got, want)
		}
		return err
	})
}
