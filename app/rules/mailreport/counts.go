package mailreport

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"
)

// CountsInput is what decides whether a report that arrived by mail counts.
type CountsInput struct {
	From        string   // address or domain of the From of the mail
	Email       string   // address that the report names as that of its reporter
	DKIMDomains []string // domains of the signatures that pass
	Domain      string   // that the report is about
	Begin, End  time.Time
	Sent        bool // this server sent mail of Domain between Begin and End
}

// Counts reports whether a report enters sums, advice and events: DKIM passes for the
// organizational domains of the From and of the reporter's address, and this server sent mail of the
// domain in that period. Otherwise why is a sentence with the reason.
func Counts(in CountsInput) (ok bool, why string) {
	for _, claim := range []struct{ domain, name string }{
		{domainName(in.From), "the From of the mail"},
		{domainName(in.Email), "the email address in the report"},
	} {
		if !strings.Contains(claim.domain, ".") {
			return false, fmt.Sprintf("It does not count, because %s has no domain.", claim.name)
		}
		if !slices.ContainsFunc(in.DKIMDomains, func(signer string) bool { return sameOrganization(domainName(signer), claim.domain) }) {
			return false, fmt.Sprintf("It does not count, because no DKIM signature of %s passes, which is the domain of %s.", claim.domain, claim.name)
		}
	}
	if !in.Sent {
		return false, fmt.Sprintf("It does not count, because this server sent no mail of %s between %s and %s.", domainName(in.Domain), day(in.Begin, true), day(in.End, true))
	}
	return true, ""
}

// sameOrganization reports whether two domains are equal or have the same organizational domain.
func sameOrganization(a, b string) bool {
	if a == "" || a == b {
		return a != "" && strings.Contains(a, ".")
	}
	orgA, errA := publicsuffix.EffectiveTLDPlusOne(a)
	orgB, errB := publicsuffix.EffectiveTLDPlusOne(b)
	return errA == nil && errB == nil && orgA == orgB
}

// day formats a day in UTC.
func day(t time.Time, year bool) string {
	if year {
		return t.UTC().Format("2 January 2006")
	}
	return t.UTC().Format("2 January")
}
