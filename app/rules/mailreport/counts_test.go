package mailreport

import (
	"testing"
	"time"
)

func TestCounts(t *testing.T) {
	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		from, email string
		dkim        []string
		unsent      bool
		why         string
	}{
		"same domain":            {from: "noreply@google.com", email: "noreply@google.com", dkim: []string{"google.com"}},
		"subdomains":             {from: "a@mail.google.com", email: "b@x.google.com", dkim: []string{"dmarc.google.com"}},
		"two organizations":      {from: "a@receiver.example.net", email: "b@reporter.example.org", dkim: []string{"example.org", "example.net"}},
		"upper case":             {from: "a@GOOGLE.com", email: "<B@Google.COM>", dkim: []string{"Google.Com"}},
		"international":          {from: "a@bücher.de", email: "b@xn--bcher-kva.de", dkim: []string{"xn--bcher-kva.de"}},
		"the suffix itself":      {from: "a@github.io", email: "a@github.io", dkim: []string{"github.io"}},
		"no signature":           {from: "a@google.com", email: "a@google.com", why: "It does not count, because no DKIM signature of google.com passes, which is the domain of the From of the mail."},
		"signed by another":      {from: "a@google.com", email: "a@google.com", dkim: []string{"evil.example.com"}, why: "It does not count, because no DKIM signature of google.com passes, which is the domain of the From of the mail."},
		"similar name":           {from: "a@google.com", email: "a@google.com", dkim: []string{"notgoogle.com", "google.com.evil.net"}, why: "It does not count, because no DKIM signature of google.com passes, which is the domain of the From of the mail."},
		"email of another":       {from: "a@evil.example.com", email: "noreply@google.com", dkim: []string{"evil.example.com"}, why: "It does not count, because no DKIM signature of google.com passes, which is the domain of the email address in the report."},
		"below one suffix":       {from: "a@one.co.uk", email: "a@one.co.uk", dkim: []string{"two.co.uk"}, why: "It does not count, because no DKIM signature of one.co.uk passes, which is the domain of the From of the mail."},
		"signed by a suffix":     {from: "a@one.co.uk", email: "a@one.co.uk", dkim: []string{"co.uk", "uk", ""}, why: "It does not count, because no DKIM signature of one.co.uk passes, which is the domain of the From of the mail."},
		"below a private suffix": {from: "a@one.github.io", email: "a@one.github.io", dkim: []string{"two.github.io"}, why: "It does not count, because no DKIM signature of one.github.io passes, which is the domain of the From of the mail."},
		"a suffix as From":       {from: "com", email: "a@google.com", dkim: []string{"com", "google.com"}, why: "It does not count, because the From of the mail has no domain."},
		"no From":                {email: "a@google.com", dkim: []string{"google.com"}, why: "It does not count, because the From of the mail has no domain."},
		"no email":               {from: "a@google.com", dkim: []string{"google.com"}, why: "It does not count, because the email address in the report has no domain."},
		"nothing sent":           {from: "a@google.com", email: "a@google.com", dkim: []string{"google.com"}, unsent: true, why: "It does not count, because this server sent no mail of example.com between 1 November 2026 and 2 November 2026."},
	} {
		ok, why := Counts(CountsInput{From: test.from, Email: test.email, DKIMDomains: test.dkim, Domain: "Example.com", Begin: begin, End: begin.Add(24 * time.Hour), Sent: !test.unsent})
		if ok != (test.why == "") || why != test.why {
			t.Errorf("%s: %t %q", name, ok, why)
		}
	}
}
