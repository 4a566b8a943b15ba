package accounts_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/tenants/accounts"
	"mailer/app/testing/testserver"
)

const secret = "correct horse battery"

// inviteAndAccept makes a user join a team by an invitation, and returns the token of his session.
func inviteAndAccept(w *testserver.Server, key *app.Key, address string, role app.Role) (token string, u accounts.User) {
	w.T.Helper()
	_, link, err := w.Services.Accounts.Invite(w.T.Context(), key, address, role)
	testserver.Must(w.T, err)
	n, err := w.Services.Accounts.Accept(w.T.Context(), visitor("192.0.2.1"), &accounts.AcceptInput{Code: codeIn(link), Password: secret, Name: "N"})
	testserver.Must(w.T, err)
	return n.Token, n.User
}

func codeIn(link string) string {
	_, code, _ := strings.Cut(link, "#")
	return code
}

// signedIn returns the user of a session token in a team.
func signedIn(w *testserver.Server, token, team string) (*app.Key, error) {
	return w.Services.Accounts.SignedIn(w.T.Context(), token, team, false)
}

func TestInvitationIsValidOnceForAWeek(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		s, ctx := w.Services.Accounts, t.Context()
		accept := func(link, password string) error {
			_, err := s.Accept(ctx, visitor("192.0.2.1"), &accounts.AcceptInput{Code: codeIn(link), Password: password})
			return err
		}
		_, first, err := s.Invite(ctx, w.Key, "Ann@Example.net", app.RoleMember)
		testserver.Must(t, err)
		_, link, err := s.Invite(ctx, w.Key, "ann@example.net", app.RoleAdmin)
		testserver.Must(t, err)
		if rows, _, _ := s.Invitations(ctx, w.Key, app.Page{Limit: 9}); len(rows) != 1 || rows[0].Address != "ann@example.net" || rows[0].Role != app.RoleAdmin {
			t.Errorf("invitations %+v", rows)
		}
		testserver.WantCode(t, accept(first, secret), app.CodeForbidden) // replaced
		testserver.WantCode(t, accept("#x", secret), app.CodeForbidden)
		testserver.WantCode(t, accept(link, "short"), app.CodeValidation)
		text, err := s.ReadInvitation(ctx, visitor("192.0.2.1"), codeIn(link))
		testserver.Must(t, err)
		if text.Address != "ann@example.net" || text.Role != app.RoleAdmin || text.Team != w.SQL(`SELECT name FROM teams WHERE id = ?`, w.Key.TeamID)[0] {
			t.Errorf("the link invites to %+v", text)
		}
		_, err = s.ReadInvitation(ctx, visitor("192.0.2.1"), codeIn(first))
		testserver.WantCode(t, err, app.CodeForbidden)
		testserver.Must(t, accept(link, secret))
		testserver.WantCode(t, accept(link, secret), app.CodeForbidden) // used
		w.SQL(`UPDATE users SET only_team = NULL`)                      // she proved her address by other means
		_, _, err = s.Invite(ctx, w.Key, "ann@example.net", app.RoleMember)
		testserver.WantCode(t, err, app.CodeConflict)

		other := w.AddTeam("Other", "other.example")
		_, link, err = s.Invite(ctx, other, "ann@example.net", app.RoleMember)
		testserver.Must(t, err)
		testserver.WantCode(t, accept(link, "not her password"), app.CodeInvalidCredentials)
		testserver.Must(t, accept(link, secret))
		if got := w.SQL(`SELECT role FROM memberships ORDER BY team_id`); len(got) != 2 || got[0] != "admin" || got[1] != "member" {
			t.Errorf("roles %q", got)
		}

		_, link, err = s.Invite(ctx, w.Key, "late@example.net", app.RoleMember)
		testserver.Must(t, err)
		testserver.Sleep(7 * 24 * time.Hour)
		testserver.WantCode(t, accept(link, secret), app.CodeForbidden)
		testserver.Must(t, s.Purge(ctx))
		if got := w.Count("invitations"); got != "0" {
			t.Errorf("%s invitations are left", got)
		}
	})
}

