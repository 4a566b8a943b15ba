package engine

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/db"
)

// guarded is a world that enforces guardrails and is not yet started.
func guarded(t testing.TB, relays ...*fakeRelay) *world {
	t.Helper()
	return idleWith(t, Config{Enforce: true}, relays...)
}

// suffered adds to the counters of the world's team.
func (w *world) suffered(o app.Outcome) {
	w.t.Helper()
	w.sufferedBy(w.key.TeamID, o)
}

func (w *world) sufferedBy(teamID string, o app.Outcome) {
	w.t.Helper()
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		w.e.countOutcome(tx, app.OutcomeKey{TeamID: teamID, Region: app.DefaultRegion, Domain: testDomain}, o)
		return nil
	}))
}

// age moves everything that was counted some hours back, which is faster than to
// wait for it.
func (w *world) age(hours int) {
	w.t.Helper()
	pool, err := sql.Open("sqlite", "file:"+w.path+"?_busy_timeout=5000")
	must(w.t, err)
	defer pool.Close()
	for _, table := range []string{"outcomes", "region_outcomes"} {
		_, err = pool.ExecContext(w.t.Context(), `UPDATE `+table+` SET hour = hour - ?`, hours)
		must(w.t, err)
	}
}

// soon waits as long as a crossed line may take.
func soon() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

func (w *world) wantTold(want ...string) {
	w.t.Helper()
	got := strings.Fields(w.rows(`SELECT type FROM happenings WHERE type LIKE 'deliverability.%' ORDER BY id`))
	if !slices.Equal(got, want) {
		w.t.Errorf("the team was told %q, want %q", got, want)
	}
}

func TestAPausedTeamSendsNothingUntilTheRatesAreDown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := guarded(t, newRelay(nil))
		w.start()
		other := w.addTeam("other", "other.example")
		w.suffered(app.Outcome{Sent: 200, HardBounced: 9})
		soon()
		w.send("bob@example.net")
		w.wantTold("deliverability.warning")
		w.suffered(app.Outcome{HardBounced: 2})
		soon()
		w.wantTold("deliverability.warning", "deliverability.paused")

		_, err := w.e.SendEmail(t.Context(), w.key, letter("bob@example.net"), SendOptions{})
		wantCode(t, err, app.CodeSendingPaused)
		for _, permissive := range []bool{false, true} {
			_, err = w.e.SendBatch(t.Context(), w.key, []BatchItem{{Input: letter("bob@example.net")}, {Input: letter("eve@example.net")}}, permissive, SendOptions{})
			wantCode(t, err, app.CodeSendingPaused)
		}
		w.people(3)
		_, err = w.e.SendBroadcast(t.Context(), w.key, w.draft().ID, "", SendOptions{})
		wantCode(t, err, app.CodeSendingPaused)
		text := "Hello"
		_, err = w.e.SendEmail(t.Context(), other, &app.EmailInput{From: "x@other.example", To: []string{"bob@example.net"}, Subject: "Hi", Text: &text}, SendOptions{})
		must(t, err)

		w.age(24)
		soon()
		_, err = w.e.SendEmail(t.Context(), w.key, letter("bob@example.net"), SendOptions{})
		wantCode(t, err, app.CodeSendingPaused)
		w.age(24) // neither today nor yesterday
		soon()
		w.send("bob@example.net")
		w.wantTold("deliverability.warning", "deliverability.paused")
		w.age(6 * 24)
		soon()
		if got := w.e.guards.team(w.key.TeamID); got != app.GuardrailOK {
			t.Errorf("after a week the team is %s", got)
		}
		w.suffered(app.Outcome{Sent: 200, HardBounced: 9})
		soon()
		w.wantTold("deliverability.warning", "deliverability.paused", "deliverability.warning")
	})
}

func TestTheChecksBeforeThePauseComeFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := guarded(t, newRelay(nil))
		w.start()
		w.suffered(app.Outcome{Sent: 200, HardBounced: 20})
		soon()
		in := letter("bob@example.net")
		in.From = "ann@unknown.example"
		_, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
		wantCode(t, err, app.CodeValidation)
		in = letter("bob@example.net")
		in.TopicID = app.NewID()
		_, err = w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
		wantCode(t, err, app.CodeNotFound)
		_, err = w.e.AddSuppression(t.Context(), w.key, app.SuppressionInput{Email: "bob@example.net"})
		must(t, err)
		_, err = w.e.SendEmail(t.Context(), w.key, letter("bob@example.net"), SendOptions{})
		wantCode(t, err, app.CodeSendingPaused)
	})
}

func TestWithoutEnforcementNothingIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := serving(t, relay)
		w.suffered(app.Outcome{Sent: 5000, HardBounced: 4000, Complained: 1000})
		soon()
		w.wantTold("deliverability.paused")
		w.send("bob@example.net")
		w.people(20)
		_, err := w.e.SendBroadcast(t.Context(), w.key, w.draft().ID, "", SendOptions{})
		must(t, err)
		soon()
		if got := len(received(relay)); got != 21 {
			t.Errorf("%d addresses got mail, want 21", got)
		}
	})
}

func TestAPauseSurvivesARestartAndIsToldOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := guarded(t, newRelay(nil))
		w.start()
		w.suffered(app.Outcome{Sent: 200, HardBounced: 20})
		soon()
		next := w.crash(newRelay(nil))
		_, err := next.e.SendEmail(t.Context(), next.key, letter("bob@example.net"), SendOptions{})
		wantCode(t, err, app.CodeSendingPaused) // before the start, as a command beside the server
		next.start()
		_, err = next.e.SendEmail(t.Context(), next.key, letter("bob@example.net"), SendOptions{})
		wantCode(t, err, app.CodeSendingPaused)
		soon()
		next.wantTold("deliverability.paused")
	})
}

func TestBroadcastsOfAPausedTeamRest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 4, Rate: 10}, nil)
		w := guarded(t, relay)
		w.start()
		w.people(600)
		view, err := w.e.SendBroadcast(t.Context(), w.key, w.draft().ID, "", SendOptions{})
		must(t, err)
		time.Sleep(10 * time.Second)
		w.suffered(app.Outcome{Sent: 200, HardBounced: 20})
		soon()
		before := len(received(relay))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := len(received(relay)); got != before || got >= 300 || got < 50 {
			t.Errorf("%d had mail when the pause took effect, %d later", before, got)
		}
		if got, err := w.e.GetBroadcast(t.Context(), w.key, view.ID); err != nil || !got.FinishesAt.IsZero() || got.Status != app.QueuedBroadcast {
			t.Errorf("it finishes at %s, is %s, %v", got.FinishesAt, got.Status, err)
		}
		w.age(48)
		soon()
		w.age(7 * 24) // no more in warning
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		wantEachOnce(t, received(relay), 600)
	})
}

func TestATeamInWarningDrips(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := guarded(t, relay)
		w.start()
		w.suffered(app.Outcome{Sent: 1000, Complained: 2})
		soon()
		w.people(200)
		_, err := w.e.SendBroadcast(t.Context(), w.key, w.draft().ID, "", SendOptions{})
		must(t, err)
		time.Sleep(60 * time.Second)
		synctest.Wait()
		if got := len(received(relay)); got < 55 || got > 65 {
			t.Errorf("%d messages left in a minute, want about 60", got)
		}
	})
}

func TestARegionThatRecoversHoldsBroadcastsOfAllTeams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := guarded(t, relay)
		w.start()
		// Of many teams, none of which is over a line for itself.
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			w.sufferedBy(w.addTeam(name, name+".example").TeamID, app.Outcome{Sent: 99, HardBounced: 20})
		}
		w.sufferedBy(w.addTeam("f", "f.example").TeamID, app.Outcome{Sent: 505})
		soon()
		w.people(20)
		draft := w.draft()
		_, err := w.e.SendBroadcast(t.Context(), w.key, draft.ID, "", SendOptions{})
		wantCode(t, err, app.CodeBroadcastsPaused)
		w.queue(draft)
		w.send("bob@example.net")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := received(relay); len(got) != 1 || got["bob@example.net"] != 1 {
			t.Errorf("%d addresses got mail, want bob alone", len(got))
		}
		w.wantTold()
		w.age(24) // and they are still in the week
		soon()
		if got := len(received(relay)); got != 1 {
			t.Errorf("%d addresses got mail after a day, want bob alone", got)
		}
		w.age(6 * 24)
		time.Sleep(time.Hour) // windows move with the hour
		synctest.Wait()
		if got := len(received(relay)); got != 21 {
			t.Errorf("%d addresses got mail once the region recovered, want 21", got)
		}
	})
}

func TestARegionUnderItsFloorIsOpen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := guarded(t, newRelay(nil))
		w.start()
		w.sufferedBy(w.addTeam("a", "a.example").TeamID, app.Outcome{Sent: 999, HardBounced: 999})
		soon()
		w.people(2)
		_, err := w.e.SendBroadcast(t.Context(), w.key, w.draft().ID, "", SendOptions{})
		must(t, err)
	})
}
