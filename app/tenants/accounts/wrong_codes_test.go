package accounts_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"mailer/app"
	"mailer/app/tenants/accounts"
	"mailer/app/testing/testserver"
)

// withTOTP turns one-time passwords on for the first account, and returns their secret, a recovery
// code and the token of its browser.
func withTOTP(w *testserver.Server) (secret, recovery, device string) {
	w.T.Helper()
	n := setUp(w)
	key, err := w.Services.Accounts.SignedIn(w.T.Context(), n.Token, "", false)
	testserver.Must(w.T, err)
	offer, err := w.Services.Accounts.OfferTOTP(w.T.Context(), key)
	testserver.Must(w.T, err)
	code, err := totp.GenerateCode(offer.Secret, time.Now())
	testserver.Must(w.T, err)
	codes, err := w.Services.Accounts.ConfirmTOTP(w.T.Context(), key, code)
	testserver.Must(w.T, err)
	return offer.Secret, codes[0], n.Device
}

func TestWrongCodesAreLimitedAndMailed(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		s, ctx := w.Services.Accounts, t.Context()
		secret, recovery, device := withTOTP(w)
		try := func(v *accounts.Visitor, f accounts.SecondFactor) error {
			t.Helper()
			half, err := s.SignIn(ctx, v, "ann@example.com", password)
			testserver.Must(t, err)
			key, err := s.SignedIn(ctx, half.Token, "", true)
			testserver.Must(t, err)
			_, err = s.Complete(ctx, v, key, f)
			return err
		}
		right := func() accounts.SecondFactor {
			testserver.Sleep(time.Minute) // each one-time password is valid once
			code, err := totp.GenerateCode(secret, time.Now())
			testserver.Must(t, err)
			return accounts.SecondFactor{Code: code}
		}
		mails := func() string { return strings.Join(w.SQL(`SELECT subject FROM emails`), "\n") }
		unknown, known := visitor("198.51.100.1"), visitor("198.51.100.2")
		known.Device = device
		wrong := accounts.SecondFactor{Code: "000000"}
		for i := range 6 {
			if got := strings.Count(mails(), "Wrong codes"); got != i/5 {
				t.Fatalf("%d mails after %d wrong codes: %s", got, i, mails())
			}
			testserver.WantCode(t, try(unknown, wrong), app.CodeInvalidCredentials)
		}
		w.SQL(`UPDATE totp SET wrong = 49`)
		testserver.WantCode(t, try(unknown, wrong), app.CodeInvalidCredentials)
		testserver.WantCode(t, try(unknown, wrong), app.CodeRateLimitExceeded)
		testserver.WantCode(t, try(unknown, right()), app.CodeRateLimitExceeded)
		testserver.Must(t, try(known, right()))
		testserver.Must(t, try(unknown, accounts.SecondFactor{Recovery: recovery}))
		testserver.Sleep(24 * time.Hour)
		testserver.Must(t, try(unknown, right()))
	})
}
