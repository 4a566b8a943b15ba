// Package dnscheck compares the DNS records of a domain with those that it should publish, and
// describes what to change. It queries the DNS through a function that callers pass, a few lookups
// at a time in goroutines that end before Check returns, and keeps no state.
//
// Failure policy: without an answer a record is unknown, never missing. Records are untrusted: the
// number of lookups is limited, quoted text is cut and made printable, and a panic makes a record
// unknown.
package dnscheck

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/sync/errgroup"

	"mailer/app"
)

// Limits of one check, since records are untrusted.
const (
	maxCheckLookups    = 40
	maxConcurrent      = 4
	maxDKIMKeysChecked = 8
	maxQuoted          = 100 // characters of a quoted value
)

var errManyLookups = fmt.Errorf("this check has asked %d questions already", maxCheckLookups)

// Check looks up each record of the domain and returns the results in the order of Records, with a
// description of what is wrong and what to change. It makes at most 40 lookups, 4 at a time, those
// for required records first. A record is unknown if no server answers or ctx ends.
func Check(ctx context.Context, d *app.Domain, needs app.RelayNeeds, trackingTarget string, ask app.DNSLookup) []app.RecordCheck {
	c := &checker{domain: d, org: app.OrganizationalDomain(d.Name), needs: needs, ask: ask, left: maxCheckLookups, asked: map[dnsQuestion]asked{}}
	records := d.WantedRecords(needs, trackingTarget)
	checks := make([]app.RecordCheck, len(records))
	for _, required := range []bool{true, false} {
		var g errgroup.Group
		g.SetLimit(maxConcurrent)
		for i, r := range records {
			if r.Required == required {
				g.Go(func() error { checks[i] = c.remember(c.check(ctx, r, i)); return nil })
			}
		}
		g.Wait()
	}
	return checks
}

// PointsTo looks up whether a host leads to a target host by a CNAME, or has its addresses.
func PointsTo(ctx context.Context, host, target string, ask app.DNSLookup) app.RecordCheck {
	c := &checker{domain: &app.Domain{Name: host}, org: app.OrganizationalDomain(host), ask: ask, left: maxCheckLookups, asked: map[dnsQuestion]asked{}}
	return c.check(ctx, app.DNSRecord{Record: app.RecordTracking, Name: host, Type: string(app.DNSCNAME), Value: target}, 0)
}

// checker is one check of one domain.
type checker struct {
	domain *app.Domain
	org    string // of domain
	needs  app.RelayNeeds
	ask    app.DNSLookup

	mu    sync.Mutex
	left  int // remaining lookups
	asked map[dnsQuestion]asked
}

type dnsQuestion struct {
	name string
	t    app.DNSType
}

// asked makes a lookup once and returns the same answer each time.
type asked func() (app.DNSAnswer, error)

// lookup looks up each name and type once for all callers, which share the ctx of the check.
func (c *checker) lookup(ctx context.Context, name string, t app.DNSType) (app.DNSAnswer, error) {
	if len(name) > app.MaxDomain {
		return app.DNSAnswer{}, nil // not a valid name
	}
	ask := c.question(ctx, dnsQuestion{strings.ToLower(name), t})
	if ask == nil {
		return app.DNSAnswer{}, errManyLookups
	}
	return ask()
}

// question returns the new or existing lookup for q; nil: the limit is reached.
func (c *checker) question(ctx context.Context, q dnsQuestion) asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.asked[q]; known != nil {
		return known
	}
	if c.left == 0 {
		return nil
	}
	c.left--
	c.asked[q] = sync.OnceValues(func() (app.DNSAnswer, error) { return c.ask(ctx, q.name, q.t) })
	return c.asked[q]
}

// check checks one record; index is its position. A panic over untrusted data makes the record
// unknown.
func (c *checker) check(ctx context.Context, r app.DNSRecord, index int) (result app.RecordCheck) {
	defer func() {
		if p := recover(); p != nil {
			result = verdict(r, app.LiveUnknown, "The check itself failed, which is a fault of this program: %s.", quoted(fmt.Sprint(p)))
		}
	}()
	switch {
	case r.Record == app.RecordDKIM && index >= maxDKIMKeysChecked:
		return verdict(r, app.LiveUnknown, "Only the first %d keys of a domain are checked.", maxDKIMKeysChecked)
	case r.Record == app.RecordDKIM:
		return c.checkDKIM(ctx, r)
	case r.Record == app.RecordTLSReports:
		return c.checkTLSReports(ctx, r)
	case r.Record == app.RecordReceiving:
		return c.checkReceiving(ctx, r)
	case r.Type == string(app.DNSMX):
		return c.checkMX(ctx, r)
	case r.Record == app.RecordSPF:
		return c.checkSPF(ctx, r)
	case r.Record == app.RecordDMARC:
		return c.checkDMARC(ctx, r)
	}
	return c.checkTracking(ctx, r)
}

