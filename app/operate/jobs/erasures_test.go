package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// quoting refuses or accepts mail with a reply that contains the recipient.
func quoting(m *app.Outgoing, n int) testserver.Answer {
	return func(_ context.Context, m *app.Outgoing, authorize func() error) app.Result {
		res := app.Result{Kind: app.ResultDone, Stage: app.StageDot}
		for i, address := range m.Recipients {
			v := app.RecipientResult{Address: address, Outcome: app.Accepted, Stage: app.StageDot, Reply: app.Reply{Code: 250, Text: "taken for <" + address + ">"}}
			if i == 0 && len(address)%2 == 0 {
				v.Outcome, v.Stage, v.Reply = app.Refused, app.StageRcpt, app.Reply{Code: 550, Enhanced: "5.1.1", Text: "no such user: " + address}
			}
			res.Recipients = append(res.Recipients, v)
		}
		if authorize() != nil {
			return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
		}
		res.Captured = []byte("To: " + strings.Join(m.Recipients, ", ") + "\r\n\r\nHello")
		return res
	}
}

func TestErasureOfDeliveredMail(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(quoting))
	c := plantAddress(w, w.Key, "ann@"+testserver.TestDomain, 150)
	w.Start()
	wantSettled(w)
	testserver.Must(t, w.Services.Audience.EraseContacts(t.Context(), w.Key.TeamID, []app.Contact{c}))
	wantErased(w)
	wantOnlyFreeText(w)
	if w.Log.Contains("level=ERROR") || w.Log.Contains("Vic.Tim") || w.Log.Contains("erase.example") {
		t.Errorf("log:\n%s", w.Log.String())
	}
}

func TestErasureLeavesOtherTeams(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	other := w.AddTeam("Other", "other.example")
	mine := plantAddress(w, w.Key, "ann@"+testserver.TestDomain, 300)
	theirs := plantAddress(w, other, "x@other.example", 300)
	before := mailOf(w, other)
	testserver.Must(t, w.Services.Audience.EraseContacts(t.Context(), w.Key.TeamID, []app.Contact{mine}))
	wantErased(w)
	if after := mailOf(w, other); after != before {
		t.Error("what the other team has changed")
	}
	w.Read(func(r *db.Reader) error {
		c, err := r.Contact(other.TeamID, theirs.ID)
		if c.Email != testserver.ErasedAddress {
			t.Errorf("their contact is %q", c.Email)
		}
		return err
	})
	testserver.Must(t, w.Services.Audience.EraseContacts(t.Context(), other.TeamID, []app.Contact{theirs}))
	wantErased(w)
	wantOnlyFreeText(w)
}

func TestErasureCancelsWaitingMail(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.InOrder(testserver.After(hang, testserver.Accept)))
		w := testserver.Start(t, relay)
		c := w.CreateContact(w.Key.TeamID, testserver.ErasedAddress)
		alone := w.Send(testserver.ErasedAddress)
		both := w.Send(testserver.ErasedAddress, "eve@example.net")
		hidden := w.Send("eve@example.net", "Vic <"+testserver.ErasedAddress+">")
		synctest.Wait() // both wait before their final dots
		testserver.Must(t, w.Services.Audience.EraseContacts(t.Context(), w.Key.TeamID, []app.Contact{c}))
		if n := w.OpenErasures(); n != 0 {
			t.Fatalf("%d erasures are open", n)
		}
		close(hang)
		relay.SetScript(nil)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		w.WantLastEvent(alone, app.Suppressed)
		if ev := w.OnlyEvent(alone, app.EventType(app.Suppressed)); ev.Recipient != app.Erased || ev.Detail.Message != "Not sent: the recipient was erased" {
			t.Errorf("event %+v", ev)
		}
		for _, id := range []string{both, hidden} {
			tries := relay.Transactions(id)
			last := tries[len(tries)-1].Message
			if len(tries) != 2 || len(last.Recipients) != 1 || last.Recipients[0] != "eve@example.net" || strings.Contains(fmt.Sprintf("%+v", *last.Mail), "Vic") {
				t.Errorf("%d tries, the last to %v: %+v", len(tries), last.Recipients, last.Mail)
			}
			if last.Signature != "" {
				t.Error("an old signature for new bytes")
			}
			if ev := w.OnlyEvent(id, app.EventType(app.Sent)); ev.Recipient != "eve@example.net" {
				t.Errorf("event %+v", ev)
			}
			if w.Unit(id) != nil {
				t.Error("its work is not over")
			}
		}
		if n := w.CountTraces(testserver.ErasedAddress); n != 0 {
			t.Errorf("%d traces", n)
		}
		if w.Log.Contains("level=ERROR") {
			t.Errorf("log:\n%s", w.Log.String())
		}
	})
}

