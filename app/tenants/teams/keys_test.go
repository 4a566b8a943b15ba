package teams_test

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/kit/seal"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

func TestKeyRevokedOnAnotherServerStopsWithinASecond(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		token, k, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.SendingAccess, Role: app.RoleMember, Domain: testserver.TestDomain})
		testserver.Must(t, err)
		got, err := w.Services.Teams.Authenticate(t.Context(), token)
		testserver.Must(t, err)
		if got.ID != k.ID || got.TeamID != w.Key.TeamID || got.TeamName != app.DefaultTeam || got.DomainName != testserver.TestDomain || got.Permission != app.SendingAccess || got.Role != app.RoleMember {
			t.Errorf("key %+v", got)
		}
		// Another process revokes it, without access to this process's cache.
		cfg := w.Config
		cfg.Routes = nil
		cli, err := server.New(t.Context(), cfg)
		testserver.Must(t, err)
		testserver.Must(t, cli.Teams.RevokeKey(t.Context(), k.ID))
		time.Sleep(time.Second)
		_, err = w.Services.Teams.Authenticate(t.Context(), token)
		testserver.WantCode(t, err, app.CodeInvalidAPIKey)
		testserver.WantCode(t, cli.Teams.RevokeKey(t.Context(), k.ID), app.CodeNotFound)
	})
}

func TestCachedKeyRefusesWrongSecret(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	token, k, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
	testserver.Must(t, err)
	end := byte('a')
	if token[len(token)-1] == end {
		end = 'b'
	}
	other, _, _ := app.NewKey()
	for range 2 {
		for _, bad := range []string{token[:len(token)-1] + string(end), other, "", "mlr_", token + "x", strings.ToUpper(token), " " + token} {
			_, err := w.Services.Teams.Authenticate(t.Context(), bad)
			testserver.WantCode(t, err, app.CodeInvalidAPIKey)
		}
		_, err := w.Services.Teams.Authenticate(t.Context(), token)
		testserver.Must(t, err)
	}
	if strings.Contains(string(k.Hash), token[21:]) {
		t.Error("the secret is kept")
	}
}

func TestLastUsedIsWrittenOncePerMinute(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		token, k, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
		testserver.Must(t, err)
		var used []time.Time
		for range 2000 {
			_, err := w.Services.Teams.Authenticate(t.Context(), token)
			testserver.Must(t, err)
			time.Sleep(130 * time.Millisecond)
			keys, err := w.Services.Teams.ListKeys(t.Context(), w.Key.TeamID)
			testserver.Must(t, err)
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

func TestFirstUseOfKeyShowsWithinFiveSeconds(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		for i := range 12 { // at several times between two flushes
			token, k, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
			testserver.Must(t, err)
			time.Sleep(time.Duration(i) * 700 * time.Millisecond)
			used := time.Now()
			_, err = w.Services.Teams.Authenticate(t.Context(), token)
			testserver.Must(t, err)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			keys, _, err := w.Services.Teams.ListTeamKeys(t.Context(), w.Key, app.Page{Limit: app.MaxLimit})
			testserver.Must(t, err)
			at := keys[slices.IndexFunc(keys, func(x app.Key) bool { return x.ID == k.ID })].LastUsedAt
			if d := at.Sub(used); d < -time.Millisecond || d > 0 { // stored in milliseconds
				t.Errorf("used at %v, shown %v", used, at)
			}
		}
	})
}

func TestFlushKeysWritesNothingWithoutUses(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	before := w.Commits()
	testserver.Must(t, w.Services.Teams.FlushKeys(t.Context()))
	if n := w.Commits() - before; n != 0 {
		t.Errorf("%d commits for no key", n)
	}
	for range 3 {
		token, _, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
		testserver.Must(t, err)
		_, err = w.Services.Teams.Authenticate(t.Context(), token)
		testserver.Must(t, err)
	}
	before = w.Commits()
	testserver.Must(t, w.Services.Teams.FlushKeys(t.Context()))
	testserver.Must(t, w.Services.Teams.FlushKeys(t.Context()))
	if n := w.Commits() - before; n != 1 {
		t.Errorf("%d commits for three keys", n)
	}
}

func TestLastUsedIsWrittenAtShutdown(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		token, _, err := w.Services.Teams.CreateKey(t.Context(), w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
		testserver.Must(t, err)
		_, err = w.Services.Teams.Authenticate(t.Context(), token)
		testserver.Must(t, err)
		w.Stop()
		w.Open()
		keys, err := w.Services.Teams.ListKeys(t.Context(), w.Key.TeamID)
		testserver.Must(t, err)
		if len(keys) != 1 || keys[0].LastUsedAt.IsZero() {
			t.Errorf("keys %+v", keys)
		}
	})
}

func TestWrongMasterKeyIsRefusedAtStart(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	other, err := app.NewSealer(seal.MasterKey{Key: []byte(strings.Repeat("x", seal.MasterKeySize))})
	testserver.Must(t, err)
	cfg := w.Config
	cfg.Sealer = other
	if _, err := server.New(t.Context(), cfg); !errors.Is(err, seal.ErrSeal) {
		t.Errorf("error %v", err)
	}
}

