package teams_test

import (
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/tenants/teams"
	"mailer/app/testing/testserver"
)

func TestKeyReadBeforeRevocationIsNotCached(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	_, k, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
	testserver.Must(t, err)
	// The key is revoked after a request has read it and before the request caches it.
	mark := w.Services.Teams.Keys().Mark()
	if _, ok := w.Services.Teams.Keys().Get(k.Public); ok {
		t.Fatal("known before it was used")
	}
	testserver.Must(t, w.Services.Teams.DeleteTeamKey(t.Context(), w.Key, k.ID))
	w.Services.Teams.Keys().Put(k.Public, k, mark)
	if _, ok := w.Services.Teams.Keys().Get(k.Public); ok {
		t.Error("a revoked key is believed")
	}
}

func TestRevokedKeyStopsImmediately(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	var busy sync.WaitGroup
	for range 20 {
		token, k, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
		testserver.Must(t, err)
		for range 4 { // they hold it in the cache, or are adding it
			busy.Go(func() {
				for range 50 {
					if _, err := w.Services.Teams.Authenticate(t.Context(), token); err != nil {
						return
					}
				}
			})
		}
		testserver.Must(t, w.Services.Teams.DeleteTeamKey(t.Context(), w.Key, k.ID))
		_, err = w.Services.Teams.Authenticate(t.Context(), token)
		testserver.WantCode(t, err, app.CodeInvalidAPIKey)
		busy.Wait()
		_, err = w.Services.Teams.Authenticate(t.Context(), token)
		testserver.WantCode(t, err, app.CodeInvalidAPIKey)
	}
}

func TestOtherTeamsKeysAreNotFound(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	token, k, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleMember})
	testserver.Must(t, err)
	other := w.AddTeam("Other", "other.example")
	mine := "mine"
	_, err = w.Services.Teams.UpdateTeamKey(t.Context(), other, k.ID, teams.KeyChange{Name: &mine})
	testserver.WantCode(t, err, app.CodeNotFound)
	testserver.WantCode(t, w.Services.Teams.DeleteTeamKey(t.Context(), other, k.ID), app.CodeNotFound)
	_, _, err = w.Services.Teams.ListTeamKeys(t.Context(), other, app.Page{Limit: 10, After: k.ID})
	testserver.WantCode(t, err, app.CodeValidation)
	got, err := w.Services.Teams.Authenticate(t.Context(), token)
	testserver.Must(t, err)
	if got.Name != "k" {
		t.Errorf("it is called %q", got.Name)
	}
}

// BenchmarkAuthenticate measures the lookup of a key from the cache, and from the database, which
// happens twice a second for a key in use.
func BenchmarkAuthenticate(b *testing.B) {
	w := testserver.New(b, testserver.NewRelay(nil))
	token, _, err := w.Services.Teams.CreateKey(b.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
	testserver.Must(b, err)
	for name, cached := range map[string]bool{"cached": true, "database": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if !cached {
					w.Services.Teams.Keys().Clear()
				}
				if _, err := w.Services.Teams.Authenticate(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
