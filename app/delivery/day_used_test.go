package delivery_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/app/world"
)

func TestADayThatIsUsedUpIsLookedAtAgainOnceThePausesEnd(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Serving(t, world.NewRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1, Daily: 1}, nil))
		first := w.Send("bob@example.net")
		world.Sleep(2 * time.Second)
		second := w.Send("eve@example.net")
		world.Sleep(2 * time.Second)
		w.WantLast(first, app.Sent)
		w.WantLast(second, app.Queued)
		l := w.Server.Delivery.Lanes()[0]
		l.Limits().Clear() // as it is once two days were slept through
		w.Server.Delivery.ReopenLanes()
		world.Sleep(2 * time.Second)
		w.WantLast(second, app.Sent)
	})
}
