package app_test

import (
	"slices"
	"testing"

	"mailer/app"
)

func TestStateOfAnEmail(t *testing.T) {
	for _, c := range []struct {
		last app.LastEvent
		now  app.Situation
		want app.State
	}{
		{app.Queued, app.WaitsTurn, "queued"},
		{app.Queued, app.WaitsNextTry, "deferred"},
		{app.Scheduled, app.WaitsTime, "scheduled"},
		{app.Scheduled, app.WaitsTurn, "queued"}, // its time has come, and its relay is down
		{app.Scheduled, app.WaitsReleased, "held"},
		{app.Suppressed, app.WaitsTime, "scheduled"}, // some were left out
		{app.Suppressed, app.Over, "suppressed"},
		{app.Sent, app.Over, "sent"},
		{app.Sent, app.OverCaptured, "captured"},
		{app.Opened, app.OverCaptured, "opened"},
		{app.Sent, app.WaitsNextTry, "deferred"}, // one was taken, another was put off
		{app.Sent, app.WaitsTurn, "sent"},
		{app.DeliveryDelayed, app.Over, "delivery_delayed"}, // the provider keeps trying
		{app.Bounced, app.WaitsNextTry, "bounced"},
		{app.Canceled, app.OverCaptured, "canceled"},
	} {
		if got := app.StateOf(c.last, c.now); got != c.want {
			t.Errorf("an email with the last event %s that is %s is %s, want %s", c.last, c.now, got, c.want)
		}
	}
	for _, last := range app.LastEvents() {
		for _, now := range app.Situations() {
			if got := app.StateOf(last, now); !slices.Contains(app.States(), got) {
				t.Errorf("%s and %s give %q, which is no state", last, now, got)
			}
		}
	}
}
