// Package resolver looks up a domain's DNS records without a cache in between: it finds the
// authoritative servers of a name and queries them, so that a record is visible as soon as it is
// published, even if a resolver has cached its absence.
//
// Failure policy: a record is reported missing only if an authoritative server (or the operator's
// server) said so. Timeouts, SERVFAIL, REFUSED, lame servers, unreadable replies and exceeded
// limits are errors.
//
// Addresses of authoritative servers come from the DNS and are not trusted. Only public addresses
// are queried (publicip.Is), on port 53, with a DNS query, so that a zone can't direct this client
// to its own network. Zones in a private network need a server that the operator names.
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

	"mailer/app"
	"mailer/app/kit/cache"
	"mailer/app/kit/publicip"
)

const (
	tryTimeout = 3 * time.Second
	tries      = 2
	lookupTime = 20 * time.Second // for one Lookup in total

	maxCNAMEs    = 8
	maxRecords   = 1000 // of one answer; a message has at most 64 KiB
	maxServers   = 4    // of one zone
	maxReferrals = 8
	maxNSQueries = 16 // on the way up to the zone of a name

	systemConfig = "/etc/resolv.conf"
	dnsPort      = "53"
)

// Resolver looks up DNS records. It is safe for concurrent use.
type Resolver struct {
	server  string // used for all queries; empty: the authoritative servers are
	port    string // of authoritative servers
	timeout time.Duration
	total   time.Duration
	system  func() ([]string, error)   // addresses of the system's resolvers, as host:port
	allowed func(addr netip.Addr) bool // whether an authoritative server may have the address
	zones   *cache.Cache[string, zone] // by name
}

// New returns a Resolver. server is the HOST:PORT (or HOST, with port 53) to which all queries go,
// with recursion desired. If it is empty, the authoritative servers of each name are found through
// the system's resolvers and queried.
func New(server string) *Resolver {
	if server != "" {
		if _, _, err := net.SplitHostPort(server); err != nil {
			server = net.JoinHostPort(strings.Trim(server, "[]"), dnsPort)
		}
	}
	return &Resolver{
		server: server, port: dnsPort, timeout: tryTimeout, total: lookupTime,
		system: func() ([]string, error) { return systemServers(systemConfig) }, allowed: publicip.Is, zones: cache.New[string, zone](maxZones, zoneTTL),
	}
}

// systemServers reads the configuration each time, so that a change needs no restart.
func systemServers(path string) ([]string, error) {
	config, err := dns.ClientConfigFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("the system's resolvers are not known (%w): name one with --resolver", err)
	}
	var servers []string
	for _, server := range config.Servers {
		servers = append(servers, net.JoinHostPort(server, dnsPort))
	}
	if len(servers) == 0 {
		return nil, errors.New("the system has no resolver: name one with --resolver")
	}
	return servers, nil
}

// Lookup is an app.DNSLookup. It follows at most 8 CNAMEs; the answer contains the first target. A
// name with a CNAME exists, whatever its target. It takes at most 20 seconds.
func (r *Resolver) Lookup(ctx context.Context, name string, t app.DNSType) (app.DNSAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, r.total)
	defer cancel()
	kind, ok := kinds[t]
	full, err := canonical(name)
	if !ok || err != nil || name == "" {
		return app.DNSAnswer{}, fmt.Errorf("can't ask for %s %q", t, name)
	}
	answer, err := r.follow(ctx, full, kind)
	if err != nil {
		return app.DNSAnswer{}, fmt.Errorf("look up %s %s: %w", t, name, err)
	}
	return answer, nil
}

// follow looks up a name, and the targets of CNAMEs that the same reply does not resolve.
func (r *Resolver) follow(ctx context.Context, name string, kind uint16) (app.DNSAnswer, error) {
	var answer app.DNSAnswer
	seen := map[string]bool{name: true}
	for {
		reply, err := r.ask(ctx, name, kind)
		if err != nil {
			return app.DNSAnswer{}, err
		}
		answer.Server = reply.server
		records, next, err := walk(reply, name, kind, seen)
		if err != nil {
			return app.DNSAnswer{}, err
		}
		if answer.CNAME == "" {
			answer.CNAME = firstTarget(reply, name)
		}
		if len(records) > 0 || next == name {
			answer.Records = records
			answer.NameExists = reply.Rcode == dns.RcodeSuccess || answer.CNAME != ""
			return answer, nil
		}
		name = next
	}
}

