package retention_test

import (
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

func TestSubmissionRetention(t *testing.T) {
	synctestDays(t, func(t *testing.T) {
		w := withRetention(t, app.Retention{Content: day, Emails: 10 * day})
		message := "From: ann@example.com\r\nSubject: x\r\n\r\n" + strings.Repeat("long line\r\n", 60_000)
		id, err := w.Services.Mail.Submissions.Accept(t.Context(), w.Key, &mail.Submission{Recipients: []string{"bob@example.net"}, Message: []byte(message)})
		testserver.Must(t, err)
		testserver.SleepAndSettle(0)
		w.WantLastEvent(id, app.Sent)
		sleepStopped(w, 2*day)
		if got := left(w, w.Key, id); got != "row" {
			t.Errorf("there is %s", got)
		}
		if n := w.Count("raw_pieces"); n != "0" {
			t.Errorf("%s pieces are left", n)
		}
		_, err = w.Services.Mail.GetCaptured(t.Context(), w.Key, id)
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = w.Services.Mail.Resends.ResendEmail(t.Context(), w.Key, id, nil, mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeConflict)
		sleepStopped(w, 10*day)
		if got := left(w, w.Key, id); got != "nothing" {
			t.Errorf("there is %s", got)
		}
	})
}
