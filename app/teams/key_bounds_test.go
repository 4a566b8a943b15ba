package teams_test

import (
	"fmt"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/service"
	"mailer/app/teams"
	"mailer/app/world"
	"mailer/db"
)

func TestAKeyThatExpiredIsRefusedAtOnce(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		in := app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner, ExpiresAt: time.Now().Add(time.Minute)}
		token, k, err := w.Server.Teams.CreateKey(t.Context(), w.Key.TeamID, in)
		world.Must(t, err)
		opens := func() error {
			_, err := w.Server.Teams.Authenticate(t.Context(), token)
			return err
		}
		world.Sleep(time.Minute - time.Millisecond)
		world.Must(t, opens()) // it is kept in memory from now on
		world.Sleep(time.Millisecond)
		world.WantCode(t, opens(), app.CodeInvalidAPIKey)
		later := teams.KeyChange{ExpiresAt: app.Change[time.Time]{Set: true, Value: time.Now().Add(time.Hour)}}
		_, err = w.Server.Teams.UpdateTeamKey(t.Context(), w.Key, k.ID, later)
		world.Must(t, err)
		world.Must(t, opens())
		_, err = w.Server.Teams.UpdateTeamKey(t.Context(), w.Key, k.ID, teams.KeyChange{ExpiresAt: app.Change[time.Time]{Set: true}})
		world.Must(t, err)
		world.Sleep(48 * time.Hour)
		world.Must(t, opens())
		_, err = w.Server.Teams.UpdateTeamKey(t.Context(), w.Key, k.ID, teams.KeyChange{ExpiresAt: app.Change[time.Time]{Set: true, Value: time.Now()}})
		world.WantCode(t, err, app.CodeValidation)
	})
}

func TestATeamHasSoManyKeysAndAnotherNoFewer(t *testing.T) {
	w := world.Idle(t, world.NewRelay(nil))
	w.Change(func(tx *db.Tx) error {
		for i := range service.CapKeys.Most {
			k := app.Key{ID: app.NewID(), TeamID: w.Key.TeamID, Name: "k", Permission: app.FullAccess, Role: app.RoleMember, Public: fmt.Sprint(i), Hash: []byte{1}}
			if err := tx.InsertKey(k); err != nil {
				return err
			}
		}
		return nil
	})
	in := app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleMember}
	_, _, err := w.Server.Teams.CreateTeamKey(t.Context(), w.Key, in)
	world.WantCode(t, err, app.CodeValidation)
	_, _, err = w.Server.Teams.CreateTeamKey(t.Context(), w.AddTeam("Other", "other.example"), in)
	world.Must(t, err)
}
