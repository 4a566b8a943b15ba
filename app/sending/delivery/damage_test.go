package delivery_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// withText sets a long text of an email.
func withText(in *app.EmailInput, text string) *app.EmailInput {
	whole := strings.Repeat(text, 500)
	in.Text = &whole
	return in
}

func TestDamagedEmailIsHeld(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.New(t, relay)
		other := w.AddTeam("Other", otherDomain)
		send := func(key *app.Key, from, text string) string {
			in := withText(testserver.Message("bob@example.net"), text)
			in.From = from
			id, err := w.Services.Mail.SendEmail(t.Context(), key, in, mail.SendOptions{})
			testserver.Must(t, err)
			return id
		}
		bad, good := send(w.Key, "ann@"+testserver.TestDomain, "broken words "), send(w.Key, "ann@"+testserver.TestDomain, "sound words ")
		others := send(other, "x@"+otherDomain, "other words ")
		w.Corrupt("broken words broken")
		w.Start()
		synctest.Wait()
		time.Sleep(time.Hour)
		w.WantLastEvent(good, app.Sent)
		email, err := w.Services.Mail.GetEmail(t.Context(), other, others)
		testserver.Must(t, err)
		if email.LastEvent != app.Sent {
			t.Errorf("the other team's is %s", email.LastEvent)
		}
		if got := w.SQL(`SELECT state || ' ' || held || ' ' || attempts FROM units`); len(got) != 1 || got[0] != "held damaged 0" {
			t.Errorf("units %v", got)
		}
		if ev := w.OnlyEvent(bad, app.EventHeld); !strings.Contains(ev.Detail.Message, "damaged") {
			t.Errorf("its timeline says %q", ev.Detail.Message)
		}
		list, _, err := w.Services.Mail.ListEmails(t.Context(), w.Key, app.Page{Limit: 10})
		if err != nil || list[1].ID != bad || list[1].LastEvent != app.Queued {
			t.Errorf("it is listed as %+v, %v", list[1].LastEvent, err)
		}
		_, err = w.Services.Mail.GetEmail(t.Context(), w.Key, bad)
		testserver.WantCode(t, err, app.CodeInternal)
		testserver.Must(t, w.Services.Ready())
		testserver.Must(t, w.Cancel(bad))
		if w.Unit(bad) != nil {
			t.Error("it is canceled and its unit is still there")
		}
		if n := strings.Count(w.Log.String(), "damaged content"); n != 1 {
			t.Errorf("the damage is logged %d times", n)
		}
	})
}

func TestDamagedBroadcastIsHeld(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		w.AddSubscribers(3)
		draft := func(html string) *app.Broadcast {
			b := w.SendNewsletter("<p>"+strings.Repeat(html, 500)+"</p>", nil)
			return b
		}
		bad, good := draft("broken words "), draft("sound words ")
		w.Corrupt("broken words broken")
		w.Start()
		synctest.Wait()
		time.Sleep(time.Hour)
		if b := w.Broadcast(good.ID); b.Status != app.SentBroadcast || b.Counts.Sent != 3 {
			t.Errorf("the sound one: %s, %d sent", b.Status, b.Counts.Sent)
		}
		if b := w.Broadcast(bad.ID); b.Status != app.QueuedBroadcast || b.Held != app.HoldDamaged || b.Counts.Sent != 0 {
			t.Errorf("the damaged one: %s, held %q, %d sent", b.Status, b.Held, b.Counts.Sent)
		}
		testserver.Must(t, w.Services.Ready())
		if n := strings.Count(w.Log.String(), "a broadcast is held"); n != 1 {
			t.Errorf("it is logged %d times", n)
		}
	})
}

func TestDatabaseLockDelaysMail(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		reply := make(chan struct{})
		relay := testserver.NewRelay(testserver.InOrder(testserver.After(reply, testserver.Accept)))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		if err := w.FailWrite(testserver.LockedError(t)); !errors.Is(err, db.ErrLocked) {
			t.Fatal(err)
		}
		testserver.WantCode(t, w.Services.Ready(), app.CodeServiceUnavailable)
		_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("eve@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeServiceUnavailable)
		var refused *app.Error
		if errors.As(err, &refused); refused.RetryAfter == 0 {
			t.Error("the error has no Retry-After")
		}
		close(reply)
		time.Sleep(5 * time.Second)
		w.WantLastEvent(id, app.Sent)
		if n := len(relay.Transactions("")); n != 1 {
			t.Errorf("%d transactions", n)
		}
		later := w.Send("eve@example.net")
		synctest.Wait()
		w.WantLastEvent(later, app.Sent)
		if n := strings.Count(w.Log.String(), "another program holds a lock"); n != 2 || strings.Count(w.Log.String(), "level=ERROR") != 1 { // its beginning and its end
			t.Errorf("the log:\n%s", w.Log.String())
		}
	})
}
