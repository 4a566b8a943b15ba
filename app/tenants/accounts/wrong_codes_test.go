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

// withTOTP turns one-time passwords on for the first account, and returns their secret, a
// recovery code and the token of its browser.
func withTOTP(w *testserver.World) (secret, recovery, device string) {
	w.T.Helper()
	n := setUp(w)
	key, err := w.Server.People.SignedIn(w.T.Context(), n.Token, "", false)
	testserver.Must(w.T, err)
	offer, err := w.Server.People.OfferTOTP(w.T.Context(), key)
	testserver.Must(w.T, err)
	code, err := totp.GenerateCode(offer.Secret, time.Now())
	testserver.Must(w.T, err)
	codes, err := w.Server.People.ConfirmTOTP(w.T.Context(), key, code)
	testserver.Must(w.T, err)
	return offer.Secret, codes[0], n.Device
}

func TestWrongCodesAreBoundedADayAndTheOwnerHearsOfThem(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Idle(t, testserver.NewRelay(nil))
		s, ctx := w.Server.People, t.Context()
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
			testserver.Sleep(time.Minute) // each counts once
			code, err := totp.GenerateCode(secret, time.Now())
			testserver.Must(t, err)
			return accounts.SecondFactor{Code: code}
		}
		mails := func() string { return strings.Join(w.Sql(`SELECT subject FROM emails`), "\n") }
		stranger, known := visitor("198.51.100.1"), visitor("198.51.100.2")
		known.Device = device
		wrong := accounts.SecondFactor{Code: "000000"}
		for i := range 6 {
			if got := strings.Count(mails(), "Wrong codes"); got != i/5 {
				t.Fatalf("%d mails after %d wrong codes: %s", got, i, mails())
			}
			testserver.WantCode(t, try(stranger, wrong), app.CodeInvalidCredentials)
		}
		w.Sql(`UPDATE totp SET wrong = 49`)
		testserver.WantCode(t, try(stranger, wrong), app.CodeInvalidCredentials)
		testserver.WantCode(t, try(stranger, wrong), app.CodeRateLimitExceeded)
		testserver.WantCode(t, try(stranger, right()), app.CodeRateLimitExceeded)
		testserver.Must(t, try(known, right()))
		testserver.Must(t, try(stranger, accounts.SecondFactor{Recovery: recovery}))
		testserver.Sleep(24 * time.Hour)
		testserver.Must(t, try(stranger, right()))
	})
}
