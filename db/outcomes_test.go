package db

import (
	"errors"
	"sync"
	"testing"

	"mailer/app/rules/counters"
	"mailer/app/rules/reputation"
)

func TestOutcomesOfAFailedWriteDoNotCount(t *testing.T) {
	d := openFile(t)
	team := addTestTeam(t, d, "counted")
	key := counters.Key{TeamID: team, Region: "r", Domain: "example.com"}
	failed := errors.New("no")
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			err := d.Write(t.Context(), func(tx *Tx) error {
				tx.CountSent(key, 1)
				tx.CountOutcome(key, reputation.Outcome{Sent: 1, HardBounced: 1, Complained: 1, Scored: 1, Points: 1000})
				if i%4 == 0 {
					return failed
				}
				return nil
			})
			if (i%4 == 0) != errors.Is(err, failed) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	err := d.Read(t.Context(), func(r *Reader) error {
		want := reputation.Outcome{Sent: 75, HardBounced: 75, Complained: 75, Scored: 75, Points: 75_000}
		if got, err := r.TeamOutcome(team, 0); err != nil || got != want {
			t.Errorf("the team's outcome is %+v, %v, want %+v", got, err, want)
		}
		want.Scored, want.Points = 0, 0
		got, err := r.RegionOutcome("r", 0)
		if got != want {
			t.Errorf("the region's outcome is %+v, want %+v", got, want)
		}
		if err != nil {
			return err
		}
		var rows, hours, sent int
		err = r.Row(`SELECT count(*), count(DISTINCT hour), sum(sent) FROM mail_counts`, nil, &rows, &hours, &sent)
		if rows != 2*hours || sent != 75 {
			t.Errorf("%d rows in %d hours have %d sent: each hour has one of the team and one of the region", rows, hours, sent)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