// reply is a usable message: NOERROR or NXDOMAIN, from a server that may answer for zone.
type reply struct {
	*dns.Msg
	server string
	zone   string // canonical, with the final dot
}

// walk follows the CNAMEs within one reply, from name. It returns the records at their end, or the
// name to look up next, which is name itself if the reply is complete.
func walk(r *reply, name string, kind uint16, seen map[string]bool) (records []app.DNSValue, next string, err error) {
	if len(r.Answer) > maxRecords {
		return nil, "", fmt.Errorf("%s answered with more than %d records", r.server, maxRecords)
	}
	for next = name; ; {
		var onward string
		for _, rr := range r.Answer {
			if !usable(rr) || owner(rr) != next || !dns.IsSubDomain(r.zone, next) {
				continue
			}
			if rr.Header().Rrtype == kind {
				records = append(records, value(rr))
			} else if t := target(rr); t != "" {
				onward = t
			}
		}
		if len(records) > 0 || onward == "" {
			return records, next, nil
		}
		if seen[onward] {
			return nil, "", fmt.Errorf("the CNAME of %s leads in a circle", plain(next))
		}
		if seen[onward] = true; len(seen) > maxCNAMEs+1 {
			return nil, "", fmt.Errorf("more than %d CNAMEs lead on from one to the next", maxCNAMEs)
		}
		next = onward
	}
}

func firstTarget(r *reply, name string) string {
	for _, rr := range r.Answer {
		if t := target(rr); t != "" && owner(rr) == name {
			return plain(t)
		}
	}
	return ""
}

// ask queries the servers that are responsible for name.
func (r *Resolver) ask(ctx context.Context, name string, kind uint16) (*reply, error) {
	if r.server == "" {
		return r.askAuthority(ctx, name, kind)
	}
	m, server, err := r.askAny(ctx, []string{r.server}, query(name, kind, true), final)
	if err != nil {
		return nil, err
	}
	return &reply{m, server, "."}, nil
}

// final refuses a referral, which says nothing about the name.
func final(m *dns.Msg) error {
	if m.Authoritative || m.RecursionAvailable || len(m.Answer) > 0 || m.Rcode != dns.RcodeSuccess {
		return nil
	}
	for _, rr := range m.Ns {
		if nameServer(rr) != "" {
			return errors.New("it refers to other servers instead of asking them: name one that does recursion")
		}
	}
	return nil
}

// askAny queries servers in turn, each at most twice, until one returns a usable reply. fit, if
// set, refuses further replies.
func (r *Resolver) askAny(ctx context.Context, servers []string, q *dns.Msg, fit func(*dns.Msg) error) (*dns.Msg, string, error) {
	err := errors.New("there is no server to ask")
	for range tries {
		for _, server := range servers {
			if ctx.Err() != nil {
				return nil, "", fmt.Errorf("no answer in time: %w", err)
			}
			var m *dns.Msg
			if m, err = r.exchange(ctx, server, q); err == nil {
				err = answered(m)
			}
			if err == nil && fit != nil {
				err = fit(m)
			}
			if err == nil {
				return m, server, nil
			}
			err = fmt.Errorf("%s: %w", server, err)
		}
	}
	return nil, "", err
}

// answered accepts NOERROR and NXDOMAIN.
func answered(m *dns.Msg) error {
	switch m.Rcode {
	case dns.RcodeSuccess, dns.RcodeNameError:
		return nil
	}
	if text, ok := dns.RcodeToString[m.Rcode]; ok && m.Rcode < 16 { // some later ones have two meanings
		return fmt.Errorf("answered %s", text)
	}
	return fmt.Errorf("answered with code %d", m.Rcode)
}
