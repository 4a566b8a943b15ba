package dnsprovider

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/dnsplan"
)

// updater changes the records of a name server by dynamic updates (RFC 2136) that are signed with
// TSIG (RFC 8945). Each update names what must still be as it was read (RFC 2136 2.4), so that it
// can't undo a change that others make at the same time.
type updater struct {
	server, key, algorithm string
	client                 *dns.Client
}

const (
	updateTimeout = 10 * time.Second
	tsigFudge     = 300  // seconds (RFC 8945 10)
	updateTTL     = 3600 // of new sets, in seconds
)

// readTypes are the types of records that Records looks for: servers need not answer queries for
// all types of a name (RFC 8482).
var readTypes = []uint16{dns.TypeCNAME, dns.TypeTXT, dns.TypeMX, dns.TypeNS, dns.TypeA, dns.TypeAAAA, dns.TypeSRV, dns.TypeHTTPS}

// tsigAlgorithms are the algorithms that TSIG implementations must or should support (RFC 8945 6).
var tsigAlgorithms = []string{dns.HmacSHA256, dns.HmacSHA384, dns.HmacSHA512, dns.HmacSHA224, dns.HmacSHA1}

func newUpdater(c dnsplan.Credentials) (*updater, error) {
	host, port, err := net.SplitHostPort(c.Server)
	if err != nil || host == "" || port == "" {
		return nil, &dnsplan.ProviderError{Provider: c.Provider, Failure: dnsplan.FailedRefused, Detail: "the server must be HOST:PORT"}
	}
	key, algorithm, secret, err := ParseKey(c.Token)
	if err != nil {
		return nil, &dnsplan.ProviderError{Provider: c.Provider, Failure: dnsplan.FailedToken, Detail: err.Error()}
	}
	return &updater{server: c.Server, key: key, algorithm: algorithm,
		client: &dns.Client{Net: "tcp", Timeout: updateTimeout, TsigSecret: map[string]string{key: secret}}}, nil
}

// ParseKey parses a TSIG key: the key clause of a BIND configuration, as tsig-keygen writes it, or
// [ALGORITHM:]NAME:SECRET as nsupdate takes it, with hmac-sha256 as the default. The errors contain
// no part of the text.
func ParseKey(text string) (name, algorithm, secret string, err error) {
	algorithm = "hmac-sha256"
	if words := strings.Fields(strings.NewReplacer("{", " ", "}", " ", ";", " ", `"`, " ").Replace(text)); len(words) > 1 && words[0] == "key" {
		name = words[1]
		for i := 2; i+1 < len(words); i += 2 {
			switch words[i] {
			case "algorithm":
				algorithm = words[i+1]
			case "secret":
				secret = words[i+1]
			}
		}
	} else if parts := strings.Split(strings.TrimSpace(text), ":"); len(parts) == 3 {
		algorithm, name, secret = parts[0], parts[1], parts[2]
	} else if len(parts) == 2 {
		name, secret = parts[0], parts[1]
	}
	algorithm = dns.CanonicalName(algorithm)
	_, valid := dns.IsDomainName(name)
	raw, decodeErr := base64.StdEncoding.DecodeString(secret)
	switch {
	case name == "" || secret == "":
		return "", "", "", errors.New("a key is a key clause of BIND, or [ALGORITHM:]NAME:SECRET")
	case !valid:
		return "", "", "", errors.New("the name of the key is not valid")
	case !slices.Contains(tsigAlgorithms, algorithm):
		return "", "", "", errors.New("the algorithm of the key must be one of hmac-sha256, hmac-sha384, hmac-sha512, hmac-sha224, hmac-sha1")
	case decodeErr != nil || len(raw) == 0:
		return "", "", "", errors.New("the secret of the key is not valid Base64")
	}
	return dns.CanonicalName(name), algorithm, secret, nil
}

func (u *updater) fail(f dnsplan.Failure, name, detail string) *dnsplan.ProviderError {
	return &dnsplan.ProviderError{Provider: dnsplan.RFC2136, Failure: f, Name: name, Detail: detail}
}

