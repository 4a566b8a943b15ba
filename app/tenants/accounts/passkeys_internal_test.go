package accounts

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/seal"
)

func TestPasskeyChallengeIsBound(t *testing.T) {
	sealer, err := app.NewSealer(seal.MasterKey{Key: seal.NewMasterKey()})
	if err != nil {
		t.Fatal(err)
	}
	start := time.UnixMilli(1_800_000_000_000)
	s := &PasskeyService{Base: &base.Base{Sealer: sealer}}
	made := s.challenge(addPasskey, "ann", start).String()
	other := []byte(made)
	other[3] ^= 1
	for _, c := range []struct {
		name, purpose, user, text string
		at                        time.Time
		want                      bool
	}{
		{"good", addPasskey, "ann", made, start, true},
		{"to the last", addPasskey, "ann", made, start.Add(SecondFactorTimeout - 1), true},
		{"expired", addPasskey, "ann", made, start.Add(SecondFactorTimeout), false},
		{"another purpose", signInPasskey, "ann", made, start, false},
		{"another person", addPasskey, "eve", made, start, false},
		{"altered", addPasskey, "ann", string(other), start, false},
		{"none", addPasskey, "ann", "", start, false},
	} {
		asked, got := s.checkChallenge(c.purpose, c.user, c.text, c.at)
		if got != c.want || got && !asked.Equal(start) {
			t.Errorf("%s: %v, asked for at %v", c.name, got, asked)
		}
	}
}
