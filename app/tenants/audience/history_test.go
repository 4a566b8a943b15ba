package audience_test

import (
	"testing"
	"testing/synctest"

	"mailer/app"
	"mailer/app/testing/testserver"
)

// Emails are stored with A-labels, a contact with the spelling of its input.
func TestContactHistoryMatchesAllSpellings(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		w.AddContact("Ann@BÜCHER.example", false)
		id := w.Send("ann@bu\u0308cher.example")
		synctest.Wait()
		for _, text := range []string{"ann@bücher.example", "ann@xn--bcher-kva.example"} {
			h, err := w.Services.Previews.ContactHistory(t.Context(), w.Key, text, app.Page{Limit: 10})
			if testserver.Must(t, err); len(h.Mail) != 1 || h.Mail[0].ID != id || len(h.Mail[0].Events) == 0 {
				t.Errorf("%s: %+v", text, h)
			}
		}
	})
}
