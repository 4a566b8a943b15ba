package delivery_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/testing/testserver"
)

func TestADayThatIsUsedUpIsLookedAtAgainOnceThePausesEnd(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Serving(t, testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Daily: 1}, nil))
		first := w.Send("bob@example.net")
		testserver.Sleep(2 * time.Second)
		second := w.Send("eve@example.net")
		testserver.Sleep(2 * time.Second)
		w.WantLast(first, app.Sent)
		w.WantLast(second, app.Queued)
		l := w.Server.Delivery.Lanes()[0]
		l.Limits().Clear() // as it is once two days were slept through
		w.Server.Delivery.ReopenLanes()
		testserver.Sleep(2 * time.Second)
		w.WantLast(second, app.Sent)
	})
}
