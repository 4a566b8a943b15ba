//go:build perf

package mailreport

import (
	"strings"
	"testing"

	"mailer/app/testing/apptest"
)

func TestPerfReportsTakeLinearTime(t *testing.T) {
	google, tls := string(file(t, "google.xml")), string(file(t, "google.json"))
	record := google[strings.Index(google, "  <record>"):strings.Index(google, "</feedback>")]
	for name, test := range map[string]struct{ text, old, with string }{
		"records":    {google, "</feedback>", record},
		"texts":      {google, "google.com</org_name>", "a <b/>"},
		"end tags":   {google, "</org_name>", "<!---->"},
		"overrides":  {google, "<reason>", "<reason/>"},
		"signatures": {google, "<auth_results>", "<dkim/>"},
		"whitespace": {google, "<feedback>", " <?a?>"},
		"policies":   {tls, `"policies":[`, `{"policy":{}},`},
		"hosts":      {tls, `"mx-host":[`, `"a",`},
		"escapes":    {tls, "Google Inc.", `\u0041`},
	} {
		apptest.Linear(t, name, 1000, func(n int) func() {
			raw := []byte(strings.Replace(test.text, test.old, strings.Repeat(test.with, n)+test.old, 1))
			if test.text == tls {
				raw = []byte(strings.Replace(test.text, test.old, test.old+strings.Repeat(test.with, n), 1))
			}
			return func() {
				Kind(raw)
				ReadDMARC(raw)
				ReadTLS(raw)
			}
		})
	}
}
