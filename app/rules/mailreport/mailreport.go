// Package mailreport reads the reports that receivers of mail send about a domain: DMARC aggregate
// reports (RFC 7489 appendix C, RFC 9990) and TLS reports (RFC 8460). It decides which reports
// count, and describes in sentences what the reports of a domain say and which policy to publish.
//
// All functions are pure. Reports are untrusted: what is unpacked, nested and kept is limited, and
// the work is linear in the size. A report is refused as a whole only if its reporter, domain or
// period can't be read; unreadable records are left out and counted.
package mailreport

import (
	"bytes"
	"encoding/xml"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/kit/mailbox"
)

// Limits of a report.
const (
	MaxUnpacked = 10 << 20      // bytes of a report, packed or unpacked
	MaxRecords  = 100_000       // records of a DMARC report; objects of a TLS report
	MaxCount    = 1_000_000_000 // messages of a record, or sessions of a policy

	maxDepth    = 32       // nested elements or values
	maxUntagged = 64 << 10 // bytes of XML between the starts of two tags
	maxText     = 255      // bytes of a name, id or description
	maxDetails  = 20       // results, overrides or host names of one record
	maxPeriod   = 62 * 24 * time.Hour
)

// ReportKind is a kind of report.
type ReportKind string

// The kinds.
const (
	NoReport    ReportKind = ""
	DMARCReport ReportKind = "dmarc"
	TLSReport   ReportKind = "tls"
)

// headBytes is how much of the unpacked content decides its kind.
const headBytes = 64 << 10

// Kind detects the kind of a report by its content, which may be packed with gzip or, for DMARC,
// as a ZIP archive. It unpacks at most 64 KiB and does not check the rest.
func Kind(content []byte) ReportKind {
	head, err := unpackHead(content)
	if err != nil {
		return NoReport
	}
	head = bytes.TrimLeftFunc(toUTF8(head), unicode.IsSpace)
	switch {
	case bytes.HasPrefix(head, []byte("<")) && rootElement(head) == "feedback":
		return DMARCReport
	case bytes.HasPrefix(head, []byte("{")) && namesTLSReport(head):
		return TLSReport
	}
	return NoReport
}

// rootElement returns the name of the first element; empty: there is none.
func rootElement(head []byte) string {
	d := newXMLDecoder(head)
	for {
		token, err := d.RawToken()
		if err != nil {
			return ""
		}
		if start, ok := token.(xml.StartElement); ok {
			return elementName(start.Name)
		}
	}
}

// namesTLSReport reports whether a JSON object begins like a TLS report.
func namesTLSReport(head []byte) bool {
	head = bytes.ToLower(head)
	has := func(name string) bool { return bytes.Contains(head, []byte(`"`+name+`"`)) }
	return has("policies") && (has("organization-name") || has("report-id") || has("date-range") || has("policy-type"))
}

// Part is a part of a message.
type Part struct {
	ContentType string // with or without parameters
	Content     []byte // decoded
}

// maxParts is how many parts of a message are examined.
const maxParts = 20

// Find returns the index and kind of the report among the parts of a message, or -1 and NoReport.
// The content decides. Parts that are not text are examined before texts. At most 20 parts are
// examined, and the first report is taken.
func Find(parts []Part) (int, ReportKind) {
	examined := 0
	for _, texts := range []bool{false, true} {
		for i, p := range parts {
			if isText(p.ContentType) != texts {
				continue
			}
			if examined++; examined > maxParts {
				return -1, NoReport
			}
			if kind := Kind(p.Content); kind != NoReport {
				return i, kind
			}
		}
	}
	return -1, NoReport
}

// isText reports whether a content type is one for people to read. Empty means text/plain
// (RFC 2045 5.2).
func isText(contentType string) bool {
	t, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(t)) {
	case "", "text/plain", "text/html":
		return true
	}
	return false
}

// refuse returns the error for a report that can't be read. name describes the report as far as it
// was read; empty: nothing is known.
func refuse(kind, name string, cause error) error {
	if name != "" {
		name = " " + name
	}
	return app.Errorf(app.CodeValidation, "The %s report%s can't be read: %v", kind, name, cause)
}

// reportName describes a report in errors.
func reportName(id, reporter string) string {
	var words []string
	if id != "" {
		words = append(words, id)
	}
	if reporter != "" {
		words = append(words, "of "+reporter)
	}
	return strings.Join(words, " ")
}

// clean returns a text in one line without hidden or invalid characters, of at most maxText bytes.
func clean(s string) string { return cut(s, maxText) }

// cut is clean with a limit in bytes.
func cut(s string, limit int) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) || mailbox.IsControl(r) {
			space = true
			continue
		}
		if mailbox.IsHidden(r) || r == utf8.RuneError {
			continue
		}
		gap := 0
		if space && b.Len() > 0 {
			gap = 1
		}
		if b.Len()+gap+utf8.RuneLen(r) > limit {
			break
		}
		if gap > 0 {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// domainName returns a domain in lower-case A-labels. It takes the domain of an address, and
// returns an invalid name as cleaned text.
func domainName(s string) string {
	s = strings.Trim(clean(s), "<> ")
	return cut(mailbox.FoldDomain(s[strings.LastIndexByte(s, '@')+1:]), maxText)
}

// address returns an IP address without a zone, an IPv4 address always in its own notation.
func address(s string) netip.Addr {
	ip, err := netip.ParseAddr(strings.Trim(s, "[] \t\r\n"))
	if err != nil {
		return netip.Addr{}
	}
	return ip.Unmap().WithZone("")
}

// result returns a result of SPF or DKIM. Results that RFC 8601 lacks are replaced by those with
// their meaning; unknown ones become none.
func result(s string) app.AuthResult {
	switch r := app.AuthResult(strings.ToLower(clean(s))); r {
	case app.AuthPass, app.AuthFail, app.AuthSoftFail, app.AuthNeutral, app.AuthTempError, app.AuthPermError:
		return r
	case "hardfail", "policy": // policy: signed, but not in a way that the receiver accepts
		return app.AuthFail
	case "error":
		return app.AuthTempError
	case "unknown": // RFC 4408
		return app.AuthPermError
	}
	return app.AuthNone
}
