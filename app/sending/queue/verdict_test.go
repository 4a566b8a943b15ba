package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/reputation"
	"mailer/app/rules/verdict"
	"mailer/app/sending/mail"
	"mailer/app/sending/queue"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// verdictOf returns the verdict on an email of a team.
func verdictOf(w *testserver.Server, key *app.Key, id string) verdict.Verdict {
	w.T.Helper()
	v, err := w.Services.Queue.Verdict(w.T.Context(), key, id)
	testserver.Must(w.T, err)
	return v
}

// wantVerdict checks the verdict on an email, and that `mailer queue show` prints the same.
func wantVerdict(w *testserver.Server, id string, code verdict.Code, text string) {
	w.T.Helper()
	v := verdictOf(w, w.Key, id)
	if v.Code != code || !strings.Contains(v.Text+" "+v.Fix, text) {
		w.T.Errorf("%s: %s / %s, want %s: %s", v.Code, v.Text, v.Fix, code, text)
	}
	shown, err := w.Services.Queue.Show(w.T.Context(), "", id)
	testserver.Must(w.T, err)
	if shown.Verdict == nil || shown.Verdict.Text != v.Text {
		w.T.Errorf("shown %+v, not %s", shown.Verdict, v.Text)
	}
}

func TestVerdictThroughEmailLifecycle(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		reply := make(chan struct{})
		relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyPerRecipient(map[string]int{"bob@example.net": 450, "eve@example.net": 550}), testserver.ReplyAfter(reply)))
		w := testserver.Start(t, relay)
		other := w.AddTeam("other", "other.example")
		later := w.SendAt(app.FormatTime(time.Now().Add(time.Hour)))
		wantVerdict(w, later, verdict.Scheduled, app.FormatTime(time.Now().Add(time.Hour)))
		id := w.Send("bob@example.net", "eve@example.net", "ann@example.net")
		synctest.Wait()
		next := app.FormatTime(w.Unit(id).NextAt)
		wantVerdict(w, id, verdict.MixedSent, "Accepted by the relay us-east-1 for 1 of 3. example.net has no mailbox eve@example.net (550 5.1.1). Greylisted: example.net asks for a retry (450 4.2.0); next attempt at "+next)
		wantVerdict(w, id, verdict.MixedSent, "eve@example.net is suppressed since ")
		if _, err := w.Services.Queue.Verdict(t.Context(), other, id); app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("another team learns %v", err)
		}
		testserver.Sleep(time.Minute)
		wantVerdict(w, id, verdict.MixedSent, "It is being sent to the relay us-east-1 now, attempt 2")
		close(reply)
		synctest.Wait()
		if v := verdictOf(w, w.Key, id); v.Params.Reached != 2 || len(v.Parts) != 1 || v.Parts[0].Code != verdict.BouncedUnknownUser {
			t.Errorf("%+v", v)
		}
		w.Report(testserver.HardBounce(id, "bob@example.net", "5.2.2"))
		wantVerdict(w, id, verdict.MixedSent, "The mailbox bob@example.net is full (5.2.2)")
		refused := w.Send("eve@example.net", "ann@example.net")
		synctest.Wait()
		wantVerdict(w, refused, verdict.MixedSent, "mail to it bounced, so it is suppressed since ")
		testserver.Must(t, w.Cancel(later))
		wantVerdict(w, later, verdict.Canceled, "no more of it is sent")
	})
}

func TestVerdictNamesHoldReason(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		relay := testserver.NewRelay(testserver.Always(testserver.ReplyPerRecipient(map[string]int{"bob@example.net": 450})))
		w := testserver.Start(t, relay)
		other := w.AddTeam("other", "other.example")
		_, err := w.Services.Relays.Pause(t.Context(), app.DefaultRegion, time.Hour)
		testserver.Must(t, err)
		testserver.Sleep(2 * time.Second)
		id, theirs := w.Send("ann@example.net"), sendAs(w, other, "other.example", "eve@example.net")
		synctest.Wait()
		wantVerdict(w, id, verdict.WaitingRelayPaused, "until "+app.FormatTime(time.Now().Add(time.Hour-2*time.Second)))
		_, err = w.Services.Teams.SuspendTeam(t.Context(), w.Key.TeamID, "the invoice is open")
		testserver.Must(t, err)
		wantVerdict(w, id, verdict.SuspendedTeam, "the operator suspended this team at "+app.FormatTime(time.Now())+": the invoice is open")
		if v := verdictOf(w, other, theirs); v.Code != verdict.WaitingRelayPaused {
			t.Errorf("the other team's: %s", v.Text)
		}
		_, err = w.Services.Teams.ResumeTeam(t.Context(), w.Key.TeamID)
		testserver.Must(t, err)
		res, err := w.Services.Queue.Hold(t.Context(), queue.Filter{IDs: []string{id}})
		want(t, res, err, 1, 1)
		wantVerdict(w, id, verdict.Held, "Held by the server since "+app.FormatTime(time.Now()))
		res, err = w.Services.Queue.Release(t.Context(), queue.Filter{IDs: []string{id}})
		want(t, res, err, 1, 1)
		_, err = w.Services.Relays.Resume(t.Context(), app.DefaultRegion)
		testserver.Must(t, err)
		testserver.Sleep(2 * time.Second)
		wantVerdict(w, id, verdict.Sent, "The relay us-east-1 accepted it for ann@example.net at ")

		put := w.Send("bob@example.net")
		synctest.Wait()
		wantVerdict(w, put, verdict.Greylisted, "450 4.2.0")
		relay.SetScript(testserver.Always(testserver.RelayTrouble(app.StageAuth, "535 no")))
		down := w.Send("ann@example.net")
		synctest.Wait()
		wantVerdict(w, down, verdict.WaitingRelaySignIn, "has rejected this server's sign-in since "+app.FormatTime(time.Now())+" (535 no)")
		relay.SetScript(testserver.Always(testserver.RefuseLocally))
		testserver.Sleep(20 * time.Minute)
		wantVerdict(w, down, verdict.FailedTooLarge, "because it is too large (5.3.4)")
		large := w.Send("ann@example.net")
		synctest.Wait()
		wantVerdict(w, large, verdict.FailedTooLarge, "because it is too large (5.3.4)")
	})
}