func TestMailInFlightIsErasedAfterOutcome(t *testing.T) {
	testserver.BothEngines(t)
	for name, end := range map[string]testserver.Answer{
		"taken": testserver.Accept, "postponed": testserver.ReplyWith(app.StageDot, 450, "later, "+testserver.ErasedAddress), "lost": testserver.LoseReply,
	} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := testserver.NewRelay(testserver.InOrder(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
					if authorize() != nil {
						return app.Result{Kind: app.ResultWithdrawn}
					}
					<-hang
					return end(ctx, m, func() error { return nil })
				}))
				w := testserver.Start(t, relay)
				c := w.CreateContact(w.Key.TeamID, testserver.ErasedAddress)
				id := w.Send(testserver.ErasedAddress)
				synctest.Wait()
				start := time.Now()
				testserver.Must(t, w.Services.Audience.EraseContacts(t.Context(), w.Key.TeamID, []app.Contact{c}))
				if took := time.Since(start); took < 9*time.Second || took > 11*time.Second || w.OpenErasures() != 1 {
					t.Errorf("answered after %v with %d erasures open", took, w.OpenErasures())
				}
				// Another team's erasure does not wait for it.
				d := w.CreateContact(w.Key.TeamID, "dan@erase.example")
				start = time.Now()
				testserver.Must(t, w.Services.Audience.EraseContacts(t.Context(), w.Key.TeamID, []app.Contact{d}))
				if took := time.Since(start); took > 2*time.Second || w.OpenErasures() != 1 {
					t.Errorf("the other's erasure took %v, %d are open", took, w.OpenErasures())
				}
				close(hang)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if n := w.OpenErasures(); n != 0 {
					t.Fatalf("%d erasures are open", n)
				}
				if n := w.CountTraces(testserver.ErasedAddress); n != 0 {
					t.Errorf("%d traces", n)
				}
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if n := len(relay.Transactions(id)); n != 1 {
					t.Errorf("sent %d times:\n%s", n, w.Timeline(id))
				}
				if w.Unit(id) != nil || len(w.CommittedUnits()) > 0 {
					t.Error("its work is not over")
				}
				if w.Log.Contains("level=ERROR") {
					t.Errorf("log:\n%s", w.Log.String())
				}
			})
		})
	}
}

func TestErasureCancelsMailOfErasedSender(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.RelayTrouble(app.StageConnect, "down")))
		w := testserver.Start(t, relay)
		c := w.CreateContact(w.Key.TeamID, "ann@"+testserver.TestDomain)
		id := w.Send("eve@example.net")
		synctest.Wait()
		testserver.Must(t, w.Services.Audience.EraseContacts(t.Context(), w.Key.TeamID, []app.Contact{c}))
		time.Sleep(time.Hour)
		synctest.Wait()
		w.WantLastEvent(id, app.Canceled)
		if n := len(relay.Transactions(id)); n != 1 {
			t.Errorf("tried %d times", n)
		}
		if got := w.Email(id).From.String(); got != app.Erased {
			t.Errorf("from %s", got)
		}
	})
}

