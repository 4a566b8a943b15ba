package queue_test

import (
	"slices"
	"testing"

	"mailer/app"
	"mailer/app/sending/queue"
	"mailer/app/testing/testserver"
)

// The rows before a row are the end of the rows that the whole list has before it, for every row
// and filter.
func TestListBefore(t *testing.T) {
	w := testserver.New(t)
	w.AddSubscribers(3)
	w.Queue(w.AddDraft())
	w.Queue(w.AddDraft())
	var sent []string
	for _, to := range []string{"bob@example.net", "eve@other.example", "bob@example.net", "bob@example.net", "eve@other.example"} {
		sent = append(sent, w.Send(to))
	}
	id := func(it queue.Item) string { return it.ID }
	for name, f := range map[string]queue.Filter{"all": {}, "to a domain": {ToDomain: "example.net"}, "by ids": {IDs: sent[1:4]}} {
		whole, _, err := w.Services.Queue.List(t.Context(), f, "", 100)
		testserver.Must(t, err)
		if len(whole) < 3 {
			t.Fatalf("%s: %d rows", name, len(whole))
		}
		for at, row := range whole {
			for _, limit := range []int{1, 2, 100} {
				got, more, err := w.Services.Queue.ListBefore(t.Context(), f, row.ID, limit)
				testserver.Must(t, err)
				from := max(0, at-limit)
				want := slices.Collect(slices.Values(whole[from:at]))
				if !slices.EqualFunc(got, want, func(a, b queue.Item) bool { return id(a) == id(b) }) || more != (from > 0) {
					t.Errorf("%s: %d before row %d: %d rows, more %t; want rows %d to %d", name, limit, at, len(got), more, from, at)
				}
			}
		}
	}
	_, _, err := w.Services.Queue.ListBefore(t.Context(), queue.Filter{}, app.NewID(), 10)
	testserver.WantCode(t, err, app.CodeValidation)
}
