package broadcasts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// While a draft is edited, one version a minute is stored: the newest fifty of each draft, until
// they expire or the draft is deleted.
func TestDraftVersionsAreBounded(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t)
		ctx := t.Context()
		draft := func(key *app.Key) string {
			t.Helper()
			v, err := w.Services.Broadcasts.CreateBroadcast(ctx, key, app.BroadcastInput{From: "a@example.com", Subject: "s", HTML: "<p>to ann@example.net</p>"}, mail.SendOptions{})
			testserver.Must(t, err)
			return v.ID
		}
		edit := func(key *app.Key, id, subject string) {
			t.Helper()
			_, err := w.Services.Broadcasts.UpdateBroadcast(ctx, key, id, app.BroadcastPatch{Subject: subject})
			testserver.Must(t, err)
		}
		own, other := draft(w.Key), w.AddTeam("Other", "example.org")
		theirs := draft(other)
		edit(other, theirs, "x")
		for i := range 60 {
			edit(w.Key, own, fmt.Sprint("a", i))
			edit(w.Key, own, fmt.Sprint("b", i)) // an intermediate edit
			time.Sleep(time.Minute)
		}
		rows, more, err := w.Services.Reviews.ListVersions(ctx, w.Key, own, app.Page{Limit: 100})
		testserver.Must(t, err)
		if len(rows) != 50 || more || rows[0].N != 60 || rows[49].N != 11 {
			t.Errorf("%d versions, the newest %+v", len(rows), rows[0])
		}
		if got := w.SQL("SELECT content FROM versions WHERE n = 60")[0]; !strings.Contains(got, `"subject":"b58"`) {
			t.Errorf("the newest version says %s", got)
		}
		testserver.Must(t, w.Services.Broadcasts.DeleteBroadcast(ctx, w.Key, own))
		if n := w.Count("versions"); n != "1" {
			t.Errorf("%s versions where one draft of two was deleted", n)
		}
		time.Sleep(base.VersionRetention)
		testserver.Must(t, w.Services.Jobs.Purge(ctx))
		if n := w.Count("versions"); n != "0" {
			t.Errorf("%s versions are older than they are kept", n)
		}
	})
}
