package relays_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/sending/relays"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// newWithoutRelays starts a test server without relays.
func newWithoutRelays(t *testing.T) *testserver.Server {
	t.Helper()
	w := testserver.New(t)
	testserver.Must(t, w.DB.Close())
	w.Config.NoRelay = true
	w.Open()
	w.Start()
	return w
}

// connectFake makes the server connect to a fake relay for a region.
func connectFake(w *testserver.Server, region string, script testserver.Script) *testserver.FakeRelay {
	r := testserver.NewRelayOf(relayurl.Relay{Region: region, Host: "relay.test", Port: 587, Connections: 4}, script)
	w.Relays = append(w.Relays, r)
	return r
}

func addRelay(w *testserver.Server, text string) {
	w.T.Helper()
	_, err := w.CommandServices().Relays.Add(w.T.Context(), text)
	testserver.Must(w.T, err)
	waitForTick()
}

// insertRelay stores a relay under the name of a relay of the flags, as a server without those
// flags would.
func insertRelay(w *testserver.Server, text string) {
	w.T.Helper()
	testserver.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		return tx.SetRelay(app.DefaultRegion, w.Config.Sealer.Seal(base.RelayPurpose, app.DefaultRegion, []byte(text)))
	}))
	waitForTick()
}

// pollEvery is the polling interval of servers that switch between relays, which takes minutes: each poll costs
// processor time.
const pollEvery = 3 * time.Second

// waitForTick waits until the server has read a change.
func waitForTick() {
	time.Sleep(pollEvery + time.Second)
	synctest.Wait()
}

func statusOf(w *testserver.Server, region string) relays.Status {
	w.T.Helper()
	all, err := w.CommandServices().Relays.List(w.T.Context())
	testserver.Must(w.T, err)
	for _, st := range all {
		if st.Region == region {
			return st
		}
	}
	return relays.Status{}
}

func reasonOf(st relays.Status) string {
	if st.Reason == nil {
		return ""
	}
	return *st.Reason
}

func TestAddedRelaySendsWaitingMail(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		w := newWithoutRelays(t)
		other := w.AddTeam("Beta", "beta.example")
		id := w.Send("bob@example.net")
		in := testserver.Message("carl@example.net")
		in.From = "x@beta.example"
		second, err := w.Services.Mail.SendEmail(t.Context(), other, in, mail.SendOptions{})
		testserver.Must(t, err)
		relay := connectFake(w, app.DefaultRegion, nil)
		addRelay(w, "smtp://relay.test")
		if w.WantLastEvent(id, app.Sent); len(relay.Transactions(id)) != 1 || len(relay.Transactions(second)) != 1 {
			t.Errorf("it was sent %d and %d times", len(relay.Transactions(id)), len(relay.Transactions(second)))
		}
		if got := w.Services.RelayMode(); got != base.RelayConfigured {
			t.Errorf("relay %q", got)
		}
		if st := statusOf(w, app.DefaultRegion); st.From != relays.FromDatabase || st.State != "open" || st.Host != "relay.test:587" {
			t.Errorf("status %+v", st)
		}
		if got := w.SQL("SELECT action || ' ' || target || ' ' || actor_type FROM audit_logs WHERE action LIKE 'relay.%'"); len(got) != 1 || !strings.HasPrefix(got[0], "relay.add us-east-1") {
			t.Errorf("audit log %q", got)
		}
		if sealed := w.Rows("SELECT sealed FROM relays"); strings.Contains(sealed, "relay.test") {
			t.Error("the URL stands in the clear")
		}
	})
}

func TestMailOfRemovedRelayWaits(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		w := newWithoutRelays(t)
		hang := make(chan struct{})
		relay := connectFake(w, app.DefaultRegion, testserver.Always(testserver.After(hang, testserver.Accept)))
		addRelay(w, "smtp://relay.test?connections=4")
		var ids []string
		for i := range 20 {
			ids = append(ids, w.Send(fmt.Sprintf("b%d@example.net", i)))
		}
		synctest.Wait()
		begun := len(relay.Transactions(""))
		if begun == 0 || begun == len(ids) {
			t.Fatalf("%d of %d are past MAIL", begun, len(ids))
		}
		_, err := w.CommandServices().Relays.Remove(t.Context(), app.DefaultRegion)
		testserver.Must(t, err)
		waitForTick()
		w.Send("late@example.net")
		close(hang)
		waitForTick()
		sent := 0
		for _, id := range ids {
			if w.Email(id).LastEvent == app.Sent {
				sent++
				continue
			}
			if u := w.Unit(id); u == nil || u.Attempts != 0 {
				t.Errorf("%s waits as %+v", id, u)
			}
			if text := w.OnlyEvent(id, app.EventRelayTrouble).Detail.Message; !strings.HasPrefix(text, "no relay is configured") {
				t.Errorf("its timeline says %q", text)
			}
		}
		if got := w.Services.RelayMode(); got != base.RelayNone || sent == 0 || sent == len(ids) {
			t.Errorf("%d of %d were sent, relay %s", sent, len(ids), got)
		}
		if got := w.SQL("SELECT count(*) FROM relay_states")[0]; got != "0" {
			t.Errorf("%s states are left", got)
		}
		again := connectFake(w, app.DefaultRegion, nil)
		addRelay(w, "smtp://relay.test?connections=4")
		for _, id := range ids {
			if w.WantLastEvent(id, app.Sent); relay.FinalDots(id)+again.FinalDots(id) != 1 {
				t.Errorf("%s left %d times", id, relay.FinalDots(id)+again.FinalDots(id))
			}
		}
	})
}

