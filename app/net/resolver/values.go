package resolver

import (
	"net"
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"mailer/app"
)

// kinds are the supported record types.
var kinds = map[app.DNSType]uint16{
	app.DNSText: dns.TypeTXT, app.DNSMX: dns.TypeMX, app.DNSCNAME: dns.TypeCNAME, app.DNSA: dns.TypeA, app.DNSAAAA: dns.TypeAAAA,
	app.DNSPTR: dns.TypePTR,
}

// value converts a record to an app.DNSValue.
func value(rr dns.RR) app.DNSValue {
	v := app.DNSValue{TTL: int(rr.Header().Ttl)}
	switch rr := rr.(type) {
	case *dns.TXT:
		for _, s := range rr.Txt {
			v.Strings = append(v.Strings, unescape(s))
		}
		v.Text = strings.Join(v.Strings, "")
	case *dns.MX:
		v.Text, v.Priority = plain(rr.Mx), int(rr.Preference)
	case *dns.CNAME:
		v.Text = plain(rr.Target)
	case *dns.PTR:
		v.Text = plain(rr.Ptr)
	case *dns.A, *dns.AAAA:
		v.Text = address(rr).String()
	}
	return v
}

// address returns the address of an A or AAAA record; the zero value for other types.
func address(rr dns.RR) netip.Addr {
	var ip net.IP
	switch rr := rr.(type) {
	case *dns.A:
		ip = rr.A
	case *dns.AAAA:
		ip = rr.AAAA
	}
	addr, _ := netip.AddrFromSlice(ip)
	return addr.Unmap()
}

// unescape returns the bytes of a string in a TXT record. The library writes quotes, backslashes
// and bytes that are not printable ASCII as in a zone file (RFC 1035 5.1): \X or \DDD.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\' || i+1 == len(s):
			b.WriteByte(s[i])
		case i+3 < len(s) && '0' <= s[i+1] && s[i+1] <= '9':
			b.WriteByte((s[i+1]-'0')*100 + (s[i+2]-'0')*10 + s[i+3] - '0')
			i += 3
		default:
			i++
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// usable reports whether a record has a body and is of class IN. Records of updates have none (RFC
// 2136 2.4).
func usable(rr dns.RR) bool { return rr.Header().Rdlength > 0 && rr.Header().Class == dns.ClassINET }

// owner returns the canonical name of a record.
func owner(rr dns.RR) string { return dns.CanonicalName(rr.Header().Name) }

// target returns the canonical target of a CNAME; empty: another type.
func target(rr dns.RR) string {
	if c, ok := rr.(*dns.CNAME); ok && usable(rr) {
		return dns.CanonicalName(c.Target)
	}
	return ""
}

// nameServer returns the canonical host of an NS record; empty: another type.
func nameServer(rr dns.RR) string {
	if ns, ok := rr.(*dns.NS); ok && usable(rr) {
		return dns.CanonicalName(ns.Ns)
	}
	return ""
}

// canonical returns a name in lower case, with the final dot, and with the library's escapes.
// Error: the name is invalid.
func canonical(name string) (string, error) {
	var wire [255]byte // the largest name (RFC 1035 2.3.4)
	if _, err := dns.PackDomainName(dns.Fqdn(name), wire[:], 0, nil, false); err != nil {
		return "", err
	}
	escaped, _, err := dns.UnpackDomainName(wire[:], 0)
	return dns.CanonicalName(escaped), err
}

// plain returns a name in lower case without the final dot; the root is empty.
func plain(name string) string { return strings.TrimSuffix(dns.CanonicalName(name), ".") }