// exchange sends a signed message about a name and returns the signed reply.
func (u *updater) exchange(ctx context.Context, m *dns.Msg, name string) (*dns.Msg, error) {
	m.SetTsig(u.key, u.algorithm, tsigFudge, clock.Now().Unix())
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	reply, _, err := u.client.ExchangeContext(ctx, m, u.server)
	if reply != nil {
		if refused := u.refusal(reply, name); refused != nil {
			return nil, refused
		}
	}
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, context.Cause(ctx)
	case errors.Is(err, dns.ErrSig), errors.Is(err, dns.ErrTime), errors.Is(err, dns.ErrSecret), errors.Is(err, dns.ErrKeyAlg):
		return nil, u.fail(dnsplan.FailedToken, name, "its reply is not signed with the key")
	case err != nil:
		return nil, u.fail(dnsplan.FailedUnreachable, name, "")
	case reply.IsTsig() == nil:
		return nil, u.fail(dnsplan.FailedToken, name, "its reply is not signed with the key")
	}
	return reply, nil
}

// refusal returns why the server refused a message; nil: it did not. The codes are those of RFC 2136
// 2.2 and RFC 8945 3.
func (u *updater) refusal(reply *dns.Msg, name string) error {
	code := dns.RcodeToString[reply.Rcode]
	switch reply.Rcode {
	case dns.RcodeSuccess, dns.RcodeNameError:
		return nil
	case dns.RcodeYXDomain, dns.RcodeYXRrset, dns.RcodeNXRrset:
		return u.fail(dnsplan.FailedChanged, name, code)
	case dns.RcodeNotZone:
		return u.fail(dnsplan.FailedZone, name, code)
	case dns.RcodeRefused:
		return u.fail(dnsplan.FailedToken, name, code)
	case dns.RcodeNotAuth:
		if t := reply.IsTsig(); t == nil || t.Error == 0 {
			return u.fail(dnsplan.FailedZone, name, code)
		} else if t.Error == dns.RcodeBadTime {
			return u.fail(dnsplan.FailedToken, name, "its clock and that of this machine differ")
		}
		return u.fail(dnsplan.FailedToken, name, code)
	case dns.RcodeServerFailure:
		return u.fail(dnsplan.FailedUnreachable, name, code)
	}
	return u.fail(dnsplan.FailedRefused, name, code)
}

func (u *updater) query(ctx context.Context, name string, kind uint16) (*dns.Msg, error) {
	q := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	q.RecursionDesired = false
	return u.exchange(ctx, q, name)
}

// Zone implements dnsplan.Provider. The server names the zone in the SOA record of its answer (RFC
// 2308 2). For a CNAME it answers with that, so that the name above is asked for.
func (u *updater) Zone(ctx context.Context, name string) (string, error) {
	for at := name; at != ""; {
		reply, err := u.query(ctx, at, dns.TypeSOA)
		if err != nil {
			return "", err
		}
		alias := false
		for _, rr := range slices.Concat(reply.Answer, reply.Ns) {
			switch h := rr.Header(); {
			case !reply.Authoritative:
			case h.Rrtype == dns.TypeCNAME && dns.CanonicalName(h.Name) == dns.Fqdn(at):
				alias = true
			case h.Rrtype == dns.TypeSOA && !alias && dns.IsSubDomain(h.Name, dns.Fqdn(at)):
				return host(h.Name), nil
			}
		}
		if !alias {
			break
		}
		_, at, _ = strings.Cut(at, ".")
	}
	return "", u.fail(dnsplan.FailedZone, name, "")
}

// set returns the records of a name and type.
func (u *updater) set(ctx context.Context, name string, kind uint16) (out []dns.RR, err error) {
	reply, err := u.query(ctx, name, kind)
	if err != nil {
		return nil, err
	}
	for _, rr := range slices.Concat(reply.Answer, reply.Ns) { // a delegation is in the authority section
		if h := rr.Header(); h.Rrtype == kind && dns.CanonicalName(h.Name) == dns.Fqdn(name) {
			out = append(out, rr)
		}
	}
	return out, nil
}

