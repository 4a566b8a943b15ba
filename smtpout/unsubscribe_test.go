package smtpout

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// RFC 8058 section 4: a mail reader honors the two headers only if DKIM covers both.
func TestSignatureCoversUnsubscribeHeaders(t *testing.T) {
	key, record := testKey(t)
	const oneClick = "List-Unsubscribe=One-Click"
	for name, email := range map[string]app.Email{
		"ours": {Unsubscribe: "https://mail.acme.test/unsubscribe/" + strings.Repeat("t", 108), Mail: app.Mail{TopicID: "x"}},
		"theirs": {Mail: app.Mail{TopicID: "x", Headers: []app.Header{
			{Name: "List-Unsubscribe", Value: "<https://acme.test/u>"}, {Name: "List-Unsubscribe-Post", Value: oneClick}}}},
	} {
		email.From, email.Subject, email.Text = app.Address{Local: "a", Domain: "acme.test"}, "s", "t"
		email.To = []app.Address{{Local: "b", Domain: "example.org"}}
		for _, profile := range []relayurl.Profile{relayurl.ProfileGeneric, relayurl.ProfileSES} {
			message, err := compose(&app.Outgoing{EmailID: "0198", MessageID: "0198@acme.test", Date: time.Unix(0, 0), Mail: email.FinalMail()})
			if err != nil {
				t.Fatal(err)
			}
			field, err := sign(message, key, profile)
			if err != nil {
				t.Fatal(err)
			}
			names, err := verifyDKIM(t, append([]byte(field), message...), record)
			covered := "," + strings.ToLower(strings.Join(names, ",")) + ","
			if err != nil || !strings.Contains(covered, ",list-unsubscribe,") || !strings.Contains(covered, ",list-unsubscribe-post,") {
				t.Errorf("%s, profile %s: %v covers %s", name, profile, err, covered)
			}
			if n := strings.Count(string(message), "List-Unsubscribe: <https://"); n != 1 || strings.Count(string(message), "List-Unsubscribe-Post: "+oneClick) != 1 {
				t.Errorf("%s: message\n%s", name, message)
			}
		}
	}
}
