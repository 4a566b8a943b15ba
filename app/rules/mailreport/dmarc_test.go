package mailreport

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mailer/app"
	"mailer/app/kit/mailbox"
	"mailer/app/testing/apptest"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func gzipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var (
	dayBegin  = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	dayEnd    = dayBegin.Add(24*time.Hour - time.Second)
	compareIP = cmpopts.EquateComparable(netip.Addr{})
)

// reports are the files of testdata with what they say.
var reports = map[string]DMARC{
	"google.xml": {
		Reporter: "google.com", Email: "noreply-dmarc-support@google.com", ReportID: "10437269836450181234", Begin: dayBegin, End: dayEnd, Domain: "example.com",
		Policy: Policy{P: "none", SP: "quarantine", NP: "reject", ADKIM: "r", ASPF: "r", Percent: 100},
		Rows: []Row{
			{SourceIP: netip.MustParseAddr("192.0.2.10"), Count: 1204, Disposition: "none", SPF: "pass", DKIM: "pass", HeaderFrom: "example.com",
				AuthSPF: []AuthDetail{{Domain: "bounces.example.com", Result: "pass"}}, AuthDKIM: []AuthDetail{{Domain: "example.com", Selector: "mailer", Result: "pass"}}},
			{SourceIP: netip.MustParseAddr("2001:db8::25"), Count: 3, Disposition: "none", SPF: "fail", DKIM: "fail", HeaderFrom: "example.com", Overrides: []string{"local_policy"},
				AuthSPF:  []AuthDetail{{Domain: "lists.example.net", Result: "pass"}},
				AuthDKIM: []AuthDetail{{Domain: "example.com", Selector: "mailer", Result: "fail"}, {Domain: "lists.example.net", Selector: "s1", Result: "pass"}}},
		},
	},
	"microsoft.xml": { // declares UTF-16 and is UTF-8
		Reporter: "Enterprise Outlook", Email: "dmarcreport@microsoft.com", ReportID: "2f7c3c1f0a1b4c5d9e8f", Begin: dayBegin, End: dayEnd.Add(time.Second), Domain: "example.com",
		Policy: Policy{P: "quarantine", SP: "quarantine", ADKIM: "r", ASPF: "r", Percent: 50},
		Rows: []Row{{SourceIP: netip.MustParseAddr("203.0.113.9"), Count: 312, Disposition: "quarantine", SPF: "fail", DKIM: "fail", HeaderFrom: "example.com", EnvelopeFrom: "mta.oldshop.example",
			AuthSPF: []AuthDetail{{Domain: "mta.oldshop.example", Scope: "mfrom", Result: "softfail"}}}},
	},
	"yahoo.xml": {
		Reporter: "Yahoo", Email: "dmarchelp@yahooinc.com", ReportID: "1793577600.123456", Begin: dayBegin, End: dayEnd, Domain: "example.com",
		Policy: Policy{P: "reject", ADKIM: "s", ASPF: "s", Percent: 100},
		Rows: []Row{{SourceIP: netip.MustParseAddr("192.0.2.10"), Count: 7, Disposition: "none", SPF: "fail", DKIM: "pass", HeaderFrom: "example.com",
			AuthSPF: []AuthDetail{{Domain: "bounces.example.com", Result: "fail"}}, AuthDKIM: []AuthDetail{{Domain: "example.com", Selector: "mailer", Result: "pass"}}}},
	},
	"mailru.xml": { // members in another order, a domain in two spellings
		Reporter: "Mail.Ru", Email: "dmarc_support@corp.mail.ru", ReportID: "91234567890123456789", Begin: dayBegin, End: dayEnd.Add(time.Second), Domain: "xn--bcher-kva.example",
		Policy: Policy{P: "none", SP: "none", ADKIM: "r", ASPF: "r", Percent: 100},
		Rows: []Row{{SourceIP: netip.MustParseAddr("192.0.2.11"), Count: 2, Disposition: "none", SPF: "pass", DKIM: "pass", HeaderFrom: "xn--bcher-kva.example",
			AuthSPF: []AuthDetail{{Domain: "xn--bcher-kva.example", Scope: "mfrom", Result: "pass"}}, AuthDKIM: []AuthDetail{{Domain: "xn--bcher-kva.example", Selector: "mailer", Result: "pass"}}}},
	},
	"ses.xml": {
		Reporter: "AMAZON-SES", Email: "postmaster@amazonses.com", ReportID: "7f0e5ad6-1b8c-4e1f-a0e3-3f2a0a9f1c2d", Begin: dayBegin, End: dayEnd.Add(time.Second), Domain: "example.com",
		Policy: Policy{P: "none", SP: "none", ADKIM: "r", ASPF: "r", Percent: 100},
		Rows: []Row{{SourceIP: netip.MustParseAddr("198.51.100.20"), Count: 1, Disposition: "none", SPF: "pass", DKIM: "fail", HeaderFrom: "news.example.com", EnvelopeFrom: "news.example.com",
			AuthSPF: []AuthDetail{{Domain: "news.example.com", Result: "pass"}}, AuthDKIM: []AuthDetail{{Domain: "shop.example", Result: "pass"}}}},
	},
	"fastmail.xml": { // empty members
		Reporter: "Fastmail Pty Ltd", Email: "reports@fastmaildmarc.com", ReportID: "1034567890", Begin: dayBegin, End: dayEnd, Domain: "example.com",
		Policy: Policy{P: "none", Percent: 100},
		Rows: []Row{{SourceIP: netip.MustParseAddr("203.0.113.77"), Count: 4, Disposition: "none", SPF: "fail", DKIM: "fail", HeaderFrom: "example.com", Overrides: []string{"mailing_list", "other"},
			AuthSPF: []AuthDetail{{Domain: "mx.forwarder.example", Scope: "helo", Result: "none"}}, AuthDKIM: []AuthDetail{{Domain: "example.com", Selector: "mailer", Result: "fail"}}}},
	},
	"rfc9990.xml": { // prefixes of a namespace, an extension
		Reporter: "Receiver & Sons", Email: "dmarc@receiver.example", ReportID: "r-1@receiver.example", Begin: dayBegin, End: dayEnd, Domain: "example.com",
		Policy: Policy{P: "quarantine", SP: "none", NP: "reject", Percent: 100, Testing: true},
		Rows: []Row{{SourceIP: netip.MustParseAddr("192.0.2.123"), Count: 123, Disposition: "pass", SPF: "fail", DKIM: "pass", HeaderFrom: "example.com", EnvelopeFrom: "example.com", Overrides: []string{"policy_test_mode"},
			AuthSPF: []AuthDetail{{Domain: "example.com", Result: "temperror"}}, AuthDKIM: []AuthDetail{{Domain: "example.com", Selector: "abc123", Result: "pass"}}}},
	},
	"draft.xml": { // a schema that is not closed, identities, ISO 8859-1, a reason without structure
		Reporter: "Möbel AG", Email: "dmarc@moebel.example", ReportID: "9", Begin: dayBegin, End: dayEnd, Domain: "example.com",
		Policy: Policy{P: "none", Percent: 100},
		Rows: []Row{{SourceIP: netip.MustParseAddr("198.51.100.7"), Count: 5, Disposition: "none", SPF: "fail", DKIM: "fail", HeaderFrom: "example.com", Overrides: []string{"other"},
			AuthSPF: []AuthDetail{{Domain: "example.com", Result: "permerror"}}}},
	},
}

