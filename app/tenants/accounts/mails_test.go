package accounts_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/tenants/accounts"
	"mailer/app/testing/testserver"
)

// mailCatcher collects the mail that a server sends to its relay.
type mailCatcher struct {
	w     *testserver.Server
	relay *testserver.FakeRelay
}

// caughtMail is a mail of Mailer's own that reached the relay.
type caughtMail struct{ from, to, subject, text string }

// newMailCatcher starts a test server that sends.
func newMailCatcher(t *testing.T) *mailCatcher {
	relay := testserver.NewRelay(nil)
	return &mailCatcher{testserver.Start(t, relay), relay}
}

// last waits until n mails were sent and returns the last one.
func (p *mailCatcher) last(n int) caughtMail {
	p.w.T.Helper()
	for range 1000 {
		if sent := p.relay.Transactions(""); len(sent) >= n {
			m := sent[len(sent)-1].Message
			return caughtMail{m.Mail.From.Mailbox(), strings.Join(m.Recipients, " "), m.Mail.Subject, m.Mail.Text}
		}
		testserver.Sleep(time.Second)
	}
	p.w.T.Fatalf("%d mails left, want %d; log: %s", len(p.relay.Transactions("")), n, p.w.Log.String())
	return caughtMail{}
}

var linkInMail = regexp.MustCompile(`https://mail\.example\.com/dashboard/invitation#(\S+)`)

// code returns the code of the link in a mail.
func (m *caughtMail) code() string {
	if found := linkInMail.FindStringSubmatch(m.text); found != nil {
		return found[1]
	}
	return ""
}

// shownMails returns everything that the database shows of mail to a reader of all tables.
func shownMails(w *testserver.Server) string {
	return w.Rows(`SELECT subject FROM emails`) + w.Rows(`SELECT * FROM contents`) + w.Rows(`SELECT * FROM captures`) + w.Rows(`SELECT * FROM events`) +
		w.Rows(`SELECT * FROM audit_logs`) + w.Rows(`SELECT * FROM webhook_events`) + w.Rows(`SELECT * FROM account_texts`) + w.Log.String()
}

func TestAccountMailHidesItsLink(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		p := newMailCatcher(t)
		w, ctx := p.w, t.Context()
		s := w.Services.Accounts
		private := w.AddTeam("Private", "private.example")
		w.SQL(`UPDATE domains SET status = 'failed' WHERE name = 'private.example'`)
		for n, role := range []app.Role{app.RoleMember, app.RoleAdmin} {
			address := string(role) + "@example.net"
			_, link, err := s.Invite(ctx, private, address, role)
			testserver.Must(t, err)
			m := p.last(n + 1)
			if m.to != address || m.code() == "" || m.code() == codeIn(link) {
				t.Fatalf("%+v, shown %s", m, link)
			}
			if strings.Contains(shownMails(w), m.code()) || strings.Contains(shownMails(w), codeIn(link)) {
				t.Error("others can read a link")
			}
			got, err := s.Accept(ctx, visitor("192.0.2.1"), &accounts.AcceptInput{Code: m.code(), Password: secret})
			testserver.Must(t, err)
			if len(got.Teams) != 1 || got.Teams[0].TeamID != private.TeamID || got.Teams[0].Role != role {
				t.Errorf("joined %+v", got.Teams)
			}
		}
		rows, _, err := w.Services.Mail.ListEmails(ctx, w.Key, app.Page{Limit: 9})
		testserver.Must(t, err)
		if len(rows) != 2 || rows[0].Source != "account" || w.Email(rows[0].ID).Text == "" {
			t.Errorf("%+v", rows)
		}
	})
}

func TestOperatorMailHasNoTenantText(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		p := newMailCatcher(t)
		w, ctx := p.w, t.Context()
		s := w.Services.Accounts
		team := w.AddTeam("ACME Bank", "acme.example")
		_, _, err := s.Invite(ctx, team, "a@example.net", app.RoleMember)
		testserver.Must(t, err)
		if m := p.last(1); !strings.Contains(m.from, "mailer@acme.example") || !strings.Contains(m.subject, "ACME Bank") || !strings.Contains(m.text, "ACME Bank") {
			t.Errorf("from its own domain: %+v", m)
		}
		w.SQL(`UPDATE domains SET status = 'failed' WHERE name = 'acme.example'`)
		_, _, err = s.Invite(ctx, team, "b@example.net", app.RoleMember)
		testserver.Must(t, err)
		if m := p.last(2); !strings.Contains(m.from, "mailer@"+testserver.TestDomain) || strings.Contains(m.subject+m.text, "ACME") || m.code() == "" {
			t.Errorf("from the operator's: %+v", m)
		}
		_, err = w.Services.Teams.SuspendTeam(ctx, team.TeamID, "spam")
		testserver.Must(t, err)
		_, link, err := s.Invite(ctx, team, "c@example.net", app.RoleMember)
		testserver.Must(t, err)
		if got := w.Count("emails"); got != "2" || link == "" {
			t.Errorf("%s emails, the last of a suspended team", got)
		}
	})
}

