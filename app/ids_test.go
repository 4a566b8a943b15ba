package app_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"mailer/app"
	"mailer/app/kit/clock"
)

func TestIDsAreOrderedByTime(t *testing.T) {
	last := app.FirstID(time.Now())
	for range 10_000 {
		id := app.NewID()
		if u, err := uuid.Parse(id); err != nil || u.Version() != 7 || u.Variant() != uuid.RFC4122 || id <= last {
			t.Fatalf("%s after %s (%v)", id, last, err)
		}
		last = id
	}
	if end := app.FirstID(time.Now().Add(time.Second)); last >= end {
		t.Errorf("%s is not of this second, which ends with %s", last, end)
	}
}

// TestIDsUseTheSharedClock: servers whose machines' clocks differ must list new rows in one order.
func TestIDsUseTheSharedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer clock.Unfollow()
		defer app.ForgetIDs()
		app.ForgetIDs() // the ids before the synctest bubble have a later time
		now := time.Now()
		clock.Follow(now.Add(time.Hour), now, now)
		if id := app.NewID(); id < app.FirstID(now.Add(time.Hour)) || id > app.FirstID(now.Add(time.Hour+time.Minute)) {
			t.Errorf("%s is not of the hour that comes", id)
		}
		before := app.NewID()
		clock.Follow(now, now, now)
		if id := app.NewID(); id <= before {
			t.Errorf("once the clock is put back, %s comes after %s", id, before)
		}
	})
}
