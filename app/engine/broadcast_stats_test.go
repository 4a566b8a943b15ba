package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/app/tracking"
	"mailer/db"
)

// newsletter adds a draft with that html and sends it, and gives it as it is then.
func (w *world) newsletter(html string, change func(*app.Broadcast)) *app.Broadcast {
	w.t.Helper()
	from, err := app.ParseAddress("Ann <ann@" + testDomain + ">")
	must(w.t, err)
	b := &app.Broadcast{ID: app.NewID(), TeamID: w.key.TeamID, Name: "News", From: from, Subject: "News for {{{FIRST_NAME|you}}}", CreatedAt: time.Now(),
		BroadcastContent: app.BroadcastContent{HTML: html}}
	if change != nil {
		change(b)
	}
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error { return tx.InsertBroadcast(b) }))
	_, err = w.e.SendBroadcast(w.t.Context(), w.key, b.ID, "", SendOptions{})
	must(w.t, err)
	head := w.broadcast(b.ID)
	return &head
}

// mailTo is the id of a broadcast's email to an address.
func (w *world) mailTo(b *app.Broadcast, address string) string {
	w.t.Helper()
	rows, _, err := w.e.ListBroadcastRecipients(w.t.Context(), w.key, b.ID, app.RecipientQuery{Email: address}, app.Page{Limit: 2})
	must(w.t, err)
	if len(rows) != 1 {
		w.t.Fatalf("%d recipients %s", len(rows), address)
	}
	return rows[0].ID
}

// recipients are the addresses that a list of a type gives.
func (w *world) recipients(b *app.Broadcast, kind string) string {
	w.t.Helper()
	rows, more, err := w.e.ListBroadcastRecipients(w.t.Context(), w.key, b.ID, app.RecipientQuery{Type: kind}, app.Page{Limit: 100})
	must(w.t, err)
	if more {
		w.t.Error("there are more than a page")
	}
	var out []string
	for _, row := range rows {
		out = append(out, row.Email)
	}
	return strings.Join(out, " ")
}

func TestEmailsOfABroadcastAreReadOneByOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(func(m *app.Outgoing, n int) answer {
			switch m.Recipients[0] {
			case person(1):
				return byName(map[string]int{person(1): 550})
			case person(2):
				if n < 3 {
					return says(app.StageData, 451, "later")
				}
			}
			return accept
		})
		w := tracked(t, relay)
		w.people(4)
		name := "Bo & Co"
		_, err := w.e.UpdateContact(t.Context(), w.key, person(0), app.ContactPatch{FirstName: app.Change[string]{Set: true, Value: name}})
		must(t, err)
		queued := time.Now()
		b := w.newsletter(`<p>Hi {{{FIRST_NAME|you}}} <a href="https://a.test/0">x</a> <a href="{{{UNSUBSCRIBE_URL}}}">off</a></p>`, nil)
		later(time.Hour)
		id := w.mailTo(b, person(0))
		email := w.email(id)
		if email.Subject != "News for "+name || !strings.Contains(email.HTML, `Hi Bo &amp; Co <a href="https://a.test/0">x</a>`) || !strings.Contains(email.HTML, "/unsubscribe/") ||
			!strings.Contains(email.Text, "Hi Bo & Co") || strings.Contains(email.HTML, "/t/") {
			t.Errorf("it says %q %s %s", email.Subject, email.HTML, email.Text)
		}
		if email.MessageID != id+"@"+testDomain || email.BroadcastID != b.ID || !email.CreatedAt.Equal(queued) || email.LastEvent != app.Sent ||
			email.To[0].Mailbox() != person(0) || email.From.Name != "Ann" || relay.seen(id)[0].m.MessageID != email.MessageID {
			t.Errorf("its head is %+v", email)
		}
		if got := relay.seen(id)[0].m.Mail.Whole().HTML; !strings.Contains(got, trackBase+"/t/c/") {
			t.Errorf("it left as %s", got)
		}
		w.wantLast(w.mailTo(b, person(1)), app.Bounced)
		put := w.mailTo(b, person(2))
		var kinds []app.EventType
		for _, ev := range w.events(put) {
			kinds = append(kinds, ev.Type)
			if ev.Type != "queued" && ev.Recipient != person(2) {
				t.Errorf("%s of %q", ev.Type, ev.Recipient)
			}
		}
		if want := []app.EventType{"queued", "deferred", "deferred", "sent"}; !slices.Equal(kinds, want) {
			t.Errorf("timeline %q, want %q", kinds, want)
		}
		if first := w.events(put)[0]; first.ID != put || !strings.Contains(first.Detail.Message, b.ID) || !first.CreatedAt.Equal(queued) {
			t.Errorf("it begins with %+v", first)
		}
		page, more, err := w.e.ListEvents(t.Context(), w.key, put, app.Page{Limit: 2, After: w.events(put)[3].ID})
		if len(page) != 2 || !more || err != nil {
			t.Errorf("a page of the timeline: %v, %v, %v", page, more, err)
		}
		files, _, err := w.e.ListAttachments(t.Context(), w.key, id, app.Page{Limit: 5})
		if len(files) != 0 || err != nil {
			t.Errorf("attachments %v, %v", files, err)
		}
		_, _, err = w.e.ListAttachments(t.Context(), w.key, id, app.Page{Limit: 5, After: id})
		wantCode(t, err, app.CodeValidation)
		list, _, err := w.e.ListEmails(t.Context(), w.key, app.Page{Limit: 5})
		if len(list) != 0 || err != nil {
			t.Errorf("the list of emails has %d, %v", len(list), err)
		}
	})
}

func TestASingleEmailOfABroadcastIsNotChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1, Rate: 0.1}, nil))
		w.people(3)
		b := w.newsletter("<p>x</p>", nil)
		later(time.Second)
		id := w.mailTo(b, person(2))
		for name, err := range map[string]error{
			"cancel": w.e.CancelEmail(t.Context(), w.key, id), "delete": w.e.DeleteEmail(t.Context(), w.key, id),
			"move": w.e.RescheduleEmail(t.Context(), w.key, id, "in 1 hour"),
		} {
			wantCode(t, err, app.CodeValidation)
			if err == nil || !strings.Contains(err.Error(), b.ID) {
				t.Errorf("%s: %v", name, err)
			}
		}
		sending := *w.key
		sending.Permission = app.SendingAccess
		wantCode(t, w.e.CancelEmail(t.Context(), &sending, id), app.CodeNotFound)
		other := w.addTeam("Other", "other.example")
		wantCode(t, w.e.DeleteEmail(t.Context(), other, id), app.CodeNotFound)
		_, err := w.e.GetEmail(t.Context(), other, id)
		wantCode(t, err, app.CodeNotFound)
		_, _, err = w.e.ListEvents(t.Context(), other, id, app.Page{Limit: 5})
		wantCode(t, err, app.CodeNotFound)
		_, err = w.e.GetCaptured(t.Context(), other, id)
		wantCode(t, err, app.CodeNotFound)
		_, _, err = w.e.ListBroadcastRecipients(t.Context(), other, b.ID, app.RecipientQuery{}, app.Page{Limit: 5})
		wantCode(t, err, app.CodeNotFound)
		_, _, err = w.e.ListClickedLinks(t.Context(), other, b.ID, app.Page{Limit: 5})
		wantCode(t, err, app.CodeNotFound)
		_, err = w.e.GetEmail(t.Context(), w.key, app.MailID(b.Mails, 4))
		wantCode(t, err, app.CodeNotFound)
		if w.email(id).LastEvent != app.Queued {
			t.Error("it does not wait any more")
		}
	})
}