func TestInvitationMailLimits(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		p := newMailCatcher(t)
		w, ctx := p.w, context.WithoutCancel(t.Context())
		s := w.Services.Accounts
		invite := func(key *app.Key, address string) accounts.Invitation {
			t.Helper()
			i, _, err := s.Invite(ctx, key, address, app.RoleMember)
			testserver.Must(t, err)
			return i
		}
		want := func(n int) {
			t.Helper()
			if got := w.Count("emails"); got != fmt.Sprint(n) {
				t.Fatalf("%s emails, want %d", got, n)
			}
		}
		first := invite(w.Key, "ann@example.net")
		m := p.last(1)
		if again := invite(w.Key, "ann@example.net"); !first.Posted || again.Posted {
			t.Errorf("mailed: %v, and again %v", first.Posted, again.Posted)
		}
		_, err := s.Accept(ctx, visitor("192.0.2.1"), &accounts.AcceptInput{Code: m.code(), Password: "short"})
		testserver.WantCode(t, err, app.CodeValidation) // her earlier link stays valid
		for range 3 {
			rows, _, err := s.Invitations(ctx, w.Key, app.Page{Limit: 9})
			testserver.Must(t, err)
			testserver.Must(t, s.TakeBackInvitation(ctx, w.Key, rows[0].ID))
			invite(w.Key, "ANN@example.net")
		}
		want(1)
		_, err = s.Accept(ctx, visitor("192.0.2.1"), &accounts.AcceptInput{Code: m.code(), Password: secret})
		testserver.WantCode(t, err, app.CodeForbidden) // the invitation was deleted
		for i := range 30 {
			invite(w.Key, fmt.Sprintf("p%d@example.net", i))
		}
		want(20)
		other := w.AddTeam("Other", "other.example")
		invite(other, first.Address)
		want(21)
		w.SQL(`UPDATE invitation_mails SET sent_at = sent_at - 86400000`)
		testserver.Must(t, s.Purge(ctx))
		if got := w.Count("invitation_mails"); got != "0" {
			t.Errorf("%s notes of mails are left", got)
		}
		invite(w.Key, "ann@example.net")
		want(22)
	})
}

func TestAccountMailIgnoresLaterTeams(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		p := newMailCatcher(t)
		w, ctx := p.w, t.Context()
		s := w.Services.Accounts
		evil := w.AddTeam("Evil", "evil.example")
		bob := w.AddTeam("Bob", "bob.example")
		_, owner := inviteAndAccept(w, bob, "bob@example.net", app.RoleOwner)
		w.SQL(`UPDATE users SET only_team = NULL`)
		testserver.Sleep(time.Second)
		testserver.Must(t, s.AssignRole(ctx, "bob@example.net", evil.TeamID, app.RoleMember))
		w.SQL(`DELETE FROM emails`)
		changed := func(n int) caughtMail {
			t.Helper()
			in, err := s.SignIn(ctx, visitor("192.0.2.1"), "bob@example.net", secret)
			testserver.Must(t, err)
			key, err := signedIn(w, in.Token, bob.TeamID)
			testserver.Must(t, err)
			_, err = s.ChangePassword(ctx, visitor("192.0.2.1"), key, secret, secret)
			testserver.Must(t, err)
			for { // the sign-in is mailed too
				if m := p.last(n); strings.Contains(m.subject, "password") {
					return m
				}
				n++
			}
		}
		for _, team := range []*app.Key{w.Key, evil, bob} {
			_, err := w.Services.Suppressions.AddSuppression(ctx, team, app.SuppressionInput{Email: owner.Address})
			testserver.Must(t, err)
		}
		if m := changed(len(p.relay.Transactions("")) + 1); !strings.Contains(m.from, "@"+testserver.TestDomain) {
			t.Errorf("%+v", m)
		}
		w.SQL(`UPDATE domains SET status = 'failed' WHERE name = ?`, testserver.TestDomain)
		if m := changed(len(p.relay.Transactions("")) + 1); !strings.Contains(m.from, "@bob.example") {
			t.Errorf("%+v", m)
		}
		if strings.Contains(shownMails(w), "192.0.2.1\n") {
			t.Error("a team reads from where somebody signed in")
		}
	})
}

func TestAccountMailIsNotCaptured(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.Capture))
		p := &mailCatcher{testserver.Start(t, relay), relay}
		_, _, err := p.w.Services.Accounts.Invite(t.Context(), p.w.Key, "ann@example.net", app.RoleMember)
		testserver.Must(t, err)
		p.last(1)
		p.w.Send("bob@example.net")
		p.last(2)
		testserver.Sleep(time.Minute)
		if got := p.w.SQL(`SELECT e.source FROM captures AS c JOIN emails AS e ON e.id = c.email_id`); len(got) != 1 || got[0] == "account" {
			t.Errorf("captured: %q", got)
		}
	})
}

func TestSuppressionDoesntStopAccountMail(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		relay.SetScript(func(m *app.Outgoing, _ int) testserver.Answer {
			return func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
				_, err := w.Services.Suppressions.AddSuppression(ctx, w.Key, app.SuppressionInput{Email: m.Recipients[0]})
				if err != nil && app.CodeOf(err) != app.CodeConflict {
					t.Error(err)
				}
				return testserver.Accept(ctx, m, authorize)
			}
		})
		w.Send("bob@example.net")
		_, _, err := w.Services.Accounts.Invite(t.Context(), w.Key, "ann@example.net", app.RoleMember)
		testserver.Must(t, err)
		testserver.Sleep(time.Minute)
		if got := w.SQL(`SELECT address || ' ' || state FROM recipients ORDER BY address`); strings.Join(got, ", ") != "ann@example.net sent, bob@example.net suppressed" {
			t.Errorf("%q", got)
		}
	})
}
