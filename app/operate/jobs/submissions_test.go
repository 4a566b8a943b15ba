package jobs_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestErasureOfSMTPSubmissions: raw messages are not searched, so all that were addressed to an
// erased address are deleted. Mail to others is then composed from its parts.
func TestErasureOfSMTPSubmissions(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	submit := func(lines []string, to ...string) string {
		t.Helper()
		message := "From: Ann <ann@example.com>\r\n" + strings.Join(lines, "\r\n") + "\r\n"
		id, err := w.Services.Mail.Submissions.Accept(t.Context(), w.Key, &mail.Submission{Recipients: to, Message: []byte(message)})
		testserver.Must(t, err)
		return id
	}
	file := []string{"To: Bob <BOB@example.net>, carol@example.net", "X-For: bob@example.net", "Content-Type: multipart/mixed; boundary=b", "", "--b", "", "Hi bob@example.net", "--b",
		"Content-Disposition: attachment; filename=a.txt", "Content-Transfer-Encoding: base64", "", base64.StdEncoding.EncodeToString([]byte("ask bob@example.net\r\n")), "--b--"}
	both, hidden := submit(file, "bob@example.net", "carol@example.net"), submit([]string{"To: carol@example.net", "", "Hi"}, "bob@example.net", "carol@example.net")
	alone, other := submit(append([]string{"To: bob@example.net"}, file[1:]...), "bob@example.net"), submit([]string{"To: carol@example.net", "", "Hi bob@example.net"}, "carol@example.net")
	w.CreateContact(w.Key.TeamID, "bob@example.net")
	w.Erase("bob@example.net")
	for id, want := range map[string]string{both: "text Hi bob@example.net, 1 files of 21 bytes, open carol@example.net", hidden: "text Hi, 0 files of 0 bytes, open carol@example.net",
		alone: "text , 0 files of 0 bytes, open ", other: "raw text Hi bob@example.net, 0 files of 0 bytes, open carol@example.net"} {
		w.Read(func(r *db.Reader) error {
			email, open, err := r.CompleteEmail(w.Key.TeamID, id)
			testserver.Must(t, err)
			got, size := "", int64(0)
			if email.Raw != nil {
				got = "raw "
			}
			for _, a := range email.Attachments {
				size += a.Size
			}
			got += fmt.Sprintf("text %s, %d files of %d bytes, open %s", strings.TrimSpace(email.Text), len(email.Attachments), size, strings.Join(open, " "))
			if got != want || strings.Contains(fmt.Sprint(email.To, email.Headers), "bob") {
				t.Errorf("%s: %s, want %s; to %v, headers %v", id, got, want, email.To, email.Headers)
			}
			return nil
		})
	}
	if n := w.SQL(`SELECT count(DISTINCT email_id) FROM raw_pieces`)[0]; n != "1" {
		t.Errorf("%s raw messages are stored", n)
	}
	w.WantUndamaged()
}
