package people_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"mailer/app"
	"mailer/app/people"
	"mailer/app/world"
)

// withTOTP turns one-time passwords on for the first account, and returns their secret, a
// recovery code and the token of its browser.
func withTOTP(w *world.World) (secret, recovery, device string) {
	w.T.Helper()
	n := setUp(w)
	key, err := w.Server.People.SignedIn(w.T.Context(), n.Token, "", false)
	world.Must(w.T, err)
	offer, err := w.Server.People.OfferTOTP(w.T.Context(), key)
	world.Must(w.T, err)
	code, err := totp.GenerateCode(offer.Secret, time.Now())
	world.Must(w.T, err)
	codes, err := w.Server.People.ConfirmTOTP(w.T.Context(), key, code)
	world.Must(w.T, err)
	return offer.Secret, codes[0], n.Device
}

func TestWrongCodesAreBoundedADayAndTheOwnerHearsOfThem(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		s, ctx := w.Server.People, t.Context()
		secret, recovery, device := withTOTP(w)
		try := func(v *people.Visitor, f people.SecondFactor) error {
			t.Helper()
			half, err := s.SignIn(ctx, v, "ann@example.com", password)
			world.Must(t, err)
			key, err := s.SignedIn(ctx, half.Token, "", true)
			world.Must(t, err)
			_, err = s.Complete(ctx, v, key, f)
			return err
		}
		right := func() people.SecondFactor {
			world.Sleep(time.Minute) // each counts once
			code, err := totp.GenerateCode(secret, time.Now())
			world.Must(t, err)
			return people.SecondFactor{Code: code}
		}
		mails := func() string { return strings.Join(w.Sql(`SELECT subject FROM emails`), "\n") }
		stranger, known := visitor("198.51.100.1"), visitor("198.51.100.2")
		known.Device = device
		wrong := people.SecondFactor{Code: "000000"}
		for i := range 6 {
			if got := strings.Count(mails(), "Wrong codes"); got != i/5 {
				t.Fatalf("%d mails after %d wrong codes: %s", got, i, mails())
			}
			world.WantCode(t, try(stranger, wrong), app.CodeInvalidCredentials)
		}
		w.Sql(`UPDATE totp SET wrong = 49`)
		world.WantCode(t, try(stranger, wrong), app.CodeInvalidCredentials)
		world.WantCode(t, try(stranger, wrong), app.CodeRateLimitExceeded)
		world.WantCode(t, try(stranger, right()), app.CodeRateLimitExceeded)
		world.Must(t, try(known, right()))
		world.Must(t, try(stranger, people.SecondFactor{Recovery: recovery}))
		world.Sleep(24 * time.Hour)
		world.Must(t, try(stranger, right()))
	})
}
