package engine

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
)

func TestARevokedKeyStopsWithinASecond(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		token, k, err := w.e.CreateKey(t.Context(), w.key.TeamID, app.KeyInput{Name: "k", Permission: app.SendingAccess, Role: app.RoleMember, Domain: testDomain})
		must(t, err)
		got, err := w.e.Authenticate(t.Context(), token)
		must(t, err)
		if got.ID != k.ID || got.TeamID != w.key.TeamID || got.TeamName != app.DefaultTeam || got.DomainName != testDomain || got.Permission != app.SendingAccess || got.Role != app.RoleMember {
			t.Errorf("key %+v", got)
		}
		// By another process, which can't reach this one's cache.
		cfg := w.cfg
		cfg.Routes = nil
		cli, err := New(t.Context(), cfg)
		must(t, err)
		must(t, cli.RevokeKey(t.Context(), k.ID))
		time.Sleep(time.Second)
		_, err = w.e.Authenticate(t.Context(), token)
		wantCode(t, err, app.CodeInvalidAPIKey)
		wantCode(t, cli.RevokeKey(t.Context(), k.ID), app.CodeNotFound)
	})
}

func TestAWrongSecretIsRefusedAlsoFromTheCache(t *testing.T) {
	w := idle(t, newRelay(nil))
	token, k, err := w.e.CreateKey(t.Context(), w.key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
	must(t, err)
	end := byte('a')
	if token[len(token)-1] == end {
		end = 'b'
	}
	other, _, _ := app.NewKey()
	for range 2 {
		for _, bad := range []string{token[:len(token)-1] + string(end), other, "", "mlr_", token + "x", strings.ToUpper(token), " " + token} {
			_, err := w.e.Authenticate(t.Context(), bad)
			wantCode(t, err, app.CodeInvalidAPIKey)
		}
		_, err := w.e.Authenticate(t.Context(), token)
		must(t, err)
	}
	if strings.Contains(string(k.Hash), token[21:]) {
		t.Error("the secret is kept")
	}
}

func TestLastUsedIsWrittenAtMostOnceAMinute(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		token, k, err := w.e.CreateKey(t.Context(), w.key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
		must(t, err)
		var used []time.Time
		for range 2000 {
			_, err := w.e.Authenticate(t.Context(), token)
			must(t, err)
			time.Sleep(130 * time.Millisecond)
			keys, err := w.e.ListKeys(t.Context(), w.key.TeamID)
			must(t, err)
			at := keys[slices.IndexFunc(keys, func(x app.Key) bool { return x.ID == k.ID })].LastUsedAt
			if !at.IsZero() && (len(used) == 0 || !at.Equal(used[len(used)-1])) {
				used = append(used, at)
			}
		}
		for i := 1; i < len(used); i++ {
			if d := used[i].Sub(used[i-1]); d < time.Minute || d > 75*time.Second {
				t.Errorf("written again after %v", d)
			}
		}
		if len(used) < 3 || len(used) > 5 {
			t.Errorf("written %d times in %v: %v", len(used), 2000*130*time.Millisecond, used)
		}
	})
}

func TestTheFirstUseOfAKeyShowsWithinFiveSeconds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		for i := range 12 { // wherever the use falls between two times of storing
			token, k, err := w.e.CreateKey(t.Context(), w.key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
			must(t, err)
			time.Sleep(time.Duration(i) * 700 * time.Millisecond)
			used := time.Now()
			_, err = w.e.Authenticate(t.Context(), token)
			must(t, err)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			keys, _, err := w.e.ListTeamKeys(t.Context(), w.key, app.Page{Limit: app.MaxLimit})
			must(t, err)
			at := keys[slices.IndexFunc(keys, func(x app.Key) bool { return x.ID == k.ID })].LastUsedAt
			if d := at.Sub(used); d < -time.Millisecond || d > 0 { // it is kept in milliseconds
				t.Errorf("used at %v, shown %v", used, at)
			}
		}
	})
}

func TestNothingIsWrittenWhereNoKeyWasUsed(t *testing.T) {
	w := idle(t, newRelay(nil))
	before := w.commits()
	must(t, w.e.flushKeys(t.Context()))
	if n := w.commits() - before; n != 0 {
		t.Errorf("%d commits for no key", n)
	}
	for range 3 {
		token, _, err := w.e.CreateKey(t.Context(), w.key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
		must(t, err)
		_, err = w.e.Authenticate(t.Context(), token)
		must(t, err)
	}
	before = w.commits()
	must(t, w.e.flushKeys(t.Context()))
	must(t, w.e.flushKeys(t.Context()))
	if n := w.commits() - before; n != 1 {
		t.Errorf("%d commits for three keys", n)
	}
}

func TestLastUsedIsWrittenAtStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		token, _, err := w.e.CreateKey(t.Context(), w.key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
		must(t, err)
		_, err = w.e.Authenticate(t.Context(), token)
		must(t, err)
		w.stop()
		w.open()
		keys, err := w.e.ListKeys(t.Context(), w.key.TeamID)
		must(t, err)
		if len(keys) != 1 || keys[0].LastUsedAt.IsZero() {
			t.Errorf("keys %+v", keys)
		}
	})
}

