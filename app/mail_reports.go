package app

import (
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Limits of reports about domains.
const (
	MaxReportUpload = 10 << 20 // bytes of an uploaded file, or of a mail with a report
	// MaxReportsOfDay is how many counted reports of a domain one day has; MaxUncountedOfDay is how many others.
	MaxReportsOfDay   = 300
	MaxUncountedOfDay = 50
	// MaxSourcesOfDay is how many sources of a domain one day has. The messages of all others are summed as
	// OtherSources.
	MaxSourcesOfDay = 200
	// MaxNamedSources is how many sources of a domain a team may name, for each answer.
	MaxNamedSources = 100
	// ReportRetention is how long reports and their sums are kept by default, by the day on which they begin.
	ReportRetention = 400 * 24 * time.Hour
)

// OtherSources is the source of messages that exceed MaxSourcesOfDay.
const OtherSources = "other"

// MailReportKind is a kind of report about a domain.
type MailReportKind string

// The kinds.
const (
	ReportDMARC MailReportKind = "dmarc"
	ReportTLS   MailReportKind = "tls"
)

// ReportOrigin is how a report arrived.
type ReportOrigin string

// The origins.
const (
	ReportMailed   ReportOrigin = "mail"
	ReportUploaded ReportOrigin = "upload"
)

// MailReport is a report of a receiver of mail about a domain of a team, without its rows.
type MailReport struct {
	ID       string
	TeamID   string
	DomainID string
	Kind     MailReportKind
	Origin   ReportOrigin
	Counted  bool   // it is in the sums
	Why      string // why it is not
	// Reporter is the organizational domain of the reporter's address, or its name if it has none. Name is the name.
	Reporter string
	Name     string
	ReportID string
	Begin    time.Time
	End      time.Time
	Policy   string // DMARC policy that the reporter found; empty: unknown
	Messages int64  // of TLS: sessions
	Passed   int64  // of Messages
	// Quarantined and Rejected are of Messages. They are stored in the sums only.
	Quarantined, Rejected int64
	CreatedAt             time.Time
}

// Day is the day of the sums that a report is in.
func (r *MailReport) Day() string { return r.Begin.UTC().Format(time.DateOnly) }

// ReportSource is what one report, or several, say of a source.
type ReportSource struct {
	Source      string // IP address, or OtherSources; of TLS: what failed
	Messages    int64
	Passed      int64 // SPF or DKIM passed for an aligned domain
	SPF         int64
	DKIM        int64
	Quarantined int64
	Rejected    int64
}

// Add adds the numbers of another source.
func (s *ReportSource) Add(o *ReportSource) {
	s.Messages, s.Passed, s.SPF, s.DKIM = s.Messages+o.Messages, s.Passed+o.Passed, s.SPF+o.SPF, s.DKIM+o.DKIM
	s.Quarantined, s.Rejected = s.Quarantined+o.Quarantined, s.Rejected+o.Rejected
}

// ReportDay is the sum of the counted reports of one kind on a day.
type ReportDay struct {
	Day         string // YYYY-MM-DD
	Reporter    string // empty if the sum is that of all
	Policy      string // alike
	Messages    int64
	Passed      int64
	Quarantined int64
	Rejected    int64
	Uploaded    int64 // of Messages, those in uploaded reports
}

// NamedSources are the sources of a domain that its team named: addresses and networks.
type NamedSources struct {
	Own    []string `json:"own,omitempty"`
	NotOwn []string `json:"not_own,omitempty"`
}

// Validate returns the sources with each address as the network that it is, sorted. Errors: CodeValidation.
func (n NamedSources) Validate() (out NamedSources, err error) {
	seen := map[string]string{}
	for _, list := range []struct {
		field string
		in    []string
		out   *[]string
	}{{"own_sources", n.Own, &out.Own}, {"other_sources", n.NotOwn, &out.NotOwn}} {
		if len(list.in) > MaxNamedSources {
			return out, Invalid(list.field, "has more than %d sources", MaxNamedSources)
		}
		for _, text := range list.in {
			network, ok := parseNetwork(text)
			if !ok {
				return out, Invalid(list.field, "has %s, which is neither an IP address nor a network like 203.0.113.0/24", CutText(text, 50))
			}
			switch seen[network] {
			case "":
				*list.out = append(*list.out, network)
			case list.field:
			default:
				return out, Invalid(list.field, "has %s, which is in own_sources too", network)
			}
			seen[network] = list.field
		}
		slices.Sort(*list.out)
	}
	return out, nil
}

// parseNetwork returns an address, or a network, in its usual notation.
func parseNetwork(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return a.Unmap().String(), true
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4In6() {
		return "", false
	}
	if p = p.Masked(); p.IsSingleIP() {
		return p.Addr().String(), true
	}
	return p.String(), true
}

// has reports whether a source is in a list of addresses and networks.
func (n *NamedSources) has(list []string, source netip.Addr) bool {
	return slices.ContainsFunc(list, func(text string) bool {
		if p, err := netip.ParsePrefix(text); err == nil {
			return p.Contains(source)
		}
		return text == source.String()
	})
}

// Named returns whether a source was named as own, or as not own. The answer for an address counts before that for its
// network.
func (n *NamedSources) Named(source string) (own, other bool) {
	a, err := netip.ParseAddr(source)
	if err != nil {
		return false, false
	}
	switch {
	case slices.Contains(n.Own, source):
		return true, false
	case slices.Contains(n.NotOwn, source):
		return false, true
	}
	if n.has(n.Own, a) {
		return true, false
	}
	return false, n.has(n.NotOwn, a)
}
