package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
)

// pages walks a list with a limit and gives the ids of each page.
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
		must(t, err)
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

// wantPages checks that walking a list both ways gives all of it.
func wantPages(t *testing.T, read func(app.Page) ([]string, bool, error)) {
	t.Helper()
	all, more, err := read(app.Page{Limit: 100})
	must(t, err)
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
		wantCode(t, err, app.CodeValidation)
	}
}

func TestATimelineIsPagedBothWays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(firstly(trouble(app.StageConnect, "no route"), says(app.StageMail, 451, "later"), says(app.StageMail, 451, "later"), says(app.StageMail, 451, "later"), lost))
		w := serving(t, relay)
		id := w.send("a@example.net", "b@example.net")
		time.Sleep(time.Hour)
		synctest.Wait()
		w.wantLast(id, app.Sent)
		var kinds []app.EventType
		for _, ev := range w.events(id) {
			kinds = append(kinds, ev.Type)
		}
		want := []app.EventType{"queued", "relay_trouble", "deferred", "deferred", "deferred", "relay_trouble", "in_doubt", "sent", "sent"}
		if !slices.Equal(kinds, want) {
			t.Errorf("timeline %q, want %q", kinds, want)
		}
		wantPages(t, func(page app.Page) (ids []string, more bool, err error) {
			events, more, err := w.e.ListEvents(t.Context(), w.key, id, page)
			for _, ev := range events {
				ids = append(ids, ev.ID)
			}
			return ids, more, err
		})
	})
}

func TestListsOfEmailsAndAttachmentsArePagedBothWays(t *testing.T) {
	w := idle(t, newRelay(nil))
	in := letter("bob@example.net")
	for i := range 7 {
		in.Attachments = append(in.Attachments, app.Attachment{Filename: fmt.Sprint(i, ".txt"), Content: []byte{}})
	}
	var id string
	for range 7 {
		var err error
		id, err = w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
		must(t, err)
	}
	wantPages(t, func(page app.Page) (ids []string, more bool, err error) {
		emails, more, err := w.e.ListEmails(t.Context(), w.key, page)
		for _, e := range emails {
			ids = append(ids, e.ID)
		}
		return ids, more, err
	})
	wantPages(t, func(page app.Page) (ids []string, more bool, err error) {
		rows, more, err := w.e.ListAttachments(t.Context(), w.key, id, page)
		for _, a := range rows {
			ids = append(ids, a.ID)
			if a.Content != nil {
				t.Error("a list carries content")
			}
		}
		return ids, more, err
	})
	rows, _, err := w.e.ListAttachments(t.Context(), w.key, id, app.Page{Limit: 1})
	must(t, err)
	a, err := w.e.GetAttachment(t.Context(), w.key, id, rows[0].ID)
	must(t, err)
	if a.Filename != "6.txt" || a.Content != nil {
		t.Errorf("attachment %+v", a)
	}
	_, err = w.e.GetAttachment(t.Context(), w.key, id, app.NewID())
	wantCode(t, err, app.CodeNotFound)
}

func TestTestRecipientsEndInTheirState(t *testing.T) {
	for verdict, want := range map[app.Verdict]app.LastEvent{
		app.SimulatedSuccess: app.Delivered, app.SimulatedBounce: app.Bounced, app.SimulatedSpam: app.Complained,
		app.SimulatedDelay: app.DeliveryDelayed, app.SimulatedBlock: app.Suppressed,
	} {
		t.Run(string(want), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				relay := newRelay(always(simulatedAs(verdict)))
				w := serving(t, relay)
				id := w.send("x@simulator.mailer.test")
				synctest.Wait()
				w.wantLast(id, want)
				if w.unit(id) != nil {
					t.Error("the unit is still there")
				}
				w.eventOf(id, app.EventType(want))
			})
		})
	}
}

func TestACapturedMessageIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(always(captured)))
		id := w.send("bob@example.net")
		synctest.Wait()
		got, err := w.e.GetCaptured(t.Context(), w.key, id)
		must(t, err)
		if string(got) != "the message" {
			t.Errorf("captured %q", got)
		}
	})
}
