package queue_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/queue"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

func TestRequeueFailedMail(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.RefuseLocally))
		w := testserver.Start(t, relay)
		other := w.AddTeam("other", "other.example")
		id, theirs := w.Send("bob@example.net"), sendAs(w, other, "other.example", "eve@example.net")
		gone, blocked := w.Send("carl@example.net"), w.Send("dora@example.net")
		testserver.Sleep(time.Minute)
		w.WantLastEvent(id, app.Failed)
		w.SQL(`DELETE FROM contents WHERE email_id = ?`, gone)
		_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "dora@example.net"})
		testserver.Must(t, err)
		res, err := w.Services.Queue.Requeue(t.Context(), queue.Filter{Team: w.Key.TeamID, FailedSince: time.Now().Add(time.Hour)})
		want(t, res, err, 0, 0)
		res, err = w.Services.Queue.Requeue(t.Context(), queue.Filter{Team: w.Key.TeamID, FailedSince: time.Now().Add(-time.Hour)})
		want(t, res, err, 3, 1)
		if len(res.Notes) != 2 {
			t.Errorf("notes %q", res.Notes)
		}
		w.OnlyEvent(id, app.EventRequeued)
		testserver.Sleep(time.Minute)
		w.WantLastEvent(id, app.Sent)
		tries := relay.Transactions(id)
		if len(tries) != 2 || tries[0].Message.MessageID != tries[1].Message.MessageID || !tries[0].Message.Date.Equal(tries[1].Message.Date) {
			t.Errorf("%d tries", len(tries))
		}
		if n := len(relay.Transactions(blocked)); n != 1 {
			t.Errorf("the suppressed recipient was tried %d times", n)
		}
		if got := lastOf(w, other, theirs); got != app.Failed {
			t.Errorf("the other team's is %s", got)
		}
		res, err = w.Services.Queue.Requeue(t.Context(), queue.Filter{IDs: []string{id}}) // a relay accepted it
		want(t, res, err, 1, 0)
	})
}

func TestHoldAndReleaseBroadcast(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.InOrder(testserver.After(hang, testserver.Accept)))
		w := testserver.Start(t, relay)
		w.AddTeam("other", "other.example")
		w.AddSubscribers(60)
		b := w.AddDraft()
		w.Queue(b)
		testserver.Sleep(10 * time.Second) // some wait before the final dot
		if n := w.Broadcast(b.ID).Started; n == 0 || n == 60 {
			t.Fatalf("%d have begun", n)
		}
		res, err := w.Services.Queue.Hold(t.Context(), queue.Filter{Broadcast: b.ID})
		want(t, res, err, 60, 60)
		close(hang)
		testserver.Sleep(10 * time.Minute)
		if got := testserver.Received(relay); len(got) != 0 {
			t.Errorf("%d got mail", len(got))
		}
		items, more, err := w.Services.Queue.List(t.Context(), queue.Filter{}, "", 10)
		testserver.Must(t, err)
		if shown, err := w.Services.Queue.Show(t.Context(), "", b.ID); err != nil || shown.ID != b.ID || shown.Count != 60 || shown.State != app.Held || shown.Waits != queue.Held {
			t.Errorf("%+v, %v", shown, err)
		}
		if len(items) != 1 || more || items[0].Count != 60 || items[0].State != queue.Held || items[0].Reason != "manual" {
			t.Errorf("%+v", items)
		}
		sum, err := w.Services.Queue.Summary(t.Context(), w.Key.TeamID)
		testserver.Must(t, err)
		if sum.Waiting != 60 {
			t.Errorf("%+v", sum)
		}
		res, err = w.Services.Queue.Release(t.Context(), queue.Filter{IDs: []string{b.ID}})
		want(t, res, err, 60, 60)
		testserver.Sleep(10 * time.Minute)
		testserver.WantEachOnce(t, testserver.Received(relay), 60)
		if got := w.Broadcast(b.ID).Status; got != app.SentBroadcast {
			t.Errorf("it is %s", got)
		}
	})
}

func TestRequeueCapturedMail(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		capture := testserver.NewRelay(testserver.Always(testserver.Capture))
		capture.Region = app.CaptureRegion
		w := testserver.NewWithConfig(t, server.Config{Capture: true}, capture)
		w.AddTeam("other", "other.example")
		w.Start()
		id := w.Send("bob@example.net")
		testserver.Sleep(time.Second)
		w.WantLastEvent(id, app.Sent)
		wantState(w, id, app.Captured)
		w.Stop()
		real := testserver.NewRelay(nil)
		w.Config.Capture, w.Relays = false, []*testserver.FakeRelay{real}
		w.Open()
		w.Start()
		res, err := w.Services.Queue.Requeue(t.Context(), queue.Filter{Captured: true})
		want(t, res, err, 1, 1)
		testserver.Sleep(time.Second)
		w.WantLastEvent(id, app.Sent)
		wantState(w, id, "sent")
		if n := real.FinalDots(id); n != 1 {
			t.Errorf("%d dots", n)
		}
		res, err = w.Services.Queue.Requeue(t.Context(), queue.Filter{Captured: true})
		want(t, res, err, 0, 0)
	})
}