func TestChangedPasswordIsTriedImmediately(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		w := newWithoutRelays(t)
		old := connectFake(w, app.DefaultRegion, nil)
		addRelay(w, "smtp://u:old@relay.test?daily=100")
		w.Send("first@example.net")
		waitForTick()
		old.SetScript(testserver.Always(testserver.RelayTrouble(app.StageAuth, "bad password")))
		id := w.Send("bob@example.net")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if st := statusOf(w, app.DefaultRegion); st.State != "failing" || !strings.Contains(reasonOf(st), "bad password") || st.Since == nil || st.NextTry == nil {
			t.Fatalf("status %+v %s", st, reasonOf(st))
		}
		connectFake(w, app.DefaultRegion, nil)
		before := time.Now()
		addRelay(w, "smtp://u:new@relay.test?daily=100")
		if ev := w.OnlyEvent(id, app.EventType(app.Sent)); ev.CreatedAt.Sub(before) > 2*time.Second {
			t.Errorf("it left %v later", ev.CreatedAt.Sub(before))
		}
		if st := statusOf(w, app.DefaultRegion); st.State != "open" || st.DailyUsed != 2 {
			t.Errorf("status %+v", st)
		}
	})
}

func TestPausedRelayResumesAutomatically(t *testing.T) {
	testserver.BothEngines(t)
	for _, from := range []string{"flag", "database"} {
		t.Run(from, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				testserver.FastHeartbeat(t)
				relay := testserver.NewRelay(nil)
				var w *testserver.Server
				if from == "flag" {
					w = testserver.Start(t, relay)
					waitForTick()
				} else {
					w = newWithoutRelays(t)
					w.Relays = append(w.Relays, relay)
					addRelay(w, "smtp://relay.test")
				}
				paused, err := w.CommandServices().Relays.Pause(t.Context(), app.DefaultRegion, 10*time.Minute)
				testserver.Must(t, err)
				waitForTick()
				if published := "until=" + *paused.Until; !w.Log.Contains(published) {
					t.Errorf("the log does not say %s", published)
				}
				id := w.Send("bob@example.net")
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				st := statusOf(w, app.DefaultRegion)
				if len(relay.Transactions(id)) > 0 || st.State != "paused" || st.From != from || st.NextTry == nil || *st.NextTry != *paused.Until {
					t.Fatalf("it was tried %d times; status %+v", len(relay.Transactions(id)), st)
				}
				if u := w.Unit(id); u.Attempts != 0 {
					t.Errorf("attempts %d", u.Attempts)
				}
				if text := w.OnlyEvent(id, app.EventRelayTrouble).Detail.Message; !strings.HasPrefix(text, "The relay is paused by the operator until ") {
					t.Errorf("its timeline says %q", text)
				}
				cfg := w.Config
				w = w.Crash(relay)
				w.Config.NoRelay = cfg.NoRelay
				w.Start()
				time.Sleep(4 * time.Minute)
				synctest.Wait()
				if len(relay.Transactions(id)) > 0 {
					t.Fatal("a restart ended the pause")
				}
				time.Sleep(70 * time.Second)
				synctest.Wait()
				if w.WantLastEvent(id, app.Sent); statusOf(w, app.DefaultRegion).State != "open" {
					t.Error("it is paused still")
				}
			})
		})
	}
}

func TestResumeEndsPause(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		waitForTick()
		_, err := w.CommandServices().Relays.Pause(t.Context(), app.DefaultRegion, 0)
		testserver.Must(t, err)
		waitForTick()
		id := w.Send("bob@example.net")
		waitForTick()
		if _, err = w.CommandServices().Relays.Resume(t.Context(), app.DefaultRegion); err != nil || len(relay.Transactions(id)) > 0 {
			t.Fatal(err, len(relay.Transactions(id)))
		}
		waitForTick()
		w.WantLastEvent(id, app.Sent)
	})
}

func TestFlagRelayIsReadOnly(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		waitForTick()
		_, err := w.CommandServices().Relays.Remove(t.Context(), app.DefaultRegion)
		if testserver.WantCode(t, err, app.CodeValidation); !strings.Contains(err.Error(), "--relay") || !strings.Contains(err.Error(), "MAILER_RELAY") {
			t.Errorf("error %v", err)
		}
		_, err = w.CommandServices().Relays.Remove(t.Context(), "nowhere")
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = w.CommandServices().Relays.Add(t.Context(), "smtp://other.test")
		if testserver.WantCode(t, err, app.CodeConflict); !strings.Contains(err.Error(), "MAILER_RELAY") {
			t.Errorf("error %v", err)
		}
		insertRelay(w, "smtp://other.test")
		waitForTick()
		if st := statusOf(w, app.DefaultRegion); st.From != relays.FromFlag || !strings.Contains(st.Note, "is ignored") || st.Host != "relay.test:587" {
			t.Errorf("status %+v", st)
		}
		if !w.Log.Contains("a relay of the database is not used, since a flag has its name") {
			t.Error("the log does not say it")
		}
		addRelay(w, "eu-west-1=smtp://eu.test")
		if got := w.Services.Domains.Regions(); len(got) != 2 || got[0] != app.DefaultRegion {
			t.Errorf("regions %q", got)
		}
	})
}

