package audience_test

import (
	"fmt"
	"testing"

	"mailer/app"
	"mailer/app/audience"
	"mailer/app/world"
)

// A filter that finds nothing, or a search, looks at every contact: where the places of
// long scans are taken, previews answer what they could look at, and say so.
func TestAPreviewThatWouldTakeLongAnswersInPart(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Idle(t)
		w.AddContacts(audience.QuickScan + 5_000)
		ctx := t.Context()
		previews := w.Server.Audience.Previews
		look := func() string {
			t.Helper()
			p, err := previews.PreviewSegment(ctx, w.Key, world.Only("email", app.OpContains, "@"), "")
			world.Must(t, err)
			found, err := previews.SearchContacts(ctx, w.Key, audience.ContactQuery{Search: "c1@example"}, app.Include{}, app.Page{Limit: 10})
			world.Must(t, err)
			return fmt.Sprint(p.Count, p.Exact, len(p.Sample), len(found.Contacts), found.More, found.SearchedTo != "")
		}
		if got, want := look(), fmt.Sprint(audience.QuickScan+5_000, true, 10, 1, false, false); got != want {
			t.Errorf("with places free: %s, want %s", got, want)
		}
		world.Must(t, w.Server.Audience.Scans().Acquire(ctx, "another team", audience.MaxScans))
		if got, want := look(), fmt.Sprint(audience.QuickScan, false, 10, 0, true, true); got != want {
			t.Errorf("with no place free: %s, want %s", got, want)
		}
		found, err := previews.SearchContacts(ctx, w.Key, audience.ContactQuery{Search: "c1@example"}, app.Include{}, app.Page{Limit: 10})
		world.Must(t, err)
		found, err = previews.SearchContacts(ctx, w.Key, audience.ContactQuery{Search: "c1@example"}, app.Include{}, app.Page{Limit: 10, After: found.SearchedTo})
		world.Must(t, err)
		if len(found.Contacts) != 1 || found.More {
			t.Errorf("the rest of the search: %+v", found)
		}
	})
}
