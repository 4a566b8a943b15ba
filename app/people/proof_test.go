package people_test

import (
	"context"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/people"
	"mailer/app/world"
)

func TestNobodyBelongsToATeamWithoutAgreeing(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		s, ctx := w.Server.People, context.WithoutCancel(t.Context())
		own := w.Server.OwnInvitations
		bob := w.AddTeam("Bob", "bob.example")
		token, u := invited(w, bob, "bob@example.net", app.RoleOwner)
		w.Sql(`UPDATE users SET only_team = NULL`)
		for _, address := range []string{"bob@example.net", "nobody@example.net"} { // they are answered alike
			i, link, err := s.Invite(ctx, w.Key, address, app.RoleMember)
			world.Must(t, err)
			if i.Address != address || link == "" {
				t.Errorf("%+v, %s", i, link)
			}
			_, err = s.Accept(ctx, visitor("192.0.2.1"), &people.AcceptInput{Code: codeIn(link), Password: "short"})
			world.WantCode(t, err, app.CodeValidation)
		}
		key, err := person(w, token, "") // as before
		world.Must(t, err)
		if key.TeamID != bob.TeamID {
			t.Errorf("he is in %s", key.TeamID)
		}
		if rows, _, err := s.Members(ctx, w.Key, app.Page{Limit: 9}); err != nil || len(rows) != 0 {
			t.Errorf("%+v, %v", rows, err)
		}

		rows, err := own.OwnInvitations(ctx, key)
		world.Must(t, err)
		if len(rows) != 1 || rows[0].TeamID != w.Key.TeamID || rows[0].Role != app.RoleMember {
			t.Fatalf("%+v", rows)
		}
		world.Must(t, own.Decline(ctx, key, rows[0].ID))
		_, err = own.AcceptOwn(ctx, key, rows[0].ID)
		world.WantCode(t, err, app.CodeNotFound)
		i, _, err := s.Invite(ctx, w.Key, u.Address, app.RoleAdmin)
		world.Must(t, err)
		foreign, _, err := s.Invite(ctx, w.Key, "carol@example.net", app.RoleAdmin)
		world.Must(t, err)
		_, err = own.AcceptOwn(ctx, key, foreign.ID)
		world.WantCode(t, err, app.CodeNotFound)
		m, err := own.AcceptOwn(ctx, key, i.ID)
		world.Must(t, err)
		if m.TeamID != w.Key.TeamID || m.Role != app.RoleAdmin {
			t.Errorf("%+v", m)
		}

		// What a team does with its people it does to itself alone.
		in := func(team string) error { _, err := person(w, token, team); return err }
		world.Sleep(time.Second)
		_, err = s.ChangeRole(ctx, w.Key, u.ID, app.RoleMember)
		world.Must(t, err)
		world.WantCode(t, in(w.Key.TeamID), app.CodeInvalidCredentials)
		world.Must(t, in(bob.TeamID))
		world.Must(t, in(""))
		world.Must(t, removed(s.RemoveMember(ctx, w.Key, u.ID)))
		world.WantCode(t, in(w.Key.TeamID), app.CodeNotFound)
		world.Must(t, in(bob.TeamID))
	})
}

