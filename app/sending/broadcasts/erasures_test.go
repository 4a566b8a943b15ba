package broadcasts_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// The audience was read in one snapshot before the erasure.
func TestErasureDuringExpansion(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(3)
		w.CreateContact(w.Key.TeamID, testserver.ErasedAddress)
		b := w.SendNewsletter("<p>Hi {{{FIRST_NAME}}}</p>", func(b *app.Broadcast) {
			if !w.Services.Broadcasts.Broadcaster().Claim(b.ID) {
				t.Fatal("somebody else writes it down")
			}
		})
		content, err := w.Services.Mail.BroadcastMail(t.Context(), b.TeamID, b.ID)
		testserver.Must(t, err)
		var contacts []app.Contact
		w.Read(func(r *db.Reader) (err error) {
			contacts, err = r.AudienceContacts(t.Context(), &content.Audience, "", 100)
			return err
		})
		if len(contacts) != 4 {
			t.Fatalf("%d contacts", len(contacts))
		}
		w.Erase(testserver.ErasedAddress)
		if n := w.OpenErasures(); n != 1 {
			t.Errorf("%d erasures are open", n)
		}
		for _, part := range [][]app.Contact{contacts[:3], contacts[3:]} {
			testserver.Must(t, w.Services.Broadcasts.AppendRecipients(t.Context(), b, content, part))
		}
		w.Services.Broadcasts.Broadcaster().Done(b.ID)
		testserver.SleepAndSettle(time.Hour)
		if got := w.Broadcast(b.ID); got.Status != app.SentBroadcast || got.Counts.Sent != 3 || got.Audience != 3 {
			t.Errorf("the broadcast ended as %+v", got)
		}
		if got := testserver.Received(relay); len(got) != 3 || got[testserver.ErasedAddress] != 0 {
			t.Errorf("it was sent to %v", got)
		}
		w.WantNoTrace(testserver.ErasedAddress)
	})
}