func TestWhoWasNotBegunIsCanceledInEveryList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1, Rate: 1}, nil))
		w.people(50)
		b := w.newsletter("<p>x</p>", nil)
		later(5 * time.Second)
		_, remaining, err := w.e.CancelBroadcast(t.Context(), w.key, b.ID)
		must(t, err)
		canceled := time.Now()
		later(time.Hour)
		if n := len(strings.Fields(w.recipients(b, "canceled"))); n != int(remaining) || n < 40 {
			t.Errorf("%d are canceled, %d by the cancel", n, remaining)
		}
		if got := w.recipients(b, "queued"); got != "" {
			t.Errorf("%s still wait", got)
		}
		id := w.mailTo(b, person(49))
		w.wantLast(id, app.Canceled)
		if ev := w.eventOf(id, app.EventType(app.Canceled)); !ev.CreatedAt.Equal(canceled.Truncate(time.Millisecond)) || ev.Recipient != "" {
			t.Errorf("event %+v", ev)
		}
		page, _, err := w.e.ListEvents(t.Context(), w.key, id, app.Page{Limit: 1, After: w.eventOf(id, app.EventType(app.Canceled)).ID})
		if len(page) != 1 || page[0].ID != id || err != nil {
			t.Errorf("behind it: %+v, %v", page, err)
		}
	})
}

func TestListsOfRecipientsShowWhatTheirTypeIsAbout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(func(m *app.Outgoing, _ int) answer {
			if m.Recipients[0] == person(3) {
				return byName(map[string]int{person(3): 550})
			}
			return accept
		})
		w := tracked(t, relay)
		w.people(5)
		b := w.newsletter(links(2), nil)
		later(time.Minute)
		one, two := w.mailTo(b, person(1)), w.mailTo(b, person(2))
		for range 3 {
			w.look(one, chrome)
			w.click(one, 1, 2, chrome)
			later(2 * time.Minute)
		}
		w.click(one, 0, 2, chrome)
		later(2 * time.Minute)
		w.click(two, 1, 2, chrome)
		w.look(two, imageProxy)
		later(2 * time.Minute)
		_, err := w.e.DeleteContact(t.Context(), w.key, person(2), false)
		must(t, err)
		row := func(kind string, i int) app.RecipientRow {
			rows, _, err := w.e.ListBroadcastRecipients(t.Context(), w.key, b.ID, app.RecipientQuery{Type: kind, Email: person(i)}, app.Page{Limit: 2})
			must(t, err)
			if len(rows) != 1 {
				t.Fatalf("%s: %+v", kind, rows)
			}
			return rows[0]
		}
		if got := w.recipients(b, "opened"); got != person(1) {
			t.Errorf("opened by %s", got)
		}
		if got := w.recipients(b, "clicked"); got != person(2)+" "+person(1) {
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
		if c := w.broadcast(b.ID).Counts; c.Opened != 1 || c.Clicked != 2 || c.Sent != 4 || c.Bounced != 1 {
			t.Errorf("counts %+v", c)
		}
		list, more, err := w.e.ListClickedLinks(t.Context(), w.key, b.ID, app.Page{Limit: 1})
		if err != nil || !more || len(list) != 1 || list[0].URL != "https://a.test/1" || list[0].Clicks != 4 || list[0].People != 2 {
			t.Errorf("the first link: %+v, %v, %v", list, more, err)
		}
		list, more, err = w.e.ListClickedLinks(t.Context(), w.key, b.ID, app.Page{Limit: 1, After: list[0].ID})
		if err != nil || more || len(list) != 1 || list[0].URL != "https://a.test/0" || list[0].Clicks != 1 {
			t.Errorf("the second link: %+v, %v, %v", list, more, err)
		}
		_, _, err = w.e.ListClickedLinks(t.Context(), w.key, b.ID, app.Page{Limit: 1, Before: app.NewID()})
		wantCode(t, err, app.CodeValidation)
		w.wantFetches(two, "clicked1 prefetched", app.Clicked)
	})
}

