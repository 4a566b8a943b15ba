package app_test

import (
	"slices"
	"testing"

	"mailer/app"
)

func TestStateOf(t *testing.T) {
	for _, c := range []struct {
		last app.LastEvent
		now  app.Situation
		want app.State
	}{
		{app.Queued, app.WaitsInQueue, "queued"},
		{app.Queued, app.WaitsRetry, "deferred"},
		{app.Scheduled, app.WaitsScheduled, "scheduled"},
		{app.Scheduled, app.WaitsInQueue, "queued"}, // due, and its relay is down
		{app.Scheduled, app.WaitsRelease, "held"},
		{app.Suppressed, app.WaitsScheduled, "scheduled"}, // some recipients were skipped
		{app.Suppressed, app.Finished, "suppressed"},
		{app.Sent, app.Finished, "sent"},
		{app.Sent, app.FinishedCaptured, "captured"},
		{app.Opened, app.FinishedCaptured, "opened"},
		{app.Sent, app.WaitsRetry, "deferred"}, // one recipient was accepted, another deferred
		{app.Sent, app.WaitsInQueue, "sent"},
		{app.DeliveryDelayed, app.Finished, "delivery_delayed"}, // the provider keeps trying
		{app.Bounced, app.WaitsRetry, "bounced"},
		{app.Canceled, app.FinishedCaptured, "canceled"},
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
