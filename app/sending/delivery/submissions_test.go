package delivery_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

func submitted(w *testserver.World, message string, to ...string) string {
	w.T.Helper()
	id, err := w.Server.Mail.Submissions.Accept(w.T.Context(), w.Key, &mail.Submission{Recipients: to, Message: []byte(message)})
	testserver.Must(w.T, err)
	return id
}

func TestAMessageBySMTPIsSentAgainAfterACrashWithTheSameBytes(t *testing.T) {
	testserver.BothEngines(t)
	const message = "From: ann@example.com\r\nTo: nobody@elsewhere.example\r\nMessage-ID: <1@tool.example>\r\nX-A:  odd   blanks\r\n\r\nHi\r\n"
	testserver.Bubble(t, func(t *testing.T) {
		first := testserver.NewRelay(testserver.Always(testserver.DotThen(nil)))
		w := testserver.Serving(t, first)
		id := submitted(w, message, "bob@example.net", "carol@example.net")
		synctest.Wait()
		relay := testserver.NewRelay(nil)
		next := w.Crash(relay)
		next.Start()
		time.Sleep(62 * time.Second)
		synctest.Wait()
		next.WantLast(id, app.Sent)
		next.WantStates(id, "bob@example.net sent, carol@example.net sent")
		before, again := first.Seen(id)[0].M, relay.Seen(id)
		if len(again) != 1 {
			t.Fatalf("%d tries", len(again))
		}
		m := again[0].M
		if string(m.Mail.Raw) != message || string(before.Mail.Raw) != message || m.Signature != testserver.FirstSignature(id) || m.MessageID != "1@tool.example" || m.Date.Unix() != before.Date.Unix() {
			t.Errorf("sent again %+v, before %+v", m, before)
		}
	})
}

func TestAMessageBySMTPOfADamagedDatabaseIsHeld(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Idle(t, testserver.NewRelay(nil))
		id := submitted(w, "From: ann@example.com\r\n\r\nHi\r\n", "bob@example.net")
		well := submitted(w, "From: ann@example.com\r\n\r\nHi\r\n", "bob@example.net")
		w.Sql(`UPDATE raw_pieces SET content = CAST('0' AS BLOB) WHERE email_id = ?`, id)
		next := w.Crash(testserver.NewRelay(nil))
		next.Start()
		synctest.Wait()
		next.WantLast(well, app.Sent)
		next.WantLast(id, app.Queued)
		if u := next.Sql(`SELECT held FROM units WHERE email_id = ?`, id); len(u) != 1 || u[0] != "damaged" {
			t.Errorf("held %v", u)
		}
	})
}
