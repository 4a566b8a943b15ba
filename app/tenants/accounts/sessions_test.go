package accounts_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/tenants/accounts"
	"mailer/app/testing/testserver"
)

const password = "correct horse battery"

func visitor(from string) *accounts.Visitor {
	addr := netip.MustParseAddr(from)
	return &accounts.Visitor{Address: addr, Client: netip.PrefixFrom(addr, 32), Agent: "Test\x1b[31m/1"}
}

// setUp makes the first account.
func setUp(w *testserver.Server) accounts.NewSession {
	w.T.Helper()
	link, err := w.Services.Accounts.SetupLink(w.T.Context())
	testserver.Must(w.T, err)
	_, code, _ := strings.Cut(link, "#")
	n, err := w.Services.Accounts.Setup(w.T.Context(), visitor("192.0.2.1"), &accounts.SetupInput{Code: code, Email: "ann@example.com", Password: password})
	testserver.Must(w.T, err)
	return n
}

func TestSessionLifetime(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		p, ctx := w.Services.Accounts, t.Context()
		n := setUp(w)
		idle, err := p.SignIn(ctx, visitor("192.0.2.2"), "ann@example.com", password)
		testserver.Must(t, err)
		used := func() error { _, err := p.SignedIn(ctx, n.Token, "", false); return err }
		for day := range 9 {
			testserver.Sleep(10*24*time.Hour - time.Minute)
			if err := used(); err != nil {
				t.Fatalf("after %d days: %v", 10*(day+1), err)
			}
		}
		testserver.Sleep(9 * time.Minute)
		testserver.WantCode(t, used(), app.CodeInvalidCredentials)
		_, err = p.SignedIn(ctx, idle.Token, "", false)
		testserver.WantCode(t, err, app.CodeInvalidCredentials)
		testserver.Must(t, p.Purge(ctx))
		if left := w.Count("sessions"); left != "0" {
			t.Errorf("%s sessions are left", left)
		}
	})
}

func TestIdleSessionEndsAfterFourteenDays(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		n := setUp(w)
		testserver.Sleep(14*24*time.Hour - time.Second)
		_, err := w.Services.Accounts.SignedIn(t.Context(), n.Token, "", false)
		testserver.Must(t, err)
		testserver.Sleep(14 * 24 * time.Hour)
		_, err = w.Services.Accounts.SignedIn(t.Context(), n.Token, "", false)
		testserver.WantCode(t, err, app.CodeInvalidCredentials)
	})
}

func TestSignInLinkLifetimeAndReplacement(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		p, ctx := w.Services.Accounts, t.Context()
		in := accounts.SetupInput{Email: "ann@example.com", Password: password}
		for _, wait := range []time.Duration{0, 30 * time.Minute} {
			link, err := p.SetupLink(ctx)
			testserver.Must(t, err)
			_, in.Code, _ = strings.Cut(link, "#")
			if wait == 0 {
				_, err = p.SetupLink(ctx)
				testserver.Must(t, err)
			}
			testserver.Sleep(wait)
			_, err = p.Setup(ctx, visitor("192.0.2.1"), &in)
			testserver.WantCode(t, err, app.CodeForbidden)
		}
		setUp(w)
		_, err := p.SetupLink(ctx)
		testserver.WantCode(t, err, app.CodeConflict)
	})
}

func TestSecretsAreStoredHashedOrSealed(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		p, ctx := w.Services.Accounts, t.Context()
		n := setUp(w)
		key, err := p.SignedIn(ctx, n.Token, "", false)
		testserver.Must(t, err)
		offer, err := p.OfferTOTP(ctx, key)
		testserver.Must(t, err)
		link, err := p.DevLink(ctx)
		testserver.Must(t, err)
		_, code, _ := strings.Cut(link, "#")
		stored := w.Log.String()
		for _, table := range []string{"users", "sessions", "devices", "sign_in_codes", "totp", "audit_logs"} {
			stored += w.Rows(`SELECT * FROM ` + table)
		}
		for what, secret := range map[string]string{"password": password, "token": n.Token, "device": n.Device, "secret": offer.Secret, "code": code} {
			if secret == "" || strings.Contains(stored, secret) {
				t.Errorf("the %s is there in clear", what)
			}
		}
		browsers := strings.Join(w.SQL(`SELECT device FROM sessions`), "\n")
		if !strings.Contains(stored, "user.create") || browsers == "" || strings.Contains(browsers, "\x1b") {
			t.Error("the log lacks the account, or a browser's name is kept as it came")
		}
	})
}

func TestTeamRequiresSecondFactor(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		n := setUp(w)
		p, ctx, team := w.Services.Accounts, t.Context(), w.Key.TeamID
		w.SQL(`UPDATE teams SET second_factor = 1`)
		_, err := p.SignedIn(ctx, n.Token, team, false)
		testserver.WantCode(t, err, app.CodeForbidden)
		key, err := p.SignedIn(ctx, n.Token, "", false)
		testserver.Must(t, err)
		if key.TeamID != "" {
			t.Error("he is in the team")
		}
		w.SQL(`INSERT INTO totp (user_id, sealed, step, confirmed_at) VALUES ('` + key.ID + `', CAST('0' AS BLOB), 0, 1)`)
		if key, err = p.SignedIn(ctx, n.Token, team, false); err != nil || key.Role != app.RoleOwner || key.TeamID != team {
			t.Errorf("%+v, %v", key, err)
		}
		w.SQL(`DELETE FROM memberships`)
		_, err = p.SignedIn(ctx, n.Token, team, false)
		testserver.WantCode(t, err, app.CodeNotFound)
	})
}
