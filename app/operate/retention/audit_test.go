package retention_test

import (
	"testing"

	"mailer/app/testing/testserver"
)

func TestAuditRetention(t *testing.T) {
	testserver.BothEngines(t)
	synctestDays(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		w.AddTeam("Old", "old.example")
		testserver.Sleep(399 * day)
		w.AddTeam("New", "new.example")
		testserver.Must(t, w.Services.Retention.PurgeRecords(t.Context()))
		if got := w.Count("audit_logs WHERE action = 'team.create'"); got != "2" {
			t.Errorf("%s entries after 399 days", got)
		}
		testserver.Sleep(2 * day)
		testserver.Must(t, w.Services.Retention.PurgeRecords(t.Context()))
		if got := w.Count("audit_logs WHERE action = 'team.create'"); got != "1" {
			t.Errorf("%s entries after 401 days", got)
		}
	})
}
