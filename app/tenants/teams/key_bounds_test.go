package teams_test

import (
	"fmt"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/teams"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestExpiredKeyIsRefused(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		in := app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner, ExpiresAt: time.Now().Add(time.Minute)}
		token, k, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, in)
		testserver.Must(t, err)
		opens := func() error {
			_, err := w.Services.Teams.Authenticate(t.Context(), token)
			return err
		}
		testserver.Sleep(time.Minute - time.Millisecond)
		testserver.Must(t, opens()) // now it is cached
		testserver.Sleep(time.Millisecond)
		testserver.WantCode(t, opens(), app.CodeInvalidAPIKey)
		later := teams.KeyChange{ExpiresAt: app.Change[time.Time]{Set: true, Value: time.Now().Add(time.Hour)}}
		_, err = w.Services.Teams.UpdateTeamKey(t.Context(), w.Key, k.ID, later)
		testserver.Must(t, err)
		testserver.Must(t, opens())
		_, err = w.Services.Teams.UpdateTeamKey(t.Context(), w.Key, k.ID, teams.KeyChange{ExpiresAt: app.Change[time.Time]{Set: true}})
		testserver.Must(t, err)
		testserver.Sleep(48 * time.Hour)
		testserver.Must(t, opens())
		_, err = w.Services.Teams.UpdateTeamKey(t.Context(), w.Key, k.ID, teams.KeyChange{ExpiresAt: app.Change[time.Time]{Set: true, Value: time.Now()}})
		testserver.WantCode(t, err, app.CodeValidation)
	})
}

func TestKeyLimitIsPerTeam(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	w.WriteDB(func(tx *db.Tx) error {
		for i := range base.CapKeys.Max {
			k := app.Key{ID: app.NewID(), TeamID: w.Key.TeamID, Name: "k", Permission: app.FullAccess, Role: app.RoleMember, Public: fmt.Sprint(i), Hash: []byte{1}}
			if err := tx.InsertKey(k); err != nil {
				return err
			}
		}
		return nil
	})
	in := app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleMember}
	_, _, err := w.Services.Teams.CreateTeamKey(t.Context(), w.Key, in)
	testserver.WantCode(t, err, app.CodeValidation)
	_, _, err = w.Services.Teams.CreateTeamKey(t.Context(), w.AddTeam("Other", "other.example"), in)
	testserver.Must(t, err)
}
