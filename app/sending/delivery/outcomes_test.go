package delivery_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/counters"
	"mailer/app/rules/feedback"
	"mailer/app/rules/reputation"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// refusing is a relay that refuses recipients like "5.1.1@…" with that code and accepts others.
func refusing() *testserver.FakeRelay {
	return testserver.NewRelay(testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
		res := app.Result{Kind: app.ResultDone, Stage: app.StageDot}
		for _, to := range m.Recipients {
			local, _, _ := strings.Cut(to, "@")
			v := app.RecipientResult{Address: to, Outcome: app.Accepted, Stage: app.StageDot, Reply: app.Reply{Code: 250}}
			switch {
			case local == "test":
				v = app.RecipientResult{Address: to, Outcome: app.SimulatedBounce, Reply: app.Reply{Code: 550, Enhanced: "5.1.1"}}
			case app.IsEnhancedCode(local):
				v = app.RecipientResult{Address: to, Outcome: app.Refused, Stage: app.StageRcpt, Reply: app.Reply{Code: 550, Enhanced: local}}
			}
			res.Recipients = append(res.Recipients, v)
		}
		if err := authorize(); err != nil {
			return app.Result{Kind: app.ResultWithdrawn}
		}
		return res
	}))
}

func TestRelayResultsAreCounted(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, refusing())
		w.Send("bob@example.net", "5.1.1@example.net", "5.7.1@example.net", "test@example.net")
		synctest.Wait()
		wantCounts(w, 2, 1, 0) // ambiguous refusals are tried once more
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		wantCounts(w, 3, 1, 0)
	})
}

func TestReportsAreCountedOncePerRecipient(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, refusing())
		id := w.SendTaken("bob@example.net", "eve@example.net")
		w.Report(testserver.HardBounce(id, "bob@example.net", "5.1.1"))
		w.Report(testserver.HardBounce(id, "BOB@example.net", "5.1.2"))  // another endpoint, another text
		w.Report(testserver.HardBounce(id, "eve@example.net", "5.7.1"))  // policy
		w.Report(testserver.HardBounce(id, "carl@example.net", "5.1.1")) // not a recipient
		w.Report(feedback.Report{EmailID: id, Recipient: "eve@example.net", Kind: feedback.Complained})
		wantCounts(w, 2, 1, 1)
		refused := w.Send("5.1.1@example.net")
		synctest.Wait()
		w.Report(testserver.HardBounce(refused, "5.1.1@example.net", "5.1.1")) // the relay refused it before
		wantCounts(w, 3, 2, 1)
	})
}

func TestReportCountsRecipientWithoutResult(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		id := w.Send("bob@example.net")
		w.Report(testserver.HardBounce(id, "bob@example.net", "5.1.1"))
		wantCounts(w, 1, 1, 0)
		w.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		wantCounts(w, 1, 1, 0)
	})
}

func TestBroadcastRecipientsAreCounted(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		w.AddSubscribers(150)
		w.Queue(w.AddDraft())
		time.Sleep(time.Minute)
		synctest.Wait()
		wantCounts(w, 150, 0, 0)
	})
}

func TestOldCountsArePurged(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		key := counters.Key{TeamID: w.Key.TeamID, Region: app.DefaultRegion, Domain: testserver.TestDomain}
		count := func() {
			testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { tx.CountOutcome(key, reputation.Outcome{Sent: 1}); return nil }))
		}
		count()
		time.Sleep(counters.Retention - time.Hour)
		count()
		testserver.Must(t, w.Services.Delivery.PurgeCounts(t.Context()))
		wantCounts(w, 2, 0, 0)
		time.Sleep(2 * time.Hour)
		testserver.Must(t, w.Services.Delivery.PurgeCounts(t.Context()))
		wantCounts(w, 1, 0, 0)
	})
}
