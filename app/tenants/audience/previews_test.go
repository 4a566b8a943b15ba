package audience_test

import (
	"fmt"
	"testing"

	"mailer/app"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
)

// A filter or search without matches scans every contact. While all scan slots are taken, previews
// return a partial answer and mark it as such.
func TestSlowPreviewIsPartial(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t)
		w.AddContacts(audience.QuickScanRows + 5_000)
		ctx := t.Context()
		previews := w.Services.Audience.Previews
		look := func() string {
			t.Helper()
			p, err := previews.PreviewSegment(ctx, w.Key, testserver.FilterOn("email", app.OpContains, "@"), "")
			testserver.Must(t, err)
			found, err := previews.SearchContacts(ctx, w.Key, audience.ContactQuery{Search: "c1@example"}, app.Include{}, app.Page{Limit: 10})
			testserver.Must(t, err)
			return fmt.Sprint(p.Count, p.Exact, len(p.Sample), len(found.Contacts), found.More, found.SearchedTo != "")
		}
		if got, want := look(), fmt.Sprint(audience.QuickScanRows+5_000, true, 10, 1, false, false); got != want {
			t.Errorf("with places free: %s, want %s", got, want)
		}
		testserver.Must(t, w.Services.Audience.Scans().Acquire(ctx, "another team", audience.MaxScans))
		if got, want := look(), fmt.Sprint(audience.QuickScanRows, false, 10, 0, true, true); got != want {
			t.Errorf("with no place free: %s, want %s", got, want)
		}
		found, err := previews.SearchContacts(ctx, w.Key, audience.ContactQuery{Search: "c1@example"}, app.Include{}, app.Page{Limit: 10})
		testserver.Must(t, err)
		found, err = previews.SearchContacts(ctx, w.Key, audience.ContactQuery{Search: "c1@example"}, app.Include{}, app.Page{Limit: 10, After: found.SearchedTo})
		testserver.Must(t, err)
		if len(found.Contacts) != 1 || found.More {
			t.Errorf("the rest of the search: %+v", found)
		}
	})
}
