package delivery_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/reputation"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

// newGuarded returns a test server that enforces guardrails and is not started yet.
func newGuarded(t testing.TB, relays ...*testserver.FakeRelay) *testserver.Server {
	t.Helper()
	return testserver.NewWithConfig(t, server.Config{EnforceGuardrails: true}, relays...)
}

// waitForGuardrails sleeps for as long as a crossed limit may take.
func waitForGuardrails() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

func TestPausedTeamResumesWhenRatesFall(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := newGuarded(t, testserver.NewRelay(nil))
		w.Start()
		other := w.AddTeam("other", "other.example")
		addOutcome(w, reputation.Outcome{Sent: 200, HardBounced: 9})
		waitForGuardrails()
		w.Send("bob@example.net")
		wantAnnounced(w, "deliverability.warning")
		addOutcome(w, reputation.Outcome{HardBounced: 2})
		waitForGuardrails()
		wantAnnounced(w, "deliverability.warning", "deliverability.paused")

		_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeSendingPaused)
		for _, permissive := range []bool{false, true} {
			_, err = w.Services.Mail.SendBatch(t.Context(), w.Key, []mail.BatchItem{{Input: testserver.Message("bob@example.net")}, {Input: testserver.Message("eve@example.net")}}, permissive, mail.SendOptions{})
			testserver.WantCode(t, err, app.CodeSendingPaused)
		}
		w.AddSubscribers(3)
		_, err = w.Services.Broadcasts.SendBroadcast(t.Context(), w.Key, w.AddDraft().ID, "", mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeSendingPaused)
		text := "Hello"
		_, err = w.Services.Mail.SendEmail(t.Context(), other, &app.EmailInput{From: "x@other.example", To: []string{"bob@example.net"}, Subject: "Hi", Text: &text}, mail.SendOptions{})
		testserver.Must(t, err)

		w.AgeCounters(24)
		waitForGuardrails()
		_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeSendingPaused)
		w.AgeCounters(24) // before yesterday
		waitForGuardrails()
		w.Send("bob@example.net")
		wantAnnounced(w, "deliverability.warning", "deliverability.paused")
		w.AgeCounters(6 * 24)
		waitForGuardrails()
		if got := w.Services.Guardrails.Team(w.Key.TeamID); got != reputation.GuardrailOK {
			t.Errorf("after a week the team is %s", got)
		}
		addOutcome(w, reputation.Outcome{Sent: 200, HardBounced: 9})
		waitForGuardrails()
		wantAnnounced(w, "deliverability.warning", "deliverability.paused", "deliverability.warning")
	})
}

func TestOtherChecksPrecedePausedError(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := newGuarded(t, testserver.NewRelay(nil))
		w.Start()
		addOutcome(w, reputation.Outcome{Sent: 200, HardBounced: 20})
		waitForGuardrails()
		in := testserver.Message("bob@example.net")
		in.From = "ann@unknown.example"
		_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeValidation)
		in = testserver.Message("bob@example.net")
		in.TopicID = app.NewID()
		_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "bob@example.net"})
		testserver.Must(t, err)
		_, err = w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeSendingPaused)
	})
}

func TestGuardrailsWithoutEnforcement(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		addOutcome(w, reputation.Outcome{Sent: 5000, HardBounced: 4000, Complained: 1000})
		waitForGuardrails()
		wantAnnounced(w, "deliverability.paused")
		w.Send("bob@example.net")
		w.AddSubscribers(20)
		_, err := w.Services.Broadcasts.SendBroadcast(t.Context(), w.Key, w.AddDraft().ID, "", mail.SendOptions{})
		testserver.Must(t, err)
		waitForGuardrails()
		if got := len(testserver.Received(relay)); got != 21 {
			t.Errorf("%d addresses got mail, want 21", got)
		}
	})
}

