package broadcasts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/tracking"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestReadBroadcastEmails(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(func(m *app.Outgoing, n int) testserver.Answer {
			switch m.Recipients[0] {
			case testserver.SubscriberAddress(1):
				return testserver.ReplyPerRecipient(map[string]int{testserver.SubscriberAddress(1): 550})
			case testserver.SubscriberAddress(2):
				if n < 3 {
					return testserver.ReplyWith(app.StageData, 451, "later")
				}
			}
			return testserver.Accept
		})
		w := testserver.StartTracking(t, relay)
		w.AddSubscribers(4)
		name := "Bo & Co"
		_, err := w.Services.Audience.UpdateContact(t.Context(), w.Key, testserver.SubscriberAddress(0), app.ContactPatch{FirstName: app.Change[string]{Set: true, Value: name}})
		testserver.Must(t, err)
		queued := time.Now()
		b := w.SendNewsletter(`<p>Hi {{{FIRST_NAME|you}}} <a href="https://a.test/0">x</a> <a href="{{{UNSUBSCRIBE_URL}}}">off</a></p>`, nil)
		testserver.SleepAndSettle(time.Hour)
		id := w.EmailIDTo(b, testserver.SubscriberAddress(0))
		email := w.Email(id)
		if email.Subject != "News for "+name || !strings.Contains(email.HTML, `Hi Bo &amp; Co <a href="https://a.test/0">x</a>`) || !strings.Contains(email.HTML, "/unsubscribe/") ||
			!strings.Contains(email.Text, "Hi Bo & Co") || strings.Contains(email.HTML, "/t/") {
			t.Errorf("it says %q %s %s", email.Subject, email.HTML, email.Text)
		}
		if email.MessageID != id+"@"+testserver.TestDomain || email.BroadcastID != b.ID || !email.CreatedAt.Equal(queued) || email.LastEvent != app.Sent ||
			email.To[0].Mailbox() != testserver.SubscriberAddress(0) || email.From.Name != "Ann" || relay.Transactions(id)[0].Message.MessageID != email.MessageID {
			t.Errorf("its head is %+v", email)
		}
		if got := relay.Transactions(id)[0].Message.Mail.Flatten().HTML; !strings.Contains(got, testserver.TrackBase+"/t/c/") {
			t.Errorf("it left as %s", got)
		}
		w.WantLastEvent(w.EmailIDTo(b, testserver.SubscriberAddress(1)), app.Bounced)
		put := w.EmailIDTo(b, testserver.SubscriberAddress(2))
		var kinds []app.EventType
		for _, ev := range w.Events(put) {
			kinds = append(kinds, ev.Type)
			if ev.Type != "queued" && ev.Recipient != testserver.SubscriberAddress(2) {
				t.Errorf("%s of %q", ev.Type, ev.Recipient)
			}
		}
		if want := []app.EventType{"queued", "deferred", "deferred", "sent"}; !slices.Equal(kinds, want) {
			t.Errorf("timeline %q, want %q", kinds, want)
		}
		if first := w.Events(put)[0]; first.ID != put || !strings.Contains(first.Detail.Message, b.ID) || !first.CreatedAt.Equal(queued) {
			t.Errorf("it begins with %+v", first)
		}
		page, more, err := w.Services.Mail.ListEvents(t.Context(), w.Key, put, app.Page{Limit: 2, After: w.Events(put)[3].ID})
		if len(page) != 2 || !more || err != nil {
			t.Errorf("a page of the timeline: %v, %v, %v", page, more, err)
		}
		files, _, err := w.Services.Mail.ListAttachments(t.Context(), w.Key, id, app.Page{Limit: 5})
		if len(files) != 0 || err != nil {
			t.Errorf("attachments %v, %v", files, err)
		}
		_, _, err = w.Services.Mail.ListAttachments(t.Context(), w.Key, id, app.Page{Limit: 5, After: id})
		testserver.WantCode(t, err, app.CodeValidation)
		list, _, err := w.Services.Mail.ListEmails(t.Context(), w.Key, app.Page{Limit: 5})
		if len(list) != 0 || err != nil {
			t.Errorf("the list of emails has %d, %v", len(list), err)
		}
	})
}

