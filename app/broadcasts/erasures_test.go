package broadcasts_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/world"
	"mailer/db"
)

// TestWhoIsErasedWhileABroadcastIsWrittenDownIsNotInIt: the audience was read
// before, all at once.
func TestWhoIsErasedWhileABroadcastIsWrittenDownIsNotInIt(t *testing.T) {
	world.BothEngines(t)
	world.Bubble(t, func(t *testing.T) {
		relay := world.NewRelay(nil)
		w := world.Serving(t, relay)
		w.People(3)
		w.Person(w.Key.TeamID, world.Victim)
		_, err := w.Server.Audience.UpdateContact(t.Context(), w.Key, world.Person(2), app.ContactPatch{FirstName: app.Change[string]{Set: true, Value: "not " + world.Victim}})
		world.Must(t, err)
		b := w.Newsletter("<p>Hi {{{FIRST_NAME}}}</p>", func(b *app.Broadcast) {
			if !w.Server.Broadcasts.Broadcaster().Claim(b.ID) {
				t.Fatal("somebody else writes it down")
			}
		})
		content, err := w.Server.Mail.BroadcastMail(t.Context(), b.TeamID, b.ID)
		world.Must(t, err)
		var contacts []app.Contact
		w.Read(func(r *db.Reader) (err error) {
			contacts, err = r.AudienceContacts(t.Context(), &content.Audience, "", 100)
			return err
		})
		if len(contacts) != 4 {
			t.Fatalf("%d contacts", len(contacts))
		}
		w.Erase(world.Victim)
		if n := w.OpenErasures(); n != 1 {
			t.Errorf("%d erasures are open", n)
		}
		for _, part := range [][]app.Contact{contacts[:3], contacts[3:]} {
			world.Must(t, w.Server.Broadcasts.AppendRecipients(t.Context(), b, content, part))
		}
		w.Server.Broadcasts.Broadcaster().Done(b.ID)
		world.Later(time.Hour)
		if got := w.Broadcast(b.ID); got.Status != app.SentBroadcast || got.Counts.Sent != 3 || got.Audience != 3 {
			t.Errorf("the broadcast ended as %+v", got)
		}
		if got := world.Received(relay); len(got) != 3 || got[world.Victim] != 0 {
			t.Errorf("it was sent to %v", got)
		}
		w.WantNoTrace(world.Victim)
	})
}
