package app

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// NextDomainStatus judges a check: the status of the domain from now on, since
// when it is pending (zero: it is not), and when it is due again (zero: only on
// demand). What is unknown neither gives a verification nor takes one away; but
// 72 hours without one end in failed whatever the reason. A trusted domain stays
// verified. checks are those that dnscheck.Check returned for d.
func NextDomainStatus(d *Domain, checks []RecordCheck, now time.Time) (status DomainStatus, pendingSince, checkAt time.Time) {
	if d.Trusted {
		return DomainVerified, time.Time{}, now.Add(RecheckEvery)
	}
	live := d.requiredLive(checks)
	switch {
	case live == LiveFound, d.Status == DomainVerified && live == LiveUnknown:
		return DomainVerified, time.Time{}, now.Add(RecheckEvery)
	case d.Status == DomainVerified:
		return DomainPending, now, now.Add(RecheckSoon)
	case d.Status != DomainPending:
		return d.Status, time.Time{}, time.Time{}
	}
	since := d.PendingSince
	if since.IsZero() {
		since = now
	}
	if now.Sub(since) >= GiveUpVerifying {
		return DomainFailed, time.Time{}, time.Time{}
	}
	if now.Sub(since) < RecheckSoonFor {
		return DomainPending, since, now.Add(RecheckSoon)
	}
	return DomainPending, since, now.Add(RecheckEvery)
}

// StartVerifying is what a demand to verify makes of the status, before the
// check: the 72 hours begin anew for a domain that was not being checked.
func StartVerifying(d *Domain, now time.Time) (status DomainStatus, pendingSince, checkAt time.Time) {
	switch {
	case d.Trusted || d.Status == DomainVerified:
		return DomainVerified, time.Time{}, now
	case d.Status == DomainPending && !d.PendingSince.IsZero():
		return DomainPending, d.PendingSince, now
	}
	return DomainPending, now, now
}

// requiredLive is found when all records that gate sending are, missing when the
// DNS surely lacks one or has another, else unknown.
func (d *Domain) requiredLive(checks []RecordCheck) Live {
	i := slices.IndexFunc(d.Keys, func(k DKIMPair) bool { return k.State == DKIMSigning })
	if i < 0 {
		return LiveUnknown
	}
	dkim := liveOf(checks, RecordDKIM, d.DKIMName(d.Keys[i].Selector))
	spf := liveOf(checks, RecordSPF, d.ReturnPathName())
	absent := func(l Live) bool { return l == LiveMissing || l == LiveMismatch }
	switch {
	case absent(dkim) || absent(spf):
		return LiveMissing
	case dkim == LiveFound && spf == LiveFound:
		return LiveFound
	}
	return LiveUnknown
}

// liveOf finds the TXT record of a kind and name among checks.
func liveOf(checks []RecordCheck, record, name string) Live {
	for _, c := range checks {
		if c.Record == record && c.Name == name && c.Type == string(DNSText) {
			return c.Live
		}
	}
	return LiveUnknown
}

// Unverified refuses a send from the domain, in words that name the records that
// are not there and how to go on. records are those of Records. It is of
// CodeValidation.
func (d *Domain) Unverified(records []DNSRecord) *Error {
	faults := map[Live]string{LiveMissing: "is missing", LiveMismatch: "has another value", LiveUnknown: "is not known to be there"}
	var wrong []string
	for _, r := range records {
		if words := faults[r.Live]; r.Required && words != "" {
			wrong = append(wrong, fmt.Sprintf("the %s record %s %s %s", r.Record, r.Type, r.Name, words))
		}
	}
	then := fmt.Sprintf("run `mailer domains verify %s` or POST /domains/%s/verify", d.Name, d.ID)
	if len(wrong) > 0 {
		then = fmt.Sprintf("%s. Publish what `mailer domains records %s` shows, then %s", strings.Join(wrong, ", and "), d.Name, then)
	}
	return Invalid("from", "uses the domain %s, which is not verified (its status is %s): %s", d.Name, d.Status, then)
}