func TestErasureLeavesLaterMail(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyAfter(hang))) // keeps the erasure open
		w := testserver.Start(t, relay)
		c := w.CreateContact(w.Key.TeamID, testserver.ErasedAddress)
		old := w.Send(testserver.ErasedAddress)
		synctest.Wait()
		testserver.Must(t, w.Services.Audience.EraseContacts(t.Context(), w.Key.TeamID, []app.Contact{c}))
		relay.SetScript(nil)
		again := w.CreateContact(w.Key.TeamID, testserver.ErasedAddress)
		id := w.Send(testserver.ErasedAddress)
		close(hang)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := w.OpenErasures(); n != 0 {
			t.Fatalf("%d erasures are open", n)
		}
		w.WantLastEvent(id, app.Sent)
		if got := w.Email(id).To[0].Mailbox(); got != testserver.ErasedAddress {
			t.Errorf("new mail goes to %s", got)
		}
		if got := w.Email(old).To[0].Mailbox(); got != app.Erased {
			t.Errorf("old mail went to %s", got)
		}
		w.Read(func(r *db.Reader) error {
			now, err := r.Contact(w.Key.TeamID, again.ID)
			if now.Email != testserver.ErasedAddress {
				t.Errorf("the new contact is %q", now.Email)
			}
			return err
		})
	})
}

func TestErasureWithoutContact(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	other := w.AddTeam("Other", "other.example")
	hook := "https://hooks.example.com/?notify=" + testserver.ErasedAddress
	for _, key := range []*app.Key{w.Key, other} {
		_, err := w.Services.Webhooks.CreateWebhook(t.Context(), key, webhook.Input{Endpoint: hook, Events: []webhook.EventName{webhook.ContactDeleted}})
		testserver.Must(t, err)
	}
	in := testserver.Message(testserver.ErasedAddress)
	in.Attachments = []app.Attachment{{Filename: testserver.ErasedAddress + ".txt", Content: []byte("x")}}
	id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
	theirs := testserver.Message(testserver.ErasedAddress)
	theirs.From = "x@other.example"
	_, err = w.Services.Mail.SendEmail(t.Context(), other, theirs, mail.SendOptions{})
	testserver.Must(t, err)
	_, err = w.Services.Audience.DeleteContact(t.Context(), w.Key, app.NewID(), true)
	testserver.WantCode(t, err, app.CodeNotFound)
	_, err = w.Services.Audience.DeleteContact(t.Context(), w.Key, testserver.ErasedAddress, false)
	testserver.WantCode(t, err, app.CodeNotFound)
	answer, err := w.Services.Audience.DeleteContact(t.Context(), w.Key, testserver.ErasedAddress, true)
	if _, ok := app.ParseID(answer); err != nil || !ok {
		t.Errorf("%q, %v", answer, err)
	}
	wantErased(w)
	if e := w.Email(id); e.To[0].Mailbox() == testserver.ErasedAddress || e.HTML != "" || len(e.Attachments) > 0 {
		t.Errorf("it is still there: %+v", e)
	}
	if got := w.SQL(`SELECT count(*) FROM webhooks WHERE team_id = ? AND endpoint LIKE '%@%'`, w.Key.TeamID); got[0] != "0" {
		t.Error("a webhook's endpoint holds it")
	}
	if w.CountTraces(testserver.ErasedAddress) == 0 || w.SQL(`SELECT count(*) FROM webhooks WHERE team_id = ? AND endpoint LIKE '%@%'`, other.TeamID)[0] != "1" {
		t.Error("what another team has is gone too")
	}
	ids, err := w.Services.Audience.RemoveContacts(t.Context(), other, app.ContactRemoval{Emails: []string{testserver.ErasedAddress, "nobody@example.net"}, Erase: true})
	if err != nil || len(ids) != 0 {
		t.Errorf("batch/remove: %v, %v", ids, err)
	}
	wantErased(w)
	if n := w.CountTraces(testserver.ErasedAddress); n != 0 {
		t.Errorf("%d traces are left", n)
	}
}
