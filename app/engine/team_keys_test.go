package engine

import (
	"sync"
	"testing"
	"time"

	"mailer/app"
)

func TestAKeyThatWasReadBeforeItsRevocationIsNotKept(t *testing.T) {
	w := idle(t, newRelay(nil))
	_, k, err := w.e.CreateKey(t.Context(), w.key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
	must(t, err)
	// A request looks it up, and before it keeps what it found, it is revoked.
	_, era, ok := w.e.keys.get(k.Public, time.Now())
	if ok {
		t.Fatal("known before it was used")
	}
	must(t, w.e.DeleteTeamKey(t.Context(), w.key, k.ID))
	w.e.keys.put(k, time.Now(), era)
	if _, _, ok := w.e.keys.get(k.Public, time.Now()); ok {
		t.Error("a revoked key is believed")
	}
}

func TestARevokedKeyStopsAtOnceInItsServer(t *testing.T) {
	w := idle(t, newRelay(nil))
	var busy sync.WaitGroup
	for range 20 {
		token, k, err := w.e.CreateKey(t.Context(), w.key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
		must(t, err)
		for range 4 { // they keep it in the cache, or put it there just then
			busy.Go(func() {
				for range 50 {
					if _, err := w.e.Authenticate(t.Context(), token); err != nil {
						return
					}
				}
			})
		}
		must(t, w.e.DeleteTeamKey(t.Context(), w.key, k.ID))
		_, err = w.e.Authenticate(t.Context(), token)
		wantCode(t, err, app.CodeInvalidAPIKey)
		busy.Wait()
		_, err = w.e.Authenticate(t.Context(), token)
		wantCode(t, err, app.CodeInvalidAPIKey)
	}
}

func TestKeysOfAnotherTeamAreNotFound(t *testing.T) {
	w := idle(t, newRelay(nil))
	token, k, err := w.e.CreateKey(t.Context(), w.key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleMember})
	must(t, err)
	other := w.addTeam("Other", "other.example")
	_, err = w.e.RenameTeamKey(t.Context(), other, k.ID, "mine")
	wantCode(t, err, app.CodeNotFound)
	wantCode(t, w.e.DeleteTeamKey(t.Context(), other, k.ID), app.CodeNotFound)
	_, _, err = w.e.ListTeamKeys(t.Context(), other, app.Page{Limit: 10, After: k.ID})
	wantCode(t, err, app.CodeValidation)
	got, err := w.e.Authenticate(t.Context(), token)
	must(t, err)
	if got.Name != "k" {
		t.Errorf("it is called %q", got.Name)
	}
}

// BenchmarkAuthenticate is what a request pays for its key: from the cache, and
// from the database, which a key costs twice a second.
func BenchmarkAuthenticate(b *testing.B) {
	w := idle(b, newRelay(nil))
	token, _, err := w.e.CreateKey(b.Context(), w.key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
	must(b, err)
	for name, cached := range map[string]bool{"cached": true, "database": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if !cached {
					w.e.keys.forget()
				}
				if _, err := w.e.Authenticate(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
