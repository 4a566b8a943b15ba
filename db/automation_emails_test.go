package db

import (
	"testing"

	"mailer/app"
)

// TestAutomatedEmailRoundTrip shows that an email keeps its run and step, and its unit whether consent is needed.
func TestAutomatedEmailRoundTrip(t *testing.T) {
	d, team := suppressionStore(t, 0)
	for _, automated := range []app.Automated{app.NotAutomated, app.AutomatedMarketing, app.AutomatedTransactional} {
		e := &app.Email{ID: app.NewID(), TeamID: team.ID, Relay: "r", MessageID: "m", LastEvent: app.Queued,
			Mail: app.Mail{From: app.Address{Local: "a", Domain: "example.com"}, Subject: "x", Text: "y"}}
		if automated != app.NotAutomated {
			e.AutomationRun, e.AutomationStep = "run of "+string(automated), "welcome"
		}
		writeOK(t, d, func(tx *Tx) error {
			if err := tx.InsertEmail(e, []string{"bob@example.org"}); err != nil {
				return err
			}
			return tx.InsertUnit(app.Unit{EmailID: e.ID, TeamID: team.ID, Relay: "r", Domain: string(automated), NextAt: tx.Now, Automated: automated})
		})
		got, err := Get(t.Context(), d, func(r *Reader) (*app.Email, error) { return r.Email(team.ID, e.ID) })
		if err != nil || got.AutomationRun != e.AutomationRun || got.AutomationStep != e.AutomationStep {
			t.Errorf("%s: read run %q and step %q (%v), wrote %q and %q", automated, got.AutomationRun, got.AutomationStep, err, e.AutomationRun, e.AutomationStep)
		}
		units, err := Get(t.Context(), d, func(r *Reader) ([]app.Unit, error) { return r.DueUnits("r", false, team.ID, string(automated), 0, 10) })
		if err != nil || len(units) != 1 || units[0].Automated != automated {
			t.Errorf("%s: read units %+v, %v", automated, units, err)
		}
	}
}
