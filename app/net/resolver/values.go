package resolver

import (
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"mailer/app"
)

// kinds are the supported record types.
var kinds = map[app.DNSType]dnsmessage.Type{
	app.DNSText: dnsmessage.TypeTXT, app.DNSMX: dnsmessage.TypeMX, app.DNSCNAME: dnsmessage.TypeCNAME,
	app.DNSA: dnsmessage.TypeA, app.DNSAAAA: dnsmessage.TypeAAAA,
}

// value converts a record to an app.DNSValue.
func value(rr *record) app.DNSValue {
	v := app.DNSValue{TTL: int(rr.ttl)}
	switch r := rr.body.(type) {
	case *dnsmessage.TXTResource:
		v.Strings, v.Text = r.TXT, strings.Join(r.TXT, "")
	case *dnsmessage.MXResource:
		v.Text, v.Priority = plain(r.MX.String()), int(r.Pref)
	case *dnsmessage.CNAMEResource:
		v.Text = plain(r.CNAME.String())
	case *dnsmessage.AResource:
		v.Text = netip.AddrFrom4(r.A).String()
	case *dnsmessage.AAAAResource:
		v.Text = netip.AddrFrom16(r.AAAA).Unmap().String()
	}
	return v
}