func TestBroadcastEmailCantBeChanged(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Rate: 0.1}, nil))
		w.AddSubscribers(3)
		b := w.SendNewsletter("<p>x</p>", nil)
		testserver.SleepAndSettle(time.Second)
		id := w.EmailIDTo(b, testserver.SubscriberAddress(2))
		for name, err := range map[string]error{
			"cancel": w.Services.Mail.CancelEmail(t.Context(), w.Key, id), "delete": w.Services.Mail.DeleteEmail(t.Context(), w.Key, id),
			"move": w.Services.Mail.RescheduleEmail(t.Context(), w.Key, id, "in 1 hour"),
		} {
			testserver.WantCode(t, err, app.CodeValidation)
			if err == nil || !strings.Contains(err.Error(), b.ID) {
				t.Errorf("%s: %v", name, err)
			}
		}
		sending := *w.Key
		sending.Permission = app.SendingAccess
		testserver.WantCode(t, w.Services.Mail.CancelEmail(t.Context(), &sending, id), app.CodeNotFound)
		other := w.AddTeam("Other", "other.example")
		testserver.WantCode(t, w.Services.Mail.DeleteEmail(t.Context(), other, id), app.CodeNotFound)
		_, err := w.Services.Mail.GetEmail(t.Context(), other, id)
		testserver.WantCode(t, err, app.CodeNotFound)
		_, _, err = w.Services.Mail.ListEvents(t.Context(), other, id, app.Page{Limit: 5})
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = w.Services.Mail.GetCaptured(t.Context(), other, id)
		testserver.WantCode(t, err, app.CodeNotFound)
		_, _, err = w.Services.Broadcasts.ListBroadcastRecipients(t.Context(), other, b.ID, app.RecipientQuery{}, app.Page{Limit: 5})
		testserver.WantCode(t, err, app.CodeNotFound)
		_, _, err = w.Services.Broadcasts.ListClickedLinks(t.Context(), other, b.ID, app.Page{Limit: 5})
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = w.Services.Mail.GetEmail(t.Context(), w.Key, app.BroadcastEmailID(b.EmailIDPrefix, 4))
		testserver.WantCode(t, err, app.CodeNotFound)
		if w.Email(id).LastEvent != app.Queued {
			t.Error("it does not wait any more")
		}
	})
}

func TestUnstartedRecipientsAreCanceled(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Rate: 1}, nil))
		w.AddSubscribers(50)
		b := w.SendNewsletter("<p>x</p>", nil)
		testserver.SleepAndSettle(5 * time.Second)
		_, remaining, err := w.Services.Broadcasts.CancelBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		canceled := time.Now()
		testserver.SleepAndSettle(time.Hour)
		if n := len(strings.Fields(w.Recipients(b, "canceled"))); n != int(remaining) || n < 40 {
			t.Errorf("%d are canceled, %d by the cancel", n, remaining)
		}
		if got := w.Recipients(b, "queued"); got != "" {
			t.Errorf("%s still wait", got)
		}
		id := w.EmailIDTo(b, testserver.SubscriberAddress(49))
		w.WantLastEvent(id, app.Canceled)
		if ev := w.OnlyEvent(id, app.EventType(app.Canceled)); !ev.CreatedAt.Equal(canceled.Truncate(time.Millisecond)) || ev.Recipient != "" {
			t.Errorf("event %+v", ev)
		}
		page, _, err := w.Services.Mail.ListEvents(t.Context(), w.Key, id, app.Page{Limit: 1, After: w.OnlyEvent(id, app.EventType(app.Canceled)).ID})
		if len(page) != 1 || page[0].ID != id || err != nil {
			t.Errorf("behind it: %+v, %v", page, err)
		}
	})
}