// Records implements dnsplan.Provider.
func (u *updater) Records(ctx context.Context, _, name string) (out []dnsplan.Record, err error) {
	for _, kind := range readTypes {
		set, err := u.set(ctx, name, kind)
		if err != nil {
			return nil, err
		}
		for _, rr := range set {
			out = append(out, planned(name, rr))
		}
	}
	return out, nil
}

func planned(name string, rr dns.RR) dnsplan.Record {
	out := dnsplan.Record{Name: name, Type: dns.TypeToString[rr.Header().Rrtype]}
	switch v := rr.(type) {
	case *dns.TXT:
		out.Value = joinText(quoted(v.Txt))
	case *dns.MX:
		out.Value, out.Priority = host(v.Mx), int(v.Preference)
	case *dns.CNAME:
		out.Value = host(v.Target)
	case *dns.NS:
		out.Value = host(v.Ns)
	}
	return out
}

// quoted returns strings of a TXT record, in which the library escapes some bytes, as quoted strings.
func quoted(parts []string) string { return `"` + strings.Join(parts, `" "`) + `"` }

// record makes the record that a change adds.
func record(c dnsplan.Change, ttl uint32) (dns.RR, error) {
	value := c.After + "."
	switch c.Type {
	case string(app.DNSText):
		value = quoteText(c.After)
	case string(app.DNSMX):
		value = fmt.Sprintf("%d %s.", c.Priority, c.After)
	}
	return dns.NewRR(fmt.Sprintf("%s %d IN %s %s", dns.Fqdn(c.Name), ttl, c.Type, value))
}

// Apply implements dnsplan.Provider.
func (u *updater) Apply(ctx context.Context, zoneName string, change dnsplan.Change) error {
	old, err := u.set(ctx, change.Name, dns.StringToType[change.Type])
	if err != nil {
		return err
	}
	m := new(dns.Msg).SetUpdate(dns.Fqdn(zoneName))
	require(m, change, old)
	ttl := uint32(updateTTL)
	if len(old) > 0 {
		ttl = old[0].Header().Ttl
	}
	if change.Action != dnsplan.Add {
		i := slices.IndexFunc(old, func(rr dns.RR) bool { return planned(change.Name, rr).Value == change.Before })
		if i < 0 {
			return u.fail(dnsplan.FailedChanged, change.Name, "")
		}
		m.Remove([]dns.RR{dns.Copy(old[i])})
	}
	if change.Action != dnsplan.Remove {
		rr, err := record(change, ttl)
		if err != nil {
			return u.fail(dnsplan.FailedRefused, change.Name, "it is not valid")
		}
		m.Insert([]dns.RR{rr})
	}
	_, err = u.exchange(ctx, m, change.Name)
	return err
}

// require adds the prerequisites of a change: the set is as it was read, and no CNAME is beside
// other records, which servers would otherwise ignore without an error (RFC 2136 3.4.2.2).
func require(m *dns.Msg, change dnsplan.Change, old []dns.RR) {
	name := dns.Fqdn(change.Name)
	kind := dns.StringToType[change.Type]
	anyOf := func(kind uint16) []dns.RR { return []dns.RR{&dns.ANY{Hdr: dns.RR_Header{Name: name, Rrtype: kind}}} }
	switch {
	case len(old) > 0:
		same := make([]dns.RR, len(old))
		for i, rr := range old {
			same[i] = dns.Copy(rr)
			same[i].Header().Ttl = 0
		}
		m.Used(same)
	case kind == dns.TypeCNAME:
		m.NameNotUsed(anyOf(kind))
		return
	default:
		m.RRsetNotUsed(anyOf(kind))
	}
	if kind != dns.TypeCNAME {
		m.RRsetNotUsed(anyOf(dns.TypeCNAME))
	}
}