func TestVerdictShowsExpiry(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		relay := testserver.NewRelay(testserver.Always(testserver.ReplyWith(app.StageMail, 451, "later")))
		w := testserver.Start(t, relay)
		w.AddTeam("other", "other.example")
		began := time.Now()
		in := testserver.Message("bob@example.net")
		in.ExpiresIn = "1h"
		id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		testserver.Sleep(10 * time.Minute)
		until := app.FormatTime(began.Add(time.Hour))
		wantVerdict(w, id, verdict.Deferred, "it is retried automatically until "+until)
		command := w.CommandServices() // unknown in a command, which has no relays
		v, err := command.Queue.Verdict(t.Context(), w.Key, id)
		testserver.Must(t, err)
		if v.Code != verdict.Deferred || v.Params.GivesUpAt != "" {
			t.Errorf("beside the server: %+v", v)
		}
		testserver.Sleep(time.Hour)
		wantVerdict(w, id, verdict.FailedExpired, "last response: 451")
	})
}

func TestVerdictOfMissingRelay(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.NewWithConfig(t, server.Config{NoRelay: true})
		w.AddTeam("other", "other.example")
		w.Start()
		id := w.Send("bob@example.net")
		wantVerdict(w, id, verdict.WaitingNoRelay, "this server has no relay yet")
		relay := relayurl.Relay{Region: "eu-west-1", Host: "relay.test", Port: 587, Connections: 1}
		w.Stop()
		w.Config.NoRelay, w.Relays = false, []*testserver.FakeRelay{testserver.NewRelayOf(relay, nil)}
		w.Open()
		wantVerdict(w, id, verdict.WaitingNoRegion, "this server no longer has the relay us-east-1")
	})
}

func TestVerdictOfBroadcastRecipient(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.After(hang, testserver.ReplyPerRecipient(map[string]int{"p1@example.net": 550}))))
		w := testserver.NewWithConfig(t, server.Config{EnforceGuardrails: true}, relay)
		other := w.AddTeam("other", "other.example")
		w.Start()
		w.AddSubscribers(60)
		b := w.AddDraft()
		w.Queue(b)
		testserver.Sleep(10 * time.Second)
		head := w.Broadcast(b.ID)
		first, last := app.BroadcastEmailID(head.EmailIDPrefix, 1), app.BroadcastEmailID(head.EmailIDPrefix, 60)
		wantVerdict(w, first, verdict.Leaving, "is being sent to the relay")
		wantVerdict(w, last, verdict.WaitingPace, "Queued in its broadcast")
		if v := verdictOf(w, w.Key, last); v.Params.BroadcastID != b.ID || v.Params.Address == "" {
			t.Errorf("%+v", v.Params)
		}
		if _, err := w.Services.Queue.Verdict(t.Context(), other, last); app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("another team learns %v", err)
		}
		_, err := w.Services.Queue.Hold(t.Context(), queue.Filter{Broadcast: b.ID})
		testserver.Must(t, err)
		wantVerdict(w, last, verdict.Held, "it is sent once it is released")
		_, err = w.Services.Queue.Release(t.Context(), queue.Filter{Broadcast: b.ID})
		testserver.Must(t, err)
		w.AddOutcome(w.Key.TeamID, reputation.Outcome{Sent: 1000, HardBounced: 200})
		testserver.Must(t, w.Services.Guardrails.Judge(t.Context()))
		wantVerdict(w, last, verdict.Guardrails, "too many recipients bounced or complained")
		_, _, err = w.Services.Broadcasts.CancelBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		wantVerdict(w, last, verdict.CanceledBroadcast, "Canceled with its broadcast")
		close(hang)
	})
}

func TestVerdictOfDamagedEmail(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	w.AddTeam("other", "other.example")
	id := w.Send("bob@example.net")
	testserver.Must(t, w.DB.WriteCritical(t.Context(), func(tx *db.Tx) error { return tx.HoldWaiting(id, app.HoldDamaged) }))
	wantVerdict(w, id, verdict.HeldDamaged, "the stored data of this email is damaged")
	if v := verdictOf(w, w.Key, id); v.Params.Since == "" || v.Tone != verdict.Bad {
		t.Error(fmt.Sprint(v))
	}
}
