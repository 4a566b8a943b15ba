package signup_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/signup"
	"mailer/app/testing/testserver"
)

func TestConfirmedSignUpBecomesAContact(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		topic := w.AddTopic("News", app.OptOut, app.PublicTopic)
		f := addForm(w, w.Key, func(in *app.FormInput) {
			in.Topics = []app.FormTopic{{ID: topic.ID, Preselected: true}}
			in.Fields = []app.FormField{{Property: "first_name", Label: "Your name"}}
		})
		out := press(w, signup.Submission{FormID: f.ID, Email: "Bob@Example.net", Values: map[string]string{"first_name": "Bob"}, Client: client(1), Text: "News, weekly", UserAgent: "Browser"})
		if out.Button != "" || out.Single {
			t.Fatalf("%+v", out)
		}
		time.Sleep(time.Second)
		mails := mailsTo(w, "Bob@Example.net")
		if len(mails) != 1 {
			t.Fatalf("%d mails; opt-ins %+v; log %s", len(mails), optIns(w, w.Key), w.Log)
		}
		m := mails[0]
		if strings.Contains(m.Text+m.HTML+m.Subject, "Bob") || !strings.Contains(m.Text, "News") || !strings.Contains(m.HTML, "This was not me") {
			t.Errorf("the confirmation is\n%s\n%s", m.Text, m.HTML)
		}
		if n := w.CountContacts(); n != 0 {
			t.Errorf("%d contacts before the confirmation", n)
		}
		token := linkIn(w, m)
		page, err := w.Services.SignUp.OptInPage(t.Context(), pagesHost, token)
		testserver.Must(t, err)
		if page.Status != app.OptInPending || len(page.Fields) != 1 || page.Fields[0].Value != "Bob" || len(page.Topics) != 1 || !page.Topics[0].Preselected {
			t.Errorf("%+v", page)
		}
		d := &signup.Decision{Values: map[string]string{"first_name": "Robert"}, Topics: []string{topic.ID}, Text: "Confirm", Client: client(2), UserAgent: "Other"}
		for range 2 { // the second changes nothing
			page, err = w.Services.SignUp.Confirm(t.Context(), pagesHost, token, d)
			testserver.Must(t, err)
			if page.Status != app.OptInConfirmed {
				t.Errorf("%+v", page)
			}
		}
		c, err := w.Services.Audience.GetContact(t.Context(), w.Key, "bob@example.net")
		testserver.Must(t, err)
		if c.FirstName != "Robert" || c.Unsubscribed {
			t.Errorf("%+v", c)
		}
		topics, _, err := w.Services.Audience.ListContactTopics(t.Context(), w.Key, c.ID, app.Page{Limit: 10})
		testserver.Must(t, err)
		if len(topics) != 1 || topics[0].Subscription != app.OptIn || !topics[0].Explicit {
			t.Errorf("%+v", topics)
		}
		consents, _, err := w.Services.SignUp.ListConsents(t.Context(), w.Key, c.ID, app.Page{Limit: 10})
		testserver.Must(t, err)
		if len(consents) != 1 {
			t.Fatalf("%d consents", len(consents))
		}
		r := consents[0].Record
		if r.Text != "News, weekly" || r.ConfirmText != "Confirm" || r.RequestedBy != (app.Visitor{IP: client(1).String(), UserAgent: "Browser"}) || r.ConfirmedBy != (app.Visitor{IP: client(2).String(), UserAgent: "Other"}) ||
			r.Form != "Newsletter" || r.FormVersion != 1 || len(r.Topics) != 1 || r.Topics[0].Name != "News" || !r.ConfirmedAt.After(r.RequestedAt) {
			t.Errorf("%+v", r)
		}
		got, consent, err := w.Services.SignUp.GetOptIn(t.Context(), w.Key, optIns(w, w.Key)[0].ID)
		if err != nil || got.Status != app.OptInConfirmed || got.ContactID != c.ID || consent == nil || consent.ID != consents[0].ID {
			t.Errorf("%+v, %+v, %v", got, consent, err)
		}
		form, err := w.Services.SignUp.GetForm(t.Context(), w.Key, f.ID)
		if err != nil || form.Requested != 1 || form.Confirmed != 1 || form.Refused != 0 || form.Stopped != 0 {
			t.Errorf("%+v, %v", form, err)
		}
		events := w.WebhookEvents()
		for _, name := range []string{"contact.opt_in_requested", "contact.opt_in_confirmed", "contact.created"} {
			if strings.Count(events, name+" {") != 1 {
				t.Errorf("%s: %s", name, events)
			}
		}
	})
}
