package app

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"mailer/app/kit/mailbox"
)

// The kinds of records of a domain.
const (
	RecordDKIM     = "DKIM"
	RecordSPF      = "SPF"
	RecordDMARC    = "DMARC"
	RecordTracking = "Tracking"
	// RecordReceiving is the MX of the domain itself.
	RecordReceiving = "Receiving"
	// RecordTLSReports asks for reports about TLS (RFC 8460 3).
	RecordTLSReports = "TLSRPT"
)

// feedbackPriority is the priority of a return path's MX record.
const feedbackPriority = 10

// receivingPriority is the priority of the MX record of a domain that receives mail.
const receivingPriority = 10

// Records returns the records that the owner of the domain publishes, in a stable order, with the
// results of the last check. Only the signing key's DKIM record and the SPF record are required,
// and neither is for a trusted domain. trackingTarget is the host of this server that the tracking
// host points to; empty: no such record. Callers remove expired keys first (WithoutExpiredKeys).
func (d *Domain) Records(needs RelayNeeds, trackingTarget string) []DNSRecord {
	records := d.WantedRecords(needs, trackingTarget)
	for i := range records {
		d.fillLive(&records[i])
	}
	return records
}

// expired reports whether the record of a retired key is not needed any more.
func (p *DKIMPair) expired(now time.Time) bool {
	return p.State == DKIMRetired && !now.Before(p.RetiredAt.Add(DKIMRetention))
}

// WithoutExpiredKeys returns the domain without the keys whose records are not needed any more.
func (d *Domain) WithoutExpiredKeys(now time.Time) *Domain {
	out := *d
	out.Keys = slices.DeleteFunc(slices.Clone(d.Keys), func(p DKIMPair) bool { return p.expired(now) })
	return &out
}

// WantedRecords returns the records that the domain should publish, in display order, without
// results of a check. trackingTarget is the host that the tracking record points to.
func (d *Domain) WantedRecords(needs RelayNeeds, trackingTarget string) []DNSRecord {
	var records []DNSRecord
	for _, k := range d.sortedKeys() {
		records = append(records, DNSRecord{Record: RecordDKIM, Name: d.DKIMName(k.Selector), Type: string(DNSText),
			Value: "v=DKIM1; k=rsa; p=" + k.Public, Key: k.State, Required: k.State == DKIMSigning && !d.Trusted})
	}
	records = append(records, DNSRecord{Record: RecordSPF, Name: d.ReturnPathName(), Type: string(DNSText),
		Value: needs.spfValue(), Required: !d.Trusted})
	if needs.Feedback != "" {
		records = append(records, DNSRecord{Record: RecordSPF, Name: d.ReturnPathName(), Type: string(DNSMX),
			Value: needs.Feedback, Priority: feedbackPriority})
	}
	records = append(records, DNSRecord{Record: RecordDMARC, Name: DmarcName(d.Name), Type: string(DNSText), Value: needs.dmarcValue()})
	if name := d.TrackingName(); name != "" && trackingTarget != "" {
		records = append(records, DNSRecord{Record: RecordTracking, Name: name, Type: string(DNSCNAME), Value: trackingTarget})
	}
	if d.Receiving && needs.Receiver != "" {
		if needs.TLSReports != "" {
			records = append(records, DNSRecord{Record: RecordTLSReports, Name: "_smtp._tls." + d.Name, Type: string(DNSText), Value: "v=TLSRPTv1; rua=mailto:" + needs.TLSReports})
		}
		records = append(records, DNSRecord{Record: RecordReceiving, Name: d.Name, Type: string(DNSMX), Value: needs.Receiver, Priority: receivingPriority})
	}
	return records
}

// dmarcValue returns a DMARC record that changes nothing for receivers, and asks for reports if this server takes them.
func (n RelayNeeds) dmarcValue() string {
	const policy = "v=DMARC1; p=none;"
	if n.Reports == "" {
		return policy
	}
	return policy + " rua=mailto:" + n.Reports + ";"
}

// spfValue returns the whole SPF record for a return path from which nobody else sends.
func (n RelayNeeds) spfValue() string {
	return strings.Join(slices.Concat([]string{"v=spf1"}, n.SPFTerms(), []string{"~all"}), " ")
}

