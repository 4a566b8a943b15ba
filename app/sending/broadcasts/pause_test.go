package broadcasts_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

func TestPausedBroadcastResumesAfterCrash(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		const n = 200
		slow := relayurl.Relay{Region: app.DefaultRegion, Connections: 4, Rate: 20}
		relay := testserver.NewRelayOf(slow, nil)
		w := testserver.Start(t, relay)
		other := w.AddTeam("Other", "other.example")
		w.AddSubscribers(n)
		b := w.AddDraft()
		w.Queue(b)
		testserver.Sleep(3010 * time.Millisecond)
		got, err := w.Services.Broadcasts.PauseBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		if got.Status != app.QueuedBroadcast || got.PausedAt.IsZero() || !got.FinishesAt.IsZero() {
			t.Errorf("paused as %+v", got)
		}
		_, err = w.Services.Broadcasts.PauseBroadcast(t.Context(), other, b.ID)
		testserver.WantCode(t, err, app.CodeNotFound)
		left := len(testserver.Received(relay))
		if left == 0 || left > n-50 {
			t.Fatalf("%d had left before the pause: this test shows nothing", left)
		}
		message := testserver.Message("bob@example.net")
		message.From = "ann@other.example"
		_, err = w.Services.Mail.SendEmail(t.Context(), other, message, mail.SendOptions{})
		testserver.Must(t, err)
		testserver.Sleep(time.Hour)
		if sent := len(testserver.Received(relay)); sent != left+1 {
			t.Errorf("%d more left, want the other team's alone", sent-left)
		}
		again := testserver.NewRelayOf(slow, nil)
		w = w.Crash(again)
		w.Start()
		testserver.Sleep(time.Hour)
		if sent := len(testserver.Received(again)); sent != 0 {
			t.Errorf("%d left after a crash", sent)
		}
		got, err = w.Services.Broadcasts.ResumeBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		if !got.PausedAt.IsZero() || got.FinishesAt.IsZero() {
			t.Errorf("resumed as %+v", got)
		}
		testserver.Sleep(5 * time.Minute)
		all := testserver.Received(relay, again)
		delete(all, "bob@example.net")
		testserver.WantEachOnce(t, all, n)
		if end := w.Broadcast(b.ID); end.Status != app.SentBroadcast || end.Counts.Sent != n || end.Open != 0 {
			t.Errorf("ended as %+v", end)
		}
		_, err = w.Services.Broadcasts.PauseBroadcast(t.Context(), w.Key, b.ID)
		testserver.WantCode(t, err, app.CodeInvalidParameter)
	})
}

func TestPauseHoldsMailBeforeFinalDot(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.After(hang, testserver.Accept)))
		w := testserver.Start(t, relay)
		w.AddSubscribers(5)
		b := w.AddDraft()
		w.Queue(b)
		testserver.Sleep(time.Second) // they wait in the relay, before their final dots
		_, err := w.CommandServices().Broadcasts.PauseBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		close(hang)
		testserver.Sleep(time.Hour)
		if got := len(testserver.Received(relay)); got != 0 {
			t.Errorf("%d left after the answer of pause", got)
		}
		_, err = w.Services.Broadcasts.ResumeBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		testserver.Sleep(2 * time.Minute)
		testserver.WantEachOnce(t, testserver.Received(relay), 5)
	})
}

func TestPauseStopsRetriesAndExpiry(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.ReplyWith(app.StageRcpt, 451, "4.2.1 mailbox busy")))
		w := testserver.NewWithConfig(t, server.Config{MaxWait: 2 * time.Hour, PollEvery: time.Minute}, relay)
		w.Start()
		w.AddSubscribers(3)
		b := w.AddDraft()
		w.Queue(b)
		testserver.Sleep(time.Minute)
		_, err := w.Services.Broadcasts.PauseBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		tries := 0
		for i := range 3 {
			tries += len(relay.Transactions(app.BroadcastEmailID(b.EmailIDPrefix, int64(i+1))))
		}
		relay.SetScript(nil)
		testserver.Sleep(3 * time.Hour)
		if got := len(testserver.Received(relay)); got != 0 || tries == 0 {
			t.Errorf("%d left while it was paused, after %d tries", got, tries)
		}
		_, err = w.Services.Broadcasts.ResumeBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		testserver.Sleep(time.Hour)
		testserver.WantEachOnce(t, testserver.Received(relay), 3)
	})
}

func TestCancelPausedBroadcast(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.ReplyWith(app.StageRcpt, 451, "4.2.1 mailbox busy")))
		w := testserver.Start(t, relay)
		w.AddSubscribers(3)
		b := w.AddDraft()
		w.Queue(b)
		testserver.Sleep(time.Minute)
		_, err := w.Services.Broadcasts.PauseBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		testserver.Sleep(time.Hour)
		_, n, err := w.Services.Broadcasts.CancelBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		testserver.Sleep(time.Minute)
		if got := w.Broadcast(b.ID); n != 3 || got.Status != app.CanceledBroadcast || !got.PausedAt.IsZero() || got.Open != 0 || got.Counts.Canceled != 3 {
			t.Errorf("%d canceled: %+v", n, got)
		}
	})
}

func TestBroadcastActionsAreAudited(t *testing.T) {
	w := testserver.New(t)
	ctx := t.Context()
	w.AddSubscribers(3)
	act := map[string]func(string) error{
		"broadcast.pause":      func(id string) error { _, err := w.Services.Broadcasts.PauseBroadcast(ctx, w.Key, id); return err },
		"broadcast.resume":     func(id string) error { _, err := w.Services.Broadcasts.ResumeBroadcast(ctx, w.Key, id); return err },
		"broadcast.cancel":     func(id string) error { _, _, err := w.Services.Broadcasts.CancelBroadcast(ctx, w.Key, id); return err },
		"broadcast.unschedule": func(id string) error { _, err := w.Services.Broadcasts.UnscheduleBroadcast(ctx, w.Key, id); return err },
	}
	want := func(v broadcasts.BroadcastView, actions ...string) {
		t.Helper()
		for _, a := range actions {
			testserver.Must(t, act[a](v.ID))
			testserver.Must(t, ignoreState(act[a](v.ID))) // repeated: not done twice
		}
		got := w.SQL("SELECT action FROM audit_logs WHERE target = ? ORDER BY id", v.ID)
		if len(got) != len(actions)+1 || got[0] != "broadcast.send" {
			t.Errorf("audit log: %q, want broadcast.send and %q", got, actions)
		}
	}
	want(sendBroadcast(w, broadcastTo(""), ""), "broadcast.pause", "broadcast.resume", "broadcast.cancel")
	want(sendBroadcast(w, broadcastTo(""), "in 1 hour"), "broadcast.unschedule")
	if got := w.SQL("SELECT status FROM broadcasts ORDER BY id"); got[0] != "canceled" || got[1] != "draft" {
		t.Errorf("they ended as %q", got)
	}
}

// ignoreState ignores the error of an action that does not apply to the state of a broadcast.
func ignoreState(err error) error {
	if app.CodeOf(err) == app.CodeInvalidParameter {
		return nil
	}
	return err
}
