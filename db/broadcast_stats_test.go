package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"mailer/app"
)

// queuedStore returns a store with a queued broadcast and n expanded recipients named
// P1@example.net and so on.
func queuedStore(t *testing.T, n int, status app.BroadcastStatus) (*DB, *app.Broadcast) {
	t.Helper()
	d, team := suppressionStore(t, 0)
	text := "x"
	b := &app.Broadcast{ID: app.NewID(), TeamID: team.ID, Name: "n", From: app.Address{Local: "a", Domain: "example.com"}, Subject: "s",
		CreatedAt: time.Now(), BroadcastContent: app.BroadcastContent{Text: &text}}
	err := d.Write(t.Context(), func(tx *Tx) error {
		if err := tx.InsertBroadcast(b); err != nil {
			return err
		}
		b.Status, b.Relay, b.EmailIDPrefix, b.QueuedAt = app.QueuedBroadcast, "r", app.NewEmailIDPrefix(), tx.Now
		if err := tx.SendBroadcast(b); err != nil {
			return err
		}
		rows := make([]app.BroadcastRecipient, n)
		for i := range rows {
			rows[i] = app.BroadcastRecipient{ContactID: fmt.Sprintf("c%08d", i+1), Email: fmt.Sprintf("P%d@example.net", i+1)}
		}
		return tx.AppendRecipients(b, rows)
	})
	if err != nil {
		t.Fatal(err)
	}
	return d, b
}

