package mailreport

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TLS is a report about TLS (RFC 8460): how one sender's sessions with the servers of a domain went.
type TLS struct {
	Reporter string // organization-name; if the report has none, the domain of Contact
	Contact  string // an address, as the report says; may be empty
	ReportID string // unique for a reporter; may be empty
	Begin    time.Time
	End      time.Time
	Policies []TLSPolicy
	// Skipped is how many policies and failures were left out, because their count can't be read.
	Skipped int
}

// TLSPolicy is a policy that the sender applied, with the results of its sessions.
type TLSPolicy struct {
	Type       string   // tlsa, sts or no-policy-found, in lower case
	Mode       string   // of sts: enforce, testing or none; empty: unknown
	Domain     string   // in lower-case A-labels; some reports lack it if no policy was found
	MX         []string // patterns of host names, in lower case
	Successful int64    // sessions, 0 to MaxCount
	Failed     int64
	Failures   []TLSFailure
}

// TLSFailure is a group of failed sessions with one cause.
type TLSFailure struct {
	Type        string // result-type, like starttls-not-supported, in lower case
	Sessions    int64  // 1 to MaxCount
	SendingIP   netip.Addr
	ReceivingMX string
	ReceivingIP netip.Addr
	Code        string // failure-reason-code
	Info        string // additional-information
}

// ReadTLS reads a TLS report in plain JSON or gzip.
// Errors: CodeValidation, in words for the operator.
func ReadTLS(raw []byte) (*TLS, error) {
	if strings.HasPrefix(string(raw[:min(len(raw), 2)]), "PK") {
		return nil, refuse("TLS", "", errors.New("it is a ZIP archive; TLS reports are JSON, plain or in gzip"))
	}
	doc, err := unpack(raw)
	if err != nil {
		return nil, refuse("TLS", "", err)
	}
	doc = toUTF8(doc)
	if err := checkJSON(doc); err != nil {
		return nil, refuse("TLS", "", err)
	}
	var in tlsReport
	if err := json.Unmarshal(doc, &in, json.MatchCaseInsensitiveNames(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, refuse("TLS", "", jsonFault(err))
	}
	r, err := in.report()
	if err != nil {
		return nil, refuse("TLS", reportName(clean(string(in.ReportID)), clean(string(in.Organization))), err)
	}
	return r, nil
}

// checkJSON refuses JSON with more nesting or objects than a report has, before it is decoded.
func checkJSON(doc []byte) error {
	depth, objects := 0, 0
	quoted := false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
			if c == '\\' {
				i++
			}
		case c == '{' || c == '[':
			depth++
			if c == '{' {
				objects++
			}
		case c == '}' || c == ']':
			depth--
		}
		switch {
		case depth > maxDepth:
			return fmt.Errorf("it has more than %d nested values", maxDepth)
		case objects > MaxRecords:
			return fmt.Errorf("it has more than %d objects", MaxRecords)
		}
	}
	if depth > 0 || quoted {
		return errors.New("the JSON ends too early")
	}
	return nil
}

// jsonFault describes an error of the decoder.
func jsonFault(err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Errorf("it is not JSON: the fault is at byte %d", syntax.ByteOffset)
	}
	return errors.New("it is not a TLS report: a member has another type than in RFC 8460")
}

// The JSON of a report. Names match in any case, with or without dashes.
type (
	tlsReport struct {
		Organization looseText `json:"organization-name"`
		Range        struct {
			Start looseText `json:"start-datetime"`
			End   looseText `json:"end-datetime"`
		} `json:"date-range"`
		Contact  looseText            `json:"contact-info"`
		ReportID looseText            `json:"report-id"`
		Policies objects[policyEntry] `json:"policies"`
	}
	policyEntry struct {
		Policy struct {
			Type   looseText  `json:"policy-type"`
			Text   looseTexts `json:"policy-string"`
			Domain looseText  `json:"policy-domain"`
			MX     looseTexts `json:"mx-host"`
			MX2    looseTexts `json:"mx-host-pattern"` // of a draft
		} `json:"policy"`
		Summary struct {
			Successful looseCount `json:"total-successful-session-count"`
			Failed     looseCount `json:"total-failure-session-count"`
		} `json:"summary"`
		Failures objects[failureEntry] `json:"failure-details"`
	}
	failureEntry struct {
		Type        looseText  `json:"result-type"`
		SendingIP   looseText  `json:"sending-mta-ip"`
		ReceivingMX looseText  `json:"receiving-mx-hostname"`
		ReceivingIP looseText  `json:"receiving-ip"`
		Sessions    looseCount `json:"failed-session-count"`
		Info        looseText  `json:"additional-information"`
		Code        looseText  `json:"failure-reason-code"`
	}
)

