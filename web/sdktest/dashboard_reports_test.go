package sdktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// reportRow is the messages of one source in a DMARC report.
type reportRow struct {
	source    string
	messages  int
	spf, dkim string
}

// dmarcReport returns a DMARC report about a domain with p=none.
func dmarcReport(reporter, domain string, day time.Time, rows ...reportRow) string {
	var out strings.Builder
	fmt.Fprintf(&out, `<?xml version="1.0"?><feedback><report_metadata><org_name>%[1]s</org_name><email>dmarc@%[1]s</email><report_id>%[3]d</report_id><date_range><begin>%[3]d</begin><end>%[4]d</end></date_range></report_metadata>`+
		`<policy_published><domain>%[2]s</domain><p>none</p></policy_published>`, reporter, domain, day.Unix(), day.Add(24*time.Hour).Unix()-1)
	for _, r := range rows {
		fmt.Fprintf(&out, `<record><row><source_ip>%s</source_ip><count>%d</count><policy_evaluated><disposition>none</disposition><dkim>%s</dkim><spf>%s</spf></policy_evaluated></row><identifiers><header_from>%s</header_from></identifiers><auth_results></auth_results></record>`,
			r.source, r.messages, r.dkim, r.spf, domain)
	}
	return out.String() + `</feedback>`
}

// tlsReport returns a TLS report about a domain with 41 sessions that passed and 3 that failed.
func tlsReport(domain string, day time.Time) string {
	return fmt.Sprintf(`{"organization-name":"mail.example.org","contact-info":"tls@mail.example.org","report-id":"tls-1","date-range":{"start-datetime":%q,"end-datetime":%q},"policies":[{"policy":{"policy-type":"no-policy-found","policy-domain":%q},`+
		`"summary":{"total-successful-session-count":41,"total-failure-session-count":3},"failure-details":[{"result-type":"certificate-expired","receiving-mx-hostname":"mx.example.test","failed-session-count":3}]}]}`,
		day.Format(time.RFC3339), day.Add(24*time.Hour-time.Second).Format(time.RFC3339), domain)
}

// domainID returns the id of a domain by its name.
func (w *dashboardFixture) domainID(t *testing.T, name string) string {
	t.Helper()
	var list struct{ Data []struct{ ID, Name string } }
	w.key.get(t, "/domains?limit=100", &list)
	for _, d := range list.Data {
		if d.Name == name {
			return d.ID
		}
	}
	t.Fatalf("no domain %s among %+v", name, list.Data)
	return ""
}

// fillReports uploads reports of three reporters about the last 30 days of a domain, in one mailbox.
func (w *dashboardFixture) fillReports(t *testing.T, domain string) {
	t.Helper()
	var box strings.Builder
	today := time.Now().UTC().Truncate(24 * time.Hour)
	mail := func(kind, content string) {
		fmt.Fprintf(&box, "From reports Sat Jan  1 00:00:00 2000\nFrom: reports@example.org\nSubject: Report\nMIME-Version: 1.0\nContent-Type: %s\n\n%s\n\n", kind, content)
	}
	for i := range 30 {
		day := today.AddDate(0, 0, -30+i)
		busy := 300 + 40*(i%7)
		mail("application/xml", dmarcReport("google.com", domain, day, reportRow{"192.0.2.10", busy, "pass", "pass"}, reportRow{"203.0.113.9", 10 + i%3, "fail", "fail"}, reportRow{"2001:db8:85a3:8d3:1319:8a2e:370:7348", 6, "fail", "pass"}))
		mail("application/xml", dmarcReport("outlook.com", domain, day, reportRow{"192.0.2.10", busy / 2, "pass", "pass"}, reportRow{"198.51.100.77", i % 2, "fail", "fail"}))
		mail("application/xml", dmarcReport("yahoo.example", domain, day, reportRow{"192.0.2.11", busy / 3, "pass", "fail"}))
	}
	mail("application/tlsrpt+json", tlsReport(domain, today.AddDate(0, 0, -2)))
	file := filepath.Join(t.TempDir(), "reports.mbox")
	must(t, os.WriteFile(file, []byte(box.String()), 0o600))
	w.run(t, "reports", "import", file)
}

