package accounts_test

import (
	"context"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/tenants/accounts"
	"mailer/app/testing/testserver"
)

func TestJoiningNeedsConsent(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		s, ctx := w.Services.Accounts, context.WithoutCancel(t.Context())
		own := w.Services.OwnInvitations
		bob := w.AddTeam("Bob", "bob.example")
		token, u := inviteAndAccept(w, bob, "bob@example.net", app.RoleOwner)
		w.SQL(`UPDATE users SET only_team = NULL`)
		for _, address := range []string{"bob@example.net", "nobody@example.net"} { // the answers must not differ
			i, link, err := s.Invite(ctx, w.Key, address, app.RoleMember)
			testserver.Must(t, err)
			if i.Address != address || link == "" {
				t.Errorf("%+v, %s", i, link)
			}
			_, err = s.Accept(ctx, visitor("192.0.2.1"), &accounts.AcceptInput{Code: codeIn(link), Password: "short"})
			testserver.WantCode(t, err, app.CodeValidation)
		}
		key, err := signedIn(w, token, "") // unchanged
		testserver.Must(t, err)
		if key.TeamID != bob.TeamID {
			t.Errorf("he is in %s", key.TeamID)
		}
		if rows, _, err := s.Members(ctx, w.Key, app.Page{Limit: 9}); err != nil || len(rows) != 0 {
			t.Errorf("%+v, %v", rows, err)
		}

		rows, err := own.OwnInvitations(ctx, key)
		testserver.Must(t, err)
		if len(rows) != 1 || rows[0].TeamID != w.Key.TeamID || rows[0].Role != app.RoleMember {
			t.Fatalf("%+v", rows)
		}
		testserver.Must(t, own.Decline(ctx, key, rows[0].ID))
		_, err = own.AcceptOwn(ctx, key, rows[0].ID)
		testserver.WantCode(t, err, app.CodeNotFound)
		i, _, err := s.Invite(ctx, w.Key, u.Address, app.RoleAdmin)
		testserver.Must(t, err)
		otherTeam, _, err := s.Invite(ctx, w.Key, "carol@example.net", app.RoleAdmin)
		testserver.Must(t, err)
		_, err = own.AcceptOwn(ctx, key, otherTeam.ID)
		testserver.WantCode(t, err, app.CodeNotFound)
		m, err := own.AcceptOwn(ctx, key, i.ID)
		testserver.Must(t, err)
		if m.TeamID != w.Key.TeamID || m.Role != app.RoleAdmin {
			t.Errorf("%+v", m)
		}

		// What a team does with its members affects only that team.
		in := func(team string) error { _, err := signedIn(w, token, team); return err }
		testserver.Sleep(time.Second)
		_, err = s.ChangeRole(ctx, w.Key, u.ID, app.RoleMember)
		testserver.Must(t, err)
		testserver.WantCode(t, in(w.Key.TeamID), app.CodeInvalidCredentials)
		testserver.Must(t, in(bob.TeamID))
		testserver.Must(t, in(""))
		testserver.Must(t, ignoreKeys(s.RemoveMember(ctx, w.Key, u.ID)))
		testserver.WantCode(t, in(w.Key.TeamID), app.CodeNotFound)
		testserver.Must(t, in(bob.TeamID))
	})
}

