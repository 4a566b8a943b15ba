package broadcasts_test

import (
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

const design = `{"type":"doc","content":[{"type":"paragraph","content":[{"type":"text","text":"to ann@example.net"}]}]}`

// A design belongs to its HTML: it is restored with a version, copied with a duplicate, and removed
// by HTML without a design.
func TestBroadcastDesign(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t)
		ctx, all := t.Context(), w.Services
		v, err := all.Broadcasts.CreateBroadcast(ctx, w.Key, app.BroadcastInput{From: "a@example.com", Subject: "s", HTML: "<p>to ann@example.net</p>", Design: design}, mail.SendOptions{})
		testserver.Must(t, err)
		edit := func(p app.BroadcastPatch) broadcasts.BroadcastView {
			t.Helper()
			v, err := all.Broadcasts.UpdateBroadcast(ctx, w.Key, v.ID, p)
			testserver.Must(t, err)
			return v
		}
		if now := edit(app.BroadcastPatch{Subject: "t", HTML: app.Change[string]{Set: true, Value: "<p>to ann@example.net</p>"}}); now.Design != design {
			t.Errorf("the same HTML left the design %q", now.Design)
		}
		if now := edit(app.BroadcastPatch{HTML: app.Change[string]{Set: true, Value: "<p>by hand</p>"}}); now.Design != "" {
			t.Errorf("other HTML has the design %q", now.Design)
		}
		now, err := all.Reviews.RestoreVersion(ctx, w.Key, v.ID, "1")
		testserver.Must(t, err)
		if now.Design != design {
			t.Errorf("the version brought back the design %q", now.Design)
		}
		made, err := all.Broadcasts.DuplicateBroadcast(ctx, w.Key, v.ID)
		testserver.Must(t, err)
		if made.Design != design {
			t.Errorf("the copy has the design %q", made.Design)
		}
		for _, bad := range []string{"[]", "{", `{"a":"` + strings.Repeat("a", base.MaxDesign) + `"}`} {
			if _, err := all.Broadcasts.UpdateBroadcast(ctx, w.Key, v.ID, app.BroadcastPatch{Design: app.Change[string]{Set: true, Value: bad}}); err == nil {
				t.Errorf("a design of %d bytes was taken: %.20s", len(bad), bad)
			}
		}
	})
}
