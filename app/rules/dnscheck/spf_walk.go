package dnscheck

import (
	"context"
	"fmt"
	"slices"

	"mailer/app"
)

// Limits of the evaluation of an SPF record (RFC 7208 4.6.4).
const (
	maxSPFLookups = 10
	maxSPFVoids   = 2
	maxSPFMX      = 10
)

// spfWalk evaluates a record and the included ones: it counts lookups as receivers do and searches
// for the wanted mechanism. It counts all terms, including those after a match: mail of other
// senders reaches them.
type spfWalk struct {
	lookup func(ctx context.Context, name string, t app.DNSType) (app.DNSAnswer, error)
	want   spfTerm
	needed bool

	found   bool
	lookups int
	voids   int
	path    []string // domains whose records are being evaluated, to detect loops
}

// record evaluates the record of a domain. pass: a match in it is a pass in the end. fault is why
// receivers refuse the whole record (permerror). The error is why this is unknown.
func (w *spfWalk) record(ctx context.Context, domain string, rec *spfRecord, pass bool) (fault string, err error) {
	w.path = append(w.path, domain)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	read, _ := rec.beforeAll()
	for _, t := range read {
		if w.needed && pass && t.qualifier == '+' && t.covers(w.want) {
			w.found = true
			fault, err = w.wanted(ctx, t)
		} else {
			fault, err = w.term(ctx, domain, t, pass)
		}
		if fault != "" || err != nil {
			return fault, err
		}
	}
	if rec.redirect == "" || rec.all() != 0 {
		return "", nil
	}
	return w.nested(ctx, "redirect=", rec.redirect, pass)
}

func (w *spfWalk) term(ctx context.Context, domain string, t spfTerm, pass bool) (fault string, err error) {
	host := t.domain
	if host == "" {
		host = domain
	}
	switch t.name {
	case "include":
		return w.nested(ctx, "include:", host, pass && t.qualifier == '+')
	case "a", "exists":
		if fault = w.count(); fault == "" && !hasMacro(host) {
			fault, err = w.hostTerm(ctx, t, host)
		}
	case "mx":
		if fault = w.count(); fault == "" && !hasMacro(host) {
			fault, err = w.mxTerm(ctx, t, host)
		}
	case "ptr":
		fault = w.count()
	}
	return fault, err
}

// wanted counts the lookups of the wanted mechanism as far as possible: the owner can't correct
// errors within it.
func (w *spfWalk) wanted(ctx context.Context, t spfTerm) (fault string, err error) {
	if t.name != "include" {
		if t.name == "a" || t.name == "mx" {
			fault = w.count()
		}
		return fault, nil
	}
	if answer, err := w.lookup(ctx, t.domain, app.DNSText); err != nil || len(spfTexts(answer)) != 1 {
		return w.count(), nil
	}
	return w.nested(ctx, "include:", t.domain, true)
}

func (w *spfWalk) count() string {
	if w.lookups++; w.lookups > maxSPFLookups {
		return fmt.Sprintf("it takes more than %d DNS look-ups, those of included records among them (RFC 7208 4.6.4). Remove mechanisms that are no longer used, or write addresses instead", maxSPFLookups)
	}
	return ""
}

// void counts a lookup without result.
func (w *spfWalk) void(t spfTerm, host string) string {
	if w.voids++; w.voids > maxSPFVoids {
		return fmt.Sprintf("more than %d of its look-ups find nothing (RFC 7208 4.6.4), the last being %s for %s. Take them out", maxSPFVoids, quoted(t.text), printable(host, app.MaxDomain))
	}
	return ""
}

// hostTerm counts the lookup of exists, which uses only IPv4 addresses (RFC 7208 5.7), or of a,
// which uses addresses of the sender's kind, so that it is void with certainty only if there are
// neither.
func (w *spfWalk) hostTerm(ctx context.Context, t spfTerm, host string) (string, error) {
	types := []app.DNSType{app.DNSA, app.DNSAAAA}
	if t.name == "exists" {
		types = types[:1]
	}
	for _, kind := range types {
		answer, err := w.lookup(ctx, host, kind)
		if err != nil {
			return "", err
		}
		if len(answer.Records) > 0 {
			return "", nil
		}
	}
	return w.void(t, host), nil
}

func (w *spfWalk) mxTerm(ctx context.Context, t spfTerm, host string) (string, error) {
	answer, err := w.lookup(ctx, host, app.DNSMX)
	switch {
	case err != nil:
		return "", err
	case len(answer.Records) == 0:
		return w.void(t, host), nil
	case len(answer.Records) > maxSPFMX:
		return fmt.Sprintf("%s has more than %d MX records, too many for %s (RFC 7208 4.6.4)", printable(host, app.MaxDomain), maxSPFMX, quoted(t.text)), nil
	}
	return "", nil
}

// nested evaluates the record of another domain. kind names the mechanism.
func (w *spfWalk) nested(ctx context.Context, kind, domain string, pass bool) (fault string, err error) {
	if fault = w.count(); fault != "" || hasMacro(domain) {
		return fault, nil
	}
	name := kind + printable(domain, app.MaxDomain)
	if slices.Contains(w.path, domain) {
		return name + " leads in a circle. Take it out", nil
	}
	answer, err := w.lookup(ctx, domain, app.DNSText)
	if err != nil {
		return "", err
	}
	texts := spfTexts(answer)
	switch {
	case len(texts) == 0:
		return name + " names a domain without an SPF record (RFC 7208 5.2). Take it out or correct its spelling", nil
	case len(texts) > 1:
		return fmt.Sprintf("%s names a domain with %d SPF records, where one is allowed", name, len(texts)), nil
	}
	rec, err := parseSPF(texts[0])
	if err != nil {
		return fmt.Sprintf("the record of %s is not valid: %s", name, err), nil
	}
	return w.record(ctx, domain, rec, pass)
}
