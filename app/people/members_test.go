package people_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/people"
	"mailer/app/world"
)

const secret = "correct horse battery"

// invited makes somebody join a team by an invitation, and returns the session's token.
func invited(w *world.World, key *app.Key, address string, role app.Role) (token string, u people.User) {
	w.T.Helper()
	_, link, err := w.Server.People.Invite(w.T.Context(), key, address, role)
	world.Must(w.T, err)
	n, err := w.Server.People.Accept(w.T.Context(), visitor("192.0.2.1"), &people.AcceptInput{Code: codeIn(link), Password: secret, Name: "N"})
	world.Must(w.T, err)
	return n.Token, n.User
}

func codeIn(link string) string {
	_, code, _ := strings.Cut(link, "#")
	return code
}

// person is who a session's token stands for in a team.
func person(w *world.World, token, team string) (*app.Key, error) {
	return w.Server.People.SignedIn(w.T.Context(), token, team, false)
}

func TestAnInvitationJoinsOnceAndForAWeek(t *testing.T) {
	world.BothEngines(t)
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		s, ctx := w.Server.People, t.Context()
		accept := func(link, password string) error {
			_, err := s.Accept(ctx, visitor("192.0.2.1"), &people.AcceptInput{Code: codeIn(link), Password: password})
			return err
		}
		_, first, err := s.Invite(ctx, w.Key, "Ann@Example.net", app.RoleMember)
		world.Must(t, err)
		_, link, err := s.Invite(ctx, w.Key, "ann@example.net", app.RoleAdmin)
		world.Must(t, err)
		if rows, _, _ := s.Invitations(ctx, w.Key, app.Page{Limit: 9}); len(rows) != 1 || rows[0].Address != "ann@example.net" || rows[0].Role != app.RoleAdmin {
			t.Errorf("invitations %+v", rows)
		}
		world.WantCode(t, accept(first, secret), app.CodeForbidden) // replaced
		world.WantCode(t, accept("#x", secret), app.CodeForbidden)
		world.WantCode(t, accept(link, "short"), app.CodeValidation)
		said, err := s.ReadInvitation(ctx, visitor("192.0.2.1"), codeIn(link))
		world.Must(t, err)
		if said.Address != "ann@example.net" || said.Role != app.RoleAdmin || said.Team != w.Sql(`SELECT name FROM teams WHERE id = ?`, w.Key.TeamID)[0] {
			t.Errorf("the link invites to %+v", said)
		}
		_, err = s.ReadInvitation(ctx, visitor("192.0.2.1"), codeIn(first))
		world.WantCode(t, err, app.CodeForbidden)
		world.Must(t, accept(link, secret))
		world.WantCode(t, accept(link, secret), app.CodeForbidden) // used
		w.Sql(`UPDATE users SET only_team = NULL`)                 // she proved her address elsewhere
		_, _, err = s.Invite(ctx, w.Key, "ann@example.net", app.RoleMember)
		world.WantCode(t, err, app.CodeConflict)

		other := w.AddTeam("Other", "other.example")
		_, link, err = s.Invite(ctx, other, "ann@example.net", app.RoleMember)
		world.Must(t, err)
		world.WantCode(t, accept(link, "not her password"), app.CodeInvalidCredentials)
		world.Must(t, accept(link, secret))
		if got := w.Sql(`SELECT role FROM memberships ORDER BY team_id`); len(got) != 2 || got[0] != "admin" || got[1] != "member" {
			t.Errorf("roles %q", got)
		}

		_, link, err = s.Invite(ctx, w.Key, "late@example.net", app.RoleMember)
		world.Must(t, err)
		world.Sleep(7 * 24 * time.Hour)
		world.WantCode(t, accept(link, secret), app.CodeForbidden)
		world.Must(t, s.Purge(ctx))
		if got := w.Count("invitations"); got != "0" {
			t.Errorf("%s invitations are left", got)
		}
	})
}

