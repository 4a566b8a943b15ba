package resolver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	zoneTTL  = time.Minute // how long the zone of a name is cached
	maxZones = 2048        // cached names
)

// zone is a DNS zone with its servers.
type zone struct {
	name    string   // canonical
	servers []string // host:port of those that are queried
}

// askAuthority queries the servers of the zone of name and follows referrals to zones below.
func (r *Resolver) askAuthority(ctx context.Context, name string, kind uint16) (*reply, error) {
	since := r.zones.Mark()
	z, err := r.zoneOf(ctx, name)
	if err != nil {
		return nil, err
	}
	q := query(name, kind, false)
	for range maxReferrals {
		fit := func(m *dns.Msg) error { return competent(m, z.name, name) }
		m, server, err := r.askAny(ctx, z.servers, q, fit)
		if err != nil {
			return nil, fmt.Errorf("no server of the zone %s gave an answer (if outgoing DNS is blocked here, name a server with --resolver): %w", display(z.name), err)
		}
		child, hosts := referral(m, z.name, name)
		if child == "" {
			return &reply{m, server, z.name}, nil
		}
		if z, err = r.withServers(ctx, child, hosts); err != nil {
			return nil, err
		}
		r.zones.Put(name, z, since)
	}
	return nil, fmt.Errorf("more than %d referrals", maxReferrals)
}

// competent refuses the reply of a server that does not serve the zone: it is neither
// authoritative, nor answers the name, nor refers to other servers.
func competent(m *dns.Msg, zone, name string) error {
	if m.Authoritative || len(m.Answer) > 0 {
		return nil
	}
	if child, _ := referral(m, zone, name); child != "" {
		return nil
	}
	return errors.New("it does not serve the zone")
}

// referral returns the zone and servers of a referral to a zone between that of the server and the
// name.
func referral(m *dns.Msg, zone, name string) (child string, hosts []string) {
	if m.Authoritative || len(m.Answer) > 0 || m.Rcode != dns.RcodeSuccess {
		return "", nil
	}
	for _, rr := range m.Ns {
		host, below := nameServer(rr), owner(rr)
		if host == "" || below == zone || !dns.IsSubDomain(zone, below) || !dns.IsSubDomain(below, name) || child != "" && child != below {
			continue
		}
		child, hosts = below, append(hosts, host)
	}
	return child, hosts
}

// zoneOf finds the zone of a name by querying the system's resolvers for NS records, walking up
// the labels.
func (r *Resolver) zoneOf(ctx context.Context, name string) (zone, error) {
	if z, ok := r.zones.Get(name); ok {
		return z, nil
	}
	since := r.zones.Mark()
	apex, hosts, err := r.apexOf(ctx, name)
	if err != nil {
		return zone{}, err
	}
	z, err := r.withServers(ctx, apex, hosts)
	if err == nil {
		r.zones.Put(name, z, since)
	}
	return z, err
}

func (r *Resolver) apexOf(ctx context.Context, name string) (apex string, hosts []string, err error) {
	apex = name
	for range maxNSQueries {
		m, err := r.askSystem(ctx, apex, dns.TypeNS)
		if err != nil {
			return "", nil, fmt.Errorf("find the name servers of %s: %w", display(apex), err)
		}
		for _, rr := range m.Answer {
			if host := nameServer(rr); host != "" && owner(rr) == apex {
				hosts = append(hosts, host)
			}
		}
		if len(hosts) > 0 {
			return apex, hosts, nil
		}
		if apex == "." {
			break
		}
		apex = nextUp(m, apex)
	}
	return "", nil, fmt.Errorf("the name servers of %s can't be found", display(name))
}

// nextUp returns the zone in the SOA of a reply (RFC 2308 2), otherwise the name without its first
// label.
func nextUp(m *dns.Msg, name string) string {
	up := "."
	if _, rest, _ := strings.Cut(name, "."); rest != "" {
		up = rest
	}
	for _, rr := range m.Ns {
		if rr.Header().Rrtype == dns.TypeSOA && dns.IsSubDomain(owner(rr), up) {
			return owner(rr)
		}
	}
	return up
}

// withServers resolves the names of a zone's servers to addresses that may be queried: the first
// few, IPv4 before IPv6, which many machines lack.
func (r *Resolver) withServers(ctx context.Context, name string, hosts []string) (zone, error) {
	z := zone{name: name}
	var refused int
	var last error
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		for _, host := range hosts[:min(len(hosts), 2*maxServers)] {
			if len(z.servers) >= maxServers {
				return z, nil
			}
			addrs, err := r.addresses(ctx, host, kind)
			if err != nil {
				last = err
			}
			for _, a := range addrs {
				if !r.allowed(a) {
					refused++
				} else if len(z.servers) < maxServers {
					z.servers = append(z.servers, net.JoinHostPort(a.String(), r.port))
				}
			}
		}
	}
	switch {
	case len(z.servers) > 0:
		return z, nil
	case refused > 0:
		return zone{}, fmt.Errorf("the name servers of %s have private addresses only: name a server to ask with --resolver", display(name))
	case last != nil:
		return zone{}, fmt.Errorf("the addresses of the name servers of %s can't be found: %w", display(name), last)
	}
	return zone{}, fmt.Errorf("the name servers of %s have no addresses", display(name))
}

func (r *Resolver) addresses(ctx context.Context, host string, kind uint16) ([]netip.Addr, error) {
	m, err := r.askSystem(ctx, host, kind)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	for _, rr := range m.Answer {
		if a := address(rr); usable(rr) && a.IsValid() {
			addrs = append(addrs, a)
		}
	}
	return addrs, nil
}

func (r *Resolver) askSystem(ctx context.Context, name string, kind uint16) (*dns.Msg, error) {
	servers, err := r.system()
	if err != nil {
		return nil, err
	}
	m, _, err := r.askAny(ctx, servers[:min(len(servers), maxServers)], query(name, kind, true), nil)
	return m, err
}

func display(name string) string {
	if name == "." {
		return "the root"
	}
	return plain(name)
}
