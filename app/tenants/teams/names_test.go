package teams_test

import (
	"testing"

	"mailer/app"
	"mailer/app/tenants/teams"
	"mailer/app/testing/testserver"
)

func TestTeamNameRefusesAddressesAndHiddenText(t *testing.T) {
	for _, name := range []string{
		"ACME Bank: your account is locked, go to https://evil.test/unlock now", "HTTP://EVIL.TEST", "ftp://x", "see www.evil.test", "evil.test/unlock",
		"evil.test", "call evil.co.uk", "evil。test", "ｅｖｉｌ．ｔｅｓｔ", "bücher.example", "例え.テスト", "x.xn--p1ai", "mail bob@evil.test", "go to 192.0.2.1 now",
		"evil.test.", "(evil.test)", "Team\u202eB", "Team\u2066B\u2069", "Team\u200bB", "Te\u00adam", "Team\ufeffB", "Team\nB", "Team\u2028B", "Team\x1b[31mB",
	} {
		_, err := teams.CheckName("name", name)
		testserver.WantCode(t, err, app.CodeValidation)
	}
	for _, name := range []string{
		"Shop", "Müller & Söhne GmbH", "Acme Inc.", "S.p.A. Rossi", "Dr. Oetker", "e.V.", "v2.0", "24/7 Support", "A.B", "…and co", "日本チーム", "צוות", "می\u200cخواهم",
		"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "👩\u200d💻", "Team: North",
	} {
		if got, err := teams.CheckName("name", name); err != nil || got != name {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestTeamRenamingItselfLearnsNoOtherName(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	s, ctx := w.Services.Teams, t.Context()
	other := w.AddTeam("TeamB", "b.example")
	name := "TeamB"
	got, err := s.UpdateTeamSettings(ctx, w.Key, teams.SettingsChange{Name: &name})
	testserver.Must(t, err)
	if got.Name != name {
		t.Errorf("it is called %q", got.Name)
	}
	_, err = s.FindTeam(ctx, name) // the lookalike is not found
	testserver.WantCode(t, err, app.CodeConflict)
	_, err = s.SuspendTeam(ctx, name, "")
	testserver.WantCode(t, err, app.CodeConflict)
	for _, id := range []string{w.Key.TeamID, other.TeamID} {
		if found, err := s.FindTeam(ctx, id); err != nil || found.ID != id {
			t.Errorf("by id: %+v, %v", found, err)
		}
	}
	_, err = s.UpdateTeamSettings(ctx, w.Key, teams.SettingsChange{Name: &other.TeamID})
	testserver.Must(t, err)
	if found, err := s.FindTeam(ctx, other.TeamID); err != nil || found.ID != other.TeamID {
		t.Errorf("a name that is another's id: %+v, %v", found, err)
	}

	_, err = s.CreateTeam(ctx, "TeamB") // operators see all names
	testserver.WantCode(t, err, app.CodeConflict)
	_, err = s.ChangeTeam(ctx, w.Key.TeamID, teams.Change{Name: &name})
	testserver.WantCode(t, err, app.CodeConflict)
}
