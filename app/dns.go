package app

import "context"

// DNSType is a type of DNS record (RFC 1035 3.2.2).
type DNSType string

// The types that checks ask for.
const (
	DNSText  DNSType = "TXT"
	DNSMX    DNSType = "MX"
	DNSCNAME DNSType = "CNAME"
	DNSA     DNSType = "A"
	DNSAAAA  DNSType = "AAAA"
)

// DNSAnswer is what authoritative servers say about a name and a type.
type DNSAnswer struct {
	// NameExists is false for NXDOMAIN: the name has no record of any type.
	NameExists bool
	// CNAME is where the name itself points (the first of a chain), lower case
	// without the final dot; empty: nowhere. The records below are then those at
	// the end of the chain; asked for CNAME, it is not followed.
	CNAME   string
	Records []DNSValue
	// Server is who answered, as host:port.
	Server string
}

// DNSValue is one record.
type DNSValue struct {
	Text     string   // TXT: its strings joined (RFC 7208 3.3); else the target or address, lower case without the final dot
	Strings  []string // TXT: as they were split
	Priority int      // MX
	TTL      int      // seconds
}

// DNSLookup asks for the records of a name and type. Errors mean that nobody
// answered (a timeout, SERVFAIL, REFUSED): nothing is known then, and no absence
// may be concluded. NXDOMAIN is an answer.
type DNSLookup func(ctx context.Context, name string, t DNSType) (DNSAnswer, error)