func TestATimelineOfABroadcastKeepsAHundredFetchesAndCountsAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		w.people(1)
		b := w.newsletter(links(1), nil)
		later(time.Minute)
		id := w.mailTo(b, person(0))
		for range 120 {
			w.click(id, 0, 1, chrome)
			later(2 * time.Minute)
		}
		events := 0
		w.read(func(r *db.Reader) error {
			list, err := r.Events(id)
			for _, ev := range list {
				if ev.Type == app.EventType(app.Clicked) {
					events++
				}
			}
			return err
		})
		list, _, err := w.e.ListClickedLinks(t.Context(), w.key, b.ID, app.Page{Limit: 1})
		if err != nil || events != tracking.MaxFetchEvents || list[0].Clicks != 120 || list[0].People != 1 || w.broadcast(b.ID).Counts.Clicked != 1 {
			t.Errorf("%d events, links %+v, %v", events, list, err)
		}
	})
}

func TestMailOfABroadcastInDoubtThatIsOpenedIsNotSentAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(always(lost))
		w := tracked(t, relay)
		w.people(2)
		b := w.newsletter(links(1), nil)
		later(15 * time.Second)
		relay.follow(nil)
		if list := w.doubts(); len(list) != 2 || list[0].BroadcastID != b.ID || list[0].MessageID != list[0].EmailID+"@"+testDomain || len(list[0].Recipients) != 1 {
			t.Fatalf("doubts %+v", list)
		}
		id := w.mailTo(b, person(1))
		w.click(id, 0, 1, chrome)
		later(time.Second)
		if now := w.broadcast(b.ID); now.Open != 1 || now.Counts.Sent != 1 {
			t.Errorf("a moment later it is %+v", now)
		}
		later(10 * time.Minute)
		if n := len(relay.seen(id)); n != 1 {
			t.Errorf("sent %d times", n)
		}
		end := w.broadcast(b.ID)
		if end.Status != app.SentBroadcast || end.Counts.Sent != 2 || end.Counts.Clicked != 1 || end.Open != 0 {
			t.Errorf("it ended as %+v", end)
		}
		var settled []string
		for _, d := range w.doubts() {
			settled = append(settled, d.Settled)
		}
		slices.Sort(settled)
		if got := strings.Join(settled, "; "); got != "sent again with the same Message-ID; the recipient has it: it was clicked" {
			t.Errorf("doubts settled by %s", got)
		}
	})
}

func TestUnitsOfBroadcastsThatAServerLeftAreDoubts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := newRelay(always(dotThen(hang)))
		w := serving(t, relay)
		w.people(2)
		b := w.newsletter("<p>x</p>", nil)
		later(5 * time.Second)
		next := w.crash(newRelay(nil))
		list, err := next.e.ListDoubts(t.Context(), true)
		must(t, err)
		if len(list) != 2 || list[0].BroadcastID != b.ID || !strings.HasSuffix(list[0].MessageID, "@"+testDomain) || list[0].Recipients[0] != person(0) {
			t.Errorf("doubts %+v", list)
		}
		next.start()
		later(10 * time.Minute)
		if list := next.doubts(); len(list) != 2 || list[1].Settled != "sent again with the same Message-ID" {
			t.Errorf("doubts %+v", list)
		}
		close(hang)
		later(time.Second)
	})
}

// pageOf is the token of the unsubscribe page that an email of a broadcast leads to.
func (w *world) pageOf(id string) string {
	w.t.Helper()
	for _, h := range w.email(id).Headers {
		if _, token, ok := strings.Cut(h.Value, "/unsubscribe/"); ok {
			return strings.TrimSuffix(token, ">")
		}
	}
	w.t.Fatalf("email %s leads to no page", id)
	return ""
}

