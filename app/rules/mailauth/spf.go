package mailauth

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"

	"blitiri.com.ar/go/spf"
	"github.com/miekg/dns"

	"mailer/app"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/dnscheck"
)

const (
	spfVersion = "v=spf1"
	maxLocal   = 64 // bytes of a local part in macros (RFC 5321 4.5.3.1.1)
)

// reverse is the type of the records that the term ptr uses (RFC 7208 5.5).
const reverse app.DNSType = "PTR"

// spfResult is the result of SPF for a domain.
type spfResult struct {
	result app.AuthResult
	domain string // of MAIL FROM, or of HELO for the null sender; empty: not valid
}

// checkSPF checks the domain of MAIL FROM, or that of HELO for the null sender (RFC 7208 2.4).
func checkSPF(ctx context.Context, l *lookups, in Input) spfResult {
	local, domain := "postmaster", in.Helo
	if in.MailFrom != "" {
		at := strings.LastIndexByte(in.MailFrom, '@')
		// The library splits at the first @.
		local, domain = strings.ReplaceAll(in.MailFrom[:max(at, 0)], "@", "_"), in.MailFrom[at+1:]
	}
	domain = canonical(domain)
	if domain == "" || !in.Remote.IsValid() {
		return spfResult{result: app.AuthNone}
	}
	if local == "" {
		local = "postmaster" // RFC 7208 4.3
	}
	helo := canonical(in.Helo)
	if helo == "" {
		helo = "unknown"
	}
	remote := in.Remote.Unmap().WithZone("")
	// The error only explains the result.
	result, _ := spf.CheckHostWithSender(net.IP(remote.AsSlice()), helo, local[:min(len(local), maxLocal)]+"@"+domain,
		spf.WithContext(ctx), spf.WithResolver(&spfResolver{lookups: l, remote: remote}))
	switch {
	case l.refused != nil:
		result = spf.PermError
	case ctx.Err() != nil && result != spf.Pass: // a lookup that failed may have been ignored (RFC 7208 5.5)
		result = spf.TempError
	}
	return spfResult{result: app.AuthResult(result), domain: domain}
}

// spfResolver makes the lookups of the SPF library.
type spfResolver struct {
	*lookups
	remote netip.Addr
	exists bool // a record has the term exists, which looks for IPv4 addresses whatever remote is
}

// LookupTXT implements spf.DNSResolver. It returns only records of SPF.
func (r *spfResolver) LookupTXT(ctx context.Context, name string) ([]string, error) {
	texts, err := r.texts(ctx, shortened(name), spfVersion)
	if err != nil {
		return nil, err
	}
	texts = slices.DeleteFunc(texts, func(text string) bool { return !dnscheck.IsSPF(text) })
	for _, text := range texts {
		if err := checkTerms(text); err != nil {
			r.refused = err
			return nil, err
		}
		r.exists = r.exists || strings.Contains(strings.ToLower(text), "exists:")
	}
	return texts, nil
}

// checkTerms returns the first error of syntax in a record. One anywhere makes the record a permerror (RFC
// 7208 4.6), but the library stops reading at the term that matches.
func checkTerms(text string) error {
	explained := false
	for word := range strings.SplitSeq(text[len(spfVersion):], " ") {
		if i := strings.IndexAny(word, ":/="); i >= 0 && word[i] == '=' {
			name := strings.ToLower(word[:i])
			if name != "redirect" && name != "exp" {
				continue
			}
			if name == "exp" && explained {
				return errors.New("exp= is there twice")
			}
			explained = explained || name == "exp"
			word = "include:" + word[i+1:] // whose domain has the same syntax
		}
		if word == "" {
			continue
		}
		if _, _, err := dnscheck.SPFTerm(word); err != nil {
			return err
		}
	}
	return nil
}

// LookupMX implements spf.DNSResolver.
func (r *spfResolver) LookupMX(ctx context.Context, name string) ([]*net.MX, error) {
	records, err := r.find(ctx, shortened(name), app.DNSMX)
	var hosts []*net.MX
	for _, v := range records {
		hosts = append(hosts, &net.MX{Host: v.Text, Pref: uint16(v.Priority)})
	}
	return hosts, err
}

// LookupIPAddr implements spf.DNSResolver. It returns addresses of the family of the peer.
func (r *spfResolver) LookupIPAddr(ctx context.Context, name string) ([]net.IPAddr, error) {
	var types []app.DNSType
	if r.remote.Is6() {
		types = append(types, app.DNSAAAA)
	}
	if r.remote.Is4() || r.exists {
		types = append(types, app.DNSA)
	}
	var addrs []net.IPAddr
	for _, t := range types {
		records, err := r.find(ctx, shortened(name), t)
		if err != nil {
			return nil, err
		}
		for _, v := range records {
			if ip := net.ParseIP(v.Text); ip != nil {
				addrs = append(addrs, net.IPAddr{IP: ip})
			}
		}
	}
	return addrs, nil
}

// LookupAddr implements spf.DNSResolver.
func (r *spfResolver) LookupAddr(ctx context.Context, addr string) ([]string, error) {
	name, err := dns.ReverseAddr(addr)
	if err != nil {
		return nil, err
	}
	records, err := r.find(ctx, name, reverse)
	var names []string
	for _, v := range records {
		names = append(names, v.Text)
	}
	return names, err
}

// shortened removes labels on the left of a name with more than 253 bytes (RFC 7208 7.3).
func shortened(name string) string {
	name = strings.TrimSuffix(name, ".")
	for len(name) > mailbox.MaxDomain {
		_, rest, found := strings.Cut(name, ".")
		if !found {
			return name
		}
		name = rest
	}
	return name
}
