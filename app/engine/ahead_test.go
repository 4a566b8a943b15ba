package engine

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/relays"
)

// Emails that are claimed together are read together; what happens to one of them
// before its turn must count all the same.
func TestWhatIsReadAheadAndThenWithdrawnNeverLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		var ids []string
		for _, to := range []string{"first@example.net", "canceled@example.net", "deleted@example.net", "erased@example.net", "suppressed@example.net", "last@example.net"} {
			ids = append(ids, w.send(to))
		}
		hang := make(chan struct{})
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1, Rate: 1}, firstly(after(hang, accept)))
		w = w.crash(relay) // no copy is left from their acceptance
		w.start()
		synctest.Wait()
		if n := w.e.lanes[0].busy(); n != len(ids) {
			t.Fatalf("%d of %d are claimed: nothing was read ahead", n, len(ids))
		}
		must(t, w.cancel(ids[1]))
		must(t, w.e.DeleteEmail(t.Context(), w.key, ids[2]))
		_, err := w.e.CreateContact(t.Context(), w.key, app.ContactInput{Email: "erased@example.net"})
		must(t, err)
		w.erase("erased@example.net")
		_, err = w.e.AddSuppression(t.Context(), w.key, app.SuppressionInput{Email: "suppressed@example.net"})
		must(t, err)
		close(hang)
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"first@example.net", "last@example.net"}; !slices.Equal(relay.took, want) {
			t.Errorf("the relay took mail to %v, want %v", relay.took, want)
		}
	})
}
