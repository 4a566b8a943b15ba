package delivery_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

func TestSuspendedTeamSendsNothing(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.After(hang, testserver.Accept)))
		w := testserver.Start(t, relay)
		other := w.AddTeam("Other", "other.example")
		begun := expiring(w, w.Key, "10m")
		synctest.Wait() // it waits for authorize, before the final dot
		command := w.CommandServices()
		out, err := command.Teams.SuspendTeam(t.Context(), w.Key.TeamID, "unpaid")
		testserver.Must(t, err)
		if !out.Changed || out.Reason != "unpaid" {
			t.Errorf("%+v", out)
		}
		close(hang)
		testserver.Sleep(time.Second)
		w.WantLastEvent(begun, app.Queued)
		if u := w.Unit(begun); u == nil || u.Attempts != 0 || relay.FinalDots(begun) != 0 {
			t.Errorf("unit %+v, %d dots", u, relay.FinalDots(begun))
		}
		_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeSendingPaused)
		if err == nil || !strings.Contains(err.Error(), "unpaid") {
			t.Errorf("no reason given: %v", err)
		}
		theirs := expiring(w, other, "")
		testserver.Sleep(time.Second)
		if got := w.SQL("SELECT last_event FROM emails WHERE id = ?", theirs)[0]; got != "sent" {
			t.Errorf("the other team's is %s", got)
		}
		if words := w.OnlyEvent(begun, app.EventRelayTrouble).Detail.Message; !strings.Contains(words, "unpaid (since ") {
			t.Errorf("its timeline says %s", words)
		}
		n := len(relay.Transactions(begun))
		testserver.Sleep(15 * time.Minute) // longer than it may wait
		w.WantLastEvent(begun, app.Queued)
		if got := len(relay.Transactions(begun)); got != n {
			t.Errorf("it was tried %d times while its team was suspended", got-n)
		}
		_, err = command.Teams.ResumeTeam(t.Context(), w.Key.TeamID)
		testserver.Must(t, err)
		testserver.Sleep(3 * time.Second)
		w.WantLastEvent(begun, app.Sent)
		if got := w.SQL("SELECT action FROM audit_logs WHERE action LIKE 'team.%' AND action <> 'team.create' ORDER BY id"); !slices.Equal(got, []string{"team.suspend", "team.resume"}) {
			t.Errorf("audit log: %q", got)
		}
	})
}

func TestExpiryClockStopsDuringSuspension(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.Start(t, deadRelay())
		other := w.AddTeam("Other", "other.example")
		id, theirs := expiring(w, w.Key, "10m"), expiring(w, other, "10m")
		testserver.Sleep(4 * time.Minute)
		_, err := w.Services.Teams.SuspendTeam(t.Context(), w.Key.TeamID, "")
		testserver.Must(t, err)
		testserver.Sleep(time.Hour)
		w = w.Crash(deadRelay())
		w.Start()
		testserver.Sleep(time.Hour)
		w.WantLastEvent(id, app.Queued)
		if got := w.SQL("SELECT last_event FROM emails WHERE id = ?", theirs)[0]; got != "failed" {
			t.Errorf("the other team's is %s", got)
		}
		_, err = w.Services.Teams.ResumeTeam(t.Context(), w.Key.TeamID)
		testserver.Must(t, err)
		testserver.Sleep(5 * time.Minute)
		w.WantLastEvent(id, app.Queued)
		testserver.Sleep(3 * time.Minute)
		wantExpired(w, id, 2*time.Hour+10*time.Minute)
	})
}

func TestSuspendedTeamBroadcastWaits(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(50)
		b := w.AddDraft()
		w.Queue(b)
		_, err := w.Services.Teams.SuspendTeam(t.Context(), w.Key.TeamID, "complaints")
		testserver.Must(t, err)
		left := len(testserver.Received(relay))
		testserver.Sleep(time.Hour)
		if got := len(testserver.Received(relay)); got != left {
			t.Errorf("%d left while the team was suspended", got-left)
		}
		_, err = w.Services.Teams.ResumeTeam(t.Context(), w.Key.TeamID)
		testserver.Must(t, err)
		testserver.Sleep(2 * time.Minute)
		testserver.WantEachOnce(t, testserver.Received(relay), 50)
	})
}
