package reports_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/mailauth"
	"mailer/app/rules/mailreport"
	"mailer/app/rules/webhook"
	"mailer/app/tenants/reports"
	"mailer/app/testing/testserver"
	"mailer/db"
)

const host = "mx.acme.test"

// fixture is a server that receives reports, with two teams: one has one.test, the other two.test. DKIM passes for the
// domains in signed.
type fixture struct {
	*testserver.Server
	service *reports.Service
	keys    [2]*app.Key
	domains [2]string
	signed  []string
	dkim    app.AuthResult
}

func newFixture(t *testing.T) *fixture {
	w := testserver.New(t)
	second, err := w.Services.Teams.CreateTeam(t.Context(), "Second")
	testserver.Must(t, err)
	f := &fixture{Server: w, service: w.Services.Reports, keys: [2]*app.Key{w.Key, {ID: app.NewID(), TeamID: second.ID, Permission: app.FullAccess, Role: app.RoleOwner}}, signed: []string{"google.com"}, dkim: app.AuthPass}
	w.Services.Settings.BounceHost = host
	f.service.Check = func(context.Context, mailauth.Input) app.ReceivedAuth {
		return app.ReceivedAuth{DKIM: f.dkim, DKIMDomains: f.signed}
	}
	for i, name := range []string{"one.test", "two.test"} {
		f.AddDomain(f.keys[i].TeamID, name, app.DefaultRegion, app.DomainVerified)
		f.domains[i] = f.SQL("SELECT id FROM domains WHERE name = ?", name)[0]
		f.sent(i, name)
	}
	return f
}

// sent counts mail of a domain that left an hour ago, and each of the 60 days before.
func (f *fixture) sent(team int, name string) {
	for day := range 60 {
		f.SQL("INSERT INTO mail_counts (team_id, hour, domain, broadcast_id, region, sent) VALUES (?, ?, ?, '', ?, 1)", f.keys[team].TeamID, (clock.Now().Unix()-3600)/3600-int64(24*day), name, app.DefaultRegion)
	}
}

// row is a row of a report.
type row struct {
	ip        string
	n         int
	spf, dkim string
}

