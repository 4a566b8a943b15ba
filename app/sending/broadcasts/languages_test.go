package broadcasts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// inLanguages adds contacts with the property language, and returns their addresses.
func inLanguages(w *testserver.Server, wanted ...string) (addresses []string) {
	w.T.Helper()
	for i, language := range wanted {
		in := app.ContactInput{Email: testserver.SubscriberAddress(i)}
		if language != "" {
			in.Properties = app.PropertyChanges{"language": {Type: app.StringProperty, Text: language}, "city": {Type: app.StringProperty, Text: "Köln"}}
		}
		_, err := w.Services.Audience.PutContacts(w.T.Context(), w.Key, []audience.ContactItem{{Input: &in}}, app.ConflictError, false)
		testserver.Must(w.T, err)
		addresses = append(addresses, in.Email)
	}
	return addresses
}

// Each recipient gets the variant of its language, now and when the mail is read again, and is counted
// by it.
func TestBroadcastInLanguages(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(func(m *app.Outgoing, _ int) testserver.Answer {
			if m.Recipients[0] == testserver.SubscriberAddress(3) {
				return testserver.ReplyPerRecipient(map[string]int{m.Recipients[0]: 550})
			}
			return testserver.Accept
		})
		w := testserver.StartTracking(t, relay)
		addresses := inLanguages(w, "de_AT", "pt-BR", "pt", "de", "fr", "gibberish!", "")
		b := w.SendNewsletter(`<p>Hello <a href="https://a.test/0">x</a></p>`, func(b *app.Broadcast) {
			b.Variants = app.Variants{
				"de": {Subject: "Neues für {{{city}}}", HTML: `<p>Hallo <a href="https://a.test/1">x</a> <a href="https://a.test/0">y</a></p>`},
				"pt": {HTML: `<p>Olá <a href="https://a.test/2">x</a></p>`, Text: new("Olá")}, "es": {Subject: "Nadie"},
			}
		})
		testserver.SleepAndSettle(time.Minute)
		for i, want := range []string{"Neues für Köln|Hallo", "News for you|Olá", "News for you|Olá", "Neues für Köln|Hallo", "News for you|Hello", "News for you|Hello", "News for you|Hello"} {
			id := w.EmailIDTo(b, addresses[i])
			sent := relay.Transactions(id)[0].Message.Mail.Flatten()
			read := w.Email(id)
			subject, word, _ := strings.Cut(want, "|")
			if sent.Subject != subject || !strings.Contains(sent.HTML, "<p>"+word) || !strings.Contains(sent.Text, word) || read.Subject != subject || !strings.Contains(read.HTML, "<p>"+word) {
				t.Errorf("%s got %q %s %q, which is read as %q", addresses[i], sent.Subject, sent.HTML, sent.Text, read.Subject)
			}
			if i == 1 && sent.Text != "Olá" {
				t.Errorf("the text of the variant is %q", sent.Text)
			}
		}
		// The links of all languages have numbers of their own; /0 is one link of two languages.
		w.Click(w.EmailIDTo(b, addresses[0]), 0, 2, testserver.Chrome)
		w.Click(w.EmailIDTo(b, addresses[1]), 2, 1, testserver.Chrome)
		w.LoadPixel(w.EmailIDTo(b, addresses[4]), testserver.Chrome)
		testserver.SleepAndSettle(time.Minute)
		links, _, err := w.Services.Broadcasts.ListClickedLinks(t.Context(), w.Key, b.ID, app.Page{Limit: 10})
		testserver.Must(t, err)
		if len(links) != 2 || links[0].URL != "https://a.test/0" || links[1].URL != "https://a.test/2" {
			t.Errorf("clicked %+v", links)
		}
		check := func(want ...string) {
			t.Helper()
			v, err := w.Services.Broadcasts.GetBroadcast(t.Context(), w.Key, b.ID)
			testserver.Must(t, err)
			var got []string
			for _, l := range v.Languages {
				got = append(got, fmt.Sprintf("%s: %d %+v", l.Language, l.Recipients, l.BroadcastCounts))
			}
			for i, words := range want {
				if i >= len(got) || !strings.HasPrefix(got[i], words) {
					t.Errorf("counted %q, want %q", got, want)
					return
				}
			}
			if len(got) != len(want) {
				t.Errorf("counted %q, want %q", got, want)
			}
		}
		check(": 3 {Sent:3 DeliveryDelayed:0 Delivered:0 Opened:1 Clicked:0 Bounced:0 ", "de: 2 {Sent:1 DeliveryDelayed:0 Delivered:0 Opened:0 Clicked:1 Bounced:1 ",
			"es: 0 {Sent:0 ", "pt: 2 {Sent:2 DeliveryDelayed:0 Delivered:0 Opened:0 Clicked:1 Bounced:0 ")
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.RequeueBroadcastRecipient(b.ID, w.EmailIDTo(b, addresses[3])) }))
		check(": 3 {Sent:3 ", "de: 2 {Sent:1 DeliveryDelayed:0 Delivered:0 Opened:0 Clicked:1 Bounced:0 ", "es", "pt")
	})
}

func TestBroadcastWithoutVariantsHasNoLanguages(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		inLanguages(w, "de")
		b := w.SendNewsletter(`<p>Hello {{{contact.language}}}</p>`, nil)
		testserver.SleepAndSettle(time.Minute)
		v, err := w.Services.Broadcasts.GetBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		if len(v.Languages) != 0 || v.Counts.Sent != 1 {
			t.Errorf("%+v %+v", v.Languages, v.Counts)
		}
	})
}