func TestRecipientListsByType(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(func(m *app.Outgoing, _ int) testserver.Answer {
			if m.Recipients[0] == testserver.SubscriberAddress(3) {
				return testserver.ReplyPerRecipient(map[string]int{testserver.SubscriberAddress(3): 550})
			}
			return testserver.Accept
		})
		w := testserver.StartTracking(t, relay)
		w.AddSubscribers(5)
		b := w.SendNewsletter(testserver.Links(2), nil)
		testserver.SleepAndSettle(time.Minute)
		one, two := w.EmailIDTo(b, testserver.SubscriberAddress(1)), w.EmailIDTo(b, testserver.SubscriberAddress(2))
		for range 3 {
			w.LoadPixel(one, testserver.Chrome)
			w.Click(one, 1, 2, testserver.Chrome)
			testserver.SleepAndSettle(2 * time.Minute)
		}
		w.Click(one, 0, 2, testserver.Chrome)
		testserver.SleepAndSettle(2 * time.Minute)
		w.Click(two, 1, 2, testserver.Chrome)
		w.LoadPixel(two, testserver.ImageProxy)
		testserver.SleepAndSettle(2 * time.Minute)
		_, err := w.Services.Audience.DeleteContact(t.Context(), w.Key, testserver.SubscriberAddress(2), false)
		testserver.Must(t, err)
		row := func(kind string, i int) app.RecipientRow {
			rows, _, err := w.Services.Broadcasts.ListBroadcastRecipients(t.Context(), w.Key, b.ID, app.RecipientQuery{Type: kind, Email: testserver.SubscriberAddress(i)}, app.Page{Limit: 2})
			testserver.Must(t, err)
			if len(rows) != 1 {
				t.Fatalf("%s: %+v", kind, rows)
			}
			return rows[0]
		}
		if got := w.Recipients(b, "opened"); got != testserver.SubscriberAddress(1) {
			t.Errorf("opened by %s", got)
		}
		if got := w.Recipients(b, "clicked"); got != testserver.SubscriberAddress(2)+" "+testserver.SubscriberAddress(1) {
			t.Errorf("clicked by %s", got)
		}
		if got := row("opened", 1); got.Count != 3 || got.LastEvent != app.Clicked || got.Links != nil || got.ContactID == "" {
			t.Errorf("opened: %+v", got)
		}
		want := []app.LinkClicks{{URL: "https://a.test/0", Clicks: 1}, {URL: "https://a.test/1", Clicks: 3}}
		if got := row("clicked", 1); got.Count != 4 || !slices.Equal(got.Links, want) {
			t.Errorf("clicked: %+v", got)
		}
		if got := row("clicked", 2); got.ContactID != "" || got.Count != 1 {
			t.Errorf("of a deleted contact: %+v", got)
		}
		if got := row("bounced", 3); got.Bounce != app.BouncePermanent || got.LastEvent != app.Bounced {
			t.Errorf("bounced: %+v", got)
		}
		if got := row("", 3); got.Bounce != app.BouncePermanent {
			t.Errorf("without a type: %+v", got)
		}
		if got := row("sent", 4); got.Bounce != "" || got.Count != 0 || got.LastEvent != app.Sent {
			t.Errorf("sent: %+v", got)
		}
		if c := w.Broadcast(b.ID).Counts; c.Opened != 1 || c.Clicked != 2 || c.Sent != 4 || c.Bounced != 1 {
			t.Errorf("counts %+v", c)
		}
		list, more, err := w.Services.Broadcasts.ListClickedLinks(t.Context(), w.Key, b.ID, app.Page{Limit: 1})
		if err != nil || !more || len(list) != 1 || list[0].URL != "https://a.test/1" || list[0].Clicks != 4 || list[0].People != 2 {
			t.Errorf("the first link: %+v, %v, %v", list, more, err)
		}
		list, more, err = w.Services.Broadcasts.ListClickedLinks(t.Context(), w.Key, b.ID, app.Page{Limit: 1, After: list[0].ID})
		if err != nil || more || len(list) != 1 || list[0].URL != "https://a.test/0" || list[0].Clicks != 1 {
			t.Errorf("the second link: %+v, %v, %v", list, more, err)
		}
		_, _, err = w.Services.Broadcasts.ListClickedLinks(t.Context(), w.Key, b.ID, app.Page{Limit: 1, Before: app.NewID()})
		testserver.WantCode(t, err, app.CodeValidation)
		w.WantTrackingEvents(two, "clicked1 prefetched", app.Clicked)
	})
}

func TestBroadcastTimelineKeepsHundredFetches(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		w.AddSubscribers(1)
		b := w.SendNewsletter(testserver.Links(1), nil)
		testserver.SleepAndSettle(time.Minute)
		id := w.EmailIDTo(b, testserver.SubscriberAddress(0))
		for range 120 {
			w.Click(id, 0, 1, testserver.Chrome)
			testserver.SleepAndSettle(2 * time.Minute)
		}
		events := 0
		w.Read(func(r *db.Reader) error {
			list, err := r.Events(id)
			for _, ev := range list {
				if ev.Type == app.EventType(app.Clicked) {
					events++
				}
			}
			return err
		})
		list, _, err := w.Services.Broadcasts.ListClickedLinks(t.Context(), w.Key, b.ID, app.Page{Limit: 1})
		if err != nil || events != tracking.MaxHitEvents || list[0].Clicks != 120 || list[0].People != 1 || w.Broadcast(b.ID).Counts.Clicked != 1 {
			t.Errorf("%d events, links %+v, %v", events, list, err)
		}
	})
}

