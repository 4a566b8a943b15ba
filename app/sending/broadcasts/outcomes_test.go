package broadcasts_test

import (
	"slices"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/testing/testserver"
)

func TestSegmentOfCanceledRecipients(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		const n = 200
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 4, Rate: 20}, func(m *app.Outgoing, _ int) testserver.Answer {
			if m.Recipients[0] == testserver.SubscriberAddress(3) { // it was started, and waits for another attempt
				return testserver.ReplyWith(app.StageRcpt, 451, "4.2.1 mailbox busy")
			}
			return testserver.Accept
		})
		w := testserver.Start(t, relay)
		w.AddSubscribers(n)
		b := w.AddDraft()
		w.Queue(b)
		testserver.Sleep(3010 * time.Millisecond)
		_, _, err := w.Services.Broadcasts.CancelBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		testserver.Sleep(time.Second)
		segment, err := w.Services.Broadcasts.Reviews.SegmentOfOutcome(t.Context(), w.Key, b.ID, "The rest", "canceled", "")
		testserver.Must(t, err)
		got := testserver.Received(relay)
		rest := w.SQL("SELECT c.email FROM members AS m JOIN contacts AS c ON c.id = m.contact_id WHERE m.segment_id = ?", segment.ID)
		if len(got) == 0 || len(got)+len(rest) != n || segment.Members != len(rest) || !slices.Contains(rest, testserver.SubscriberAddress(3)) {
			t.Errorf("%d got it, %d (counted %d) of %d are in the segment", len(got), len(rest), segment.Members, n)
		}
		for _, address := range rest {
			if got[address] != 0 {
				t.Errorf("%s got it and is in the segment", address)
			}
		}
	})
}

func TestSegmentOfUnexpandedRecipients(t *testing.T) {
	w := testserver.New(t)
	w.AddSubscribers(5)
	few := w.AddSegment(testserver.FilterOn("email", app.OpNotEquals, testserver.SubscriberAddress(2)))
	b := sendBroadcast(w, broadcastTo(few.ID), "")
	_, _, err := w.Services.Broadcasts.CancelBroadcast(t.Context(), w.Key, b.ID)
	testserver.Must(t, err)
	w.CreateContact(w.Key.TeamID, "late@example.net")
	segment, err := w.Services.Broadcasts.Reviews.SegmentOfOutcome(t.Context(), w.Key, b.ID, "The rest", "canceled", "")
	testserver.Must(t, err)
	if segment.Members != 4 {
		t.Errorf("%d people did not get it, want 4", segment.Members)
	}
}
