package broadcasts_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/feedback"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
)

// spellings are pairs of spellings of one address: that of the contact, and that of an opt-out or
// report. %s distinguishes recipients.
var spellings = []struct{ name, stored, said string }{
	{"ASCII", "%s@shop.example", "%s@SHOP.example"},
	{"U-labels", "%s@ünder.example", "%s@ünder.example"},
	{"A-labels", "%s@xn--brse-5qa.example", "%s@XN--BRSE-5QA.example"},
	{"U-labels said in A-labels", "%s@bücher.example", "%s@xn--bcher-kva.example"},
	{"A-labels said in U-labels", "%s@xn--mller-kva.example", "%s@müller.example"},
	{"upper case", "%s@GRÜN.example", "%s@grün.EXAMPLE"},
	{"lower case said in upper", "%s@blau-ö.example", "%s@BLAU-Ö.example"},
	{"decomposed", "%s@gru\u0308ze.example", "%s@grüze.example"},
	{"composed said decomposed", "%s@fühl.example", "%s@fu\u0308hl.example"},
	{"full-width dot", "%s@hütte。example", "%s@hütte.example"},
	{"local part beyond ASCII", "Jörg.%s@tür.example", "jörg.%s@xn--tr-xka.example"},
}

// TestBroadcastObeysOptOutsOfAllSpellings opts contacts out in every way and every spelling,
// between the send and the delivery of their mail. Contacts that opted in to a topic that requires
// it get the mail.
func TestBroadcastObeysOptOutsOfAllSpellings(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Rate: 1}, nil)
		w := testserver.Start(t, relay)
		topic := w.AddTopic("News", app.OptOut, app.PublicTopic)
		choose := func(email string, s app.Subscription) {
			_, _, err := w.Services.Audience.SetContactTopics(t.Context(), w.Key, email, []app.TopicChoice{{ID: topic.ID, Subscription: s}})
			testserver.Must(t, err)
		}
		mails := map[string]string{} // ids of earlier emails, by address
		out := true
		cases := []struct {
			name string
			do   func(email string)
		}{
			{"manual", func(email string) {
				_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: email})
				testserver.Must(t, err)
			}},
			{"unsubscribed", func(email string) {
				_, err := w.Services.Audience.UpdateContact(t.Context(), w.Key, email, app.ContactPatch{Unsubscribed: &out})
				testserver.Must(t, err)
			}},
			{"topic", func(email string) { choose(email, app.OptOut) }},
			{"complaint", func(email string) { // about an earlier email
				w.Report(feedback.Report{EmailID: mails[email], Kind: feedback.Complained, Recipient: email})
			}},
			{"erased", func(email string) {
				_, err := w.Services.Audience.DeleteContact(t.Context(), w.Key, email, true)
				testserver.Must(t, err)
			}},
			{"stays", nil},
		}
		for i := range 100 { // their mail is sent first
			addTo(w, fmt.Sprintf("p%d@example.net", i), topic)
		}
		for _, s := range spellings {
			for _, spelling := range cases {
				addTo(w, fmt.Sprintf(s.stored, spelling.name), topic)
			}
		}
		for _, s := range spellings {
			email := fmt.Sprintf(s.said, "complaint")
			mails[email] = w.Send(email)
		}
		time.Sleep(time.Minute)
		b := w.SendNewsletter("<p>News</p>", func(b *app.Broadcast) { b.TopicID = topic.ID })
		time.Sleep(10 * time.Second)
		for _, s := range spellings {
			for _, spelling := range cases {
				if spelling.do != nil {
					spelling.do(fmt.Sprintf(s.said, spelling.name))
				}
			}
		}
		already := len(testserver.Received(relay))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		got := map[app.AddressKey]int{}
		for address, n := range testserver.Received(relay) {
			got[app.KeyOf(address)] += n
		}
		for _, s := range spellings {
			for _, spelling := range cases {
				want := 0
				switch spelling.name {
				case "complaint", "stays":
					want = 1 // the email of the complaint
				}
				if n := got[app.KeyOf(fmt.Sprintf(s.stored, spelling.name))]; n != want {
					t.Errorf("%s, %s: %d messages, want %d (%d had left before)", s.name, spelling.name, n, want, already)
				}
			}
		}
		if end := w.Broadcast(b.ID); end.Status != app.SentBroadcast || end.Counts.Sent != int64(100+len(spellings)) {
			t.Errorf("the broadcast ended as %+v", end)
		}
	})
}