func TestOpenSettlesBroadcastDoubt(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.LoseReply))
		w := testserver.StartTracking(t, relay)
		w.AddSubscribers(2)
		b := w.SendNewsletter(testserver.Links(1), nil)
		testserver.SleepAndSettle(15 * time.Second)
		relay.SetScript(nil)
		if list := w.Doubts(); len(list) != 2 || list[0].BroadcastID != b.ID || list[0].MessageID != list[0].EmailID+"@"+testserver.TestDomain || len(list[0].Recipients) != 1 {
			t.Fatalf("doubts %+v", list)
		}
		id := w.EmailIDTo(b, testserver.SubscriberAddress(1))
		w.Click(id, 0, 1, testserver.Chrome)
		testserver.SleepAndSettle(time.Second)
		if now := w.Broadcast(b.ID); now.Open != 1 || now.Counts.Sent != 1 {
			t.Errorf("a moment later it is %+v", now)
		}
		testserver.SleepAndSettle(10 * time.Minute)
		if n := relay.FinalDots(id); n != 1 {
			t.Errorf("sent %d times: %+v", n, relay.Transactions(id))
		}
		end := w.Broadcast(b.ID)
		if end.Status != app.SentBroadcast || end.Counts.Sent != 2 || end.Counts.Clicked != 1 || end.Open != 0 {
			t.Errorf("it ended as %+v", end)
		}
		var settled []string
		for _, d := range w.Doubts() {
			settled = append(settled, d.Settled)
		}
		slices.Sort(settled)
		if got := strings.Join(settled, "; "); got != "sent again with the same Message-ID; the recipient has it: it was clicked" {
			t.Errorf("doubts settled by %s", got)
		}
	})
}

func TestUnitsLeftByServerAreDoubts(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.ReplyAfter(hang)))
		w := testserver.Start(t, relay)
		w.AddSubscribers(2)
		b := w.SendNewsletter("<p>x</p>", nil)
		testserver.SleepAndSettle(5 * time.Second)
		next := w.Crash(testserver.NewRelay(nil))
		list, err := next.Services.Delivery.ListDoubts(t.Context(), true)
		testserver.Must(t, err)
		if len(list) != 2 || list[0].BroadcastID != b.ID || !strings.HasSuffix(list[0].MessageID, "@"+testserver.TestDomain) || list[0].Recipients[0] != testserver.SubscriberAddress(0) {
			t.Errorf("doubts %+v", list)
		}
		next.Start()
		testserver.SleepAndSettle(10 * time.Minute)
		if list := next.Doubts(); len(list) != 2 || list[1].Settled != "sent again with the same Message-ID" {
			t.Errorf("doubts %+v", list)
		}
		close(hang)
		testserver.SleepAndSettle(time.Second)
	})
}

