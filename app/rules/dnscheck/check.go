// Package dnscheck judges what stands in the DNS for a domain against the records that
// it should publish, in words that say what to change. Packages from relays on upward
// may import it. It asks the DNS through the function that it is handed, a few
// questions at once in goroutines that end before Check returns, and keeps no state
// between checks.
//
// Failure policy: where nobody answers, a record is unknown and never missing.
// Records are written by strangers: the number of questions is bounded, what is shown
// of them is cut and printable, and a panic over one makes that record unknown.
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

// Limits of one check of a domain. Its records are written by strangers.
const (
	maxCheckLookups    = 40
	maxConcurrent      = 4
	maxDKIMKeysChecked = 8
	maxQuoted          = 100 // characters of a foreign value in a detail
)

var errManyLookups = fmt.Errorf("this check has asked %d questions already", maxCheckLookups)

// Check asks the DNS about each record that the domain publishes and says
// what it holds: in the order of Records, and in words what is wrong and what to
// change. It asks 40 questions at most, 4 at once, those about required records
// first; where nobody answers, or ctx ends, the record is unknown.
func Check(ctx context.Context, d *app.Domain, needs app.RelayNeeds, trackingTarget string, ask app.DNSLookup) []app.RecordCheck {
	c := &checker{domain: d, org: app.OrganizationalDomain(d.Name), needs: needs, ask: ask, left: maxCheckLookups, asked: map[dnsQuestion]asked{}}
	records := d.WantedRecords(needs, trackingTarget)
	checks := make([]app.RecordCheck, len(records))
	for _, required := range []bool{true, false} {
		var g errgroup.Group
		g.SetLimit(maxConcurrent)
		for i, r := range records {
			if r.Required == required {
				g.Go(func() error { checks[i] = c.check(ctx, r, i); return nil })
			}
		}
		g.Wait()
	}
	return checks
}

// checker is one check of one domain.
type checker struct {
	domain *app.Domain
	org    string // of domain
	needs  app.RelayNeeds
	ask    app.DNSLookup

	mu    sync.Mutex
	left  int // questions
	asked map[dnsQuestion]asked
}

type dnsQuestion struct {
	name string
	t    app.DNSType
}

// asked asks a question, and answers the same whenever it is called again.
type asked func() (app.DNSAnswer, error)

// lookup asks once for each name and type, whoever wants to know: all callers have
// the ctx of one check.
func (c *checker) lookup(ctx context.Context, name string, t app.DNSType) (app.DNSAnswer, error) {
	if len(name) > app.MaxDomain {
		return app.DNSAnswer{}, nil // no such name can be
	}
	ask := c.question(ctx, dnsQuestion{strings.ToLower(name), t})
	if ask == nil {
		return app.DNSAnswer{}, errManyLookups
	}
	return ask()
}

// question returns what asks a question, new or known; nil: it would be one too
// many.
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

// check judges one record; index is its place in the list. A panic over foreign
// data must not take the server down: the record is unknown then.
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
	case r.Type == string(app.DNSMX):
		return c.checkMX(ctx, r)
	case r.Record == app.RecordSPF:
		return c.checkSPF(ctx, r)
	case r.Record == app.RecordDMARC:
		return c.checkDMARC(ctx, r)
	}
	return c.checkTracking(ctx, r)
}

// verdict makes a result; detail is a sentence or more, or empty.
func verdict(r app.DNSRecord, live app.Live, detail string, args ...any) app.RecordCheck {
	if len(args) > 0 {
		detail = fmt.Sprintf(detail, args...)
	}
	return app.RecordCheck{Record: r.Record, Name: r.Name, Type: r.Type, Live: live, Detail: detail}
}

// unanswered is the result where nobody answered.
func unanswered(r app.DNSRecord, err error) app.RecordCheck {
	return verdict(r, app.LiveUnknown, "DNS lookup failed for %s: %s. The status is unchanged; the next check tries again.", r.Name, printable(err.Error(), 3*maxQuoted))
}

// absent is the result where there is no record, and says why as far as that
// can be known. fits reports whether a record that stands elsewhere is the one.
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

// wrongName looks for the record where a DNS panel puts it that adds the name of
// the zone to a name which had it already, or where a name lands that was cut
// too short for the zone.
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

// at names a record's place, with the target of a CNAME where that is it.
func at(name string, answer app.DNSAnswer) string {
	if answer.CNAME == "" {
		return name
	}
	return name + " (a CNAME to " + printable(answer.CNAME, app.MaxDomain) + ")"
}

// quoted shows a foreign value: printable, shortened, in quotation marks.
func quoted(s string) string { return `"` + printable(s, maxQuoted) + `"` }

// printable replaces what is no visible character and cuts at limit characters.
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