func TestDevKeyIsStable(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	first, err := w.Services.Teams.DevKey(t.Context())
	testserver.Must(t, err)
	again, err := w.Services.Teams.DevKey(t.Context())
	testserver.Must(t, err)
	if first != again {
		t.Error("two keys")
	}
}

func TestDKIMKeyOfNewDomainOpens(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	d, err := w.Services.Domains.AddDomain(t.Context(), w.Key.TeamID, app.DomainInput{Name: "New.Example", Trusted: true})
	testserver.Must(t, err)
	if d.Name != "new.example" || d.Region != app.DefaultRegion || d.Status != app.DomainVerified || len(d.Keys) != 1 || d.Keys[0].Public == "" {
		t.Errorf("domain %+v", d)
	}
	key, err := w.Services.Domains.DKIMKey(t.Context(), w.Key.TeamID, "new.example")
	testserver.Must(t, err)
	if key == nil || key.Domain != "new.example" || key.Selector != "mailer" || key.Signer == nil {
		t.Errorf("key %+v", key)
	}
	if strings.Contains(string(d.Keys[0].Sealed), "PRIVATE") {
		t.Error("the private key is in the clear")
	}
	_, err = w.Services.Domains.AddDomain(t.Context(), w.Key.TeamID, app.DomainInput{Name: "new.example"})
	testserver.WantCode(t, err, app.CodeConflict)
	_, err = w.Services.Domains.AddDomain(t.Context(), w.Key.TeamID, app.DomainInput{Name: "not a domain"})
	testserver.WantCode(t, err, app.CodeValidation)
}

func TestOtherTeamsObjectsAreNotFound(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		in := testserver.Message("bob@example.net")
		in.Attachments = []app.Attachment{{Filename: "a.txt", Content: []byte("secret")}}
		id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		synctest.Wait()
		attachment := w.Email(id).Attachments[0].ID
		other := w.AddTeam("Other", "other.example")
		page := app.Page{Limit: 10}
		_, err = w.Services.Mail.GetEmail(t.Context(), other, id)
		testserver.WantCode(t, err, app.CodeNotFound)
		_, _, err = w.Services.Mail.ListEvents(t.Context(), other, id, page)
		testserver.WantCode(t, err, app.CodeNotFound)
		_, _, err = w.Services.Mail.ListAttachments(t.Context(), other, id, page)
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = w.Services.Mail.GetAttachment(t.Context(), other, id, attachment)
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = w.Services.Mail.GetCaptured(t.Context(), other, id)
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = w.Services.Domains.DomainByName(t.Context(), other.TeamID, testserver.TestDomain)
		testserver.WantCode(t, err, app.CodeNotFound)
		token, _ := w.Services.Mail.AttachmentToken(other, id, attachment)
		_, err = w.Services.Mail.OpenAttachment(t.Context(), token)
		testserver.WantCode(t, err, app.CodeNotFound)
		_, _, err = w.Services.Mail.ListEmails(t.Context(), other, app.Page{Limit: 10, After: id})
		testserver.WantCode(t, err, app.CodeValidation)
		emails, more, err := w.Services.Mail.ListEmails(t.Context(), other, page)
		testserver.Must(t, err)
		if len(emails) != 0 || more {
			t.Errorf("%d emails of another team", len(emails))
		}
	})
}

func TestDownloadTokenOpensOneAttachmentForAnHour(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		in := testserver.Message("bob@example.net")
		in.Attachments = []app.Attachment{{Filename: "a.txt", Content: []byte("one")}, {Filename: "b.txt", Content: []byte("two")}}
		id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		files := w.Email(id).Attachments
		token, expires := w.Services.Mail.AttachmentToken(w.Key, id, files[1].ID)
		if got := time.Until(expires); got > time.Hour || got < time.Hour-time.Second {
			t.Errorf("it ends in %v", got)
		}
		a, err := w.Services.Mail.OpenAttachment(t.Context(), token)
		testserver.Must(t, err)
		content, err := a.Next(t.Context())
		testserver.Must(t, err)
		if string(content) != "two" || a.Filename != "b.txt" {
			t.Errorf("attachment %+v with %q", a.Attachment, content)
		}
		raw, err := base64.RawURLEncoding.DecodeString(token)
		testserver.Must(t, err)
		bad := []string{"", "x", token[:len(token)-1], token + "A", token + "=", "%" + token}
		for i := range raw {
			forged := slices.Clone(raw)
			forged[i] ^= 1
			bad = append(bad, base64.RawURLEncoding.EncodeToString(forged))
		}
		for _, b := range bad {
			_, err := w.Services.Mail.OpenAttachment(t.Context(), b)
			testserver.WantCode(t, err, app.CodeNotFound)
		}
		time.Sleep(time.Hour + time.Second)
		_, err = w.Services.Mail.OpenAttachment(t.Context(), token)
		testserver.WantCode(t, err, app.CodeNotFound)
	})
}