// SPFTerms returns the mechanisms of all relays of the region, that of the primary first.
func (n RelayNeeds) SPFTerms() (terms []string) {
	if n.SPF != "" {
		terms = append(terms, n.SPF)
	}
	return append(terms, n.ReserveSPF...)
}

// sortedKeys returns the signing key first, then the next, then the retired ones, newest first.
func (d *Domain) sortedKeys() []DKIMPair {
	rank := map[DKIMState]int{DKIMSigning: 0, DKIMNext: 1, DKIMRetired: 2}
	keys := slices.Clone(d.Keys)
	slices.SortStableFunc(keys, func(a, b DKIMPair) int {
		return cmp.Or(rank[a.State]-rank[b.State], b.CreatedAt.Compare(a.CreatedAt))
	})
	return keys
}

// ReceivesBounces reports whether bounces of the domain's mail reach the host of its return path:
// the last check found its MX, or the operator trusts the domain. Receivers refuse mail whose
// return path has no MX. It returns false if addresses at the host would be too long.
func (d *Domain) ReceivesBounces() bool {
	if len(d.ReturnPathName()) > mailbox.MaxLength-mailbox.MaxLocal-1 {
		return false
	}
	return d.Trusted || slices.ContainsFunc(d.Checks, func(c RecordCheck) bool {
		return c.Record == RecordSPF && c.Type == string(DNSMX) && c.Name == d.ReturnPathName() && c.Live == LiveFound
	})
}

// BounceMX returns the value of the MX of return paths for a bounce host. It returns "" for an IP
// address or a name without a dot, which an MX can't name.
func BounceMX(host string) string {
	name, err := mailbox.ParseDomain(host)
	if err != nil {
		return ""
	}
	return name
}

func (d *Domain) fillLive(r *DNSRecord) {
	r.TTL, r.Live = "Auto", LiveUnknown
	for _, c := range d.Checks {
		if c.Record == r.Record && c.Name == r.Name && c.Type == r.Type {
			r.Live, r.Detail, r.InheritedFrom, r.Policy = c.Live, c.Detail, c.InheritedFrom, c.Policy
			r.Value = cmp.Or(c.Proposed, r.Value)
			break
		}
	}
	r.Status = d.recordStatus(r.Live)
}

func (d *Domain) recordStatus(live Live) DomainStatus {
	switch {
	case live == LiveFound:
		return DomainVerified
	case d.Status == DomainFailed:
		return DomainFailed
	case d.Status != DomainPending && d.CheckedAt.IsZero():
		return DomainNotStarted
	}
	return DomainPending
}

// DNSType is a type of DNS record (RFC 1035 3.2.2).
type DNSType string

// The types that checks query.
const (
	DNSText  DNSType = "TXT"
	DNSMX    DNSType = "MX"
	DNSCNAME DNSType = "CNAME"
	DNSA     DNSType = "A"
	DNSAAAA  DNSType = "AAAA"
	DNSPTR   DNSType = "PTR"
)

// DNSAnswer is the answer of authoritative servers about a name and a type.
type DNSAnswer struct {
	// NameExists is false for NXDOMAIN: the name has no record of any type.
	NameExists bool
	// CNAME is the target of the name itself (the first of a chain), in lower case without the
	// final dot; empty: no CNAME. The records are then those at the end of the chain. A query for
	// CNAME does not follow it.
	CNAME   string
	Records []DNSValue
	// Server is the server that answered, as host:port.
	Server string
}

// DNSValue is one DNS record.
type DNSValue struct {
	Text     string   // TXT: its strings joined (RFC 7208 3.3); otherwise target or address, lower case without the final dot
	Strings  []string // TXT: its separate strings
	Priority int      // MX
	TTL      int      // seconds
}

// DNSLookup queries the records of a name and type. An error means that no server answered (a
// timeout, SERVFAIL, REFUSED): nothing is known then, not even that the record is missing.
// NXDOMAIN is an answer.
type DNSLookup func(ctx context.Context, name string, t DNSType) (DNSAnswer, error)
