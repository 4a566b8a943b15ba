package mail_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// pages reads a list with a limit and returns the ids of each page.
func pages(t *testing.T, limit int, read func(app.Page) ([]string, bool, error), back bool, start string) (all [][]string) {
	t.Helper()
	page := app.Page{Limit: limit}
	for {
		if back {
			page.Before = start
		} else {
			page.After = start
		}
		ids, more, err := read(page)
		testserver.Must(t, err)
		all = append(all, ids)
		if !more || len(all) > 20 {
			return all
		}
		start = ids[len(ids)-1]
		if back {
			start = ids[0]
		}
	}
}

// wantPages checks that reading a list forwards and backwards returns all of it.
func wantPages(t *testing.T, read func(app.Page) ([]string, bool, error)) {
	t.Helper()
	all, more, err := read(app.Page{Limit: 100})
	testserver.Must(t, err)
	if more || len(all) < 5 {
		t.Fatalf("%d rows, more %v", len(all), more)
	}
	if !slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("not newest first: %q", all)
	}
	for _, limit := range []int{1, 2, 3, len(all) - 1, len(all)} {
		if got := slices.Concat(pages(t, limit, read, false, "")...); !slices.Equal(got, all) {
			t.Errorf("after, %d a page: %q, want %q", limit, got, all)
		}
		backwards := pages(t, limit, read, true, all[len(all)-1])
		slices.Reverse(backwards)
		if got := slices.Concat(backwards...); !slices.Equal(got, all[:len(all)-1]) {
			t.Errorf("before, %d a page: %q, want %q", limit, got, all[:len(all)-1])
		}
	}
	for _, page := range []app.Page{{Limit: 5, After: app.NewID()}, {Limit: 5, Before: app.NewID()}} {
		_, _, err := read(page)
		testserver.WantCode(t, err, app.CodeValidation)
	}
}

func TestTimelinePages(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.RelayTrouble(app.StageConnect, "no route"), testserver.ReplyWith(app.StageMail, 451, "later"), testserver.ReplyWith(app.StageMail, 451, "later"), testserver.ReplyWith(app.StageMail, 451, "later"), testserver.LoseReply))
		w := testserver.Start(t, relay)
		id := w.Send("a@example.net", "b@example.net")
		time.Sleep(time.Hour)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		var kinds []app.EventType
		for _, ev := range w.Events(id) {
			kinds = append(kinds, ev.Type)
		}
		want := []app.EventType{"queued", "relay_trouble", "deferred", "deferred", "deferred", "relay_trouble", "in_doubt", "sent", "sent"}
		if !slices.Equal(kinds, want) {
			t.Errorf("timeline %q, want %q", kinds, want)
		}
		wantPages(t, func(page app.Page) (ids []string, more bool, err error) {
			events, more, err := w.Services.Mail.ListEvents(t.Context(), w.Key, id, page)
			for _, ev := range events {
				ids = append(ids, ev.ID)
			}
			return ids, more, err
		})
	})
}

func TestEmailAndAttachmentPages(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	in := testserver.Message("bob@example.net")
	for i := range 7 {
		in.Attachments = append(in.Attachments, app.Attachment{Filename: fmt.Sprint(i, ".txt"), Content: []byte{}})
	}
	var id string
	for range 7 {
		var err error
		id, err = w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
	}
	wantPages(t, func(page app.Page) (ids []string, more bool, err error) {
		emails, more, err := w.Services.Mail.ListEmails(t.Context(), w.Key, page)
		for _, e := range emails {
			ids = append(ids, e.ID)
		}
		return ids, more, err
	})
	wantPages(t, func(page app.Page) (ids []string, more bool, err error) {
		rows, more, err := w.Services.Mail.ListAttachments(t.Context(), w.Key, id, page)
		for _, a := range rows {
			ids = append(ids, a.ID)
			if a.Content != nil {
				t.Error("a list carries content")
			}
		}
		return ids, more, err
	})
	rows, _, err := w.Services.Mail.ListAttachments(t.Context(), w.Key, id, app.Page{Limit: 1})
	testserver.Must(t, err)
	a, err := w.Services.Mail.GetAttachment(t.Context(), w.Key, id, rows[0].ID)
	testserver.Must(t, err)
	if a.Filename != "6.txt" || a.Content != nil {
		t.Errorf("attachment %+v", a)
	}
	_, err = w.Services.Mail.GetAttachment(t.Context(), w.Key, id, app.NewID())
	testserver.WantCode(t, err, app.CodeNotFound)
}

func TestTestRecipientStates(t *testing.T) {
	testserver.BothEngines(t)
	for verdict, want := range map[app.Outcome]app.LastEvent{
		app.SimulatedSuccess: app.Delivered, app.SimulatedBounce: app.Bounced, app.SimulatedSpam: app.Complained,
		app.SimulatedDelay: app.DeliveryDelayed, app.SimulatedBlock: app.Suppressed,
	} {
		t.Run(string(want), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				relay := testserver.NewRelay(testserver.Always(testserver.Simulate(verdict)))
				w := testserver.Start(t, relay)
				id := w.Send("x@simulator.mailer.test")
				synctest.Wait()
				w.WantLastEvent(id, want)
				if w.Unit(id) != nil {
					t.Error("the unit is still there")
				}
				w.OnlyEvent(id, app.EventType(want))
			})
		})
	}
}

func TestCapturedMessageIsStored(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.Capture)))
		id := w.Send("bob@example.net")
		synctest.Wait()
		got, err := w.Services.Mail.GetCaptured(t.Context(), w.Key, id)
		testserver.Must(t, err)
		if string(got) != "the message" {
			t.Errorf("captured %q", got)
		}
	})
}
