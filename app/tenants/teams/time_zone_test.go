package teams_test

import (
	"testing"

	"mailer/app"
	"mailer/app/tenants/teams"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestTimeZone: a team has a time zone that exists, or none; schedules of its automations are computed again.
func TestTimeZone(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	s, ctx := w.Services.Teams, t.Context()
	set := func(zone string) error {
		_, err := s.UpdateTeamSettings(ctx, w.Key, teams.SettingsChange{TimeZone: app.Change[string]{Set: true, Value: zone}})
		return err
	}
	other := w.AddTeam("Other", "other.example")
	for _, c := range []struct {
		set  func(string) error
		zone string
		ok   bool
	}{
		{set, "Europe/Berlin", true}, {set, "Mars/Olympus", false}, {set, "Local", false},
		{func(zone string) error { return s.SetTimeZone(ctx, w.Key.TeamID, zone) }, "America/New_York", true},
		{func(zone string) error { return s.SetTimeZone(ctx, w.Key.TeamID, zone) }, "../etc/passwd", false}, {set, "", true},
	} {
		before, err := s.TeamSettings(ctx, w.Key.TeamID)
		testserver.Must(t, err)
		err = c.set(c.zone)
		want := c.zone
		if !c.ok {
			want = before.TimeZone
		}
		after, errAfter := s.TeamSettings(ctx, w.Key.TeamID)
		testserver.Must(t, errAfter)
		if (err == nil) != c.ok || !c.ok && app.CodeOf(err) != app.CodeValidation || after.TimeZone != want {
			t.Errorf("%q: %v, then %q", c.zone, err, after.TimeZone)
		}
	}
	testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error {
		for _, key := range []*app.Key{w.Key, other} {
			a := app.Automation{ID: app.NewID(), TeamID: key.TeamID, Name: "A", Status: app.AutomationEnabled, Version: 1, NextAt: tx.Now.AddDate(0, 0, 1)}
			if err := tx.InsertAutomation(&a); err != nil {
				return err
			}
			if err := tx.SetListeners(&a, app.TriggerSchedule, nil); err != nil {
				return err
			}
		}
		return nil
	}))
	testserver.Must(t, set("Asia/Tokyo"))
	if got := w.SQL(`SELECT CASE WHEN next_at < (SELECT max(next_at) FROM automations) THEN 'due' ELSE 'later' END FROM automations WHERE team_id = ?`, w.Key.TeamID)[0]; got != "due" {
		t.Errorf("the next time is %s", got)
	}
}
