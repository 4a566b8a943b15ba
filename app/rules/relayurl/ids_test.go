package relayurl

import (
	"strings"
	"testing"

	"mailer/app"
)

func TestIdentify(t *testing.T) {
	for host, want := range map[string]string{
		"smtp.postmarkapp.com":               "X-PM-Metadata-mailer-email-id: the-id",
		"smtp.sendgrid.net":                  `X-SMTPAPI: {"unique_args":{"mailer-email-id":"the-id"}}`,
		"smtp.mailgun.org":                   `X-Mailgun-Variables: {"mailer-email-id":"the-id"}`,
		"in-v3.mailjet.com":                  "X-MJ-CustomID: the-id",
		"smtp-relay.brevo.com":               "X-Mailin-custom: the-id",
		"smtp-relay.sendinblue.com":          "X-Mailin-custom: the-id",
		"smtp.eu.sparkpostmail.com":          `X-MSYS-API: {"metadata":{"mailer-email-id":"the-id"}}`,
		"smtp.lettermint.co":                 "X-LM-Metadata-mailer-email-id: the-id",
		"smtp.elasticemail.com":              "X-ElasticEmail-Postback: the-id",
		"smtp.azurecomm.net":                 "",
		"mail.smtp2go.com":                   "",
		"email-smtp.eu-west-1.amazonaws.com": "",
		"postmarkapp.com.example.org":        "",
		"127.0.0.1":                          "",
		"":                                   "",
	} {
		// Mail that was accepted by an earlier version may have headers that are not allowed any
		// more.
		mail := &app.Mail{Headers: []app.Header{{Name: "X-Own", Value: "1"}}}
		if name, _, ours := strings.Cut(want, ": "); ours {
			mail.Headers = append(mail.Headers, app.Header{Name: strings.ToLower(name), Value: "theirs"}, app.Header{Name: strings.ToUpper(name), Value: "theirs"})
		}
		stored := len(mail.Headers)
		relay := Relay{Host: host}
		got := relay.Identify(mail, "the-id")
		var lines []string
		for _, h := range got.Headers[1:] {
			lines = append(lines, h.Name+": "+h.Value)
		}
		if strings.Join(lines, "\n") != want || len(mail.Headers) != stored {
			t.Errorf("%s: %q, the stored mail has %v", host, lines, mail.Headers)
		}
	}
}
