package accounts_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/tenants/accounts"
	"mailer/app/testing/testserver"
)

func TestFailedSignInIsAudited(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		s, ctx := w.Services.Accounts, t.Context()
		setUp(w)
		u := w.SQL(`SELECT id FROM users`)[0]
		trace := func() string {
			rows := w.SQL(`SELECT coalesce(target, '-') || ' ' || after FROM audit_logs WHERE action = 'sign_in.fail' ORDER BY id`)
			w.SQL(`DELETE FROM audit_logs`)
			return strings.Join(rows, "\n")
		}
		wrong := func(from, address string) {
			t.Helper()
			_, err := s.SignIn(ctx, visitor(from), address, "not the password")
			testserver.WantCode(t, err, app.CodeInvalidCredentials)
		}
		wrong("192.0.2.7", "ANN@example.com")
		if got, want := trace(), u+` {"by":"password","email":"ann@example.com"}`; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if !w.Log.Contains(`msg="a sign-in failed" address=192.0.2.7 account=` + u) {
			t.Error(w.Log.String())
		}
		wrong("192.0.2.7", "ann@example.com") // within the minute
		wrong("192.0.2.8", "ann@example.com")
		wrong("192.0.2.7", "nobody@example.com")
		wrong("192.0.2.7", "hunter2 in the wrong field")
		if got, want := trace(), u+` {"by":"password","email":"ann@example.com"}`+"\n"+`- {"by":"password","email":"nobody@example.com"}`+"\n"+`- {"by":"password"}`; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		testserver.Sleep(time.Minute)
		wrong("192.0.2.7", "ann@example.com")
		_, err := s.OpenLink(ctx, visitor("192.0.2.7"), "AAAAAAAAAAAAAAAAAAAAAA")
		testserver.WantCode(t, err, app.CodeForbidden)
		if got, want := trace(), u+` {"by":"password","email":"ann@example.com"}`+"\n"+`- {"by":"link"}`; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		n, err := s.SignIn(ctx, visitor("192.0.2.9"), "ann@example.com", password)
		testserver.Must(t, err)
		key, err := s.SignedIn(ctx, n.Token, "", false)
		testserver.Must(t, err)
		for _, c := range []struct {
			how  string
			fail func() error
		}{
			{"password", func() error {
				_, err := s.Reauthenticate(ctx, visitor("192.0.2.9"), key, accounts.Proof{Password: "not the password"})
				return err
			}},
			{"recovery_code", func() error {
				_, err := s.Complete(ctx, visitor("192.0.2.10"), key, accounts.SecondFactor{Recovery: "x"})
				return err
			}},
			{"code", func() error {
				_, err := s.Complete(ctx, visitor("192.0.2.11"), key, accounts.SecondFactor{Code: "000000"})
				return err
			}},
		} {
			testserver.WantCode(t, c.fail(), app.CodeInvalidCredentials)
			if got, want := trace(), u+` {"by":"`+c.how+`","email":"ann@example.com"}`; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
}
