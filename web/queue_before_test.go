package web

import (
	"testing"

	"mailer/app"
)

// TestQueueBefore: as all lists do, and not together with after.
func TestQueueBefore(t *testing.T) {
	r := newTestAPI(t, captured())
	var ids []string
	for range 4 {
		ids = append(ids, r.send(r.full, `{"from":"a@example.com","to":"b@example.org","subject":"s","text":"t","scheduled_at":"in 1 hour"}`))
	}
	type page struct {
		HasMore bool `json:"has_more"`
		Data    []struct{ ID string }
	}
	got := decoded[page](t, r.as(r.full, "GET", "/queue?limit=2&before="+ids[3], ""))
	if !got.HasMore || len(got.Data) != 2 || got.Data[0].ID != ids[1] || got.Data[1].ID != ids[2] {
		t.Errorf("%+v of %q", got, ids)
	}
	wantError(t, r.as(r.full, "GET", "/queue?before="+ids[3]+"&after="+ids[0], ""), 422, app.CodeValidation, "before")
	wantError(t, r.as(r.full, "GET", "/queue?before="+app.NewID(), ""), 422, app.CodeValidation, "`before` must be an id that this list returned")
}