func TestFlagRelaySurvivesRemovalOfShadow(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.Accept)))
		waitForTick()
		insertRelay(w, app.DefaultRegion+"=smtp://other.test?tls=off")
		_, err := w.CommandServices().Relays.Remove(t.Context(), app.DefaultRegion)
		testserver.Must(t, err)
		waitForTick()
		if st := statusOf(w, app.DefaultRegion); st.From != "flag" || st.Note != "" {
			t.Errorf("%+v", st)
		}
		_, err = w.CommandServices().Relays.Pause(t.Context(), app.DefaultRegion, 0)
		testserver.Must(t, err)
	})
}

func TestErrorsHidePassword(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := newWithoutRelays(t)
		for _, text := range []string{"smtp://u:hunter2@", "smtp://u:hunter2@h?x=1", "smtp://u:hunter2@mail.test?tls=off"} {
			if _, err := w.Services.Relays.Add(t.Context(), text); err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v", err)
			}
		}
		addRelay(w, "smtp://u:hunter2@relay.test")
		if got := fmt.Sprint(statusOf(w, app.DefaultRegion)) + w.Log.String() + strings.Join(w.SQL("SELECT coalesce(before, '') || coalesce(after, '') FROM audit_logs"), ""); strings.Contains(got, "hunter2") {
			t.Error("the password is shown")
		}
	})
}

// Each relay is tested once when the server starts, and lists show the result immediately.
func TestRelaysAreTestedAtStart(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		works := false
		w := testserver.NewWithConfig(t, server.Config{Probe: func(context.Context, relayurl.Relay, *app.Outgoing, bool) []relayurl.Step {
			return []relayurl.Step{{Step: "dns", OK: true, Reply: "192.0.2.1"}, {Step: "auth", OK: works, Reply: "535 5.7.8 no"}}
		}}, testserver.NewRelay(nil))
		w.Start()
		waitForTick()
		if last := statusOf(w, app.DefaultRegion).LastTest; last == nil || last.OK || last.Step != "auth" || last.Reply != "535 5.7.8 no" {
			t.Errorf("the test of the start: %+v", last)
		}
		if !w.Log.Contains("a relay failed its test") {
			t.Error("the log does not say it")
		}
		works = true
		_, err := w.Services.Relays.Test(t.Context(), relays.TestInput{Region: app.DefaultRegion})
		testserver.Must(t, err)
		all, err := w.Services.Relays.List(t.Context())
		testserver.Must(t, err)
		if last := all[0].LastTest; last == nil || !last.OK {
			t.Errorf("right after a test that went well: %+v", last)
		}
		waitForTick()
		if command, err := w.CommandServices().Relays.List(t.Context()); err != nil || command[0].LastTest == nil || !command[0].LastTest.OK {
			t.Errorf("a command sees %+v, %v", command, err)
		}
	})
}

// Relays with an open breaker come last, and the notice is no email of a team.
func TestNoticeUsesFirstWorkingRelay(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		var tried []string
		cfg := server.Config{Probe: func(_ context.Context, r relayurl.Relay, m *app.Outgoing, send bool) []relayurl.Step {
			if !send || m.Recipients[0] != "ops@example.com" || m.Mail.Subject != "Mailer: A relay fails" || !strings.HasSuffix(m.Mail.From.Mailbox(), "@"+testserver.TestDomain) {
				t.Errorf("%v: %+v", send, m.Mail)
			}
			tried = append(tried, r.Region)
			return []relayurl.Step{{Step: "connect", OK: len(tried) > 1, Reply: "refused"}}
		}}
		w := testserver.NewWithConfig(t, cfg, testserver.NewRelay(nil), testserver.NewRelayOf(relayurl.Relay{Region: "eu", Host: "relay.test", Port: 587, Connections: 4}, nil))
		if err := w.Services.Relays.SendNotice(t.Context(), "ops@example.com", "Mailer: A relay fails", "text"); err != nil || len(tried) != 2 || tried[0] == tried[1] {
			t.Errorf("tried %q: %v", tried, err)
		}
		tried = []string{}
		w.Services.Relays.Probe = func(context.Context, relayurl.Relay, *app.Outgoing, bool) []relayurl.Step {
			return []relayurl.Step{{Step: "auth", Reply: "535 no"}}
		}
		if err := w.Services.Relays.SendNotice(t.Context(), "ops@example.com", "s", "t"); err == nil || !strings.Contains(err.Error(), "auth: 535 no") {
			t.Errorf("%v", err)
		}
	})
}