func TestReadsReportsOfLargeReceivers(t *testing.T) {
	for name, want := range reports {
		plain := file(t, name)
		for how, raw := range map[string][]byte{
			"plain":            plain,
			"gzip":             gzipped(t, plain),
			"padded":           append(gzipped(t, plain), 0, 0, 0),
			"two gzip members": append(gzipped(t, plain[:len(plain)/2]), gzipped(t, plain[len(plain)/2:])...),
			"zip":              []byte(apptest.Zip(t, "report.XML", string(plain))),
		} {
			if kind := Kind(raw); kind != DMARCReport {
				t.Errorf("%s %s: kind %q", name, how, kind)
			}
			got, err := ReadDMARC(raw)
			if err != nil {
				t.Errorf("%s %s: %v", name, how, err)
				continue
			}
			if diff := cmp.Diff(&want, got, compareIP); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", name, how, diff)
			}
		}
	}
}

// changed returns the report of Google with a text replaced.
func changed(t testing.TB, old, with string) []byte {
	t.Helper()
	raw := file(t, "google.xml")
	if !bytes.Contains(raw, []byte(old)) {
		t.Fatalf("no %q", old)
	}
	return bytes.Replace(raw, []byte(old), []byte(with), 1)
}

func utf16Bytes(s string, bom bool) []byte {
	var out []byte
	if bom {
		out = []byte("\xff\xfe")
	}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

func TestReadsEncodings(t *testing.T) {
	doc := string(changed(t, "<org_name>google.com", "<org_name>Größe"))
	declared := func(charset, org string) []byte {
		return []byte(strings.NewReplacer(`"UTF-8"`, `"`+charset+`"`, "Größe", org).Replace(doc))
	}
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"BOM":                  {[]byte("\xef\xbb\xbf" + doc), "Größe"},
		"UTF-16 with BOM":      {utf16Bytes(doc, true), "Größe"},
		"UTF-16 without BOM":   {utf16Bytes(doc, false), "Größe"},
		"windows-1252":         {declared("windows-1252", "\x93Gr\xf6\xdfe\x94"), "“Größe”"},
		"KOI8-R":               {declared("koi8-r", "\xed\xe9\xf2"), "МИР"},
		"ISO-2022-JP":          {declared("iso-2022-jp", "\x1b$BF|\x1b(B"), "日"},
		"unknown":              {declared("x-mars", "Größe"), "Größe"},
		"unknown and not UTF8": {declared("x-mars", "Gr\xf6\xdfe"), "Gre"},
		"not as declared":      {declared("utf-8", "Gr\xf6\xdfe"), "Gre"},
		"control characters":   {declared("utf-8", "Gr\x01ö\x00ße"), "Gr ö ße"},
		"hidden characters":    {declared("utf-8", "a\u202eb\u200b\r\n c"), "ab c"},
		"CDATA":                {declared("utf-8", "<![CDATA[a < b]]> &#99;"), "a < b c"},
		"version 1.1":          {bytes.Replace([]byte(doc), []byte(`version="1.0"`), []byte(`version="1.1"`), 1), "Größe"},
		"long":                 {declared("utf-8", strings.Repeat("ö", 30000)), strings.Repeat("ö", 127)},
	} {
		got, err := ReadDMARC(test.raw)
		if err != nil || got.Reporter != test.want || len(got.Rows) != 2 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestLeavesOutUnreadableRecords(t *testing.T) {
	for name, test := range map[string]struct {
		raw           []byte
		rows, skipped int
	}{
		"negative count":  {changed(t, "<count>1204<", "<count>-1204<"), 1, 1},
		"no messages":     {changed(t, "<count>1204<", "<count>0<"), 1, 1},
		"huge count":      {changed(t, "<count>1204<", "<count>99999999999999999999999<"), 1, 1},
		"count too large": {changed(t, "<count>1204<", "<count>1000000001<"), 1, 1},
		"largest count":   {changed(t, "<count>1204<", "<count>1000000000<"), 2, 0},
		"count in words":  {changed(t, "<count>1204<", "<count>many<"), 1, 1},
		"no count":        {changed(t, "<count>1204</count>", ""), 1, 1},
		"no address":      {changed(t, "<source_ip>192.0.2.10</source_ip>", ""), 1, 1},
		"host name":       {changed(t, ">192.0.2.10<", ">mail.example.com<"), 1, 1},
		"IPv6 with zone":  {changed(t, ">192.0.2.10<", ">fe80::1%eth0<"), 2, 0},
		"no results":      {changed(t, "<dkim>pass</dkim>\n        <spf>pass</spf>", ""), 1, 1},
		"one result":      {changed(t, "<dkim>pass</dkim>\n        <spf>pass</spf>", "<spf>pass</spf>"), 2, 0},
		"no identifiers":  {changed(t, "<identifiers>\n      <header_from>example.com</header_from>\n    </identifiers>", ""), 2, 0},
		"no record": {[]byte(`<feedback><report_metadata><org_name>a</org_name><date_range><begin>1793491200</begin><end>1793491200</end></date_range></report_metadata>` +
			`<policy_published><domain>example.com</domain></policy_published></feedback>`), 0, 0},
	} {
		got, err := ReadDMARC(test.raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(got.Rows) != test.rows || got.Skipped != test.skipped {
			t.Errorf("%s: %d rows, %d skipped", name, len(got.Rows), got.Skipped)
		}
		checkDMARC(t, got)
	}
	if got, err := ReadDMARC(changed(t, "<dkim>pass</dkim>\n        <spf>pass</spf>", "<dkim>pass</dkim>")); err != nil || !got.Rows[0].Passed() || got.Rows[0].SPF != app.AuthFail || got.Rows[1].Passed() {
		t.Errorf("one result: %+v, %v", got, err)
	}
}

func TestRefusesBrokenReports(t *testing.T) {
	google := file(t, "google.xml")
	zipped := apptest.Zip(t, "a.xml", string(google))
	wrongSum := gzipped(t, google)
	wrongSum[len(wrongSum)-8] ^= 1
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"empty":             {nil, "it is empty"},
		"empty gzip":        {gzipped(t, nil), "it is empty"},
		"unused":            {gzipped(t, []byte("unused")), "root element is not feedback"},
		"HTML":              {[]byte("<html><body>Sorry</body></html>"), "root element is not feedback"},
		"cut":               {google[:len(google)/2], "10437269836450181234 of google.com can't be read: the XML ends too early"},
		"cut in a tag":      {google[:bytes.Index(google, []byte("ource_ip"))], "the XML ends too early"},
		"cut gzip":          {gzipped(t, google)[:200], "the packed file ends too early"},
		"gzip of nothing":   {[]byte("\x1f\x8b"), "the packed file ends too early"},
		"damaged gzip":      {wrongSum, "its checksum is wrong"},
		"no deflate":        {append(gzipped(t, google)[:10], bytes.Repeat([]byte{0xff}, 50)...), "the packed file is damaged"},
		"cut zip":           {[]byte(zipped[:len(zipped)/2]), "the packed file is damaged"},
		"zip without xml":   {[]byte(apptest.Zip(t, "report.txt", string(google), "__MACOSX/._a.xml", "x")), "holds no .xml file"},
		"empty zip":         {[]byte(apptest.Zip(t)), "holds no .xml file"},
		"crossed elements":  {changed(t, "</report_metadata>", "</feedback>"), "unexpected end of the element feedback"},
		"unescaped":         {changed(t, "google.com</org_name>", "A & B</org_name>"), "line 4: it is not well-formed XML"},
		"no metadata":       {changed(t, "<org_name>google.com</org_name>\n    <email>noreply-dmarc-support@google.com</email>", ""), "org_name and email are missing"},
		"no domain":         {changed(t, "<domain>example.com</domain>", ""), "the domain in policy_published is missing"},
		"not a domain":      {changed(t, "<domain>example.com</domain>", "<domain>../etc</domain>"), "is not a domain name"},
		"no begin":          {changed(t, "<begin>1793491200</begin>", ""), "its begin or end is missing"},
		"begin in words":    {changed(t, "<begin>1793491200<", "<begin>yesterday<"), "its begin or end is not a time"},
		"begin before 1970": {changed(t, "<begin>1793491200<", "<begin>-5<"), "its begin or end is not a time"},
		"milliseconds":      {changed(t, "<end>1793577599<", "<end>1793577599000<"), "its begin or end is not a time"},
		"reversed":          {changed(t, "<begin>1793491200<", "<begin>1793577600<"), "its end is before its begin"},
		"a year":            {changed(t, "<begin>1793491200<", "<begin>1761955200<"), "it covers more than 62 days"},
		"no good record": {bytes.ReplaceAll(bytes.ReplaceAll(google, []byte("<count>1204"), []byte("<count>-1")), []byte("<count>3"), []byte("<count>x")),
			"none of its records can be read"},
	} {
		got, err := ReadDMARC(test.raw)
		var e *app.Error
		if got != nil || !errors.As(err, &e) || e.Code != app.CodeValidation || !strings.HasPrefix(e.Message, "The DMARC report") || !strings.Contains(e.Message, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := ReadDMARC(changed(t, "<org_name>google.com</org_name>", "")); err != nil || got.Reporter != "google.com" {
		t.Errorf("without org_name: %+v, %v", got, err)
	}
}

func TestRefusesHostileReports(t *testing.T) {
	google := string(file(t, "google.xml"))
	body := google[strings.Index(google, "<feedback>"):]
	spaces := strings.Repeat(strings.Repeat(" ", 1000)+"<!-- -->", 11<<10)
	many := strings.Replace(google, "</feedback>", strings.Repeat("<record/>", 1_000_000)+"</feedback>", 1)
	encrypted := []byte(apptest.Zip(t, "a.xml", google))
	encrypted[bytes.Index(encrypted, []byte("PK\x01\x02"))+8] |= 1
	digits := make([]byte, 11<<20) // of which gzip makes about a half
	for i, random := 0, rand.New(rand.NewPCG(1, 2)); i < len(digits); i++ {
		digits[i] = "0123456789"[random.IntN(10)]
	}
	var names []string
	for i := range 10_000 {
		names = append(names, fmt.Sprint(i, ".txt"), "")
	}
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"too large":       {[]byte(spaces), "it has more than 10 MiB"},
		"gzip bomb":       {gzipped(t, bytes.Repeat([]byte(" "), 20<<20)), "more than 100 times its packed size"},
		"large gzip":      {gzipped(t, digits), "unpacked it has more than 10 MiB"},
		"small gzip bomb": {gzipped(t, []byte(spaces[:8<<20])), "more than 100 times"},
		"zip bomb":        {[]byte(apptest.Zip(t, "a.xml", spaces)), "unpacked it has more than 1"},
		"many files":      {[]byte(apptest.Zip(t, names...)), "too many files"},
		"encrypted":       {encrypted, "is encrypted"},
		"billion laughs": {[]byte(`<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>` + strings.Replace(body, "google.com", "&b;", 1)),
			"a document type declaration"},
		"external entity": {[]byte(`<!DOCTYPE foo [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + body), "a document type declaration"},
		"entity":          {[]byte(strings.Replace(google, "google.com", "&xxe;", 1)), "invalid character entity"},
		"deep":            {[]byte("<feedback>" + strings.Repeat("<a>", 100_000)), "more than 32 nested elements"},
		"many records":    {[]byte(many), "more than 100000 records"},
		"long text":       {[]byte(strings.Replace(google, "google.com", strings.Repeat("x", 1<<20), 1)), "a tag or text of more than 64 KiB"},
		"many attributes": {[]byte(strings.Replace(google, "<report_metadata>", "<report_metadata "+strings.Repeat(`a=">" `, 100_000)+">", 1)), "a tag or text of more than 64 KiB"},
	} {
		if got, err := ReadDMARC(test.raw); got != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadsOneFileOfZIP(t *testing.T) {
	google, yahoo := string(file(t, "google.xml")), string(file(t, "yahoo.xml"))
	for name, raw := range map[string]string{
		"several":   apptest.Zip(t, "readme.txt", "hello", "a.xml", google, "b.xml", yahoo),
		"traversal": apptest.Zip(t, "../../../etc/cron.d/a.xml", google, "/b.xml", yahoo),
		"backslash": apptest.Zip(t, `..\..\a.xml`, google),
		"folder":    apptest.Zip(t, "dir.xml/", "", "dir.xml/a.xml", google),
		"Mac":       apptest.Zip(t, "__MACOSX/._a.xml", "binary", "a.xml", google),
	} {
		if got, err := ReadDMARC([]byte(raw)); err != nil || got.Reporter != "google.com" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestBoundsDetails(t *testing.T) {
	const detail = "<dkim>\n        <domain>example.com</domain>\n        <result>pass</result>"
	raw := changed(t, detail, strings.Repeat("<dkim><domain>a.example</domain><result>pass</result></dkim>", 1000)+detail)
	raw = bytes.Replace(raw, []byte("<reason>"), []byte(strings.Repeat("<reason><type>other</type></reason>", 1000)+"<reason>"), 1)
	got, err := ReadDMARC(raw)
	if err != nil || len(got.Rows[0].AuthDKIM) != maxDetails || len(got.Rows[1].Overrides) != maxDetails {
		t.Errorf("%v", err)
	}
}

// checkText fails t if a value of a report is not one clean, short line.
func checkText(t *testing.T, values ...string) {
	t.Helper()
	for _, s := range values {
		if len(s) > maxText || !utf8.ValidString(s) || strings.ContainsFunc(s, mailbox.IsHidden) || s != strings.TrimSpace(s) {
			t.Errorf("not clean: %q", s)
		}
	}
}

func checkDMARC(t *testing.T, r *DMARC) {
	t.Helper()
	if _, err := mailbox.ParseDomain(r.Domain); err != nil || r.Reporter == "" || r.End.Before(r.Begin) || len(r.Rows) > MaxRecords || r.Policy.Percent < 0 || r.Policy.Percent > 100 {
		t.Errorf("%+v", r)
	}
	checkText(t, r.Reporter, r.Email, r.ReportID)
	for _, row := range r.Rows {
		if !row.SourceIP.IsValid() || row.SourceIP.Zone() != "" || row.SourceIP.Is4In6() || row.Count < 1 || row.Count > MaxCount || row.SPF == "" || row.DKIM == "" {
			t.Errorf("%+v", row)
		}
		checkText(t, append(row.Overrides, row.HeaderFrom, row.EnvelopeFrom)...)
		for _, d := range append(row.AuthSPF, row.AuthDKIM...) {
			checkText(t, d.Domain, d.Selector, d.Scope)
		}
	}
}

func FuzzReadDMARC(f *testing.F) {
	for name := range reports {
		raw := file(f, name)
		f.Add(raw)
		f.Add(gzipped(f, raw))
		f.Add([]byte(apptest.Zip(f, "a.xml", string(raw))))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := ReadDMARC(raw)
		var e *app.Error
		switch {
		case err == nil:
			checkDMARC(t, r)
		case !errors.As(err, &e) || len(e.Message) > 2*maxText+500 || !utf8.ValidString(e.Message):
			t.Errorf("%v", err)
		}
	})
}