// TestReportsInTheBrowser: a domain without reports says what to publish; files are uploaded, with a reason for each that
// is no report; the reports are read in sentences, and a source is named as the team's.
func TestReportsInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	w.addDomain(t, "shop.example")
	s := newScreen(t, w.url, w.operator.session(t))
	page := "/domains/" + w.domainID(t, "shop.example") + "?tab=reports"
	s.load(page)
	s.sees("No reports yet", "_dmarc.shop.example", "*._report._dmarc.mx.example.test")
	w.ns.publish(t, dnsRecord{Name: "_dmarc.shop.example", Type: "TXT", Value: "v=DMARC1; p=none; rua=mailto:me@shop.example"})
	s.press("Check now")
	s.sees("Replace the DMARC record with this one")
	s.fine("a domain without reports")
	w.reportPictures(t, s, "none", page)

	day := time.Now().UTC().AddDate(0, 0, -3)
	s.upload(fmt.Sprintf("new Blob([%q])", "a holiday picture"), "beach.jpg")
	s.sees("beach.jpg", "This is not a report")
	s.upload(fmt.Sprintf("new Blob([%q])", dmarcReport("google.com", "other.example", day, reportRow{"192.0.2.10", 1, "pass", "pass"})), "other.xml")
	s.sees("The report is about other.example, not about shop.example.")
	report := fmt.Sprintf("new Blob([%q])", dmarcReport("google.com", "shop.example", day, reportRow{"192.0.2.10", 40, "pass", "pass"}))
	s.upload(report, "google.xml")
	s.sees("1 report imported", "40 messages passed, and none failed", "The reports so far cover 1 day and 40 messages, from 1 reporter.")
	s.upload(report, "again.xml")
	s.sees("1 report was imported before")
	s.fine("uploads")

	w.fillReports(t, "shop.example")
	var said struct{ Addresses struct{ DMARC string } }
	w.key.get(t, "/domains/"+w.domainID(t, "shop.example")+"/reports", &said)
	must(t, w.peer.try("a@other.test", said.Addresses.DMARC, "From: reports@other.test\r\nTo: "+said.Addresses.DMARC+"\r\nSubject: Report\r\nMIME-Version: 1.0\r\nContent-Type: application/xml\r\n\r\n"+
		dmarcReport("other.test", "shop.example", day.AddDate(0, 0, -1), reportRow{"198.51.100.200", 9000, "fail", "fail"})+"\r\n"))
	s.load(page)
	s.sees("failed SPF and DKIM: an old provider, or a forgery.", "You have not named any source as yours yet.", "Which of these sources are yours?", "3 sessions with mx.example.test failed: the certificate has expired.", "Counted, uploaded")
	s.sees("Not counted", "No DKIM signature of other.test passes")
	w.reportPictures(t, s, "reports", page)
	s.is("the chart has its days", `document.querySelectorAll('.chart .c-bar.is-over').length === 29`)
	s.is("the sums are those of all sources", `document.querySelector('tfoot').innerText.includes('5 sources')`)
	s.is("a report that does not count is in no sum", `!document.querySelector('main').innerText.includes('198.51.100.200')`)
	s.press("Yours: 203.0.113.9")
	s.sees("which you named as yours, failed SPF and DKIM")
	s.press("Not yours: 198.51.100.77")
	s.sees("Keep p=none until then.")
	s.fill("Whose 192.0.2.10 is", "Yours")
	s.fill("Whose 203.0.113.9 is", "Not yours")
	s.sees("which you named as not yours", "no source that you named as yours failed", "Publish p=quarantine.", "v=DMARC1; p=quarantine; rua=mailto:me@shop.example,mailto:dmarc+")
	s.press("Undo")
	s.fine("sources are named")
	for _, scheme := range []string{"dark", "light"} {
		for _, width := range []int64{360, 1280} {
			s.look(width, scheme)
			for _, v := range s.axe() {
				t.Errorf("%d px, %s: axe: %s", width, scheme, v)
			}
			if n := s.sideways(); n > 0 {
				t.Errorf("at %d px the page scrolls sideways by %d px", width, n)
			}
		}
	}
	w.operator.want(t, 200, "PATCH", "/users/me", map[string]any{"language": "de"})
	s.load(page)
	s.sees("scheiterten an SPF und DKIM", "das Zertifikat ist abgelaufen")
	s.fine("reports in German")
	member := newScreen(t, w.url, w.joined(t, "member").session(t))
	member.load(page)
	member.sees("What the reports say")
	member.is("a member changes nothing", `!document.querySelector('main select') && !document.querySelector('main input[type=file]')`)
	member.fine("reports of a member")
}

// TestReportsWithoutReceivingInTheBrowser: a server that receives no mail says why no report comes, and takes files.
func TestReportsWithoutReceivingInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "shop.example")
	s := newScreen(t, in.url, in.setUp(t).session(t))
	s.load("/domains")
	s.press("shop.example")
	s.press("Reports")
	s.sees("No reports yet", "Its operator starts it with --smtp-receive.", "Choose files")
	s.is("there is no record to publish", `!document.querySelector('main').innerText.includes('rua=')`)
	s.fine("reports on a server that receives no mail")
}

// reportPictures writes pictures for people to look at.
func (w *dashboardFixture) reportPictures(t *testing.T, s *screen, name, page string) {
	dir := os.Getenv(picturesEnv)
	if dir == "" {
		return
	}
	for _, language := range []string{"fr", "de", "en"} {
		w.operator.want(t, 200, "PATCH", "/users/me", map[string]any{"language": language})
		s.load(page)
		for _, width := range []int64{360, 768, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				s.look(width, scheme)
				if n := s.sideways(); n > 0 {
					t.Errorf("%s in %s at %d px scrolls sideways by %d px", name, language, width, n)
				}
				s.shoot(filepath.Join(dir, fmt.Sprintf("%s.%s.%d.%s.png", name, language, width, scheme)))
			}
		}
	}
	s.look(1280, "light")
}
