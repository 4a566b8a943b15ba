package app

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// NextDomainStatus returns the status of a domain after a check, since when it is pending (zero:
// it is not), and when the next check is due (zero: only on request). Unknown results neither
// verify a domain nor end its verification, but 72 hours without verification end in failed. A
// trusted domain stays verified. checks are the results of dnscheck.Check for d.
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

// StartVerifying returns the status after a request to verify, before the check. The 72 hours
// start again for a domain that was not being checked.
func StartVerifying(d *Domain, now time.Time) (status DomainStatus, pendingSince, checkAt time.Time) {
	switch {
	case d.Trusted || d.Status == DomainVerified:
		return DomainVerified, time.Time{}, now
	case d.Status == DomainPending && !d.PendingSince.IsZero():
		return DomainPending, d.PendingSince, now
	}
	return DomainPending, now, now
}

// requiredLive returns LiveFound if all records required for sending exist, LiveMissing if one is
// missing or different, otherwise LiveUnknown.
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

// liveOf returns the result for the TXT record of a kind and name.
func liveOf(checks []RecordCheck, record, name string) Live {
	for _, c := range checks {
		if c.Record == record && c.Name == name && c.Type == string(DNSText) {
			return c.Live
		}
	}
	return LiveUnknown
}

// UnverifiedDomain is the cause of the error for a send from a domain that is unverified or not added.
type UnverifiedDomain struct{ TeamID, Name string }

// Error implements error.
func (e *UnverifiedDomain) Error() string { return e.Name + " is not verified" }

// Unverified returns the error for a send from an unverified domain (CodeValidation). Its cause is an
// *UnverifiedDomain. VerifySteps say what to do.
func (d *Domain) Unverified() *Error {
	refusal := Invalid("from", "uses the domain %s, which is not verified (its status is %s)", d.Name, d.Status)
	refusal.Err = &UnverifiedDomain{TeamID: d.TeamID, Name: d.Name}
	return refusal
}

// VerifySteps names the missing records of an unverified domain and the next step. records are those
// of Records.
func (d *Domain) VerifySteps(records []DNSRecord) string {
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
	return then
}