func TestPreregisteredAccountGainsNothing(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		p := newMailCatcher(t)
		w, ctx := p.w, context.WithoutCancel(t.Context())
		s := w.Services.Accounts
		own := w.Services.OwnInvitations
		evil, good := w.AddTeam("Evil", "evil.example"), w.AddTeam("Good", "good.example")
		token, cfo := inviteAndAccept(w, evil, "cfo@example.net", app.RoleMember) // with the link shown to the inviter
		thief, err := signedIn(w, token, evil.TeamID)
		testserver.Must(t, err)
		old, err := s.NewLink(ctx, cfo.Address)
		testserver.Must(t, err)
		w.SQL(`INSERT INTO totp (user_id, sealed, step, confirmed_at) VALUES (?, CAST('0' AS BLOB), 0, 1)`, cfo.ID)

		testserver.WantCode(t, s.AssignRole(ctx, cfo.Address, good.TeamID, app.RoleAdmin), app.CodeConflict)
		testserver.Must(t, s.AssignRole(ctx, cfo.Address, evil.TeamID, app.RoleAdmin))
		_, err = w.Services.Directory.SetOperator(ctx, cfo.ID, true)
		testserver.WantCode(t, err, app.CodeConflict)
		n := len(p.relay.Transactions(""))
		i, link, err := s.Invite(ctx, good, cfo.Address, app.RoleAdmin)
		testserver.Must(t, err)
		if rows, err := own.OwnInvitations(ctx, thief); err != nil || len(rows) != 0 {
			t.Errorf("the thief sees %+v, %v", rows, err)
		}
		_, err = own.AcceptOwn(ctx, thief, i.ID)
		testserver.WantCode(t, err, app.CodeNotFound)
		accept := func(code, password string) (accounts.NewSession, error) {
			return s.Accept(ctx, visitor("192.0.2.1"), &accounts.AcceptInput{Code: code, Password: password})
		}
		_, err = accept(codeIn(link), secret)
		testserver.WantCode(t, err, app.CodeConflict)

		m := p.last(n + 1)
		got, err := accept(m.code(), "the owner's own password")
		testserver.Must(t, err)
		if len(got.Factors) != 0 || len(got.Teams) != 1 || got.Teams[0].TeamID != good.TeamID || got.User.ID != cfo.ID {
			t.Errorf("%+v", got)
		}
		_, err = signedIn(w, token, evil.TeamID)
		testserver.WantCode(t, err, app.CodeInvalidCredentials)
		_, err = s.SignIn(ctx, visitor("192.0.2.1"), cfo.Address, secret)
		testserver.WantCode(t, err, app.CodeInvalidCredentials)
		_, err = s.OpenLink(ctx, visitor("192.0.2.1"), codeIn(old))
		testserver.WantCode(t, err, app.CodeForbidden)
		_, err = w.Services.Directory.SetOperator(ctx, cfo.ID, true) // proven now
		testserver.Must(t, err)
	})
}

func TestAddressProofByMailOrOperator(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	s, ctx := w.Services.Accounts, t.Context()
	other := w.AddTeam("Other", "other.example")
	mayJoin := func(address string) error { return s.AssignRole(ctx, address, other.TeamID, app.RoleMember) }

	operator := *w.Key
	operator.Session = &app.Session{Operator: true, AuthenticatedAt: time.Now()}
	inviteAndAccept(w, &operator, "vouched@example.net", app.RoleMember)
	testserver.Must(t, mayJoin("vouched@example.net"))
	_, _, err := s.CreateAccount(ctx, "made@example.net", w.Key.TeamID, app.RoleMember, false)
	testserver.Must(t, err)
	testserver.Must(t, mayJoin("made@example.net"))

	token, _ := inviteAndAccept(w, w.Key, "shown@example.net", app.RoleMember)
	testserver.WantCode(t, mayJoin("shown@example.net"), app.CodeConflict)
	_, err = s.NewLink(ctx, "shown@example.net") // a link changes nothing else
	testserver.Must(t, err)
	testserver.WantCode(t, mayJoin("shown@example.net"), app.CodeConflict)
	_, err = s.Reset(ctx, "shown@example.net")
	testserver.Must(t, err)
	testserver.Must(t, mayJoin("shown@example.net"))
	_, err = signedIn(w, token, w.Key.TeamID)
	testserver.WantCode(t, err, app.CodeInvalidCredentials)
}

func TestRestrictedKeyCantInvite(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	bounded := *w.Key
	bounded.ExpiresAt = time.Now().Add(time.Minute)
	_, _, err := w.Services.Accounts.Invite(t.Context(), &bounded, "x@example.net", app.RoleMember)
	testserver.WantCode(t, err, app.CodeForbidden)
}