// report checks and cleans what was decoded.
func (in *tlsReport) report() (*TLS, error) {
	r := &TLS{Reporter: clean(string(in.Organization)), Contact: contact(string(in.Contact)), ReportID: clean(string(in.ReportID))}
	if r.Reporter == "" {
		r.Reporter = domainOf(r.Contact)
	}
	if r.Reporter == "" {
		return nil, errors.New("it names no reporter: organization-name and contact-info are missing")
	}
	var err error
	if r.Begin, r.End, err = period(clean(string(in.Range.Start)), clean(string(in.Range.End))); err != nil {
		return nil, err
	}
	for i := range in.Policies {
		r.add(&in.Policies[i])
	}
	if len(r.Policies) == 0 {
		return nil, errors.New("it has no policy with readable counts")
	}
	return r, nil
}

func (r *TLS) add(e *policyEntry) {
	if e.Summary.Successful < 0 || e.Summary.Failed < 0 {
		r.Skipped++
		return
	}
	p := TLSPolicy{
		Type: strings.ToLower(clean(string(e.Policy.Type))), Domain: domainName(string(e.Policy.Domain)),
		Successful: int64(e.Summary.Successful), Failed: int64(e.Summary.Failed),
	}
	for _, host := range append(e.Policy.MX, e.Policy.MX2...) {
		if host := strings.ToLower(clean(host)); host != "" && len(p.MX) < maxDetails {
			p.MX = append(p.MX, host)
		}
	}
	for _, line := range e.Policy.Text {
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(strings.TrimSpace(name), "mode") {
			p.Mode = oneOf(strings.ToLower(clean(value)), "enforce", "testing", "none")
		}
	}
	for _, f := range e.Failures {
		if f.Sessions < 1 {
			r.Skipped++
			continue
		}
		p.Failures = append(p.Failures, TLSFailure{
			Type: strings.ToLower(clean(string(f.Type))), Sessions: int64(f.Sessions),
			SendingIP: address(string(f.SendingIP)), ReceivingMX: strings.ToLower(clean(string(f.ReceivingMX))), ReceivingIP: address(string(f.ReceivingIP)),
			Code: clean(string(f.Code)), Info: clean(string(f.Info)),
		})
	}
	r.Policies = append(r.Policies, p)
}

// contact returns an address without its scheme and brackets.
func contact(s string) string {
	const scheme = "mailto:"
	s = strings.Trim(clean(s), "<> ")
	if len(s) > len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
		return s[len(scheme):]
	}
	return s
}

// looseText is a string or a number; other values are empty.
type looseText string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *looseText) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"', '0':
		token, err := d.ReadToken()
		*t = looseText(token.String())
		return err
	}
	return d.SkipValue()
}

// looseCount is a count as a number or string, 0 to MaxCount; any other value is -1.
type looseCount int64

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *looseCount) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var text looseText
	if err := text.UnmarshalJSONFrom(d); err != nil {
		return err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n < 0 || n > MaxCount {
		n = -1
	}
	*c = looseCount(n)
	return nil
}

// looseTexts is an array of strings or one string. Only the first maxDetails are kept.
type looseTexts []string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *looseTexts) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '[' {
		var text looseText
		err := text.UnmarshalJSONFrom(d)
		*l = looseTexts{string(text)}
		return err
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		var text looseText
		if err := text.UnmarshalJSONFrom(d); err != nil {
			return err
		}
		if len(*l) < maxDetails {
			*l = append(*l, string(text))
		}
	}
	_, err := d.ReadToken()
	return err
}

// objects is an array of objects. Other values in the array, or instead of the array, are left out.
type objects[T any] []T

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *objects[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '[' {
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if d.PeekKind() != '{' {
			if err := d.SkipValue(); err != nil {
				return err
			}
			continue
		}
		var v T
		if err := json.UnmarshalDecode(d, &v); err != nil {
			return err
		}
		*o = append(*o, v)
	}
	_, err := d.ReadToken()
	return err
}
