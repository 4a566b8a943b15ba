package dnscheck

import (
	"context"
	"strings"

	"mailer/app"
)

// checkTLSReports checks for a record that sends reports about TLS to the address of this server (RFC 8460 3).
func (c *checker) checkTLSReports(ctx context.Context, r app.DNSRecord) app.RecordCheck {
	answer, err := c.lookup(ctx, r.Name, app.DNSText)
	if err != nil {
		return unanswered(r, err)
	}
	var texts []string
	for _, v := range answer.Records {
		if isTLSReports(v.Text) {
			texts = append(texts, v.Text)
		}
	}
	switch {
	case len(texts) > 1:
		return verdict(r, app.LiveMismatch, "There are %d records for TLS reports at %s, so senders ignore all of them (RFC 8460 3). Delete all but one; the first is %s.", len(texts), at(r.Name, answer), quoted(texts[0]))
	case len(texts) == 1 && NamesTLSReports(texts[0], r.Value):
		return verdict(r, app.LiveFound, "")
	case len(texts) == 1:
		return verdict(r, app.LiveMismatch, "The record at %s sends reports elsewhere (%s). Add the address of the value shown to its rua=, after a comma.", at(r.Name, answer), quoted(texts[0]))
	}
	return c.absent(ctx, r, answer, func(v app.DNSValue) bool { return NamesTLSReports(v.Text, r.Value) })
}

func isTLSReports(text string) bool {
	version, _, _ := strings.Cut(text, ";")
	return trimFWS(version) == "v=TLSRPTv1"
}

// NamesTLSReports reports whether a record for TLS reports has all addresses of another one.
func NamesTLSReports(text, wanted string) bool {
	if !isTLSReports(text) {
		return false
	}
	have := map[string]bool{}
	for _, a := range tlsReportAddresses(text) {
		have[a] = true
	}
	for _, a := range tlsReportAddresses(wanted) {
		if !have[a] {
			return false
		}
	}
	return true
}

// tlsReportAddresses returns the URIs in the field rua, in lower case.
func tlsReportAddresses(text string) (list []string) {
	for field := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(field, "=")
		if trimFWS(name) != "rua" {
			continue
		}
		for uri := range strings.SplitSeq(value, ",") {
			list = append(list, strings.ToLower(trimFWS(uri)))
		}
	}
	return list
}
