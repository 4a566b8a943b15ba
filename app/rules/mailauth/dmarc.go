package mailauth

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/emersion/go-msgauth/dmarc"
	"golang.org/x/net/publicsuffix"

	"mailer/app"
)

const maxDMARCAsked = 3 // DNS lookups

// dmarcPolicy is the record that applies to a domain.
type dmarcPolicy struct {
	// result is empty if there is a record, otherwise what DMARC ends with.
	result     app.AuthResult
	strictSPF  bool
	strictDKIM bool
}

// findPolicy looks for the record of a domain, of its organizational domain and of its public suffix, in
// this order (RFC 9989 4.10.1). The last one counts only with psd=y. Several records at a name are ignored.
func findPolicy(ctx context.Context, l *lookups, domain string) dmarcPolicy {
	names := []string{domain, app.OrganizationalDomain(domain)}
	suffix, _ := publicsuffix.PublicSuffix(domain)
	for i, name := range append(names, suffix) {
		if slices.Contains(names[:min(i, len(names))], name) {
			continue
		}
		texts, err := l.texts(ctx, "_dmarc."+name, "v")
		var failed *net.DNSError
		switch {
		case errors.As(err, &failed) && failed.IsNotFound:
			continue
		case errors.As(err, &failed):
			return dmarcPolicy{result: app.AuthTempError, strictSPF: true, strictDKIM: true}
		case err != nil:
			return dmarcPolicy{result: app.AuthPermError}
		}
		texts = slices.DeleteFunc(texts, func(s string) bool { return !isDMARC(s) })
		if len(texts) != 1 || name == suffix && !strings.EqualFold(tag(texts[0], "psd"), "y") && name != domain {
			continue
		}
		return parsePolicy(texts[0])
	}
	return dmarcPolicy{result: app.AuthNone}
}

// isDMARC reports whether a TXT record is one of DMARC (RFC 9989 4.8).
func isDMARC(text string) bool {
	version, _, _ := strings.Cut(text, ";")
	name, value, _ := strings.Cut(version, "=")
	return strings.TrimRight(name, " \t") == "v" && strings.Trim(value, " \t") == "DMARC1"
}

// parsePolicy reads a record. Tags that are not valid or not needed are ignored (RFC 9989 4.8). A policy
// that is not valid counts as none if reports are wanted, otherwise the record is wrong (RFC 9989 4.10.1).
func parsePolicy(text string) dmarcPolicy {
	clean := "v=DMARC1"
	for _, name := range []string{"p", "sp", "adkim", "aspf"} {
		value := strings.ToLower(tag(text, name))
		switch {
		case value == "" && name == "p":
			value = string(dmarc.PolicyNone)
		case value == "":
			continue
		case len(name) > len("sp") && value != "r" && value != "s":
			continue
		}
		clean += "; " + name + "=" + value
	}
	record, err := dmarc.Parse(clean)
	switch {
	case err != nil && !strings.Contains(tag(text, "rua"), ":"):
		return dmarcPolicy{result: app.AuthPermError}
	case err != nil:
		return dmarcPolicy{strictSPF: strings.EqualFold(tag(text, "aspf"), "s"), strictDKIM: strings.EqualFold(tag(text, "adkim"), "s")}
	}
	return dmarcPolicy{strictSPF: record.SPFAlignment == dmarc.AlignmentStrict, strictDKIM: record.DKIMAlignment == dmarc.AlignmentStrict}
}

// evaluate returns the result of DMARC for a domain of From, and whether a check passed for a domain that is
// aligned with it.
func (p dmarcPolicy) evaluate(author string, sender spfResult, signers dkimResult) (result app.AuthResult, fromAligned bool) {
	alignedSPF := aligned(sender.domain, author, p.strictSPF)
	alignedDKIM := func(domain string) bool { return aligned(domain, author, p.strictDKIM) }
	fromAligned = sender.result == app.AuthPass && alignedSPF || slices.ContainsFunc(signers.passed, alignedDKIM)
	switch {
	case p.result != "":
		return p.result, fromAligned
	case fromAligned:
		return app.AuthPass, true
	case sender.result == app.AuthTempError && alignedSPF || slices.ContainsFunc(signers.temporary, alignedDKIM):
		return app.AuthTempError, false
	}
	return app.AuthFail, false
}

// aligned reports whether a domain is aligned with that of From (RFC 9989 4.4).
func aligned(domain, author string, strict bool) bool {
	return domain == author || !strict && domain != "" && app.OrganizationalDomain(domain) == app.OrganizationalDomain(author)
}
