package web

import (
	"context"
	"fmt"
	"testing"

	"mailer/app"
)

// ListContacts answers a contact whose address tells what was asked for; the
// scenarios run on a real server.
func (f *fakeService) ListContacts(_ context.Context, _ *app.Key, segmentID string, include app.Include, page app.Page) ([]app.Contact, bool, error) {
	f.page = page
	asked := fmt.Sprint(segmentID, " ", include.Properties, " ", include.Topics)
	return []app.Contact{{ID: emailID, Email: asked, CreatedAt: testTime}}, true, f.err
}

func TestTheContactsOfASegmentHaveThreeAddresses(t *testing.T) {
	b := newBench(t)
	for _, target := range []string{"/contacts?segment_id=" + emailID, "/segments/" + emailID + "/contacts?", "/audiences/" + emailID + "/contacts?audience_id=x"} {
		wantJSON(t, b.auth("GET", target+"&limit=7&after="+unknownID+"&include=topics,properties", ""), `{"object":"list","has_more":true,"data":[{"id":"`+emailID+`",
			"email":"`+emailID+` true true","first_name":null,"last_name":null,"created_at":"2026-08-17T12:00:00.000Z","unsubscribed":false,"properties":{},"topics":[]}]}`)
		if want := (app.Page{Limit: 7, After: unknownID}); b.service.page != want {
			t.Errorf("%s: page %+v", target, b.service.page)
		}
	}
	b.service.err = app.NotFound("segment")
	wantError(t, b.auth("GET", "/segments/"+emailID+"/contacts", ""), 404, app.CodeNotFound)
}
