package mailreport

import (
	"cmp"
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/mailbox"
)

// DMARC is an aggregate report: what one receiver saw of one domain in a period.
type DMARC struct {
	Reporter string // org_name; if the report has none, the domain of Email
	Email    string // of the reporter, as the report says; it may be empty or forged
	ReportID string // unique for a reporter; may be empty
	Begin    time.Time
	End      time.Time
	Domain   string // whose policy was applied, in lower-case A-labels
	Policy   Policy
	Rows     []Row
	// Skipped is how many records were left out, because their address, count or result can't be read.
	Skipped int
}

// Policy is the DMARC policy that the reporter found. Missing and unknown values are empty.
type Policy struct {
	P, SP, NP   string // none, quarantine or reject
	ADKIM, ASPF string // r (relaxed) or s (strict)
	Percent     int    // 0 to 100; 100 if absent
	Testing     bool   // t=y (RFC 9989)
}

// Row is a record of a report: messages from one address with the same results.
type Row struct {
	SourceIP    netip.Addr // valid, without a zone
	Count       int64      // 1 to MaxCount
	Disposition string     // none, quarantine, reject or pass (RFC 9990); empty: unknown
	// SPF and DKIM are AuthPass if the check passed for a domain that is aligned with that of the From,
	// else AuthFail.
	SPF          app.AuthResult
	DKIM         app.AuthResult
	HeaderFrom   string // domain of the From, in lower-case A-labels; may be empty
	EnvelopeFrom string // domain of the envelope sender; empty: unknown, or the null sender
	AuthSPF      []AuthDetail
	AuthDKIM     []AuthDetail
	// Overrides are the reasons why the disposition differs from the policy, in lower case: forwarded,
	// mailing_list, trusted_forwarder, sampled_out, local_policy, policy_test_mode, other.
	Overrides []string
}

// Passed reports whether the messages passed DMARC.
func (r *Row) Passed() bool { return r.SPF == app.AuthPass || r.DKIM == app.AuthPass }

// AuthDetail is the result of one check of SPF or DKIM, without regard to alignment.
type AuthDetail struct {
	Domain   string
	Selector string // of DKIM
	Scope    string // of SPF: mfrom or helo
	Result   app.AuthResult
}

// ReadDMARC reads an aggregate report in plain XML, gzip, or a ZIP archive, of which only the first
// .xml file is read. A document type declaration and entities are refused.
// Errors: CodeValidation, in words for the operator.
func ReadDMARC(raw []byte) (*DMARC, error) {
	doc, err := unpack(raw)
	if err != nil {
		return nil, refuse("DMARC", "", err)
	}
	x := xmlReader{report: DMARC{Policy: Policy{Percent: 100}}}
	if err = x.read(toUTF8(doc)); err == nil {
		err = x.finish()
	}
	if err != nil {
		return nil, refuse("DMARC", reportName(x.report.ReportID, x.report.Reporter), err)
	}
	return &x.report, nil
}

// finish checks what a report can't do without.
func (x *xmlReader) finish() error {
	r := &x.report
	r.Reporter = cmp.Or(r.Reporter, domainOf(r.Email))
	if r.Reporter == "" {
		return errors.New("it names no reporter: org_name and email are missing")
	}
	if x.domain == "" {
		return errors.New("it names no domain: the domain in policy_published is missing")
	}
	domain, err := mailbox.ParseDomain(strings.TrimSuffix(x.domain, "."))
	if err != nil {
		return errors.New("the domain in policy_published is not a domain name")
	}
	r.Domain = domain
	if r.Begin, r.End, err = period(x.from, x.until); err != nil {
		return err
	}
	if len(r.Rows) == 0 && r.Skipped > 0 {
		return errors.New("none of its records can be read: each lacks an address, a positive count or a result")
	}
	return nil
}

// domainOf returns the domain of an address; empty: it has none.
func domainOf(address string) string {
	if !strings.Contains(address, "@") {
		return ""
	}
	return domainName(address)
}

// period parses the begin and end of a report. The end of some reports is the begin.
func period(begin, end string) (from, to time.Time, err error) {
	from, ok1 := moment(begin)
	to, ok2 := moment(end)
	switch {
	case begin == "" || end == "":
		err = errors.New("its begin or end is missing")
	case !ok1 || !ok2:
		err = errors.New("its begin or end is not a time")
	case to.Before(from):
		err = errors.New("its end is before its begin")
	case to.Sub(from) > maxPeriod:
		err = errors.New("it covers more than 62 days")
	}
	if err != nil {
		return time.Time{}, time.Time{}, err
	}
	return from, to, nil
}

