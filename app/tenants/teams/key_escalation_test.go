package teams_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/tenants/teams"
	"mailer/app/testing/testserver"
)

func TestRestrictedKeyCantExtendKeys(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	s, ctx, end := w.Services.Teams, t.Context(), time.Now().Add(time.Hour)
	create := func(by *app.Key, expires time.Time, ranges ...string) (app.Key, error) {
		_, k, err := s.CreateTeamKey(ctx, by, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleAdmin, ExpiresAt: expires, AllowedIPs: ranges})
		return k, err
	}
	bounded, err := create(w.Key, end, "192.0.2.0/24", "2001:db8::/32")
	testserver.Must(t, err)
	free, err := create(w.Key, time.Time{})
	testserver.Must(t, err)

	for name, c := range map[string]struct {
		expires time.Time
		ranges  []string
		refused bool
	}{
		"without both":            {refused: true},
		"without an end":          {ranges: []string{"192.0.2.7"}, refused: true},
		"without addresses":       {expires: end, refused: true},
		"a later end":             {expires: end.Add(time.Second), ranges: []string{"192.0.2.7"}, refused: true},
		"a wider range":           {expires: end, ranges: []string{"192.0.0.0/16"}, refused: true},
		"one range of two beyond": {expires: end, ranges: []string{"192.0.2.7", "198.51.100.1"}, refused: true},
		"within":                  {expires: end, ranges: []string{"192.0.2.128/25", "2001:db8:1::/48"}},
	} {
		_, err := create(&bounded, c.expires, c.ranges...)
		if c.refused {
			testserver.WantCode(t, err, app.CodeForbidden)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	name := "other name"
	for _, id := range []string{bounded.ID, free.ID} {
		for _, change := range []teams.KeyChange{
			{ExpiresAt: app.Change[time.Time]{Set: true}},
			{ExpiresAt: app.Change[time.Time]{Set: true, Value: end.Add(time.Hour)}},
			{AllowedIPs: app.Change[[]string]{Set: true}},
			{AllowedIPs: app.Change[[]string]{Set: true, Value: []string{"0.0.0.0/0"}}},
		} {
			_, err := s.UpdateTeamKey(ctx, &bounded, id, change)
			testserver.WantCode(t, err, app.CodeForbidden)
		}
		_, err := s.UpdateTeamKey(ctx, &bounded, id, teams.KeyChange{Name: &name, ExpiresAt: app.Change[time.Time]{Set: true, Value: end.Add(-time.Minute)}})
		testserver.Must(t, err)
	}
}