func TestRoleChangeEndsOwnSessionsOnly(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	s, ctx := w.Services.Accounts, t.Context()
	owner, _ := inviteAndAccept(w, w.Key, "owner@example.net", app.RoleOwner)
	token, ann := inviteAndAccept(w, w.Key, "ann@example.net", app.RoleMember)
	_, err := s.ChangeRole(ctx, w.Key, ann.ID, app.RoleMember) // the same role: no change
	testserver.Must(t, err)
	_, err = signedIn(w, token, w.Key.TeamID)
	testserver.Must(t, err)
	m, err := s.ChangeRole(ctx, w.Key, ann.ID, app.RoleAdmin)
	testserver.Must(t, err)
	if m.Role != app.RoleAdmin || m.Address != "ann@example.net" {
		t.Errorf("changed to %+v", m)
	}
	_, err = signedIn(w, token, w.Key.TeamID)
	testserver.WantCode(t, err, app.CodeInvalidCredentials)
	_, err = signedIn(w, owner, w.Key.TeamID)
	testserver.Must(t, err)

	n, err := s.SignIn(ctx, visitor("192.0.2.1"), "ann@example.net", secret)
	testserver.Must(t, err)
	testserver.Must(t, ignoreKeys(s.RemoveMember(ctx, w.Key, ann.ID)))
	_, err = signedIn(w, n.Token, w.Key.TeamID)
	testserver.WantCode(t, err, app.CodeNotFound)
	testserver.WantCode(t, ignoreKeys(s.RemoveMember(ctx, w.Key, ann.ID)), app.CodeNotFound)
}

func TestRoleLimitsAndLastOwner(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		s, ctx := w.Services.Accounts, t.Context()
		token, first := inviteAndAccept(w, w.Key, "first@example.net", app.RoleOwner)
		_, member := inviteAndAccept(w, w.Key, "member@example.net", app.RoleMember)
		adminToken, _ := inviteAndAccept(w, w.Key, "admin@example.net", app.RoleAdmin)
		admin, err := signedIn(w, adminToken, w.Key.TeamID)
		testserver.Must(t, err)
		change := func(key *app.Key, id string, role app.Role) error {
			_, err := s.ChangeRole(ctx, key, id, role)
			return err
		}
		invite := func(key *app.Key, role app.Role) error {
			_, _, err := s.Invite(ctx, key, "x@example.net", role)
			return err
		}
		testserver.WantCode(t, change(admin, member.ID, app.RoleOwner), app.CodeForbidden)
		testserver.WantCode(t, change(admin, first.ID, app.RoleMember), app.CodeForbidden)
		testserver.WantCode(t, ignoreKeys(s.RemoveMember(ctx, admin, first.ID)), app.CodeForbidden)
		testserver.WantCode(t, invite(admin, app.RoleOwner), app.CodeForbidden)
		testserver.Must(t, invite(admin, app.RoleAdmin))
		testserver.WantCode(t, change(w.Key, member.ID, "root"), app.CodeValidation)
		testserver.WantCode(t, change(w.Key, first.ID, app.RoleAdmin), app.CodeConflict)
		testserver.WantCode(t, ignoreKeys(s.RemoveMember(ctx, w.Key, first.ID)), app.CodeConflict)
		testserver.WantCode(t, ignoreKeys(s.LeaveTeam(ctx, "first@example.net", w.Key.TeamID)), app.CodeConflict)
		testserver.WantCode(t, ignoreKeys(s.RemoveAccount(ctx, "first@example.net")), app.CodeConflict)
		testserver.WantCode(t, s.AssignRole(ctx, "first@example.net", w.Key.TeamID, app.RoleMember), app.CodeConflict)

		testserver.Sleep(app.ReauthenticationAge + time.Second)
		owner, err := signedIn(w, token, w.Key.TeamID)
		testserver.Must(t, err)
		testserver.WantCode(t, change(owner, member.ID, app.RoleOwner), app.CodeReauthentication)
		testserver.WantCode(t, invite(owner, app.RoleOwner), app.CodeReauthentication)
		testserver.Must(t, change(owner, member.ID, app.RoleAdmin))
		testserver.Must(t, change(w.Key, member.ID, app.RoleOwner)) // an API key needs no reauthentication
		testserver.Must(t, ignoreKeys(s.RemoveMember(ctx, w.Key, first.ID)))

		other := w.AddTeam("Other", "other.example")
		testserver.WantCode(t, change(other, member.ID, app.RoleMember), app.CodeNotFound)
		testserver.WantCode(t, ignoreKeys(s.RemoveMember(ctx, other, member.ID)), app.CodeNotFound)
		if rows, _, err := s.Members(ctx, other, app.Page{Limit: 9}); len(rows) != 0 || err != nil {
			t.Errorf("another team sees %+v, %v", rows, err)
		}
	})
}

