package engine

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/feedback"
	"mailer/db"
)

// outcome is what the counters of the world's team say.
func (w *world) outcome() (o app.Outcome) {
	w.t.Helper()
	w.read(func(r *db.Reader) (err error) {
		o, err = r.TeamOutcome(w.key.TeamID, 0)
		return err
	})
	return o
}

// wantCounts compares the counters but for scores, of the team and of its region.
func (w *world) wantCounts(sent, hard, complained int64) {
	w.t.Helper()
	want := app.Outcome{Sent: sent, HardBounced: hard, Complained: complained}
	got := w.outcome()
	if got.Scored, got.Points = 0, 0; got != want {
		w.t.Errorf("the team's counters are %+v, want %+v", got, want)
	}
	w.read(func(r *db.Reader) error {
		got, err := r.RegionOutcome(app.DefaultRegion, 0)
		if got != want {
			w.t.Errorf("the region's counters are %+v, want %+v", got, want)
		}
		return err
	})
}

// refusing is a relay that refuses what is addressed to a code, like "5.1.1@…",
// with it, and takes the rest.
func refusing() *fakeRelay {
	return newRelay(always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
		res := app.Result{Kind: app.ResultDone, Stage: app.StageDot}
		for _, to := range m.Recipients {
			local, _, _ := strings.Cut(to, "@")
			v := app.RecipientResult{Address: to, Verdict: app.Accepted, Stage: app.StageDot, Reply: app.Reply{Code: 250}}
			switch {
			case local == "test":
				v = app.RecipientResult{Address: to, Verdict: app.SimulatedBounce, Reply: app.Reply{Code: 550, Enhanced: "5.1.1"}}
			case app.IsEnhancedCode(local):
				v = app.RecipientResult{Address: to, Verdict: app.Refused, Stage: app.StageRcpt, Reply: app.Reply{Code: 550, Enhanced: local}}
			}
			res.Recipients = append(res.Recipients, v)
		}
		if err := hold(); err != nil {
			return app.Result{Kind: app.ResultWithdrawn}
		}
		return res
	}))
}

func TestResultsOfTheRelayAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, refusing())
		w.send("bob@example.net", "5.1.1@example.net", "5.7.1@example.net", "test@example.net")
		synctest.Wait()
		w.wantCounts(3, 1, 0)
	})
}

func TestReportsAreCountedOnceForARecipient(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, refusing())
		id := w.sentTo("bob@example.net", "eve@example.net")
		w.take(bounce(id, "bob@example.net", "5.1.1"))
		w.take(bounce(id, "BOB@example.net", "5.1.2"))  // another door, other words
		w.take(bounce(id, "eve@example.net", "5.7.1"))  // policy
		w.take(bounce(id, "carl@example.net", "5.1.1")) // a stranger
		w.take(feedback.Feedback{EmailID: id, Recipient: "eve@example.net", Kind: feedback.FeedbackComplained})
		w.wantCounts(2, 1, 1)
		refused := w.send("5.1.1@example.net")
		synctest.Wait()
		w.take(bounce(refused, "5.1.1@example.net", "5.1.1")) // the relay said so before
		w.wantCounts(3, 2, 1)
	})
}

func TestARecipientWithoutAResultCountsByItsReport(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		id := w.send("bob@example.net")
		w.take(bounce(id, "bob@example.net", "5.1.1"))
		w.wantCounts(1, 1, 0)
		w.start()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.wantCounts(1, 1, 0)
	})
}

func TestRecipientsOfBroadcastsAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		w.people(150)
		w.queue(w.draft())
		time.Sleep(time.Minute)
		synctest.Wait()
		w.wantCounts(150, 0, 0)
	})
}

func TestOldOutcomesGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		key := app.OutcomeKey{TeamID: w.key.TeamID, Region: app.DefaultRegion, Domain: testDomain}
		count := func() {
			must(t, w.db.Write(t.Context(), func(tx *db.Tx) error { tx.CountOutcome(key, app.Outcome{Sent: 1}); return nil }))
		}
		count()
		time.Sleep(app.OutcomesKept - time.Hour)
		count()
		must(t, w.e.purgeOutcomes(t.Context()))
		w.wantCounts(2, 0, 0)
		time.Sleep(2 * time.Hour)
		must(t, w.e.purgeOutcomes(t.Context()))
		w.wantCounts(1, 0, 0)
	})
}