func TestBroadcastUnsubscribesCountOnce(t *testing.T) {
	testserver.BothEngines(t)
	for _, topical := range []bool{false, true} {
		t.Run(fmt.Sprint(topical), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w := testserver.StartTracking(t)
				w.AddSubscribers(4)
				broadcast := w.AddTopic("News", app.OptIn, app.PublicTopic)
				b := w.SendNewsletter("<p>x</p>", func(b *app.Broadcast) {
					if topical {
						b.TopicID = broadcast.ID
					}
				})
				testserver.SleepAndSettle(time.Minute)
				id := w.EmailIDTo(b, testserver.SubscriberAddress(1))
				token := pageOf(w, id)
				view, err := w.Services.Pages.UnsubscribePage(t.Context(), token)
				testserver.Must(t, err)
				if view.Unsubscribed || w.Broadcast(b.ID).Counts.Unsubscribed != 0 || w.Recipients(b, "unsubscribed") != "" {
					t.Errorf("looking changed something: %+v", view)
				}
				for range 2 {
					view, err = w.Services.Pages.Unsubscribe(t.Context(), token)
					testserver.Must(t, err)
				}
				if c := w.Broadcast(b.ID).Counts; c.Unsubscribed != 1 || w.Recipients(b, "unsubscribed") != testserver.SubscriberAddress(1) {
					t.Errorf("counts %+v", c)
				}
				if ev := w.OnlyEvent(id, app.EventUnsubscribed); ev.Recipient != testserver.SubscriberAddress(1) || !strings.Contains(ev.Detail.Message, map[bool]string{false: "all mailings", true: "topic"}[topical]) {
					t.Errorf("event %+v", ev)
				}
				w.WantLastEvent(id, app.Sent)
				s, err := w.Services.Suppressions.GetSuppression(t.Context(), w.Key, testserver.SubscriberAddress(1))
				switch {
				case topical && (err == nil || view.Topic.Subscription != app.OptOut):
					t.Errorf("left the topic: %+v, %+v", view, s)
				case !topical && (err != nil || s.SourceID != id || !view.Unsubscribed):
					t.Errorf("left everything: %+v, %+v, %v", view, s, err)
				}
				// A topic opt-out and then a full opt-out count as one recipient.
				if topical {
					_, err = w.Services.Pages.Unsubscribe(t.Context(), view.UnsubscribeAll)
					testserver.Must(t, err)
					if s, err := w.Services.Suppressions.GetSuppression(t.Context(), w.Key, testserver.SubscriberAddress(1)); err != nil || s.SourceID != id || w.Broadcast(b.ID).Counts.Unsubscribed != 1 {
						t.Errorf("%+v, %v", s, err)
					}
					prefs, err := w.Services.Pages.UnsubscribePage(t.Context(), pageOf(w, w.EmailIDTo(b, testserver.SubscriberAddress(2))))
					testserver.Must(t, err)
					for _, choice := range []app.Subscription{app.OptIn, app.OptOut, app.OptOut} {
						_, err = w.Services.Pages.SavePreferences(t.Context(), prefs.Preferences, map[string]app.Subscription{broadcast.ID: choice}, "")
						testserver.Must(t, err)
					}
					if got := w.Recipients(b, "unsubscribed"); got != testserver.SubscriberAddress(2)+" "+testserver.SubscriberAddress(1) {
						t.Errorf("unsubscribed: %s", got)
					}
				}
			})
		})
	}
}

func TestBroadcastPageWithoutContact(t *testing.T) {
	for _, erase := range []bool{false, true} {
		t.Run(fmt.Sprint(erase), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w := testserver.StartTracking(t)
				w.AddSubscribers(2)
				b := w.SendNewsletter("<p>x</p>", nil)
				testserver.SleepAndSettle(time.Minute)
				id := w.EmailIDTo(b, testserver.SubscriberAddress(1))
				token := pageOf(w, id)
				_, err := w.Services.Audience.DeleteContact(t.Context(), w.Key, testserver.SubscriberAddress(1), erase)
				testserver.Must(t, err)
				view, err := w.Services.Pages.UnsubscribePage(t.Context(), token)
				if err != nil || view.Unsubscribed {
					t.Fatalf("%+v, %v", view, err)
				}
				view, err = w.Services.Pages.Unsubscribe(t.Context(), token)
				if err != nil || !view.Unsubscribed {
					t.Fatalf("%+v, %v", view, err)
				}
				w.Read(func(r *db.Reader) error {
					s, err := r.SuppressionByAddress(w.Key.TeamID, w.AddressHash(testserver.SubscriberAddress(1)))
					if s.SourceID != id || (s.Email == "") != erase {
						t.Errorf("suppression %+v", s)
					}
					return err
				})
				if c := w.Broadcast(b.ID).Counts; c.Unsubscribed != 1 {
					t.Errorf("counts %+v", c)
				}
				w.OnlyEvent(id, app.EventUnsubscribed)
			})
		})
	}
}

func TestBroadcastMailIsCaptured(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.Capture)))
		w.AddSubscribers(1)
		b := w.SendNewsletter("<p>x</p>", nil)
		testserver.SleepAndSettle(time.Minute)
		got, err := w.Services.Mail.GetCaptured(t.Context(), w.Key, w.EmailIDTo(b, testserver.SubscriberAddress(0)))
		if err != nil || len(got) == 0 {
			t.Errorf("captured %q, %v", got, err)
		}
	})
}