func TestAChangeOfRoleEndsThePersonsSessionsAndNobodyElses(t *testing.T) {
	world.BothEngines(t)
	w := world.Idle(t, world.NewRelay(nil))
	s, ctx := w.Server.People, t.Context()
	owner, _ := invited(w, w.Key, "owner@example.net", app.RoleOwner)
	token, ann := invited(w, w.Key, "ann@example.net", app.RoleMember)
	_, err := s.ChangeRole(ctx, w.Key, ann.ID, app.RoleMember) // the same: nothing changes
	world.Must(t, err)
	_, err = person(w, token, w.Key.TeamID)
	world.Must(t, err)
	m, err := s.ChangeRole(ctx, w.Key, ann.ID, app.RoleAdmin)
	world.Must(t, err)
	if m.Role != app.RoleAdmin || m.Address != "ann@example.net" {
		t.Errorf("changed to %+v", m)
	}
	_, err = person(w, token, w.Key.TeamID)
	world.WantCode(t, err, app.CodeInvalidCredentials)
	_, err = person(w, owner, w.Key.TeamID)
	world.Must(t, err)

	n, err := s.SignIn(ctx, visitor("192.0.2.1"), "ann@example.net", secret)
	world.Must(t, err)
	world.Must(t, removed(s.RemoveMember(ctx, w.Key, ann.ID)))
	_, err = person(w, n.Token, w.Key.TeamID)
	world.WantCode(t, err, app.CodeNotFound)
	world.WantCode(t, removed(s.RemoveMember(ctx, w.Key, ann.ID)), app.CodeNotFound)
}

func TestNobodyRisesAboveHimselfAndTheLastOwnerStays(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		s, ctx := w.Server.People, t.Context()
		token, first := invited(w, w.Key, "first@example.net", app.RoleOwner)
		_, member := invited(w, w.Key, "member@example.net", app.RoleMember)
		adminToken, _ := invited(w, w.Key, "admin@example.net", app.RoleAdmin)
		admin, err := person(w, adminToken, w.Key.TeamID)
		world.Must(t, err)
		change := func(key *app.Key, id string, role app.Role) error {
			_, err := s.ChangeRole(ctx, key, id, role)
			return err
		}
		invite := func(key *app.Key, role app.Role) error {
			_, _, err := s.Invite(ctx, key, "x@example.net", role)
			return err
		}
		world.WantCode(t, change(admin, member.ID, app.RoleOwner), app.CodeForbidden)
		world.WantCode(t, change(admin, first.ID, app.RoleMember), app.CodeForbidden)
		world.WantCode(t, removed(s.RemoveMember(ctx, admin, first.ID)), app.CodeForbidden)
		world.WantCode(t, invite(admin, app.RoleOwner), app.CodeForbidden)
		world.Must(t, invite(admin, app.RoleAdmin))
		world.WantCode(t, change(w.Key, member.ID, "root"), app.CodeValidation)
		world.WantCode(t, change(w.Key, first.ID, app.RoleAdmin), app.CodeConflict)
		world.WantCode(t, removed(s.RemoveMember(ctx, w.Key, first.ID)), app.CodeConflict)
		world.WantCode(t, removed(s.LeaveTeam(ctx, "first@example.net", w.Key.TeamID)), app.CodeConflict)
		world.WantCode(t, removed(s.RemoveAccount(ctx, "first@example.net")), app.CodeConflict)
		world.WantCode(t, s.GiveRole(ctx, "first@example.net", w.Key.TeamID, app.RoleMember), app.CodeConflict)

		world.Sleep(app.FreshProof + time.Second)
		owner, err := person(w, token, w.Key.TeamID)
		world.Must(t, err)
		world.WantCode(t, change(owner, member.ID, app.RoleOwner), app.CodeReauthentication)
		world.WantCode(t, invite(owner, app.RoleOwner), app.CodeReauthentication)
		world.Must(t, change(owner, member.ID, app.RoleAdmin))
		world.Must(t, change(w.Key, member.ID, app.RoleOwner)) // an API key needs no proof
		world.Must(t, removed(s.RemoveMember(ctx, w.Key, first.ID)))

		other := w.AddTeam("Other", "other.example")
		world.WantCode(t, change(other, member.ID, app.RoleMember), app.CodeNotFound)
		world.WantCode(t, removed(s.RemoveMember(ctx, other, member.ID)), app.CodeNotFound)
		if rows, _, err := s.Members(ctx, other, app.Page{Limit: 9}); len(rows) != 0 || err != nil {
			t.Errorf("another team sees %+v, %v", rows, err)
		}
	})
}

