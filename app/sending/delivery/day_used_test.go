package delivery_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/testing/testserver"
)

func TestDailyLimitRecheckedAfterPause(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Daily: 1}, nil))
		first := w.Send("bob@example.net")
		testserver.Sleep(2 * time.Second)
		second := w.Send("eve@example.net")
		testserver.Sleep(2 * time.Second)
		w.WantLastEvent(first, app.Sent)
		w.WantLastEvent(second, app.Queued)
		l := w.Services.Delivery.Queues()[0]
		l.Limits().Clear() // as after two days
		w.Services.Delivery.RetryRelays()
		testserver.Sleep(2 * time.Second)
		w.WantLastEvent(second, app.Sent)
	})
}
