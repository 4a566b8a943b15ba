package people

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/seal"
	"mailer/app/service"
)

func TestAChallengeCountsForItsPurposePersonAndTime(t *testing.T) {
	sealer, err := app.NewSealer(seal.MasterKey{Key: seal.NewMasterKey()})
	if err != nil {
		t.Fatal(err)
	}
	start := time.UnixMilli(1_800_000_000_000)
	s := &PasskeyService{Base: &service.Base{Sealer: sealer}, started: start}
	made := s.challenge(addPasskey, "ann", start).String()
	other := []byte(made)
	other[3] ^= 1
	for _, c := range []struct {
		name, purpose, user, text string
		at                        time.Time
		started                   time.Time
		want                      bool
	}{
		{"good", addPasskey, "ann", made, start, start, true},
		{"to the last", addPasskey, "ann", made, start.Add(HalfLife - 1), start, true},
		{"expired", addPasskey, "ann", made, start.Add(HalfLife), start, false},
		{"of before this start", addPasskey, "ann", made, start.Add(2), start.Add(time.Millisecond), false},
		{"another purpose", signInPasskey, "ann", made, start, start, false},
		{"another person", addPasskey, "eve", made, start, start, false},
		{"altered", addPasskey, "ann", string(other), start, start, false},
		{"none", addPasskey, "ann", "", start, start, false},
	} {
		s.started = c.started
		if _, got := s.checkChallenge(c.purpose, c.user, c.text, c.at); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestAChallengeIsAnsweredOnceAndWhereThereIsRoom(t *testing.T) {
	var a answered
	now := time.Now()
	if !a.first("0", now, now.Add(time.Minute)) || a.first("0", now, now.Add(time.Minute)) {
		t.Error("an answer does not count just once")
	}
	for i := range maxAnswered - 1 {
		a.ends[time.Duration(i).String()+" more"] = now.Add(time.Minute)
	}
	if a.first("one too many", now, now.Add(time.Minute)) {
		t.Error("without room")
	}
	if later := now.Add(time.Minute); !a.first("later", later, later.Add(time.Minute)) || len(a.ends) != 1 {
		t.Errorf("%d are kept", len(a.ends))
	}
}
