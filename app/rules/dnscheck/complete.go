package dnscheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mailer/app"
)

// Functions that complete records of others: they add what is missing and keep everything else.

// IsSPF reports whether text is an SPF record, valid or not.
func IsSPF(text string) bool { return isSPF(text) }

// IsDMARC reports whether receivers use text as a DMARC record.
func IsDMARC(text string) bool { return isDMARC(text) }

// IsDKIMKey reports whether a TXT record contains the key of a DKIM record as WantedRecords returns
// it. Other tags may differ.
func IsDKIMKey(text, record string) bool {
	live, _ := compareDKIM(text, strings.TrimPrefix(record, "v=DKIM1; k=rsa; p="), nil)
	return live == app.LiveFound
}

// AddSPFTerm returns an SPF record with a mechanism before its all mechanism, and everything else
// unchanged. A record that contains the mechanism already is returned unchanged, and so is every
// valid record if term is empty. The error says why the record can't be completed.
func AddSPFTerm(text, term string) (string, error) {
	rec, err := parseSPF(text)
	if err != nil {
		return "", err
	}
	if term == "" {
		return text, nil
	}
	want, err := parseSPFTerm(term)
	if err != nil {
		return "", err
	}
	read, _ := rec.beforeAll()
	for _, t := range read {
		switch {
		case !t.covers(want):
		case t.qualifier == '+':
			return text, nil
		default:
			return "", fmt.Errorf("the term %s does not let the relay send", quoted(t.text))
		}
	}
	if rec.redirect != "" && rec.all() == 0 {
		return "", fmt.Errorf("its redirect= gives the decision to the record of %s", printable(rec.redirect, app.MaxDomain))
	}
	words := strings.Fields(text)
	i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(strings.TrimLeft(w, "+-~?"), "all") })
	if i < 0 {
		i = len(words)
	}
	return strings.Join(slices.Insert(words, i, term), " "), nil
}

// SPFFault returns why receivers would refuse text as the SPF record of a name (RFC 7208 4.6), like
// too many lookups; empty: nothing. The error is why this is unknown.
func SPFFault(ctx context.Context, name, text string, ask app.DNSLookup) (fault string, err error) {
	rec, err := parseSPF(text)
	if err != nil {
		return err.Error(), nil
	}
	c := &checker{ask: ask, left: maxCheckLookups, asked: map[dnsQuestion]asked{}}
	return (&spfWalk{lookup: c.lookup}).record(ctx, name, rec, true)
}

// AddDMARCReports returns a DMARC record that also sends aggregate reports to an email address, with
// everything else unchanged. A record that does so already is returned unchanged. The error says why
// the record can't be completed.
func AddDMARCReports(text, address string) (string, error) {
	if _, err := parseDMARC(text); err != nil {
		return "", err
	}
	uri := "mailto:" + address
	if strings.ContainsAny(address, ",;! \t") {
		return "", errors.New("the address can't be part of a DMARC record")
	}
	parts := strings.Split(text, ";")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		if trimFWS(name) != "rua" {
			continue
		}
		for other := range strings.SplitSeq(value, ",") {
			if other, _, _ = strings.Cut(trimFWS(other), "!"); strings.EqualFold(other, uri) {
				return text, nil
			}
		}
		trimmed := strings.TrimRight(part, fws)
		separator := ","
		if trimFWS(value) == "" {
			separator = ""
		}
		parts[i] = trimmed + separator + uri + part[len(trimmed):]
		return strings.Join(parts, ";"), nil
	}
	trimmed := strings.TrimRight(text, fws+";")
	return trimmed + "; rua=" + uri + text[len(trimmed):], nil
}
