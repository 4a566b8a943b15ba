package delivery_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/testing/testserver"
)

// Emails that are claimed together are read together. A later change of one still takes effect.
func TestPrefetchedEmailCanBeCanceled(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		var ids []string
		for _, to := range []string{"first@example.net", "canceled@example.net", "deleted@example.net", "erased@example.net", "suppressed@example.net", "last@example.net"} {
			ids = append(ids, w.Send(to))
		}
		hang := make(chan struct{})
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Rate: 6}, testserver.InOrder(testserver.After(hang, testserver.Accept)))
		w = w.Crash(relay) // no cached copy is left
		w.Start()
		synctest.Wait()
		if n := w.Services.Delivery.Queues()[0].Busy(); n != len(ids) {
			t.Fatalf("%d of %d are claimed: nothing was read ahead", n, len(ids))
		}
		testserver.Must(t, w.Cancel(ids[1]))
		testserver.Must(t, w.Services.Mail.DeleteEmail(t.Context(), w.Key, ids[2]))
		_, _, err := w.Services.Audience.PutContact(t.Context(), w.Key, app.ContactInput{Email: "erased@example.net"}, app.ConflictError)
		testserver.Must(t, err)
		w.Erase("erased@example.net")
		_, err = w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "suppressed@example.net"})
		testserver.Must(t, err)
		close(hang)
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"first@example.net", "last@example.net"}; !slices.Equal(relay.Accepted, want) {
			t.Errorf("the relay took mail to %v, want %v", relay.Accepted, want)
		}
	})
}
