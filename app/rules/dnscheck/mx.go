package dnscheck

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	"mailer/app"
)

// checkMX checks the MX of the return path, by which the provider gets bounces. It must be the
// only one: otherwise bounces would go to other hosts too.
func (c *checker) checkMX(ctx context.Context, r app.DNSRecord) app.RecordCheck {
	answer, err := c.lookup(ctx, r.Name, app.DNSMX)
	if err != nil {
		return unanswered(r, err)
	}
	if len(answer.Records) == 0 {
		return c.absent(ctx, r, answer, func(v app.DNSValue) bool { return strings.EqualFold(v.Text, r.Value) })
	}
	i := slices.IndexFunc(answer.Records, func(v app.DNSValue) bool { return strings.EqualFold(v.Text, r.Value) })
	where, first := at(r.Name, answer), answer.Records[0]
	switch {
	case i < 0 && first.Text == "":
		return verdict(r, app.LiveMismatch, "The MX of %s is a lone dot, which says that it takes no mail (RFC 7505). Put %s with priority %d in its place.", where, r.Value, r.Priority)
	case i < 0 && strings.HasPrefix(first.Text, r.Value+"."):
		return verdict(r, app.LiveMismatch, "The MX of %s is %s: the DNS panel added the domain. Enter %s. with a dot at its end.", where, printable(first.Text, app.MaxDomain), r.Value)
	case i < 0:
		return verdict(r, app.LiveMismatch, "The MX of %s is %s with priority %d. Put %s with priority %d in its place.", where, printable(first.Text, app.MaxDomain), first.Priority, r.Value, r.Priority)
	case len(answer.Records) > 1:
		other := answer.Records[(i+1)%len(answer.Records)]
		return verdict(r, app.LiveMismatch, "%s has %d MX records; bounces must go to %s alone. Delete the others, like %s.", where, len(answer.Records), r.Value, printable(other.Text, app.MaxDomain))
	case answer.Records[i].Priority != r.Priority:
		return verdict(r, app.LiveFound, "The MX of %s has priority %d instead of %d, which makes no difference while it is the only one.", where, answer.Records[i].Priority, r.Priority)
	}
	return verdict(r, app.LiveFound, "")
}

// checkReceiving checks the MX of a domain that receives mail. It is found if no other host has a better (lower)
// priority: senders would deliver to that one, and to this server only while it does not answer.
func (c *checker) checkReceiving(ctx context.Context, r app.DNSRecord) app.RecordCheck {
	answer, err := c.lookup(ctx, r.Name, app.DNSMX)
	if err != nil {
		return unanswered(r, err)
	}
	if len(answer.Records) == 0 {
		return c.absent(ctx, r, answer, func(v app.DNSValue) bool { return strings.EqualFold(v.Text, r.Value) })
	}
	best := slices.MinFunc(answer.Records, func(a, b app.DNSValue) int { return cmp.Compare(a.Priority, b.Priority) })
	i := slices.IndexFunc(answer.Records, func(v app.DNSValue) bool { return strings.EqualFold(v.Text, r.Value) })
	where, other := at(r.Name, answer), printable(best.Text, app.MaxDomain)
	switch {
	case i < 0 && best.Text == "":
		return verdict(r, app.LiveMismatch, "The MX of %s is a lone dot, which says that it takes no mail (RFC 7505). Put %s with priority %d in its place.", where, r.Value, r.Priority)
	case i < 0 && strings.HasPrefix(best.Text, r.Value+"."):
		return verdict(r, app.LiveMismatch, "The MX of %s is %s: the DNS panel added the domain. Enter %s. with a dot at its end.", where, other, r.Value)
	case i < 0:
		return verdict(r, app.LiveMismatch, "Mail for %s goes to %s. Publishing this would divert it. Use in.%s.", where, other, r.Name)
	case answer.Records[i].Priority > best.Priority:
		return verdict(r, app.LiveMismatch, "Mail for %s goes to %s, whose priority %d comes before the %d of %s. Delete the MX of one of them.", where, other, best.Priority, answer.Records[i].Priority, r.Value)
	case len(answer.Records) > 1:
		other = printable(answer.Records[(i+1)%len(answer.Records)].Text, app.MaxDomain)
		return verdict(r, app.LiveFound, "%s has %d MX records: mail that senders deliver to another host, like %s, is not received here.", where, len(answer.Records), other)
	}
	return verdict(r, app.LiveFound, "")
}

// checkTracking checks the CNAME of the tracking host. Address records are accepted if they are
// those of the target: some DNS services flatten CNAMEs.
func (c *checker) checkTracking(ctx context.Context, r app.DNSRecord) app.RecordCheck {
	answer, err := c.lookup(ctx, r.Name, app.DNSCNAME)
	if err != nil {
		return unanswered(r, err)
	}
	if strings.EqualFold(answer.CNAME, r.Value) {
		return verdict(r, app.LiveFound, "")
	}
	if strings.HasPrefix(answer.CNAME, r.Value+".") {
		return verdict(r, app.LiveMismatch, "%s is a CNAME to %s: the DNS panel added the domain. Enter %s. with a dot at its end.", r.Name, printable(answer.CNAME, app.MaxDomain), r.Value)
	}
	have, exists, err := c.addresses(ctx, r.Name)
	if err != nil {
		return unanswered(r, err)
	}
	if _, err := netip.ParseAddr(r.Value); err == nil && len(have) == 0 && answer.CNAME == "" {
		return verdict(r, app.LiveMissing, "There is no record at %s. A CNAME can't lead to %s, which is an address: give --base-url a host name, or add an address record with it.", r.Name, r.Value)
	}
	if len(have) == 0 && answer.CNAME == "" {
		answer.NameExists = exists
		return c.absent(ctx, r, answer, func(v app.DNSValue) bool { return strings.EqualFold(v.Text, r.Value) })
	}
	want, _, err := c.addresses(ctx, r.Value)
	if err != nil {
		return unanswered(r, err)
	}
	return compareTracking(r, answer.CNAME, have, want)
}

func compareTracking(r app.DNSRecord, cname string, have, want []string) app.RecordCheck {
	same := len(have) > 0 && !slices.ContainsFunc(have, func(a string) bool { return !slices.Contains(want, a) })
	switch {
	case same && cname != "":
		return verdict(r, app.LiveFound, "%s is a CNAME to %s, which has the addresses of %s.", r.Name, printable(cname, app.MaxDomain), r.Value)
	case same:
		return verdict(r, app.LiveFound, "%s has the addresses of %s itself instead of a CNAME to it: change them when those change.", r.Name, r.Value)
	case cname != "":
		return verdict(r, app.LiveMismatch, "%s is a CNAME to %s. Make it a CNAME to %s.", r.Name, printable(cname, app.MaxDomain), r.Value)
	}
	return verdict(r, app.LiveMismatch, "%s has an address record (%s) instead of a CNAME, and it is not an address of %s. Delete it and add the CNAME.", r.Name, printable(have[0], app.MaxDomain), r.Value)
}

// addresses returns the IPv4 and IPv6 addresses of a host or IP address.
func (c *checker) addresses(ctx context.Context, host string) (list []string, exists bool, err error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []string{a.Unmap().String()}, true, nil
	}
	for _, t := range []app.DNSType{app.DNSA, app.DNSAAAA} {
		answer, err := c.lookup(ctx, host, t)
		if err != nil {
			return nil, false, err
		}
		exists = exists || answer.NameExists
		for _, v := range answer.Records {
			list = append(list, v.Text)
		}
	}
	return list, exists, nil
}
