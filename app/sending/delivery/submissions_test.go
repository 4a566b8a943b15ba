package delivery_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

func submitted(w *testserver.Server, message string, to ...string) string {
	w.T.Helper()
	id, err := w.Services.Mail.Submissions.Accept(w.T.Context(), w.Key, &mail.Submission{Recipients: to, Message: []byte(message)})
	testserver.Must(w.T, err)
	return id
}

func TestSubmissionResendsSameBytesAfterCrash(t *testing.T) {
	testserver.BothEngines(t)
	const message = "From: ann@example.com\r\nTo: nobody@elsewhere.example\r\nMessage-ID: <1@tool.example>\r\nX-A:  odd   blanks\r\n\r\nHi\r\n"
	testserver.Synctest(t, func(t *testing.T) {
		first := testserver.NewRelay(testserver.Always(testserver.ReplyAfter(nil)))
		w := testserver.Start(t, first)
		id := submitted(w, message, "bob@example.net", "carol@example.net")
		synctest.Wait()
		relay := testserver.NewRelay(nil)
		next := w.Crash(relay)
		next.Start()
		time.Sleep(62 * time.Second)
		synctest.Wait()
		next.WantLastEvent(id, app.Sent)
		next.WantRecipientStates(id, "bob@example.net sent, carol@example.net sent")
		before, again := first.Transactions(id)[0].Message, relay.Transactions(id)
		if len(again) != 1 {
			t.Fatalf("%d tries", len(again))
		}
		m := again[0].Message
		if string(m.Mail.Raw) != message || string(before.Mail.Raw) != message || m.Signature != testserver.FirstSignature(id) || m.MessageID != "1@tool.example" || m.Date.Unix() != before.Date.Unix() {
			t.Errorf("sent again %+v, before %+v", m, before)
		}
	})
}

func TestDamagedSubmissionIsHeld(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		id := submitted(w, "From: ann@example.com\r\n\r\nHi\r\n", "bob@example.net")
		well := submitted(w, "From: ann@example.com\r\n\r\nHi\r\n", "bob@example.net")
		w.SQL(`UPDATE raw_pieces SET content = CAST('0' AS BLOB) WHERE email_id = ?`, id)
		next := w.Crash(testserver.NewRelay(nil))
		next.Start()
		synctest.Wait()
		next.WantLastEvent(well, app.Sent)
		next.WantLastEvent(id, app.Queued)
		if u := next.SQL(`SELECT held FROM units WHERE email_id = ?`, id); len(u) != 1 || u[0] != "damaged" {
			t.Errorf("held %v", u)
		}
	})
}
