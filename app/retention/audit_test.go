package retention_test

import (
	"testing"

	"mailer/app/world"
)

func TestTheAuditLogIsKeptFor400Days(t *testing.T) {
	world.BothEngines(t)
	bubble(t, func(t *testing.T) {
		w := world.Idle(t, world.NewRelay(nil))
		w.AddTeam("Old", "old.example")
		world.Sleep(399 * day)
		w.AddTeam("New", "new.example")
		world.Must(t, w.Server.Retention.PurgeRecords(t.Context()))
		if got := w.Count("audit_logs WHERE action = 'team.create'"); got != "2" {
			t.Errorf("%s entries after 399 days", got)
		}
		world.Sleep(2 * day)
		world.Must(t, w.Server.Retention.PurgeRecords(t.Context()))
		if got := w.Count("audit_logs WHERE action = 'team.create'"); got != "1" {
			t.Errorf("%s entries after 401 days", got)
		}
	})
}