func TestUnsubscribesThroughABroadcastAreCountedOnce(t *testing.T) {
	for _, topical := range []bool{false, true} {
		t.Run(fmt.Sprint(topical), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := tracked(t)
				w.people(4)
				news := w.topic("News", app.OptIn, app.PublicTopic)
				b := w.newsletter("<p>x</p>", func(b *app.Broadcast) {
					if topical {
						b.TopicID = news.ID
					}
				})
				later(time.Minute)
				id := w.mailTo(b, person(1))
				token := w.pageOf(id)
				view, err := w.e.UnsubscribePage(t.Context(), token)
				must(t, err)
				if view.Unsubscribed || w.broadcast(b.ID).Counts.Unsubscribed != 0 || w.recipients(b, "unsubscribed") != "" {
					t.Errorf("looking changed something: %+v", view)
				}
				for range 2 {
					view, err = w.e.Unsubscribe(t.Context(), token)
					must(t, err)
				}
				if c := w.broadcast(b.ID).Counts; c.Unsubscribed != 1 || w.recipients(b, "unsubscribed") != person(1) {
					t.Errorf("counts %+v", c)
				}
				if ev := w.eventOf(id, app.EventUnsubscribed); ev.Recipient != person(1) || !strings.Contains(ev.Detail.Message, map[bool]string{false: "all mailings", true: "topic"}[topical]) {
					t.Errorf("event %+v", ev)
				}
				w.wantLast(id, app.Sent)
				s, err := w.e.GetSuppression(t.Context(), w.key, person(1))
				switch {
				case topical && (err == nil || view.Topic.Subscription != app.OptOut):
					t.Errorf("left the topic: %+v, %+v", view, s)
				case !topical && (err != nil || s.SourceID != id || !view.Unsubscribed):
					t.Errorf("left everything: %+v, %+v, %v", view, s, err)
				}
				// From the topic's page to the way out of everything: still one person.
				if topical {
					_, err = w.e.Unsubscribe(t.Context(), view.UnsubscribeAll)
					must(t, err)
					if s, err := w.e.GetSuppression(t.Context(), w.key, person(1)); err != nil || s.SourceID != id || w.broadcast(b.ID).Counts.Unsubscribed != 1 {
						t.Errorf("%+v, %v", s, err)
					}
					prefs, err := w.e.UnsubscribePage(t.Context(), w.pageOf(w.mailTo(b, person(2))))
					must(t, err)
					for _, choice := range []app.Subscription{app.OptIn, app.OptOut, app.OptOut} {
						_, err = w.e.SavePreferences(t.Context(), prefs.Preferences, map[string]app.Subscription{news.ID: choice})
						must(t, err)
					}
					if got := w.recipients(b, "unsubscribed"); got != person(2)+" "+person(1) {
						t.Errorf("unsubscribed: %s", got)
					}
				}
			})
		})
	}
}

func TestThePageOfABroadcastOutlivesItsContact(t *testing.T) {
	for _, erase := range []bool{false, true} {
		t.Run(fmt.Sprint(erase), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := tracked(t)
				w.people(2)
				b := w.newsletter("<p>x</p>", nil)
				later(time.Minute)
				id := w.mailTo(b, person(1))
				token := w.pageOf(id)
				_, err := w.e.DeleteContact(t.Context(), w.key, person(1), erase)
				must(t, err)
				view, err := w.e.UnsubscribePage(t.Context(), token)
				if err != nil || view.Unsubscribed {
					t.Fatalf("%+v, %v", view, err)
				}
				view, err = w.e.Unsubscribe(t.Context(), token)
				if err != nil || !view.Unsubscribed {
					t.Fatalf("%+v, %v", view, err)
				}
				w.read(func(r *db.Reader) error {
					s, err := r.SuppressionByAddress(w.key.TeamID, w.hash(person(1)))
					if s.SourceID != id || (s.Email == "") != erase {
						t.Errorf("suppression %+v", s)
					}
					return err
				})
				if c := w.broadcast(b.ID).Counts; c.Unsubscribed != 1 {
					t.Errorf("counts %+v", c)
				}
				w.eventOf(id, app.EventUnsubscribed)
			})
		})
	}
}

func TestMailOfABroadcastIsCaptured(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(always(captured)))
		w.people(1)
		b := w.newsletter("<p>x</p>", nil)
		later(time.Minute)
		got, err := w.e.GetCaptured(t.Context(), w.key, w.mailTo(b, person(0)))
		if err != nil || len(got) == 0 {
			t.Errorf("captured %q, %v", got, err)
		}
	})
}
