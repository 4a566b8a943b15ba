package mail_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/tracking"
	"mailer/app/rules/webhook"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// emailEvents returns the names of events of emails.
func emailEvents() []webhook.EventName {
	return slices.DeleteFunc(webhook.EventNames(), func(name webhook.EventName) bool { return !strings.HasPrefix(string(name), "email.") })
}

func TestEmailEvents(t *testing.T) {
	testserver.BothEngines(t)
	const a, b = "a@example.net", "b@example.net"
	for name, tt := range map[string]struct {
		script testserver.Script
		to     []string
		want   []string
	}{
		"taken":               {nil, []string{a}, []string{"email.sent"}},
		"taken for several":   {nil, []string{a, b}, []string{"email.sent"}},
		"put off once":        {testserver.InOrder(testserver.ReplyWith(app.StageRcpt, 451, "later")), []string{a}, []string{"email.delivery_delayed " + a, "email.sent"}},
		"put off for several": {testserver.InOrder(testserver.ReplyWith(app.StageMail, 451, "later")), []string{a, b}, []string{"email.delivery_delayed", "email.sent"}},
		"one is refused": {testserver.Always(testserver.ReplyPerRecipient(map[string]int{b: 550})), []string{a, b},
			[]string{"email.bounced " + b + " Permanent NoEmail [smtp; 550 5.1.1 no such user]", "email.sent"}},
		"given up":    {testserver.Always(testserver.ReplyWith(app.StageRcpt, 451, "later")), []string{a}, []string{"email.delivery_delayed " + a, "email.failed " + a + " with a reason"}},
		"refused":     {testserver.Always(testserver.RefuseLocally), []string{a, b}, []string{"email.failed " + a + " with a reason", "email.failed " + b + " with a reason"}},
		"delivered":   {testserver.Always(testserver.Simulate(app.SimulatedSuccess)), []string{a}, []string{"email.delivered " + a, "email.sent"}},
		"complained":  {testserver.Always(testserver.Simulate(app.SimulatedSpam)), []string{a}, []string{"email.complained " + a, "email.sent"}},
		"delayed":     {testserver.Always(testserver.Simulate(app.SimulatedDelay)), []string{a}, []string{"email.delivery_delayed " + a, "email.sent"}},
		"blocked":     {testserver.Always(testserver.Simulate(app.SimulatedBlock)), []string{a}, []string{"email.sent", "email.suppressed " + a + " OnAccountSuppressionList"}},
		"lost, again": {testserver.InOrder(testserver.LoseReply), []string{a}, []string{"email.sent"}},
	} {
		t.Run(name, func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				w := testserver.Start(t, testserver.NewRelay(tt.script))
				hook := w.AddWebhook("in", emailEvents()...)
				id := w.Send(tt.to...)
				time.Sleep(10 * time.Minute)
				if name == "given up" {
					w.StopFor(49 * time.Hour)
					time.Sleep(10 * time.Minute)
				}
				synctest.Wait()
				wantEvents(w, hook, id, tt.want...)
			})
		})
	}
}

func TestBroadcastEvents(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.ReplyPerRecipient(map[string]int{testserver.SubscriberAddress(1): 550}))))
		hook := w.AddWebhook("in", emailEvents()...)
		w.AddSubscribers(2)
		_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: testserver.SubscriberAddress(0)})
		testserver.Must(t, err)
		_, _, err = w.Services.Audience.PutContact(t.Context(), w.Key, app.ContactInput{Email: "zoe@example.net", FirstName: "Zoe", Properties: app.PropertyChanges{"language": {Type: app.StringProperty, Text: "de-DE"}}}, app.ConflictError)
		testserver.Must(t, err)
		b := w.AddDraft()
		b.Subject, b.Variants = "News for all", app.Variants{"de": {Subject: "Neues für {{{FIRST_NAME|alle}}}"}}
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.UpdateBroadcast(b) }))
		w.Queue(b)
		time.Sleep(time.Hour)
		synctest.Wait()
		var got []string
		for _, row := range w.Deliveries(hook) {
			d, err := w.Services.Webhooks.GetWebhookEvent(t.Context(), w.Key, hook.ID, row.ID)
			testserver.Must(t, err)
			var one testserver.EmailEvent
			testserver.Must(t, json.Unmarshal(d.Payload, &one))
			if x := one.Data; x.BroadcastID != b.ID || x.Subject != map[bool]string{true: "Neues für Zoe", false: "News for all"}[x.To[0] == "zoe@example.net"] || x.From != "Ann <ann@"+testserver.TestDomain+">" || len(x.To) != 1 ||
				x.MessageID != "<"+x.EmailID+"@"+testserver.TestDomain+">" || x.CreatedAt == "" || x.Recipient != "" && x.Recipient != x.To[0] {
				t.Errorf("%s: %+v", one, x)
			}
			got = append(got, string(one.Type)+" "+one.Data.To[0])
		}
		slices.Sort(got)
		if want := []string{"email.bounced " + testserver.SubscriberAddress(1), "email.sent zoe@example.net"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		// The same without the cached content.
		w.Services.Mail.ForgetMails()
		for _, row := range w.Deliveries(hook) {
			d, err := w.Services.Webhooks.GetWebhookEvent(t.Context(), w.Key, hook.ID, row.ID)
			testserver.Must(t, err)
			var one testserver.EmailEvent
			testserver.Must(t, json.Unmarshal(d.Payload, &one))
			testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
				data, err := w.Services.Mail.EmailData(tx, w.Key.TeamID, one.Data.EmailID)
				if data.Subject != one.Data.Subject {
					t.Errorf("subject %q, was %q", data.Subject, one.Data.Subject)
				}
				return err
			}))
		}
	})
}

