package delivery_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

func TestLargeMessagesWaitForMemory(t *testing.T) {
	slow := func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
		time.Sleep(time.Second)
		return testserver.Accept(ctx, m, authorize)
	}
	for memory, want := range map[int64]int{0: 3, 256 << 20: 1} { // three messages of 20 MB fit into 64 MB
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				relay := testserver.NewRelay(testserver.Always(slow))
				w := testserver.NewWithConfig(t, server.Config{Memory: memory}, relay)
				for range 3 {
					w.Send("bob@example.net")
				}
				w.SQL("UPDATE units SET size = 20000000 RETURNING email_id")
				w.Start()
				testserver.Sleep(10 * time.Second)
				if n := len(relay.Transactions("")); n != 3 || relay.MaxOpen != want {
					t.Errorf("%d messages were sent, %d concurrently, want %d", n, relay.MaxOpen, want)
				}
			})
		})
	}
}
