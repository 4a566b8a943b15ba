package audience_test

import (
	"testing"
	"testing/synctest"

	"mailer/app"
	"mailer/app/testing/testserver"
)

// TestTheHistoryOfAContactHasItsEmailsHoweverItIsSpelled: emails keep A-labels, a contact
// the spelling that it came in.
func TestTheHistoryOfAContactHasItsEmailsHoweverItIsSpelled(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Serving(t, testserver.NewRelay(nil))
		w.Contact("Ann@BÜCHER.example", false)
		id := w.Send("ann@bu\u0308cher.example")
		synctest.Wait()
		for _, said := range []string{"ann@bücher.example", "ann@xn--bcher-kva.example"} {
			h, err := w.Server.Previews.ContactHistory(t.Context(), w.Key, said, app.Page{Limit: 10})
			if testserver.Must(t, err); len(h.Mail) != 1 || h.Mail[0].ID != id || len(h.Mail[0].Events) == 0 {
				t.Errorf("%s: %+v", said, h)
			}
		}
	})
}
