package mailreport

import (
	"strings"
	"testing"

	"mailer/app/testing/apptest"
)

func TestKindOfOtherFiles(t *testing.T) {
	google := string(file(t, "google.xml"))
	for name, content := range map[string]string{
		"nothing":           "",
		"text":              "This is an aggregate report from google.com.",
		"text with element": "See <feedback> below",
		"HTML":              "<!DOCTYPE html><html><feedback></feedback></html>",
		"other XML":         `<?xml version="1.0"?><rss/>`,
		"only a comment":    "<!-- feedback -->",
		"unclosed":          "<feedback",
		"JSON":              `{"policies": [], "name": "x"}`,
		"JSON array":        `[{"policies":[],"report-id":1}]`,
		"gzip of text":      string(gzipped(t, []byte("unused"))),
		"broken gzip":       "\x1f\x8b\x08",
		"broken zip":        "PK\x03\x04",
		"zip of text":       apptest.Zip(t, "a.txt", google),
		"zip of JSON":       apptest.Zip(t, "a.json", string(file(t, "google.json"))),
		"late root":         strings.Repeat(" ", headBytes) + google,
		"PDF":               "%PDF-1.7\n<feedback>",
	} {
		if kind := Kind([]byte(content)); kind != NoReport {
			t.Errorf("%s: %q", name, kind)
		}
	}
	// A damaged report is still recognised, so that reading it says what is wrong.
	for name, content := range map[string]string{
		"cut":             google[:500],
		"cut gzip":        string(gzipped(t, []byte(google))[:300]),
		"with a document": "<!DOCTYPE a>" + google[strings.Index(google, "<feedback>"):],
	} {
		if kind := Kind([]byte(content)); kind != DMARCReport {
			t.Errorf("%s: %q", name, kind)
		}
	}
}

func TestFindsReportAmongParts(t *testing.T) {
	dmarc, tls := gzipped(t, file(t, "google.xml")), gzipped(t, file(t, "google.json"))
	text := Part{"text/plain; charset=utf-8", []byte("This is an aggregate report.")}
	for name, test := range map[string]struct {
		parts []Part
		index int
		kind  ReportKind
	}{
		"nothing":        {nil, -1, NoReport},
		"no report":      {[]Part{text, {"image/png", []byte("\x89PNG")}}, -1, NoReport},
		"gzip":           {[]Part{text, {"application/gzip", dmarc}}, 1, DMARCReport},
		"wrong type":     {[]Part{text, {"image/jpeg", tls}}, 1, TLSReport},
		"as text":        {[]Part{{"Text/Plain", file(t, "google.xml")}}, 0, DMARCReport},
		"without a type": {[]Part{{"", dmarc}}, 0, DMARCReport},
		"text last":      {[]Part{{"text/plain", file(t, "google.xml")}, {"application/tlsrpt+gzip", tls}}, 1, TLSReport},
		"two":            {[]Part{{"application/tlsrpt+gzip", tls}, {"application/gzip", dmarc}}, 0, TLSReport},
		"behind many":    {append(make([]Part, maxParts), Part{"", dmarc}), -1, NoReport},
	} {
		if index, kind := Find(test.parts); index != test.index || kind != test.kind {
			t.Errorf("%s: %d %q", name, index, kind)
		}
	}
}

func FuzzKind(f *testing.F) {
	f.Add(file(f, "google.xml"))
	f.Add(file(f, "google.json"))
	f.Add([]byte(apptest.Zip(f, "a.xml", string(file(f, "google.xml")))))
	f.Fuzz(func(t *testing.T, raw []byte) {
		kind := Kind(raw)
		if _, err := ReadDMARC(raw); err == nil && kind != DMARCReport && len(raw) < headBytes/2 {
			t.Errorf("a DMARC report has the kind %q", kind)
		}
	})
}