func TestResetRevokesAllAccess(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	s, ctx := w.Services.Accounts, t.Context()
	token, u := inviteAndAccept(w, w.Key, "ann@example.net", app.RoleMember)
	old, err := s.NewLink(ctx, "ANN@example.net")
	testserver.Must(t, err)
	w.SQL(`INSERT INTO totp (user_id, sealed, step, confirmed_at) VALUES (?, CAST('0' AS BLOB), 0, 1)`, u.ID)
	w.SQL(`INSERT INTO recovery_codes (user_id, hash) VALUES (?, CAST('0' AS BLOB))`, u.ID)
	w.SQL(`INSERT INTO passkeys (id, user_id, credential_id, name, credential, created_at) VALUES ('k', ?, CAST('0' AS BLOB), 'n', '{}', 0)`, u.ID)
	link, err := s.Reset(ctx, "ann@example.net")
	testserver.Must(t, err)
	if got := w.Count("totp") + w.Count("recovery_codes") + w.Count("passkeys") + w.Count("sessions"); got != "0000" {
		t.Errorf("left: %s", got)
	}
	_, err = signedIn(w, token, w.Key.TeamID)
	testserver.WantCode(t, err, app.CodeInvalidCredentials)
	_, err = s.SignIn(ctx, visitor("192.0.2.1"), "ann@example.net", secret)
	testserver.WantCode(t, err, app.CodeInvalidCredentials)
	_, err = s.OpenLink(ctx, visitor("192.0.2.1"), codeIn(old))
	testserver.WantCode(t, err, app.CodeForbidden)
	n, err := s.OpenLink(ctx, visitor("192.0.2.1"), codeIn(link))
	testserver.Must(t, err)
	if len(n.Factors) != 0 {
		t.Errorf("it asks for %q", n.Factors)
	}
	if n, err := s.EndAllSessions(ctx, "ann@example.net"); n != 1 || err != nil {
		t.Errorf("ended %d, %v", n, err)
	}
	testserver.WantCode(t, ignoreKeys(s.RemoveAccount(ctx, "nobody@example.net")), app.CodeNotFound)
	if _, err := s.NewLink(ctx, "nobody@example.net"); app.CodeOf(err) != app.CodeNotFound {
		t.Error(err)
	}
}

func TestLastOperatorCantBeRemoved(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	s, ctx := w.Services.Accounts, t.Context()
	for _, address := range []string{"one@example.net", "two@example.net"} {
		_, _, err := s.CreateAccount(ctx, address, w.Key.TeamID, app.RoleMember, true)
		testserver.Must(t, err)
	}
	_, _, err := s.CreateAccount(ctx, "one@example.net", w.Key.TeamID, app.RoleMember, false)
	testserver.WantCode(t, err, app.CodeConflict)
	testserver.Must(t, ignoreKeys(s.RemoveAccount(ctx, "one@example.net")))
	testserver.WantCode(t, ignoreKeys(s.RemoveAccount(ctx, "two@example.net")), app.CodeConflict)
	var seen []string
	testserver.Must(t, s.Accounts(ctx, func(a accounts.Account) { seen = append(seen, a.Address+" "+string(a.Teams[0].Role)) }))
	if len(seen) != 1 || seen[0] != "two@example.net member" {
		t.Errorf("accounts %q", seen)
	}
}

func TestInvitationEndsWithInvitersRights(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		s, ctx := w.Services.Accounts, t.Context()
		invitedBy := func(key *app.Key, address string, role app.Role) (link string) {
			_, link, err := s.Invite(app.WithActor(ctx, func() app.Actor { return app.Actor{Type: app.ActorPerson, Name: key.ID} }), key, address, role)
			testserver.Must(t, err)
			return link
		}
		accept := func(link string) error {
			_, err := s.Accept(ctx, visitor("192.0.2.1"), &accounts.AcceptInput{Code: codeIn(link), Password: secret})
			return err
		}
		token, ann := inviteAndAccept(w, w.Key, "ann@example.net", app.RoleAdmin)
		key, err := signedIn(w, token, w.Key.TeamID)
		testserver.Must(t, err)
		good, asAdmin, asMember := invitedBy(key, "a@example.net", app.RoleAdmin), invitedBy(key, "b@example.net", app.RoleAdmin), invitedBy(key, "c@example.net", app.RoleMember)
		testserver.Must(t, accept(good))
		_, err = s.ChangeRole(ctx, w.Key, ann.ID, app.RoleMember)
		testserver.Must(t, err)
		testserver.WantCode(t, accept(asAdmin), app.CodeForbidden)
		testserver.WantCode(t, accept(asMember), app.CodeForbidden)
		testserver.Must(t, ignoreKeys(s.RemoveMember(ctx, w.Key, ann.ID)))
		testserver.WantCode(t, accept(asMember), app.CodeForbidden)
	})
}