// remember adds to an unknown result what the last check found about the relays and the policy.
func (c *checker) remember(check app.RecordCheck) app.RecordCheck {
	if check.Live != app.LiveUnknown {
		return check
	}
	for _, before := range c.domain.Checks {
		if before.Record == check.Record && before.Name == check.Name && before.Type == check.Type {
			check.ValidBy, check.Has, check.Lacks = before.ValidBy, before.Has, before.Lacks
			check.Policy, check.InheritedFrom = before.Policy, before.InheritedFrom
		}
	}
	return check
}

// verdict returns a result. detail is one or more sentences, or empty.
func verdict(r app.DNSRecord, live app.Live, detail string, args ...any) app.RecordCheck {
	if len(args) > 0 {
		detail = fmt.Sprintf(detail, args...)
	}
	return app.RecordCheck{Record: r.Record, Name: r.Name, Type: r.Type, Live: live, Detail: detail}
}

// unanswered returns the result without an answer.
func unanswered(r app.DNSRecord, err error) app.RecordCheck {
	return verdict(r, app.LiveUnknown, "DNS lookup failed for %s: %s. The status is unchanged; the next check tries again.", r.Name, printable(err.Error(), 3*maxQuoted))
}

// absent returns the result for a missing record, with the reason if it can be determined. fits
// reports whether a record at another name is the right one.
func (c *checker) absent(ctx context.Context, r app.DNSRecord, answer app.DNSAnswer, fits func(app.DNSValue) bool) app.RecordCheck {
	if answer.CNAME != "" {
		return verdict(r, app.LiveMissing, "%s is a CNAME to %s, where there is no %s record. Delete the CNAME and add the %s record with the value shown.", r.Name, printable(answer.CNAME, app.MaxDomain), r.Type, r.Type)
	}
	if !answer.NameExists && c.unregistered(ctx) {
		return verdict(r, app.LiveMissing, "The domain %s itself does not exist in the DNS: check its spelling, and that it is registered and has name servers.", c.org)
	}
	if hint := c.wrongName(ctx, r, fits); hint != "" {
		return verdict(r, app.LiveMissing, "There is no %s record at %s. %s", r.Type, r.Name, hint)
	}
	return verdict(r, app.LiveMissing, "There is no %s record at %s. Add one with the value shown.", r.Type, r.Name)
}

func (c *checker) unregistered(ctx context.Context) bool {
	answer, err := c.lookup(ctx, c.org, app.DNSA)
	return err == nil && !answer.NameExists
}

// wrongName looks for the record at names that result from typical mistakes: a DNS panel appended
// the zone to a full name, or the name was cut too short.
func (c *checker) wrongName(ctx context.Context, r app.DNSRecord, fits func(app.DNSValue) bool) string {
	domain := c.domain.Name
	zones := []string{domain}
	if c.org != domain {
		zones = append(zones, c.org)
	}
	for _, zone := range zones {
		if doubled := r.Name + "." + zone; c.found(ctx, doubled, app.DNSType(r.Type), fits) {
			return fmt.Sprintf("The record is at %s: the DNS panel adds %s to each name automatically, so enter only %s as the name.", doubled, zone, strings.TrimSuffix(r.Name, "."+zone))
		}
	}
	if c.org == domain {
		return ""
	}
	relative := strings.TrimSuffix(r.Name, "."+domain)
	if short := relative + "." + c.org; c.found(ctx, short, app.DNSType(r.Type), fits) {
		return fmt.Sprintf("The record is at %s, which is a name of %s: enter %s as the name.", short, c.org, strings.TrimSuffix(r.Name, "."+c.org))
	}
	return ""
}

func (c *checker) found(ctx context.Context, name string, t app.DNSType, fits func(app.DNSValue) bool) bool {
	answer, err := c.lookup(ctx, name, t)
	if err != nil {
		return false
	}
	for _, v := range answer.Records {
		if fits(v) {
			return true
		}
	}
	return false
}

// at describes the name of a record, with the target of a CNAME.
func at(name string, answer app.DNSAnswer) string {
	if answer.CNAME == "" {
		return name
	}
	return name + " (a CNAME to " + printable(answer.CNAME, app.MaxDomain) + ")"
}

// quoted returns an untrusted value in quotation marks: printable and shortened.
func quoted(s string) string { return `"` + printable(s, maxQuoted) + `"` }

// printable replaces invisible characters and cuts at limit characters.
func printable(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > limit {
			b.WriteString("…")
			break
		}
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}