func addTo(w *testserver.Server, email string, topic *app.Topic) {
	w.T.Helper()
	items := []audience.ContactItem{{Input: &app.ContactInput{Email: email, Topics: []app.TopicChoice{{ID: topic.ID, Subscription: app.OptIn}}}}}
	_, err := w.Services.Audience.PutContacts(w.T.Context(), w.Key, items, app.ConflictError, false)
	testserver.Must(w.T, err)
}

// TestBroadcastUnsubscribeOfAllSpellings follows the link of a first broadcast while a second one
// waits.
func TestBroadcastUnsubscribeOfAllSpellings(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Rate: 1}, nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(30)
		for _, s := range spellings {
			w.AddContact(fmt.Sprintf(s.stored, "ann"), false)
		}
		first := w.SendNewsletter(`<a href="{{{UNSUBSCRIBE_URL}}}">u</a>`, nil)
		time.Sleep(10 * time.Minute)
		w.SendNewsletter("<p>News</p>", nil)
		time.Sleep(10 * time.Second)
		for _, s := range spellings {
			id := w.EmailIDTo(first, fmt.Sprintf(s.stored, "ann"))
			_, err := w.Services.Pages.Unsubscribe(t.Context(), pageOf(w, id))
			testserver.Must(t, err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		for _, s := range spellings {
			c, err := w.Services.Audience.GetContact(t.Context(), w.Key, fmt.Sprintf(s.said, "ann"))
			if err != nil || !c.Unsubscribed {
				t.Errorf("%s: %+v, %v", s.name, c, err)
			}
		}
		for address, n := range testserver.Received(relay) {
			if n > 1 && !strings.HasSuffix(address, "@example.net") {
				t.Errorf("%s got %d messages", address, n)
			}
		}
	})
}

// TestBroadcastBounceOfAllSpellings has the relay refuse every recipient of a broadcast
// permanently: each is suppressed, and counts once.
func TestBroadcastBounceOfAllSpellings(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(func(_ context.Context, m *app.Outgoing, _ func() error) app.Result {
			res := app.Result{Kind: app.ResultDone, Stage: app.StageRcpt}
			for _, address := range m.Recipients {
				res.Recipients = append(res.Recipients, app.RecipientResult{Address: address, Outcome: app.Refused, Stage: app.StageRcpt, Reply: app.Reply{Code: 550, Enhanced: "5.1.1"}})
			}
			return res
		}))
		w := testserver.Start(t, relay)
		for _, s := range spellings {
			w.AddContact(fmt.Sprintf(s.stored, "ann"), false)
		}
		b := w.SendNewsletter("<p>News</p>", nil)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		for _, s := range spellings {
			email := fmt.Sprintf(s.said, "ann")
			if found := w.Suppression(email); found.Origin != app.OriginBounce {
				t.Errorf("%s: the suppression is %+v", s.name, found)
			}
			_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message(email), mail.SendOptions{})
			testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
			w.Report(testserver.HardBounce(w.EmailIDTo(b, fmt.Sprintf(s.stored, "ann")), email, "5.1.1")) // a repeated report
		}
		if o := w.TeamOutcome(); o.HardBounced != int64(len(spellings)) {
			t.Errorf("%d hard bounces counted, want %d", o.HardBounced, len(spellings))
		}
	})
}
