package accounts_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/testserver"
)

// ignoreKeys returns the error of a removal.
func ignoreKeys(_ []app.Key, err error) error { return err }

func TestRemovalListsRemainingKeys(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	s, ctx := w.Services.Accounts, t.Context()
	other := w.AddTeam("Other", "other.example")
	make := func(by *app.Key, name string, expires time.Time) *app.Key {
		_, k, err := w.Services.Teams.CreateTeamKey(ctx, by, app.KeyInput{Name: name, Permission: app.FullAccess, Role: app.RoleAdmin, ExpiresAt: expires})
		testserver.Must(t, err)
		return &k
	}
	token, ann := inviteAndAccept(w, w.Key, "ann@example.net", app.RoleAdmin)
	key, err := signedIn(w, token, w.Key.TeamID)
	testserver.Must(t, err)
	make(w.Key, "of nobody", time.Time{})
	make(make(key, "first", time.Time{}), "made by the first", time.Time{})
	expired := make(key, "expired", time.Now().Add(time.Hour))
	w.SQL(`UPDATE keys SET expires_at = 1 WHERE id = ?`, expired.ID)
	w.SQL(`UPDATE users SET only_team = NULL`)
	testserver.Must(t, s.AssignRole(ctx, ann.Address, other.TeamID, app.RoleAdmin))
	there, err := signedIn(w, token, other.TeamID)
	testserver.Must(t, err)
	make(there, "there", time.Time{})

	left, err := s.RemoveMember(ctx, w.Key, ann.ID)
	testserver.Must(t, err)
	if len(left) != 2 || left[0].Name != "first" || left[1].Name != "made by the first" {
		t.Errorf("%+v", left)
	}
	left, err = s.LeaveTeam(ctx, ann.Address, other.TeamID)
	testserver.Must(t, err)
	if len(left) != 1 || left[0].Name != "there" || left[0].TeamName != "Other" {
		t.Errorf("%+v", left)
	}
	left, err = s.RemoveAccount(ctx, ann.Address)
	testserver.Must(t, err)
	if len(left) != 3 {
		t.Errorf("%+v", left)
	}
}