func TestAnAccountTakenInAdvanceGainsNothing(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		p := newPostbox(t)
		w, ctx := p.w, context.WithoutCancel(t.Context())
		s := w.Server.People
		own := w.Server.OwnInvitations
		evil, good := w.AddTeam("Evil", "evil.example"), w.AddTeam("Good", "good.example")
		token, cfo := invited(w, evil, "cfo@example.net", app.RoleMember) // by the link that the inviter saw
		thief, err := person(w, token, evil.TeamID)
		world.Must(t, err)
		old, err := s.NewLink(ctx, cfo.Address)
		world.Must(t, err)
		w.Sql(`INSERT INTO totp (user_id, sealed, step, confirmed_at) VALUES (?, CAST('0' AS BLOB), 0, 1)`, cfo.ID)

		world.WantCode(t, s.GiveRole(ctx, cfo.Address, good.TeamID, app.RoleAdmin), app.CodeConflict)
		world.Must(t, s.GiveRole(ctx, cfo.Address, evil.TeamID, app.RoleAdmin))
		_, err = w.Server.Directory.SetOperator(ctx, cfo.ID, true)
		world.WantCode(t, err, app.CodeConflict)
		n := len(p.relay.Seen(""))
		i, link, err := s.Invite(ctx, good, cfo.Address, app.RoleAdmin)
		world.Must(t, err)
		if rows, err := own.OwnInvitations(ctx, thief); err != nil || len(rows) != 0 {
			t.Errorf("the thief sees %+v, %v", rows, err)
		}
		_, err = own.AcceptOwn(ctx, thief, i.ID)
		world.WantCode(t, err, app.CodeNotFound)
		accept := func(code, password string) (people.NewSession, error) {
			return s.Accept(ctx, visitor("192.0.2.1"), &people.AcceptInput{Code: code, Password: password})
		}
		_, err = accept(codeIn(link), secret)
		world.WantCode(t, err, app.CodeConflict)

		m := p.last(n + 1)
		got, err := accept(m.code(), "the owner's own password")
		world.Must(t, err)
		if len(got.Factors) != 0 || len(got.Teams) != 1 || got.Teams[0].TeamID != good.TeamID || got.User.ID != cfo.ID {
			t.Errorf("%+v", got)
		}
		_, err = person(w, token, evil.TeamID)
		world.WantCode(t, err, app.CodeInvalidCredentials)
		_, err = s.SignIn(ctx, visitor("192.0.2.1"), cfo.Address, secret)
		world.WantCode(t, err, app.CodeInvalidCredentials)
		_, err = s.OpenLink(ctx, visitor("192.0.2.1"), codeIn(old))
		world.WantCode(t, err, app.CodeForbidden)
		_, err = w.Server.Directory.SetOperator(ctx, cfo.ID, true) // proven now
		world.Must(t, err)
	})
}

func TestAnAddressIsProvenByItsMailOrByTheOperator(t *testing.T) {
	w := world.Idle(t, world.NewRelay(nil))
	s, ctx := w.Server.People, t.Context()
	other := w.AddTeam("Other", "other.example")
	mayJoin := func(address string) error { return s.GiveRole(ctx, address, other.TeamID, app.RoleMember) }

	operator := *w.Key
	operator.Session = &app.Session{Operator: true, ProvedAt: time.Now()}
	invited(w, &operator, "vouched@example.net", app.RoleMember)
	world.Must(t, mayJoin("vouched@example.net"))
	_, _, err := s.CreateAccount(ctx, "made@example.net", w.Key.TeamID, app.RoleMember, false)
	world.Must(t, err)
	world.Must(t, mayJoin("made@example.net"))

	token, _ := invited(w, w.Key, "shown@example.net", app.RoleMember)
	world.WantCode(t, mayJoin("shown@example.net"), app.CodeConflict)
	_, err = s.NewLink(ctx, "shown@example.net") // a link leaves all else as it is
	world.Must(t, err)
	world.WantCode(t, mayJoin("shown@example.net"), app.CodeConflict)
	_, err = s.Reset(ctx, "shown@example.net")
	world.Must(t, err)
	world.Must(t, mayJoin("shown@example.net"))
	_, err = person(w, token, w.Key.TeamID)
	world.WantCode(t, err, app.CodeInvalidCredentials)
}

func TestABoundedKeyLetsNobodyIn(t *testing.T) {
	w := world.Idle(t, world.NewRelay(nil))
	bounded := *w.Key
	bounded.ExpiresAt = time.Now().Add(time.Minute)
	_, _, err := w.Server.People.Invite(t.Context(), &bounded, "x@example.net", app.RoleMember)
	world.WantCode(t, err, app.CodeForbidden)
}
