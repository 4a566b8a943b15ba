package broadcasts_test

import (
	"slices"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/app/world"
)

func TestThoseWhoDidNotGetACanceledBroadcastBecomeASegment(t *testing.T) {
	world.BothEngines(t)
	world.Bubble(t, func(t *testing.T) {
		const n = 200
		relay := world.NewRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 4, Rate: 20}, func(m *app.Outgoing, _ int) world.Answer {
			if m.Recipients[0] == world.Person(3) { // it was begun, and waits for another try
				return world.Says(app.StageRcpt, 451, "4.2.1 mailbox busy")
			}
			return world.Accept
		})
		w := world.Serving(t, relay)
		w.People(n)
		b := w.Draft()
		w.Queue(b)
		world.Sleep(3010 * time.Millisecond)
		_, _, err := w.Server.Broadcasts.CancelBroadcast(t.Context(), w.Key, b.ID)
		world.Must(t, err)
		world.Sleep(time.Second)
		segment, err := w.Server.Broadcasts.Reviews.SegmentOfOutcome(t.Context(), w.Key, b.ID, "The rest", "canceled", "")
		world.Must(t, err)
		got := world.Received(relay)
		rest := w.Sql("SELECT c.email FROM members AS m JOIN contacts AS c ON c.id = m.contact_id WHERE m.segment_id = ?", segment.ID)
		if len(got) == 0 || len(got)+len(rest) != n || segment.Members != len(rest) || !slices.Contains(rest, world.Person(3)) {
			t.Errorf("%d got it, %d (counted %d) of %d are in the segment", len(got), len(rest), segment.Members, n)
		}
		for _, address := range rest {
			if got[address] != 0 {
				t.Errorf("%s got it and is in the segment", address)
			}
		}
	})
}

func TestABroadcastThatWasCanceledBeforeItsRecipientsWereListedHasThemInTheRest(t *testing.T) {
	w := world.Idle(t)
	w.People(5)
	few := w.Segment(world.Only("email", app.OpNotEquals, world.Person(2)))
	b := sendNews(w, newsTo(few.ID), "")
	_, _, err := w.Server.Broadcasts.CancelBroadcast(t.Context(), w.Key, b.ID)
	world.Must(t, err)
	w.Person(w.Key.TeamID, "late@example.net")
	segment, err := w.Server.Broadcasts.Reviews.SegmentOfOutcome(t.Context(), w.Key, b.ID, "The rest", "canceled", "")
	world.Must(t, err)
	if segment.Members != 4 {
		t.Errorf("%d people did not get it, want 4", segment.Members)
	}
}