// report returns a DMARC report about the day some days ago.
func report(domain, email, id string, daysAgo int, rows ...row) string {
	begin := clock.Now().UTC().AddDate(0, 0, -daysAgo).Truncate(24 * time.Hour)
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0"?><feedback><report_metadata><org_name>%s</org_name><email>%s</email><report_id>%s</report_id><date_range><begin>%d</begin><end>%d</end></date_range></report_metadata>
		<policy_published><domain>%s</domain><p>none</p></policy_published>`, email[strings.IndexByte(email, '@')+1:], email, id, begin.Unix(), begin.Unix()+86399, domain)
	for _, r := range rows {
		fmt.Fprintf(&b, `<record><row><source_ip>%s</source_ip><count>%d</count><policy_evaluated><disposition>none</disposition><dkim>%s</dkim><spf>%s</spf></policy_evaluated></row><identifiers><header_from>%s</header_from></identifiers></record>`,
			r.ip, r.n, r.dkim, r.spf, domain)
	}
	return b.String() + "</feedback>"
}

func zipped(t *testing.T, text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	testserver.Must(t, err)
	testserver.Must(t, z.Close())
	return b.Bytes()
}

// mailOf returns a mail with a report, as reporters send it.
func mailOf(t *testing.T, from, xml string) string {
	return "From: " + from + "\r\nTo: x@mx.acme.test\r\nSubject: Report domain\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nA report\r\n" +
		"--b\r\nContent-Type: application/gzip; name=r.xml.gz\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString(zipped(t, xml)) + "\r\n--b--\r\n"
}

// deliver takes a mail at the address for reports about a team's domain.
func (f *fixture) deliver(team int, from, xml string) (why string, err error) {
	f.T.Helper()
	target, err := f.service.Recipient(f.T.Context(), strings.ToUpper(f.Services.Sealer.ReportAddress(app.ReportDMARC, f.domains[team], host)))
	testserver.Must(f.T, err)
	raw := mailOf(f.T.(*testing.T), from, xml)
	return f.service.Take(f.T.Context(), reports.Delivery{RemoteIP: netip.MustParseAddr("192.0.2.7"), To: []reports.Target{target}, Raw: strings.NewReader(raw), Size: int64(len(raw))})
}

func (f *fixture) mustDeliver(team int, from, xml string) {
	f.T.Helper()
	why, err := f.deliver(team, from, xml)
	testserver.Must(f.T, err)
	if why != "" {
		f.T.Errorf("not counted: %s", why)
	}
}

func (f *fixture) upload(team int, name, content string) (done reports.Imported) {
	f.T.Helper()
	testserver.Must(f.T, f.service.Import(f.T.Context(), f.keys[team].TeamID, "", name, strings.NewReader(content), &done))
	return done
}

func (f *fixture) overview(team int) reports.Overview {
	f.T.Helper()
	o, err := f.service.Overview(f.T.Context(), f.keys[team], f.domains[team], 30)
	testserver.Must(f.T, err)
	return o
}

func (f *fixture) wantMessages(team int, messages, passed int64) {
	f.T.Helper()
	if o := f.overview(team); o.Sum.Messages != messages || o.Sum.Passed != passed {
		f.T.Errorf("team %d: %d messages, %d passed; want %d, %d", team, o.Sum.Messages, o.Sum.Passed, messages, passed)
	}
}

const google = "noreply-dmarc-support@google.com"

func TestReportIsStoredOnceForEachTeam(t *testing.T) {
	testserver.BothEngines(t)
	f := newFixture(t)
	xml := report("one.test", google, "r1", 2, row{"192.0.2.1", 90, "pass", "pass"}, row{"203.0.113.9", 10, "fail", "fail"})
	f.mustDeliver(0, google, xml)
	if why, err := f.deliver(0, google, xml); err != nil || why == "" {
		t.Errorf("again: %q, %v", why, err)
	}
	if done := f.upload(0, "r.xml", xml); done.Duplicates != 1 || done.Imported != 0 {
		t.Errorf("uploaded again: %+v", done)
	}
	f.wantMessages(0, 100, 90)
	f.wantMessages(1, 0, 0)
	if why, err := f.deliver(1, google, xml); err != nil || why == "" { // the address of another domain
		t.Errorf("another team: %q, %v", why, err)
	}
	if done := f.upload(1, "r.xml", xml); done.RefusedAll != 1 || !strings.Contains(done.Refused[0].Reason, "one.test, which is no domain of this team") {
		t.Errorf("another team: %+v", done)
	}
	f.wantMessages(1, 0, 0)
	f.mustDeliver(0, google, report("one.test", google, "r2", 1, row{"192.0.2.1", 10, "fail", "pass"}))
	f.wantMessages(0, 110, 100)
	o := f.overview(0)
	if got := mailreport.Text(o.Sentences); !strings.Contains(got, "90.9 % of 110 messages passed. 10 from 203.0.113.9 failed SPF and DKIM") || o.Reporters != 1 || len(o.Days) != 2 || o.Advice.Kind != mailreport.AdviceTooLittleData {
		t.Errorf("%s %+v", got, o)
	}
	if s := o.Sources; len(s) != 2 || s[0].Source != "203.0.113.9" || s[1].Messages != 100 || s[1].SPF != 90 || s[1].DKIM != 100 {
		t.Errorf("%+v", s)
	}
	rows, _, err := f.service.List(t.Context(), f.keys[0], "one.test", app.Page{Limit: 10})
	if err != nil || len(rows) != 2 || rows[0].ReportID != "r2" {
		t.Errorf("%+v, %v", rows, err)
	}
	if rows, _, err := f.service.List(t.Context(), f.keys[1], "", app.Page{Limit: 10}); err != nil || len(rows) != 0 {
		t.Errorf("another team: %+v, %v", rows, err)
	}
	if _, _, err := f.service.List(t.Context(), f.keys[1], f.domains[0], app.Page{Limit: 10}); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("another team: %v", err)
	}
	if _, err := f.service.Overview(t.Context(), f.keys[1], f.domains[0], 30); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("another team: %v", err)
	}
	if err := f.service.NameSources(t.Context(), f.keys[1], f.domains[0], []string{"192.0.2.1"}, nil); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("another team: %v", err)
	}
}

func TestForgedReportEntersNoSum(t *testing.T) {
	testserver.BothEngines(t)
	f := newFixture(t)
	hook := f.AddWebhook("in.test", webhook.DomainReportWarning)
	_ = hook
	testserver.Must(t, f.service.NameSources(t.Context(), f.keys[0], f.domains[0], []string{"203.0.113.0/24"}, nil))
	xml := report("one.test", google, "r1", 1, row{"203.0.113.9", 1000, "fail", "fail"})
	for name, c := range map[string]struct {
		from   string
		signed []string
		xml    string
	}{
		"unsigned":             {google, nil, xml},
		"signed by another":    {google, []string{"forger.test"}, xml},
		"From of another":      {"x@forger.test", []string{"google.com"}, xml},
		"email of another":     {"x@forger.test", []string{"forger.test"}, xml},
		"no mail in that time": {google, []string{"google.com"}, report("one.test", google, "r9", 100, row{"203.0.113.9", 1000, "fail", "fail"})},
	} {
		f.signed = c.signed
		if why, err := f.deliver(0, c.from, c.xml); err != nil || why == "" {
			t.Errorf("%s: %q, %v", name, why, err)
		}
	}
	f.wantMessages(0, 0, 0)
	if n := f.Count("mail_report_days") + f.Count("mail_report_sources") + f.Count("mail_report_warnings") + f.Count("webhook_events"); n != "0000" {
		t.Errorf("%s sums, sources, warnings, events", n)
	}
	o := f.overview(0)
	if len(o.Latest) != 2 || o.Latest[0].Counted || o.Latest[0].Why == "" {
		t.Errorf("%+v", o.Latest)
	}
	f.signed, f.dkim = nil, app.AuthTempError
	if _, err := f.deliver(0, google, report("one.test", google, "r3", 1)); err != reports.ErrNotNow {
		t.Errorf("while the DNS is down: %v", err)
	}
	f.signed, f.dkim = []string{"google.com"}, app.AuthPass
	f.mustDeliver(0, google, xml) // the forged one did not take its id
	f.wantMessages(0, 1000, 0)
}

func TestWarningIsSentOnceAWeek(t *testing.T) {
	testserver.BothEngines(t)
	f := newFixture(t)
	f.AddWebhook("in.test", webhook.DomainReportWarning)
	testserver.Must(t, f.service.NameSources(t.Context(), f.keys[0], f.domains[0], []string{"203.0.113.0/24"}, nil))
	failing := row{"203.0.113.9", 50, "fail", "fail"}
	f.upload(0, "r.xml", report("one.test", google, "up", 3, failing))
	if n := f.Count("webhook_events"); n != "0" {
		t.Fatalf("%s events of an upload", n)
	}
	for i := range 3 {
		f.mustDeliver(0, google, report("one.test", google, fmt.Sprint("r", i), 2, failing))
	}
	if n := f.SQL("SELECT count(*) FROM webhook_events WHERE type = 'domain.report_warning'")[0]; n != "1" {
		t.Errorf("%s events", n)
	}
	if text := f.WebhookEvents(); !strings.Contains(text, "50 from 203.0.113.9, which you named as yours, failed SPF and DKIM.") {
		t.Error(text)
	}
	f.SQL("UPDATE mail_report_warnings SET warned_at = ?", clock.Now().Add(-8*24*time.Hour).UnixMilli())
	f.mustDeliver(0, google, report("one.test", google, "later", 2, failing))
	if n := f.SQL("SELECT count(*) FROM webhook_events WHERE type = 'domain.report_warning'")[0]; n != "2" {
		t.Errorf("%s events after a week", n)
	}
	for day := range 8 {
		f.mustDeliver(0, google, report("one.test", google, fmt.Sprint("d", day), 20-day, row{"192.0.2.1", 100, "pass", "pass"}))
	}
	f.mustDeliver(0, google, report("one.test", google, "surge", 12, row{"198.51.100.7", 500, "fail", "fail"}))
	if n := f.Count("webhook_events"); n != "3" {
		t.Errorf("%s events after a surge", n)
	}
}

func TestImportFiles(t *testing.T) {
	f := newFixture(t)
	one, two := report("one.test", google, "a", 1, row{"192.0.2.1", 1, "pass", "pass"}), report("one.test", google, "b", 1, row{"192.0.2.1", 2, "pass", "pass"})
	eml := mailOf(t, google, report("one.test", google, "c", 1, row{"192.0.2.1", 4, "pass", "pass"}))
	mbox := "From x Mon Jan  1 00:00:00 2026\n" + mailOf(t, google, report("one.test", google, "d", 1, row{"192.0.2.1", 8, "pass", "pass"})) + "\n" +
		"From x Mon Jan  1 00:00:00 2026\nSubject: hi\n\nHello\n\nFrom here\n\n" +
		"From x Mon Jan  1 00:00:00 2026\n" + mailOf(t, google, report("one.test", google, "e", 1, row{"192.0.2.1", 16, "pass", "pass"}))
	for name, c := range map[string]struct {
		content           string
		imported, refused int
	}{
		"plain": {one, 1, 0}, "gzip": {string(zipped(t, two)), 1, 0}, "mail": {eml, 1, 0}, "mbox": {mbox, 2, 2},
		"nothing": {"", 0, 1}, "text": {"Hello", 0, 1}, "cut": {one[:300], 0, 1}, "old": {report("one.test", google, "f", 500), 0, 1}, "future": {report("one.test", google, "g", -5), 0, 1},
		"entities": {`<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>` + one, 0, 1},
	} {
		if done := f.upload(0, name, c.content); done.Imported != c.imported || done.RefusedAll != c.refused {
			t.Errorf("%s: %+v", name, done)
		}
	}
	f.wantMessages(0, 31, 31)
	if n := f.SQL(`SELECT count(*) FROM audit_logs WHERE action = 'report.import'`)[0]; n != "4" {
		t.Errorf("%s entries in the audit log for 4 files with reports", n)
	}
	if o := f.overview(0); o.Sum.Uploaded != 31 || o.Latest[0].Origin != app.ReportUploaded {
		t.Errorf("%+v", o.Sum)
	}
}

func TestTLSReport(t *testing.T) {
	f := newFixture(t)
	day := clock.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	text := `{"organization-name":"Google","date-range":{"start-datetime":"` + day + `T00:00:00Z","end-datetime":"` + day + `T23:59:59Z"},"contact-info":"smtp-tls-reporting@google.com","report-id":"t1",
		"policies":[{"policy":{"policy-type":"no-policy-found","policy-domain":"one.test"},"summary":{"total-successful-session-count":90,"total-failure-session-count":10},
		"failure-details":[{"result-type":"certificate-expired","receiving-mx-hostname":"mx.acme.test","failed-session-count":10}]}]}`
	if done := f.upload(0, "t", text); done.Imported != 1 {
		t.Fatalf("%+v", done)
	}
	o := f.overview(0)
	if o.TLS.Messages != 100 || o.TLS.Passed != 90 || len(o.TLSFailures) != 1 || o.TLSFailures[0].Source != "certificate-expired mx.acme.test" || o.Sum.Messages != 0 {
		t.Errorf("%+v %+v", o.TLS, o.TLSFailures)
	}
}

func TestReportAboutDomainAbove(t *testing.T) {
	f := newFixture(t)
	f.AddDomain(f.keys[0].TeamID, "mail.three.test", app.DefaultRegion, app.DomainVerified)
	xml := report("three.test", google, "r1", 1, row{"192.0.2.1", 7, "pass", "pass"})
	xml = strings.Replace(xml, "<header_from>three.test", "<header_from>news.mail.three.test", 1)
	if done := f.upload(0, "r.xml", xml); done.Imported != 1 || done.Reports[0].Messages != 7 {
		t.Errorf("%+v", done)
	}
}

func TestReportAddresses(t *testing.T) {
	f := newFixture(t)
	dmarc, tls := f.Services.Sealer.ReportAddress(app.ReportDMARC, f.domains[0], host), f.Services.Sealer.ReportAddress(app.ReportTLS, f.domains[0], host)
	if local, _, _ := strings.Cut(dmarc, "@"); len(local) > 64 {
		t.Errorf("%s has %d bytes", local, len(local))
	}
	for address, ok := range map[string]bool{
		dmarc: true, strings.ToUpper(tls): true,
		"tls" + strings.TrimPrefix(dmarc, "dmarc"):                                false, // the kind is signed
		"dmarc+" + strings.Repeat("a", 53) + "@" + host:                           false,
		dmarc[:len(dmarc)-len(host)] + "one.test":                                 false,
		f.Services.Sealer.ReportAddress(app.ReportDMARC, app.NewID(), host):       false, // no such domain
		strings.Replace(dmarc, "+", "+a", 1):                                      false,
		"dmarc@" + host:                                                           false,
		f.Services.Sealer.ReturnPath(host, app.ReturnPath{EmailID: f.domains[0]}): false,
		strings.Replace(dmarc, "@", "@x.", 1):                                     false,
	} {
		if _, err := f.service.Recipient(t.Context(), address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	testserver.Must(t, f.Services.Domains.DeleteDomain(t.Context(), f.keys[0], f.domains[0]))
	if _, err := f.service.Recipient(t.Context(), dmarc); err != reports.ErrNotHere {
		t.Errorf("after the domain was deleted: %v", err)
	}
}

func TestDaysAreBounded(t *testing.T) {
	f := newFixture(t)
	var rows []row
	for i := range app.MaxSourcesOfDay + 50 {
		rows = append(rows, row{fmt.Sprintf("10.0.%d.%d", i/200, i%200), 1, "pass", "pass"})
	}
	f.upload(0, "a", report("one.test", google, "a", 1, rows...))
	f.upload(0, "b", report("one.test", google, "b", 1, row{"10.9.9.9", 5, "fail", "fail"}))
	o := f.overview(0)
	if o.AllSources != app.MaxSourcesOfDay+1 || o.Sources[0].Source != app.OtherSources || o.Sources[0].Messages != 55 {
		t.Errorf("%d sources, %+v", o.AllSources, o.Sources[0])
	}
	f.signed = nil
	for i := range app.MaxUncountedOfDay + 1 {
		if _, err := f.deliver(0, google, report("one.test", google, fmt.Sprint(i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.Count("mail_reports WHERE counted = 0"); n != fmt.Sprint(app.MaxUncountedOfDay) {
		t.Errorf("%s reports", n)
	}
}

func TestReportsGoWithDomainAndAge(t *testing.T) {
	testserver.BothEngines(t)
	f := newFixture(t)
	count := func() string {
		return f.Count("mail_reports") + f.Count("mail_report_days") + f.Count("mail_report_sources")
	}
	f.upload(0, "a", report("one.test", google, "a", 399, row{"192.0.2.1", 1, "pass", "pass"}))
	f.upload(1, "b", report("two.test", google, "b", 1, row{"192.0.2.1", 1, "pass", "pass"}))
	if got := count(); got != "222" {
		t.Fatal(got)
	}
	f.WriteDB(func(tx *db.Tx) error {
		_, err := tx.PurgeOldReports(tx.Now.Add(-app.ReportRetention+3*24*time.Hour), 100)
		return err
	})
	if got := count(); got != "111" {
		t.Errorf("after they aged: %s", got)
	}
	testserver.Must(t, f.Services.Domains.DeleteDomain(t.Context(), f.keys[1], f.domains[1]))
	if got := count(); got != "000" {
		t.Errorf("after the domain was deleted: %s", got)
	}
}

func TestNamedSources(t *testing.T) {
	f := newFixture(t)
	name := func(own, other []string) error {
		return f.service.NameSources(t.Context(), f.keys[0], f.domains[0], own, other)
	}
	testserver.Must(t, name([]string{"203.0.113.9/24", "2001:db8::1", "::ffff:192.0.2.1"}, []string{"203.0.113.7"}))
	named := f.overview(0).Named
	if got := fmt.Sprint(named); got != "{[192.0.2.1 2001:db8::1 203.0.113.0/24] [203.0.113.7]}" {
		t.Error(got)
	}
	for source, want := range map[string]string{"203.0.113.8": "own", "203.0.113.7": "other", "198.51.100.1": "", "2001:db8::1": "own", "other": ""} {
		own, other := named.Named(source)
		if got := map[bool]string{own: "own", other: "other"}[true]; got != want {
			t.Errorf("%s: %q", source, got)
		}
	}
	for _, bad := range [][]string{{"mail.example.com"}, {"203.0.113.0/33"}, {"203.0.113.7"}, make([]string, 101)} {
		if err := name(bad, nil); app.CodeOf(err) != app.CodeValidation {
			t.Errorf("%v: %v", bad, err)
		}
	}
	testserver.Must(t, name([]string{}, nil))
	if named := f.overview(0).Named; len(named.Own) != 0 || len(named.NotOwn) != 1 {
		t.Errorf("%+v", named)
	}
}

func TestReverseNamesOfFailingSources(t *testing.T) {
	f := newFixture(t)
	asked := 0
	f.service.Resolver = func(_ context.Context, name string, kind app.DNSType) (answer app.DNSAnswer, err error) {
		asked++
		for _, known := range []struct{ name, kind, value string }{
			{"9.113.0.203.in-addr.arpa.", "PTR", "mta.shop.example"}, {"mta.shop.example", "A", "203.0.113.9"},
			{"7.100.51.198.in-addr.arpa.", "PTR", "www.bank.example"}, {"www.bank.example", "A", "192.0.2.44"}, // leads elsewhere
		} {
			if known.name == name && known.kind == string(kind) {
				answer.Records = append(answer.Records, app.DNSValue{Text: known.value})
			}
		}
		return answer, nil
	}
	f.upload(0, "r", report("one.test", google, "a", 1, row{"203.0.113.9", 20, "fail", "fail"}, row{"198.51.100.7", 10, "fail", "fail"}, row{"192.0.2.1", 5, "pass", "pass"}))
	f.overview(0)
	f.Services.Workers.Wait()
	o := f.overview(0)
	if s := o.Sources; s[0].ReverseName != "mta.shop.example" || s[1].ReverseName != "" || s[2].ReverseName != "" {
		t.Errorf("%+v", s)
	}
	if text := mailreport.Text(o.Sentences); !strings.Contains(text, "20 from 203.0.113.9 (reverse name mta.shop.example) failed") {
		t.Error(text)
	}
	f.Services.Workers.Wait()
	if asked != 4 {
		t.Errorf("%d questions", asked)
	}
}