// change runs fn in a Write and returns the changed broadcast.
func change(t *testing.T, d *DB, b *app.Broadcast, fn func(tx *Tx) error) *app.Broadcast {
	t.Helper()
	var now app.Broadcast
	err := d.Write(t.Context(), func(tx *Tx) (err error) {
		if err := fn(tx); err != nil {
			return err
		}
		now, err = tx.BroadcastHead(b.TeamID, b.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return &now
}

// picks returns the numbers of the recipients that match a query, in list order, read in
// pages of limit in both directions.
func picks(t *testing.T, d *DB, b *app.Broadcast, q app.RecipientQuery, limit, maxRows int) (down []int64) {
	t.Helper()
	if err := q.Validate(); err != nil {
		t.Fatal(err)
	}
	walk := func(page app.Page, next func(ids []string) app.Page) (pages [][]int64) {
		for more := true; more; {
			err := d.Read(t.Context(), func(r *Reader) error {
				rows, m, err := r.ListRecipients(t.Context(), Effort{MaxRows: maxRows}, b, &q, page)
				if err != nil {
					return err
				}
				var ids []string
				var numbers []int64
				for _, row := range rows {
					n, _ := app.BroadcastEmailNumber(row.ID)
					ids, numbers = append(ids, row.ID), append(numbers, n)
				}
				pages, more = append(pages, numbers), m
				if more {
					page = next(ids)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return pages
	}
	down = slices.Concat(walk(app.Page{Limit: limit}, func(ids []string) app.Page { return app.Page{Limit: limit, After: ids[len(ids)-1]} })...)
	if b.EmailIDPrefix == "" || b.Stored == 0 {
		return down
	}
	pages := walk(app.Page{Limit: limit, Before: app.BroadcastEmailID(b.EmailIDPrefix, 1)}, func(ids []string) app.Page { return app.Page{Limit: limit, Before: ids[0]} })
	slices.Reverse(pages)
	up := slices.Concat(pages...)
	if want := slices.DeleteFunc(slices.Clone(down), func(n int64) bool { return n == 1 }); !slices.Equal(up, want) {
		t.Errorf("%+v upwards: %v, want %v", q, up, want)
	}
	return down
}

func TestListRecipientsByType(t *testing.T) {
	t.Parallel()
	const n = 3*scanRange + 17
	d, b := queuedStore(t, n, app.QueuedBroadcast)
	marks := map[app.Seen][]int64{
		app.SeenSent: {1, 2, 5000, n - 1, n}, app.SeenDelivered: {2, 5000}, app.SeenDelayed: {3}, app.SeenOpened: {5000}, app.SeenClicked: {5000, n},
		app.SeenBounced: {n - 1, 9, 8}, app.SeenComplained: {1}, app.SeenUnsubscribed: {2, n}, app.SeenSuppressed: {4096, 4097}, app.SeenFailed: {7},
		app.SeenCanceled: {6},
	}
	b = change(t, d, b, func(tx *Tx) error {
		for bit, numbers := range marks {
			for _, i := range numbers {
				if _, err := tx.MarkRecipient(b.ID, app.BroadcastEmailID(b.EmailIDPrefix, i), bit); err != nil {
					return err
				}
			}
		}
		for i, kind := range map[int64]string{9: "Transient", 8: "Undetermined"} {
			if _, err := tx.Exec(`INSERT INTO events (email_id, id, type, detail, created_at) VALUES (?, ?, 'bounced', ?, 1)`,
				app.BroadcastEmailID(b.EmailIDPrefix, i), app.NewID(), `{"message":"x","bounce_type":"`+kind+`"}`); err != nil {
				return err
			}
		}
		return nil
	})
	types := map[string]app.Seen{"sent": app.SeenSent, "delivered": app.SeenDelivered, "delivery_delayed": app.SeenDelayed, "opened": app.SeenOpened,
		"clicked": app.SeenClicked, "bounced": app.SeenBounced, "complained": app.SeenComplained, "unsubscribed": app.SeenUnsubscribed,
		"suppressed": app.SeenSuppressed, "failed": app.SeenFailed, "canceled": app.SeenCanceled}
	for name, bit := range types {
		want := slices.Sorted(slices.Values(marks[bit]))
		slices.Reverse(want)
		for _, maxRows := range []int{0, 10 * scanRange} {
			for _, limit := range []int{2, 100} {
				if got := picks(t, d, b, app.RecipientQuery{Type: name}, limit, maxRows); !slices.Equal(got, want) {
					t.Errorf("%s: %v, want %v", name, got, want)
				}
			}
		}
	}
	for q, want := range map[app.RecipientQuery][]int64{
		{Email: "p1234@EXAMPLE"}:                 {1234},
		{Email: "P1229"}:                         {12299, 12298, 12297, 12296, 12295, 12294, 12293, 12292, 12291, 12290, 1229},
		{Email: "nobody"}:                        nil,
		{Type: "sent", Email: "p5000@"}:          {5000},
		{Type: "sent", Email: "p4999@"}:          nil,
		{Bounce: "transient"}:                    {9},
		{Bounce: "undetermined"}:                 {8},
		{Type: "bounced", Bounce: "permanent"}:   {n - 1},
		{Type: "queued", Email: "p100@"}:         {100},
		{Type: "queued", Email: "p3@"}:           {3}, // delayed is not final
		{Type: "queued", Email: "p2@"}:           nil,
		{Type: "canceled", Email: "@example.ne"}: {6},
	} {
		if got := picks(t, d, b, q, 7, 0); !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", q, got, want)
		}
	}
	if got := picks(t, d, b, app.RecipientQuery{}, 100, 0); len(got) != n || got[0] != n {
		t.Errorf("%d in all", len(got))
	}
}

func TestUnsentRecipientsOfCanceledBroadcastAreCanceled(t *testing.T) {
	t.Parallel()
	const n, begun = 2*scanRange + 10, scanRange + 3
	d, b := queuedStore(t, n, app.QueuedBroadcast)
	b = change(t, d, b, func(tx *Tx) error {
		if err := tx.BeginRecipients(b, begun, 2); err != nil {
			return err
		}
		if _, err := tx.MarkRecipient(b.ID, app.BroadcastEmailID(b.EmailIDPrefix, 5), app.SeenCanceled); err != nil {
			return err
		}
		return tx.CancelBroadcast(b.TeamID, b.ID)
	})
	for _, maxRows := range []int{0, 10 * scanRange} {
		canceled := picks(t, d, b, app.RecipientQuery{Type: "canceled"}, 100, maxRows)
		if len(canceled) != n-begun+1 || canceled[0] != n || canceled[len(canceled)-1] != 5 || canceled[len(canceled)-2] != begun+1 {
			t.Errorf("%d are canceled, from %d", len(canceled), canceled[0])
		}
		if queued := picks(t, d, b, app.RecipientQuery{Type: "queued"}, 100, maxRows); len(queued) != begun-1 || queued[0] != begun {
			t.Errorf("%d wait, from %d", len(queued), queued[0])
		}
	}
}

func TestListRecipientsRejectsForeignCursor(t *testing.T) {
	t.Parallel()
	d, b := queuedStore(t, 3, app.QueuedBroadcast)
	b = change(t, d, b, func(*Tx) error { return nil })
	draft := &app.Broadcast{ID: app.NewID(), TeamID: b.TeamID}
	err := d.Read(t.Context(), func(r *Reader) error {
		e := Effort{}
		for _, cursor := range []string{app.NewID(), b.ID, app.BroadcastEmailID(app.NewEmailIDPrefix(), 1), app.BroadcastEmailID(b.EmailIDPrefix, 4)} {
			if _, _, err := r.ListRecipients(t.Context(), e, b, &app.RecipientQuery{}, app.Page{Limit: 1, After: cursor}); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v", cursor, err)
			}
		}
		rows, more, err := r.ListRecipients(t.Context(), e, draft, &app.RecipientQuery{}, app.Page{Limit: 1})
		if len(rows) != 0 || more || err != nil {
			t.Errorf("a draft has %v, %v", rows, err)
		}
		// A row that no longer matches is still a valid cursor.
		rows, _, err = r.ListRecipients(t.Context(), e, b, &app.RecipientQuery{Type: "queued"}, app.Page{Limit: 5, After: app.BroadcastEmailID(b.EmailIDPrefix, 3)})
		if len(rows) != 2 || err != nil {
			t.Errorf("after the last one: %v, %v", rows, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, maxRows := range []int{0, 10 * scanRange} {
			if _, _, err := r.ListRecipients(ctx, Effort{MaxRows: maxRows}, b, &app.RecipientQuery{}, app.Page{Limit: 5}); !errors.Is(err, context.Canceled) {
				t.Errorf("without a caller: %v", err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestListRecipientsStopsAtRowLimit(t *testing.T) {
	t.Parallel()
	d, b := queuedStore(t, 3*scanRange, app.QueuedBroadcast)
	b = change(t, d, b, func(*Tx) error { return nil })
	err := d.Read(t.Context(), func(r *Reader) error {
		e := Effort{MaxRows: scanRange}
		if _, _, err := r.ListRecipients(t.Context(), e, b, &app.RecipientQuery{Type: "clicked"}, app.Page{Limit: 5}); !errors.Is(err, ErrLong) {
			t.Errorf("downwards: %v", err)
		}
		if _, _, err := r.ListRecipients(t.Context(), e, b, &app.RecipientQuery{Type: "clicked"}, app.Page{Limit: 5, Before: app.BroadcastEmailID(b.EmailIDPrefix, 1)}); !errors.Is(err, ErrLong) {
			t.Errorf("upwards: %v", err)
		}
		rows, more, err := r.ListRecipients(t.Context(), e, b, &app.RecipientQuery{Type: "queued"}, app.Page{Limit: 5})
		if len(rows) != 5 || !more {
			t.Errorf("the first page: %d, %v, %v", len(rows), more, err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestClicksAreCountedByLinkAndRecipient(t *testing.T) {
	t.Parallel()
	d, b := queuedStore(t, 3, app.QueuedBroadcast)
	urls := []string{"https://a.test/0", "https://a.test/1", "https://a.test/2"}
	id := func(n int64) string { return app.BroadcastEmailID(b.EmailIDPrefix, n) }
	change(t, d, b, func(tx *Tx) error {
		if err := tx.InsertBroadcastLinks(b.ID, urls); err != nil {
			return err
		}
		return tx.InsertBroadcastLinks(b.ID, urls) // after a crash
	})
	for _, c := range []struct {
		who  int64
		link int
	}{{1, 2}, {1, 2}, {1, 0}, {2, 2}, {3, 7}} {
		change(t, d, b, func(tx *Tx) error { return tx.CountClick(b.ID, id(c.who), c.link) })
	}
	err := d.Read(t.Context(), func(r *Reader) error {
		links, err := r.ClickedLinks(b.ID)
		if err != nil || len(links) != 2 || links[0].URL != urls[2] || links[0].Clicks != 3 || links[0].People != 2 || links[1].Clicks != 1 || links[0].ID == links[1].ID {
			t.Errorf("links %+v, %v", links, err)
		}
		for n, want := range map[int64][]app.LinkClicks{1: {{URL: urls[0], Clicks: 1}, {URL: urls[2], Clicks: 2}}, 2: {{URL: urls[2], Clicks: 1}}, 3: nil} {
			got, err := r.ClicksOf(b.ID, id(n))
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%d followed %v, %v", n, got, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCapturesOfBroadcastsAndDeletedEmails(t *testing.T) {
	t.Parallel()
	d, b := queuedStore(t, 2, app.QueuedBroadcast)
	mine := app.BroadcastEmailID(b.EmailIDPrefix, 1)
	for _, text := range []string{"first", "second"} {
		change(t, d, b, func(tx *Tx) error { return tx.InsertCapture(mine, []byte(text)) })
	}
	err := d.Write(t.Context(), func(tx *Tx) error { return tx.InsertCapture(app.NewID(), []byte("x")) })
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("a capture of nothing: %v", err)
	}
	err = d.Read(t.Context(), func(r *Reader) error {
		got, err := r.BroadcastCapture(b.TeamID, mine)
		if string(got) != "second" {
			t.Errorf("captured %q", got)
		}
		if _, err := r.BroadcastCapture(app.NewID(), mine); !errors.Is(err, ErrNotFound) {
			t.Errorf("another team: %v", err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