func TestTeamPauseSurvivesRestartAndIsAnnouncedOnce(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := newGuarded(t, testserver.NewRelay(nil))
		w.Start()
		addOutcome(w, reputation.Outcome{Sent: 200, HardBounced: 20})
		waitForGuardrails()
		next := w.Crash(testserver.NewRelay(nil))
		_, err := next.Services.Mail.SendEmail(t.Context(), next.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeSendingPaused) // before the start, like a command
		next.Start()
		_, err = next.Services.Mail.SendEmail(t.Context(), next.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeSendingPaused)
		waitForGuardrails()
		wantAnnounced(next, "deliverability.paused")
	})
}

func TestPausedTeamBroadcastsStop(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 4, Rate: 10}, nil)
		w := newGuarded(t, relay)
		w.Start()
		w.AddSubscribers(600)
		view, err := w.Services.Broadcasts.SendBroadcast(t.Context(), w.Key, w.AddDraft().ID, "", mail.SendOptions{})
		testserver.Must(t, err)
		time.Sleep(10 * time.Second)
		addOutcome(w, reputation.Outcome{Sent: 200, HardBounced: 20})
		waitForGuardrails()
		before := len(testserver.Received(relay))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := len(testserver.Received(relay)); got != before || got >= 300 || got < 50 {
			t.Errorf("%d had mail when the pause took effect, %d later", before, got)
		}
		if got, err := w.Services.Broadcasts.GetBroadcast(t.Context(), w.Key, view.ID); err != nil || !got.FinishesAt.IsZero() || got.Status != app.QueuedBroadcast {
			t.Errorf("it finishes at %s, is %s, %v", got.FinishesAt, got.Status, err)
		}
		w.AgeCounters(48)
		waitForGuardrails()
		w.AgeCounters(7 * 24) // no longer in warning
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		testserver.WantEachOnce(t, testserver.Received(relay), 600)
	})
}

func TestTeamInWarningIsThrottled(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := newGuarded(t, relay)
		w.Start()
		addOutcome(w, reputation.Outcome{Sent: 1000, Complained: 2})
		waitForGuardrails()
		w.AddSubscribers(200)
		_, err := w.Services.Broadcasts.SendBroadcast(t.Context(), w.Key, w.AddDraft().ID, "", mail.SendOptions{})
		testserver.Must(t, err)
		time.Sleep(60 * time.Second)
		synctest.Wait()
		if got := len(testserver.Received(relay)); got < 55 || got > 65 {
			t.Errorf("%d messages left in a minute, want about 60", got)
		}
	})
}

func TestPausedRegionStopsAllBroadcasts(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := newGuarded(t, relay)
		w.Start()
		// From many teams, none of which crosses a limit.
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			w.AddOutcome(w.AddTeam(name, name+".example").TeamID, reputation.Outcome{Sent: 99, HardBounced: 9})
		}
		w.AddOutcome(w.AddTeam("h", "h.example").TeamID, reputation.Outcome{Sent: 505})
		waitForGuardrails()
		w.AddSubscribers(20)
		draft := w.AddDraft()
		_, err := w.Services.Broadcasts.SendBroadcast(t.Context(), w.Key, draft.ID, "", mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeBroadcastsPaused)
		w.Queue(draft)
		w.Send("bob@example.net")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := testserver.Received(relay); len(got) != 1 || got["bob@example.net"] != 1 {
			t.Errorf("%d addresses got mail, want bob alone", len(got))
		}
		wantAnnounced(w)
		w.AgeCounters(24) // still in the week's window
		waitForGuardrails()
		if got := len(testserver.Received(relay)); got != 1 {
			t.Errorf("%d addresses got mail after a day, want bob alone", got)
		}
		w.AgeCounters(6 * 24)
		time.Sleep(time.Hour) // the windows move hourly
		synctest.Wait()
		if got := len(testserver.Received(relay)); got != 21 {
			t.Errorf("%d addresses got mail once the region recovered, want 21", got)
		}
	})
}

