package delivery_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// euRelay is a relay of a region other than the default one.
func euRelay() *testserver.FakeRelay {
	return testserver.NewRelayOf(relayurl.Relay{Region: "eu-west-1", Connections: 1}, nil)
}

// sendFrom sends an email from a domain.
func sendFrom(w *testserver.Server, domain string) string {
	w.T.Helper()
	in := testserver.Message("bob@example.net")
	in.From = "x@" + domain
	id, err := w.Services.Mail.SendEmail(w.T.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(w.T, err)
	synctest.Wait()
	return id
}

// wantUnroutable checks that an email waits for its own relay and shows the reason.
func wantUnroutable(w *testserver.Server, id, relay, reason string) {
	w.T.Helper()
	w.WantLastEvent(id, app.Queued)
	if got := w.Email(id).Relay; got != relay {
		w.T.Errorf("it waits for %s, want %s", got, relay)
	}
	ev := w.OnlyEvent(id, app.EventRelayTrouble)
	if words := ev.Detail.Message; !strings.HasPrefix(words, reason+" (since ") || strings.Contains(words, "tries") || ev.Detail.NextAttemptAt != "" {
		w.T.Errorf("its timeline says %+v", ev.Detail)
	}
}

func TestMailWithoutRelayStaysInItsRegion(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		us := testserver.NewRelay(nil)
		w := testserver.Start(t, us)
		w.AddDomain(w.Key.TeamID, "gone.example", "sa-east-1", app.DomainVerified)
		id := sendFrom(w, "gone.example")
		wantUnroutable(w, id, "sa-east-1", "no relay for region sa-east-1")
		other := w.Send("ann@example.net")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		wantUnroutable(w, id, "sa-east-1", "no relay for region sa-east-1")
		if len(us.Transactions(id)) > 0 {
			t.Error("it was sent")
		}
		w.WantLastEvent(other, app.Sent)
		if !w.Log.Contains(`level=ERROR msg="no relay for region sa-east-1" relay=sa-east-1 waiting=1`) || !w.Log.Contains("--relay sa-east-1=URL") {
			t.Error("the log does not say what waits and what helps")
		}
	})
}

func TestMailWaitsForRemovedRelay(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil), euRelay())
		w.AddDomain(w.Key.TeamID, "eu.example", "eu-west-1", app.DomainVerified)
		id := sendFrom(w, "eu.example")
		us := testserver.NewRelay(nil)
		w = w.Crash(us)
		w.Start()
		time.Sleep(90 * time.Second)
		synctest.Wait()
		wantUnroutable(w, id, "eu-west-1", "no relay for region eu-west-1")
		eu := euRelay()
		w = w.Crash(us, eu)
		w.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		if len(eu.Transactions(id)) != 1 || len(us.Transactions(id)) > 0 {
			t.Errorf("it was sent %d times by its own relay, %d times by the other", len(eu.Transactions(id)), len(us.Transactions(id)))
		}
		if words := w.OnlyEvent(id, app.EventRelayTrouble).Detail.Message; !strings.HasPrefix(words, "no relay for region eu-west-1 (over at ") {
			t.Errorf("its timeline says %s", words)
		}
	})
}

func TestUnroutableTroubleEndsWhenNothingWaits(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		w.AddDomain(w.Key.TeamID, "gone.example", "sa-east-1", app.DomainVerified)
		id := sendFrom(w, "gone.example")
		testserver.Must(t, w.Services.Mail.DeleteEmail(t.Context(), w.Key, id))
		time.Sleep(time.Minute)
		synctest.Wait()
		if open := w.SQL("SELECT relay FROM relay_troubles WHERE ended_at IS NULL"); len(open) > 0 {
			t.Errorf("open troubles of %q", open)
		}
	})
}

func TestMailWaitsWithoutAnyRelay(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		w := testserver.New(t)
		testserver.Must(t, w.DB.Close())
		w.Config.NoRelay = true
		w.Open()
		w.Start()
		if got := w.Services.RelayMode(); got != base.RelayNone {
			t.Errorf("relay %q", got)
		}
		id := w.Send("bob@example.net")
		wantUnroutable(w, id, app.DefaultRegion, "no relay is configured")
		_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, &app.EmailInput{From: "x@nowhere.example", To: []string{"b@example.net"}, Subject: "s", Text: new(string)}, mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeValidation)
		command, err := w.CommandServices().Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
		testserver.Must(t, err)
		time.Sleep(time.Hour)
		synctest.Wait()
		wantUnroutable(w, id, app.DefaultRegion, "no relay is configured")
		wantUnroutable(w, command, app.DefaultRegion, "no relay is configured")
		if !w.Log.Contains(`level=ERROR msg="no relay is configured" relay=us-east-1 waiting=2`) {
			t.Error("the log does not say what waits")
		}
		w.Config.NoRelay = false
		w = w.Crash(testserver.NewRelay(nil))
		w.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		w.WantLastEvent(command, app.Sent)
	})
}

func TestCaptureIsRefusedWhileMailWaits(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		w := testserver.New(t, testserver.NewRelay(nil), euRelay())
		w.AddDomain(w.Key.TeamID, "eu.example", "eu-west-1", app.DomainVerified)
		w.Send("bob@example.net")
		id := sendFrom(w, "eu.example")
		w.StoreBroadcast("eu-west-1", 3, time.Now())
		before := w.Email(id)
		w.Config.Capture = true
		w = w.Crash(testserver.NewRelayOf(relayurl.Relay{Region: app.CaptureRegion, Connections: 1}, nil))
		err := w.Services.Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), "1 emails and 1 broadcasts wait for the relay eu-west-1, 1 emails and 0 broadcasts wait for the relay us-east-1") {
			t.Errorf("error %v", err)
		}
		if after := w.Email(id); after.Relay != before.Relay || after.LastEvent != before.LastEvent {
			t.Errorf("it changed to %+v", after)
		}
		if command := w.CommandServices(); command.Settings.Capture {
			t.Error("commands beside it capture")
		}
	})
}

func TestDomainOfCaptureUsesDefaultRelayLater(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.New(t)
		testserver.Must(t, w.DB.Close())
		capture := testserver.NewRelayOf(relayurl.Relay{Region: app.CaptureRegion, Connections: 1}, nil)
		w.Config.Capture, w.Relays = true, []*testserver.FakeRelay{capture}
		w.Open()
		w.Start()
		captured := sendFrom(w, "any.example")
		w.WantLastEvent(captured, app.Sent)
		scheduled := testserver.Message("bob@example.net")
		scheduled.ScheduledAt = app.FormatTime(time.Now().Add(time.Hour))
		later, err := w.Services.Mail.SendEmail(t.Context(), w.Key, scheduled, mail.SendOptions{})
		testserver.Must(t, err)
		w.AddDomain(w.Key.TeamID, "captured.example", app.CaptureRegion, app.DomainVerified)
		w.Config.Capture = false
		eu := euRelay()
		w = w.Crash(eu)
		w.Start()
		id := sendFrom(w, "captured.example")
		if len(eu.Transactions(id)) != 1 {
			t.Error("it did not leave through the default relay")
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if len(eu.Transactions(captured))+len(eu.Transactions(later)) > 0 {
			t.Error("what was accepted while capturing left")
		}
		if got := w.Email(later).Relay; got != app.CaptureRegion {
			t.Errorf("it waits for %s", got)
		}
	})
}
