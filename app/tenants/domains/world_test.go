package domains_test

import (
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/testing/testserver"
)

// What only the tests of this package do with a world.

// away stops the server for a time, which costs a test less than its running,
// and starts it again.
func away(w *testserver.World, d time.Duration) {
	w.T.Helper()
	w.Stop()
	time.Sleep(d)
	w.Relays = []*testserver.FakeRelay{testserver.NewRelay(nil)}
	w.Open()
	w.Start()
	synctest.Wait()
}

func wantStatus(w *testserver.World, id string, want app.DomainStatus) {
	w.T.Helper()
	if d := w.Domain(id); d.Status != want {
		w.T.Errorf("status %s, want %s; records %+v", d.Status, want, w.Server.Domains.DomainRecords(&d))
	}
}

// statuses are the states that webhooks heard of, with the events' names.
func statuses(w *testserver.World) (all []string) {
	w.T.Helper()
	for _, one := range w.Heard(w.Key.TeamID) {
		if status, ok := one.Data["status"].(string); ok {
			all = append(all, string(one.Type)+" "+status)
		}
	}
	return all
}
