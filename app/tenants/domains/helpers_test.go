package domains_test

import (
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/testing/testserver"
)

// Helpers of this package's tests.

// stopFor stops the server for a time and starts it again. This costs a test less than a running
// server.
func stopFor(w *testserver.Server, d time.Duration) {
	w.T.Helper()
	w.Stop()
	time.Sleep(d)
	w.Relays = []*testserver.FakeRelay{testserver.NewRelay(nil)}
	w.Open()
	w.Start()
	synctest.Wait()
}

func wantStatus(w *testserver.Server, id string, want app.DomainStatus) {
	w.T.Helper()
	if d := w.Domain(id); d.Status != want {
		w.T.Errorf("status %s, want %s; records %+v", d.Status, want, w.Services.Domains.DomainRecords(&d))
	}
}

// statuses returns the names of the events that webhooks received, each with its status.
func statuses(w *testserver.Server) (all []string) {
	w.T.Helper()
	for _, event := range w.TeamWebhookEvents(w.Key.TeamID) {
		if status, ok := event.Data["status"].(string); ok {
			all = append(all, string(event.Type)+" "+status)
		}
	}
	return all
}
