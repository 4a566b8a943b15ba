package dnscheck

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"mailer/app"
)

// ReverseName returns the first reverse name of an address, and whether that name leads back to it. An empty name means
// that the address has none.
func ReverseName(ctx context.Context, lookup app.DNSLookup, addr netip.Addr) (name string, confirmed bool, err error) {
	question, err := dns.ReverseAddr(addr.String())
	if err != nil {
		return "", false, err
	}
	answer, err := lookup(ctx, question, app.DNSPTR)
	if err != nil || len(answer.Records) == 0 {
		return "", false, err
	}
	name = answer.Records[0].Text
	kind := app.DNSA
	if addr.Is6() {
		kind = app.DNSAAAA
	}
	back, err := lookup(ctx, name, kind)
	if err != nil {
		return name, false, err
	}
	return name, slices.ContainsFunc(back.Records, func(v app.DNSValue) bool {
		found, err := netip.ParseAddr(v.Text)
		return err == nil && found == addr
	}), nil
}

// BlockListName returns the name under which a DNS block list answers for an address (RFC 5782 2.1 and 2.4): the address
// backwards, and the name of the list.
func BlockListName(addr netip.Addr, list string) (string, error) {
	backwards, err := dns.ReverseAddr(addr.String())
	if err != nil {
		return "", err
	}
	backwards = strings.TrimSuffix(strings.TrimSuffix(backwards, "in-addr.arpa."), "ip6.arpa.")
	return backwards + list, nil
}
