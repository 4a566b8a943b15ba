// Package mailauth authenticates the sender of a received message: SPF (RFC 7208), DKIM (RFC 6376) and
// DMARC (RFC 9989). It queries the DNS through a function that callers pass and keeps no state.
//
// Organizational domains come from the public suffix list that is compiled in. The DNS tree walk of
// RFC 9989 4.10 is not made.
//
// Failure policy: a DNS failure is a temperror, never a missing record. The message and the DNS are
// untrusted: lookups, sizes and time are limited, and a panic of a library is logged and becomes a
// permerror. What exceeds a limit never passes.
package mailauth

import (
	"context"
	"log/slog"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/mailbox"
)

// Limits of the check of one message.
const (
	maxTime      = 10 * time.Second
	maxSPFAsked  = 100 // DNS lookups; RFC 7208 4.6.4 allows 10 terms, each mx of which may name 10 hosts
	maxDKIMAsked = maxSignatures
	maxHeader    = 256 << 10 // bytes of the header of the message
)

// Checker checks received messages. It is safe for concurrent use.
type Checker struct {
	ask app.DNSLookup
	log *slog.Logger
}

// New returns a Checker that looks up DNS records with ask. The term ptr of SPF asks for the type
// "PTR"; it matches nothing if ask does not support that type.
func New(ask app.DNSLookup, log *slog.Logger) *Checker { return &Checker{ask: ask, log: log} }

// Input is a received message with its envelope.
type Input struct {
	Raw      []byte     // the message as it was transferred
	Remote   netip.Addr // of the peer; the zero value: unknown, and SPF is none
	Helo     string     // name in EHLO or HELO
	MailFrom string     // envelope sender without angle brackets; empty: the null sender, and SPF checks Helo
	// FromDomains are the domains of all mailboxes of the header From. An empty string is a mailbox
	// whose domain can't be read.
	FromDomains []string
}

// Check makes the checks at the same time and returns their results after at most 10 seconds. It makes at
// most 100 lookups for SPF, 10 for DKIM and 3 for DMARC.
//
// SPF is none for a peer or a domain that is not known or not valid.
//
// DKIM is pass if one of the first 10 signatures passes, counted from the top, but those of domains that are
// aligned with From come first. Of messages over 8 MiB there may be fewer: at most 80 MiB are hashed. If none
// passes, the result is the first of temperror, fail and permerror that a signature has. A signature fails if
// the message was changed, the signature has expired, the key has less than 1024 bits, or the tag l= is
// present, which leaves a part of the body unsigned. A missing, revoked or unreadable key and rsa-sha1 are a
// permerror, as is a header of more than 256 KiB. DKIMDomains has the order in which signatures were checked.
//
// DMARC is none if From has no domain or several (RFC 9989 excludes such messages), and permerror if there
// are several From fields, or the header has more than 256 KiB. It is temperror if the record can't be looked
// up, or nothing passed but an aligned check ended with a temperror.
//
// FromAligned is false for messages without a single domain in From. If the record could not be looked up,
// its alignment mode is not known and the domains must be equal.
func (c *Checker) Check(ctx context.Context, in Input) app.ReceivedAuth {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	header := parseHeader(in.Raw)
	author, noAuthor := authorDomain(header, in.FromDomains)

	var checks sync.WaitGroup
	var sender spfResult
	var signers dkimResult
	var policy dmarcPolicy
	checks.Go(func() {
		sender = spfResult{result: app.AuthPermError}
		defer c.logPanic("SPF")
		sender = checkSPF(ctx, newLookups(c.ask, maxSPFAsked), in)
	})
	checks.Go(func() {
		signers = dkimResult{result: app.AuthPermError}
		defer c.logPanic("DKIM")
		signers = checkDKIM(ctx, newLookups(c.ask, maxDKIMAsked), header, author, maxHashed)
	})
	if noAuthor == "" {
		checks.Go(func() {
			policy = dmarcPolicy{result: app.AuthPermError}
			defer c.logPanic("DMARC")
			policy = findPolicy(ctx, newLookups(c.ask, maxDMARCAsked), author)
		})
	}
	checks.Wait()

	auth := app.ReceivedAuth{SPF: sender.result, DKIM: signers.result, DMARC: noAuthor, DKIMDomains: signers.passed}
	if noAuthor == "" {
		auth.DMARC, auth.FromAligned = policy.evaluate(author, sender, signers)
	}
	return auth
}

// logPanic ends a panic and logs it. It must be deferred.
func (c *Checker) logPanic(check string) {
	if p := recover(); p != nil {
		c.log.Error("panic in a check of a received message", "check", check, "panic", p, "stack", string(debug.Stack()))
	}
}

// authorDomain returns the domain of the header From, or the result of DMARC for a message that has none.
func authorDomain(h header, domains []string) (domain string, result app.AuthResult) {
	if h.tooLarge || h.count("from") > 1 {
		return "", app.AuthPermError
	}
	var distinct []string
	for _, d := range domains {
		if d = canonical(d); !slices.Contains(distinct, d) {
			distinct = append(distinct, d)
		}
	}
	if len(distinct) != 1 || distinct[0] == "" || h.count("from") == 0 {
		return "", app.AuthNone
	}
	return distinct[0], ""
}

// canonical returns a domain in lower-case A-labels; empty: it is not the name of a domain, or has no dot.
func canonical(domain string) string {
	if name, err := mailbox.ParseDomain(domain); err == nil {
		return name
	}
	name := strings.ToLower(strings.TrimSuffix(domain, "."))
	if !validName(name) || !strings.Contains(name, ".") || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"()<>[]:;@\,`, r) }) {
		return ""
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if strings.Trim(last, "0123456789") == "" { // an IP address
		return ""
	}
	return name
}