// broadcastsPaused reports whether broadcasts of the test team are refused for its region.
func broadcastsPaused(w *testserver.Server) bool {
	w.T.Helper()
	_, err := w.Services.Broadcasts.SendBroadcast(w.T.Context(), w.Key, w.AddDraft().ID, "", mail.SendOptions{})
	if err != nil {
		testserver.WantCode(w.T, err, app.CodeBroadcastsPaused)
	}
	return err != nil
}

func TestThreeComplaintsPauseOneTeam(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := newGuarded(t, relay)
		w.Start()
		w.AddSubscribers(20)
		free := w.AddTeam("free", "free.example")
		text := "Hello"
		send := func() error {
			_, err := w.Services.Mail.SendEmail(t.Context(), free, &app.EmailInput{From: "x@free.example", To: []string{"bob@example.net"}, Subject: "Hi", Text: &text}, mail.SendOptions{})
			return err
		}
		addOutcome(w, reputation.Outcome{Sent: 3000})
		w.AddOutcome(free.TeamID, reputation.Outcome{Sent: 3, Complained: 3})
		waitForGuardrails()
		testserver.WantCode(t, send(), app.CodeSendingPaused)
		if broadcastsPaused(w) {
			t.Error("the other team's broadcasts are refused")
		}
		waitForGuardrails()
		if got := len(testserver.Received(relay)); got != 20 {
			t.Errorf("%d recipients of the other's broadcast had mail, want 20", got)
		}
		events := w.TeamWebhookEvents(free.TeamID)
		if len(events) != 1 || events[0].Type != webhook.DeliverabilityPaused || events[0].Data["window"] != "7_days" ||
			events[0].Data["emails_sent"] != 3.0 || events[0].Data["complained"] != 3.0 || events[0].Data["complaint_rate"] != 1.0 {
			t.Errorf("webhook events %+v", events)
		}
		w.AgeCounters(6 * 24)
		time.Sleep(time.Minute)
		synctest.Wait()
		testserver.WantCode(t, send(), app.CodeSendingPaused)
		w.AgeCounters(24)
		time.Sleep(time.Hour) // the windows move hourly
		synctest.Wait()
		testserver.Must(t, send())
	})
}

func TestTwoBadTeamsPauseRegion(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := newGuarded(t, testserver.NewRelay(nil))
		w.Start()
		w.AddSubscribers(2)
		first, second := w.AddTeam("first", "first.example"), w.AddTeam("second", "second.example")
		addOutcome(w, reputation.Outcome{Sent: 1000})
		w.AddOutcome(second.TeamID, reputation.Outcome{Sent: 9000})
		w.AddOutcome(first.TeamID, reputation.Outcome{Sent: 10_000, HardBounced: 2000, Complained: 100})
		waitForGuardrails()
		if broadcastsPaused(w) {
			t.Error("a bad team of half the region's volume paused it alone")
		}
		w.AddOutcome(second.TeamID, reputation.Outcome{Complained: 100})
		waitForGuardrails()
		if !broadcastsPaused(w) {
			t.Error("two bad teams did not pause the region")
		}
		w.AgeCounters(7 * 24)
		time.Sleep(time.Hour)
		synctest.Wait()
		if broadcastsPaused(w) {
			t.Error("the region is paused after a week")
		}
	})
}

func TestRegionBelowMinimumVolumeStaysOpen(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := newGuarded(t, testserver.NewRelay(nil))
		w.Start()
		w.AddOutcome(w.AddTeam("a", "a.example").TeamID, reputation.Outcome{Sent: 500, HardBounced: 500})
		w.AddOutcome(w.AddTeam("b", "b.example").TeamID, reputation.Outcome{Sent: 499, HardBounced: 499})
		waitForGuardrails()
		w.AddSubscribers(2)
		_, err := w.Services.Broadcasts.SendBroadcast(t.Context(), w.Key, w.AddDraft().ID, "", mail.SendOptions{})
		testserver.Must(t, err)
	})
}
