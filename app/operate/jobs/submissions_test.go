package jobs_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestErasureOfSMTPSubmissions: a raw message may contain an address that its displayed parts do
// not contain.
func TestErasureOfSMTPSubmissions(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	hidden := base64.StdEncoding.EncodeToString([]byte("ask bob@example.net\r\n"))
	ids := map[string]string{}
	for name, lines := range map[string][]string{
		"to":       {"To: Bob <BOB@example.net>", "", "Hi"},
		"received": {"Received: from a for <bob@example.net>", "", "Hi"},
		"preamble": {"Content-Type: multipart/mixed; boundary=b", "", "for bob@example.net", "--b", "", "Hi", "--b--"},
		"encoded":  {"Content-Type: multipart/mixed; boundary=b", "", "--b", "", "Hi", "--b", "Content-Transfer-Encoding: base64", "", hidden, "--b--"},
		"subject":  {"Subject: =?utf-8?b?" + base64.StdEncoding.EncodeToString([]byte("bob@example.net")) + "?=", "", "Hi"},
		"other":    {"To: carol@example.net", "", "Hi"},
	} {
		message := "From: Ann <ann@example.com>\r\n" + strings.Join(lines, "\r\n") + "\r\n"
		id, err := w.Services.Mail.Submissions.Accept(t.Context(), w.Key, &mail.Submission{Recipients: []string{"bob@example.net", "carol@example.net"}, Message: []byte(message)})
		testserver.Must(t, err)
		ids[name] = id
	}
	w.CreateContact(w.Key.TeamID, "bob@example.net")
	w.Erase("bob@example.net")
	w.WantNoTrace("bob@example.net")
	for name, id := range ids {
		w.Read(func(r *db.Reader) error {
			email, open, err := r.Outgoing(w.Key.TeamID, id)
			if kept := email.Raw != nil; kept != (name == "other") || len(open) != 1 {
				t.Errorf("%s: message kept %v, open %v", name, kept, open)
			}
			return err
		})
		if n := w.SQL(`SELECT count(*) FROM raw_pieces WHERE email_id = ?`, id)[0]; (n == "0") == (name == "other") {
			t.Errorf("%s: %s pieces", name, n)
		}
	}
	if got := w.Email(ids["encoded"]).Attachments[0].Size; got != int64(len("ask "+app.Erased+"\r\n")) {
		t.Errorf("the file has %d bytes", got)
	}
}