func TestAResetEndsAllThatOpensAnAccount(t *testing.T) {
	world.BothEngines(t)
	w := world.Idle(t, world.NewRelay(nil))
	s, ctx := w.Server.People, t.Context()
	token, u := invited(w, w.Key, "ann@example.net", app.RoleMember)
	old, err := s.NewLink(ctx, "ANN@example.net")
	world.Must(t, err)
	w.Sql(`INSERT INTO totp (user_id, sealed, step, confirmed_at) VALUES (?, CAST('0' AS BLOB), 0, 1)`, u.ID)
	w.Sql(`INSERT INTO recovery_codes (user_id, hash) VALUES (?, CAST('0' AS BLOB))`, u.ID)
	w.Sql(`INSERT INTO passkeys (id, user_id, credential_id, name, credential, created_at) VALUES ('k', ?, CAST('0' AS BLOB), 'n', '{}', 0)`, u.ID)
	link, err := s.Reset(ctx, "ann@example.net")
	world.Must(t, err)
	if got := w.Count("totp") + w.Count("recovery_codes") + w.Count("passkeys") + w.Count("sessions"); got != "0000" {
		t.Errorf("left: %s", got)
	}
	_, err = person(w, token, w.Key.TeamID)
	world.WantCode(t, err, app.CodeInvalidCredentials)
	_, err = s.SignIn(ctx, visitor("192.0.2.1"), "ann@example.net", secret)
	world.WantCode(t, err, app.CodeInvalidCredentials)
	_, err = s.OpenLink(ctx, visitor("192.0.2.1"), codeIn(old))
	world.WantCode(t, err, app.CodeForbidden)
	n, err := s.OpenLink(ctx, visitor("192.0.2.1"), codeIn(link))
	world.Must(t, err)
	if len(n.Factors) != 0 {
		t.Errorf("it asks for %q", n.Factors)
	}
	if n, err := s.EndAllSessions(ctx, "ann@example.net"); n != 1 || err != nil {
		t.Errorf("ended %d, %v", n, err)
	}
	world.WantCode(t, removed(s.RemoveAccount(ctx, "nobody@example.net")), app.CodeNotFound)
	if _, err := s.NewLink(ctx, "nobody@example.net"); app.CodeOf(err) != app.CodeNotFound {
		t.Error(err)
	}
}

func TestTheLastOperatorStays(t *testing.T) {
	w := world.Idle(t, world.NewRelay(nil))
	s, ctx := w.Server.People, t.Context()
	for _, address := range []string{"one@example.net", "two@example.net"} {
		_, _, err := s.CreateAccount(ctx, address, w.Key.TeamID, app.RoleMember, true)
		world.Must(t, err)
	}
	_, _, err := s.CreateAccount(ctx, "one@example.net", w.Key.TeamID, app.RoleMember, false)
	world.WantCode(t, err, app.CodeConflict)
	world.Must(t, removed(s.RemoveAccount(ctx, "one@example.net")))
	world.WantCode(t, removed(s.RemoveAccount(ctx, "two@example.net")), app.CodeConflict)
	var seen []string
	world.Must(t, s.Accounts(ctx, func(a people.Account) { seen = append(seen, a.Address+" "+string(a.Teams[0].Role)) }))
	if len(seen) != 1 || seen[0] != "two@example.net member" {
		t.Errorf("accounts %q", seen)
	}
}

func TestAnInvitationEndsWithTheRightsOfWhoInvited(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		s, ctx := w.Server.People, t.Context()
		invitedBy := func(key *app.Key, address string, role app.Role) (link string) {
			_, link, err := s.Invite(app.WithActor(ctx, func() app.Actor { return app.Actor{Type: app.ActorPerson, Name: key.ID} }), key, address, role)
			world.Must(t, err)
			return link
		}
		accept := func(link string) error {
			_, err := s.Accept(ctx, visitor("192.0.2.1"), &people.AcceptInput{Code: codeIn(link), Password: secret})
			return err
		}
		token, ann := invited(w, w.Key, "ann@example.net", app.RoleAdmin)
		key, err := person(w, token, w.Key.TeamID)
		world.Must(t, err)
		good, asAdmin, asMember := invitedBy(key, "a@example.net", app.RoleAdmin), invitedBy(key, "b@example.net", app.RoleAdmin), invitedBy(key, "c@example.net", app.RoleMember)
		world.Must(t, accept(good))
		_, err = s.ChangeRole(ctx, w.Key, ann.ID, app.RoleMember)
		world.Must(t, err)
		world.WantCode(t, accept(asAdmin), app.CodeForbidden)
		world.WantCode(t, accept(asMember), app.CodeForbidden)
		world.Must(t, removed(s.RemoveMember(ctx, w.Key, ann.ID)))
		world.WantCode(t, accept(asMember), app.CodeForbidden)
	})
}
