package broadcasts_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestWhoIsErasedWhileABroadcastIsWrittenDownIsNotInIt: the audience was read
// before, all at once.
func TestWhoIsErasedWhileABroadcastIsWrittenDownIsNotInIt(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Serving(t, relay)
		w.People(3)
		w.Person(w.Key.TeamID, testserver.Victim)
		_, err := w.Server.Audience.UpdateContact(t.Context(), w.Key, testserver.Person(2), app.ContactPatch{FirstName: app.Change[string]{Set: true, Value: "not " + testserver.Victim}})
		testserver.Must(t, err)
		b := w.Newsletter("<p>Hi {{{FIRST_NAME}}}</p>", func(b *app.Broadcast) {
			if !w.Server.Broadcasts.Broadcaster().Claim(b.ID) {
				t.Fatal("somebody else writes it down")
			}
		})
		content, err := w.Server.Mail.BroadcastMail(t.Context(), b.TeamID, b.ID)
		testserver.Must(t, err)
		var contacts []app.Contact
		w.Read(func(r *db.Reader) (err error) {
			contacts, err = r.AudienceContacts(t.Context(), &content.Audience, "", 100)
			return err
		})
		if len(contacts) != 4 {
			t.Fatalf("%d contacts", len(contacts))
		}
		w.Erase(testserver.Victim)
		if n := w.OpenErasures(); n != 1 {
			t.Errorf("%d erasures are open", n)
		}
		for _, part := range [][]app.Contact{contacts[:3], contacts[3:]} {
			testserver.Must(t, w.Server.Broadcasts.AppendRecipients(t.Context(), b, content, part))
		}
		w.Server.Broadcasts.Broadcaster().Done(b.ID)
		testserver.Later(time.Hour)
		if got := w.Broadcast(b.ID); got.Status != app.SentBroadcast || got.Counts.Sent != 3 || got.Audience != 3 {
			t.Errorf("the broadcast ended as %+v", got)
		}
		if got := testserver.Received(relay); len(got) != 3 || got[testserver.Victim] != 0 {
			t.Errorf("it was sent to %v", got)
		}
		w.WantNoTrace(testserver.Victim)
	})
}