// moment parses a time: seconds since 1970, or a date and time as in RFC 3339.
func moment(s string) (time.Time, bool) {
	whole, _, _ := strings.Cut(s, ".")
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
		return time.Unix(n, 0).UTC(), n > 0 && n < 1<<33 // until 2242
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), t.Unix() > 0 && t.Unix() < 1<<33
		}
	}
	return time.Time{}, false
}

// set stores the value of an element. path consists of names of elementName below the root.
func (x *xmlReader) set(path, value string) {
	section, name, _ := strings.Cut(path, "/")
	switch section {
	case "reportmetadata":
		x.setMetadata(name, value)
	case "policypublished":
		x.setPolicy(name, value)
	case "record":
		x.setRecord(name, value)
	}
}

func (x *xmlReader) setMetadata(name, value string) {
	switch name {
	case "orgname":
		x.report.Reporter = value
	case "email":
		x.report.Email = contact(value)
	case "reportid":
		x.report.ReportID = value
	case "daterange/begin":
		x.from = value
	case "daterange/end":
		x.until = value
	}
}

func (x *xmlReader) setPolicy(name, value string) {
	p := &x.report.Policy
	word := strings.ToLower(value)
	switch name {
	case "domain":
		x.domain = value
	case "p":
		p.P = oneOf(word, "none", "quarantine", "reject")
	case "sp":
		p.SP = oneOf(word, "none", "quarantine", "reject")
	case "np":
		p.NP = oneOf(word, "none", "quarantine", "reject")
	case "adkim":
		p.ADKIM = alignment(word)
	case "aspf":
		p.ASPF = alignment(word)
	case "pct":
		if n, err := strconv.Atoi(word); err == nil && n >= 0 && n <= 100 {
			p.Percent = n
		}
	case "testing":
		p.Testing = word == "y"
	}
}

// alignment returns a mode. Some reports spell it out.
func alignment(word string) string {
	switch word {
	case "relaxed":
		return "r"
	case "strict":
		return "s"
	}
	return oneOf(word, "r", "s")
}

// oneOf returns word if it is one of known, else an empty string.
func oneOf(word string, known ...string) string {
	for _, k := range known {
		if word == k {
			return k
		}
	}
	return ""
}

func (x *xmlReader) setRecord(name, value string) {
	r := &x.row
	switch name {
	case "row/sourceip":
		r.SourceIP = address(value)
	case "row/count":
		r.Count, _ = strconv.ParseInt(value, 10, 64)
	case "row/policyevaluated/disposition":
		r.Disposition = oneOf(strings.ToLower(value), "none", "quarantine", "reject", "pass")
	case "row/policyevaluated/dkim":
		r.DKIM = evaluated(value)
	case "row/policyevaluated/spf":
		r.SPF = evaluated(value)
	case "row/policyevaluated/reason/type":
		x.override = strings.ToLower(value)
	case "row/policyevaluated/reason":
		if x.override == "" && value != "" { // a text without structure
			x.override = "other"
		}
		if x.override != "" && len(r.Overrides) < maxDetails {
			r.Overrides = append(r.Overrides, x.override)
		}
		x.override = ""
	case "identifiers/headerfrom":
		r.HeaderFrom = domainName(value)
	case "identifiers/envelopefrom":
		r.EnvelopeFrom = domainName(value)
	case "authresults/dkim":
		r.AuthDKIM = x.addDetail(r.AuthDKIM)
	case "authresults/spf":
		r.AuthSPF = x.addDetail(r.AuthSPF)
	case "authresults/dkim/domain", "authresults/spf/domain":
		x.detail.Domain = domainName(value)
	case "authresults/dkim/selector":
		x.detail.Selector = value
	case "authresults/spf/scope":
		x.detail.Scope = strings.ToLower(value)
	case "authresults/dkim/result", "authresults/spf/result":
		x.detail.Result = result(value)
	case "":
		x.addRow()
	}
}

func evaluated(value string) app.AuthResult {
	if strings.EqualFold(value, "pass") {
		return app.AuthPass
	}
	return app.AuthFail
}

func (x *xmlReader) addDetail(details []AuthDetail) []AuthDetail {
	d := x.detail
	x.detail = AuthDetail{}
	if d == (AuthDetail{}) || len(details) == maxDetails {
		return details
	}
	d.Result = cmp.Or(d.Result, app.AuthNone)
	return append(details, d)
}

// addRow adds the record that was read. A record without an address, a positive count or any
// result is skipped. If only one result is missing, that check counts as failed.
func (x *xmlReader) addRow() {
	r := x.row
	x.row = Row{}
	if !r.SourceIP.IsValid() || r.Count < 1 || r.Count > MaxCount || r.SPF == "" && r.DKIM == "" {
		x.report.Skipped++
		return
	}
	r.SPF, r.DKIM = cmp.Or(r.SPF, app.AuthFail), cmp.Or(r.DKIM, app.AuthFail)
	x.report.Rows = append(x.report.Rows, r)
}