func TestAMasterKeyOfAnotherDatabaseIsRefusedAtOnce(t *testing.T) {
	w := idle(t, newRelay(nil))
	other, err := app.NewSealer([]byte(strings.Repeat("x", app.MasterKeySize)))
	must(t, err)
	cfg := w.cfg
	cfg.Sealer = other
	if _, err := New(t.Context(), cfg); !errors.Is(err, app.ErrSeal) {
		t.Errorf("error %v", err)
	}
}

func TestTheDevKeyStaysTheSame(t *testing.T) {
	w := idle(t, newRelay(nil))
	first, err := w.e.DevKey(t.Context())
	must(t, err)
	again, err := w.e.DevKey(t.Context())
	must(t, err)
	if first != again {
		t.Error("two keys")
	}
}

func TestADomainGetsAKeyThatOpens(t *testing.T) {
	w := idle(t, newRelay(nil))
	d, err := w.e.AddDomain(t.Context(), w.key.TeamID, app.DomainInput{Name: "New.Example", Trusted: true})
	must(t, err)
	if d.Name != "new.example" || d.Region != app.DefaultRegion || d.Status != app.DomainVerified || len(d.Keys) != 1 || d.Keys[0].Public == "" {
		t.Errorf("domain %+v", d)
	}
	key, err := w.e.dkimKey(t.Context(), w.key.TeamID, "new.example")
	must(t, err)
	if key == nil || key.Domain != "new.example" || key.Selector != "mailer" || key.Signer == nil {
		t.Errorf("key %+v", key)
	}
	if strings.Contains(string(d.Keys[0].Sealed), "PRIVATE") {
		t.Error("the private key is in the clear")
	}
	_, err = w.e.AddDomain(t.Context(), w.key.TeamID, app.DomainInput{Name: "new.example"})
	wantCode(t, err, app.CodeConflict)
	_, err = w.e.AddDomain(t.Context(), w.key.TeamID, app.DomainInput{Name: "not a domain"})
	wantCode(t, err, app.CodeValidation)
}

func TestNothingOfAnotherTeamIsFound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		in := letter("bob@example.net")
		in.Attachments = []app.Attachment{{Filename: "a.txt", Content: []byte("secret")}}
		id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
		must(t, err)
		synctest.Wait()
		attachment := w.email(id).Attachments[0].ID
		other := w.addTeam("Other", "other.example")
		page := app.Page{Limit: 10}
		_, err = w.e.GetEmail(t.Context(), other, id)
		wantCode(t, err, app.CodeNotFound)
		_, _, err = w.e.ListEvents(t.Context(), other, id, page)
		wantCode(t, err, app.CodeNotFound)
		_, _, err = w.e.ListAttachments(t.Context(), other, id, page)
		wantCode(t, err, app.CodeNotFound)
		_, err = w.e.GetAttachment(t.Context(), other, id, attachment)
		wantCode(t, err, app.CodeNotFound)
		_, err = w.e.GetCaptured(t.Context(), other, id)
		wantCode(t, err, app.CodeNotFound)
		_, err = w.e.DomainByName(t.Context(), other.TeamID, testDomain)
		wantCode(t, err, app.CodeNotFound)
		token, _ := w.e.AttachmentToken(other, id, attachment)
		_, err = w.e.OpenAttachment(t.Context(), token)
		wantCode(t, err, app.CodeNotFound)
		_, _, err = w.e.ListEmails(t.Context(), other, app.Page{Limit: 10, After: id})
		wantCode(t, err, app.CodeValidation)
		emails, more, err := w.e.ListEmails(t.Context(), other, page)
		must(t, err)
		if len(emails) != 0 || more {
			t.Errorf("%d emails of another team", len(emails))
		}
	})
}

func TestADownloadTokenOpensOneAttachmentForAnHour(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		in := letter("bob@example.net")
		in.Attachments = []app.Attachment{{Filename: "a.txt", Content: []byte("one")}, {Filename: "b.txt", Content: []byte("two")}}
		id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
		must(t, err)
		files := w.email(id).Attachments
		token, expires := w.e.AttachmentToken(w.key, id, files[1].ID)
		if got := time.Until(expires); got > time.Hour || got < time.Hour-time.Second {
			t.Errorf("it ends in %v", got)
		}
		a, err := w.e.OpenAttachment(t.Context(), token)
		must(t, err)
		if string(a.Content) != "two" || a.Filename != "b.txt" {
			t.Errorf("attachment %+v", a)
		}
		raw, err := base64.RawURLEncoding.DecodeString(token)
		must(t, err)
		bad := []string{"", "x", token[:len(token)-1], token + "A", token + "=", "%" + token}
		for i := range raw {
			forged := slices.Clone(raw)
			forged[i] ^= 1
			bad = append(bad, base64.RawURLEncoding.EncodeToString(forged))
		}
		for _, b := range bad {
			_, err := w.e.OpenAttachment(t.Context(), b)
			wantCode(t, err, app.CodeNotFound)
		}
		time.Sleep(time.Hour + time.Second)
		_, err = w.e.OpenAttachment(t.Context(), token)
		wantCode(t, err, app.CodeNotFound)
	})
}