// A running erasure does not scan events that are stored after it began.
func TestEventDuringErasureIsScrubbed(t *testing.T) {
	w := testserver.New(t)
	hook := w.AddWebhook("in", emailEvents()...)
	id := w.Send("Ann <ann@example.net>", "bob@example.net")
	job := audience.Erasure{ID: app.NewID(), Addresses: []string{"ann@example.net"}, Until: app.NewID()}
	plain, err := json.Marshal(job)
	testserver.Must(t, err)
	late := w.Send("ann@example.net")
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
		err := tx.InsertErasure(db.Erasure{ID: job.ID, TeamID: w.Key.TeamID, Sealed: w.Config.Sealer.Seal(audience.ErasePurpose, job.ID, plain)})
		if err != nil {
			return err
		}
		for _, email := range []string{id, late} {
			if err := w.Services.Mail.AnnounceEmail(tx, w.Key.TeamID, webhook.EmailDelivered, email, webhook.EmailExtra{Recipient: "ann@example.net"}); err != nil {
				return err
			}
		}
		return nil
	}))
	if got := w.EmailEvents(hook, id); len(got) != 1 || !slices.Equal(got[0].Data.To, []string{app.Erased, "bob@example.net"}) || got[0].Data.Recipient != app.Erased {
		t.Errorf("of an email from before: %+v", got[0].Data)
	}
	if got := w.EmailEvents(hook, late); len(got) != 1 || got[0].Data.Recipient != "ann@example.net" {
		t.Errorf("of one from after: %+v", got[0].Data)
	}
}

func TestEventOfDeletedEmailIsDropped(t *testing.T) {
	w := testserver.New(t)
	hook := w.AddWebhook("in", emailEvents()...)
	otherTeam := w.AddTeam("Other", "example.org")
	id := w.Send("ann@example.net")
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
		if err := w.Services.Mail.AnnounceEmail(tx, w.Key.TeamID, webhook.EmailDelivered, app.NewID(), webhook.EmailExtra{}); err != nil {
			return err
		}
		return w.Services.Mail.AnnounceEmail(tx, otherTeam.TeamID, webhook.EmailDelivered, id, webhook.EmailExtra{})
	}))
	if got := w.Deliveries(hook); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestOpenAndClickEvents(t *testing.T) {
	w := testserver.New(t)
	hook := w.AddWebhook("in", emailEvents()...)
	id := w.Send("ann@example.net")
	f := tracking.Hit{EmailID: id, Target: "https://example.com/a", UserAgent: "Reader/1", IPAddress: "192.0.2.7", At: time.Unix(1_800_000_000, 0)}
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
		for _, kind := range []app.EventType{app.EventPrefetched, app.EventType(app.Opened), app.EventType(app.Clicked)} {
			f.ID = app.NewID()
			tracked, err := tx.TrackedEmail(id, f.At)
			if err != nil {
				return err
			}
			if err := w.Services.Mail.RecordHit(tx, &f, tracked, kind, "why"); err != nil {
				return err
			}
		}
		return nil
	}))
	wantEvents(w, hook, id, "email.clicked ann@example.net https://example.com/a", "email.opened ann@example.net")
	want := webhook.ClickData{IPAddress: "192.0.2.7", Link: "https://example.com/a", Timestamp: "2027-01-15T08:00:00.000Z", UserAgent: "Reader/1"}
	if got := w.EmailEvents(hook, id)[0].Data.Click; got == nil || *got != want {
		t.Errorf("%+v", got)
	}
}
