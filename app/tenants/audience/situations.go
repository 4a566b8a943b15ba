package audience

import (
	"fmt"
	"slices"

	"mailer/app"
	"mailer/db"
)

// Situations returns what remains to be done for the emails of a broadcast to some of its
// recipients, whose ids ascend or descend. A recipient whose email was not started waits as the
// broadcast does.
func Situations(r *db.Reader, b *app.Broadcast, recipients ...app.BroadcastRecipient) ([]app.Situation, error) {
	var open map[string]app.Situation
	waiting := slices.DeleteFunc(slices.Clone(recipients), func(to app.BroadcastRecipient) bool { return b.SeenOf(&to)&app.SeenEnded != 0 })
	if len(waiting) > 0 {
		var err error
		first, last := waiting[0].ID, waiting[len(waiting)-1].ID
		if open, err = r.UnitSituations(min(first, last), max(first, last)); err != nil {
			return nil, fmt.Errorf("read the open units of a broadcast: %w", err)
		}
	}
	out := make([]app.Situation, len(recipients))
	for i := range recipients {
		situation, begun := open[recipients[i].ID]
		switch {
		case begun:
			out[i] = situation
		case b.SeenOf(&recipients[i])&app.SeenEnded != 0 && b.Relay == app.CaptureRegion:
			out[i] = app.FinishedCaptured
		case b.SeenOf(&recipients[i])&app.SeenEnded != 0:
			out[i] = app.Finished
		case b.Held != "":
			out[i] = app.WaitsRelease
		case b.Status == app.ScheduledBroadcast:
			out[i] = app.WaitsScheduled
		default:
			out[i] = app.WaitsInQueue
		}
	}
	return out, nil
}
