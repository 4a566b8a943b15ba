package dnscheck

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"mailer/app"
)

// checkSPF checks the record of the return path, which must allow the primary of the region.
func (c *checker) checkSPF(ctx context.Context, r app.DNSRecord) app.RecordCheck {
	answer, err := c.lookup(ctx, r.Name, app.DNSText)
	if err != nil {
		return unanswered(r, err)
	}
	texts := spfTexts(answer)
	where := at(r.Name, answer)
	switch {
	case len(texts) > 1:
		return verdict(r, app.LiveMismatch, "There are %d SPF records at %s, which makes them all void (RFC 7208 3.2): %s and %s. Make one of them, with the mechanisms of all.", len(texts), where, quoted(texts[0]), quoted(texts[1]))
	case len(texts) == 1:
		return c.spfVerdict(ctx, r, where, texts[0])
	case len(answer.Records) == 0:
		return c.absentSPF(ctx, r, answer)
	}
	if wrong := nearSPF(answer); wrong != "" {
		return verdict(r, app.LiveMismatch, "At %s: %s", where, wrong)
	}
	return verdict(r, app.LiveMissing, "There is no SPF record at %s, only %s. Add a TXT record with the value shown.", where, quoted(answer.Records[0].Text))
}

func spfTexts(answer app.DNSAnswer) (texts []string) {
	for _, v := range answer.Records {
		if isSPF(v.Text) {
			texts = append(texts, v.Text)
		}
	}
	return texts
}

// nearSPF finds a record that was meant as an SPF record but is not one.
func nearSPF(answer app.DNSAnswer) string {
	for _, v := range answer.Records {
		bare := trimFWS(strings.NewReplacer(`"`, "", `\`, "").Replace(v.Text))
		lower := strings.ToLower(bare)
		switch {
		case isSPF(bare) && strings.ContainsAny(v.Text, `"\`):
			return fmt.Sprintf("quotation marks or backslashes are part of the value (%s). Enter it without any.", quoted(v.Text))
		case isSPF(bare):
			return fmt.Sprintf("a space is before the value (%s), so it is not an SPF record. Remove the space.", quoted(v.Text))
		case strings.HasPrefix(lower, "v=spf") || strings.HasPrefix(lower, "spf1") || strings.HasPrefix(lower, "v = spf"):
			return fmt.Sprintf("%s is not an SPF record: it must begin with v=spf1 and a space.", quoted(v.Text))
		case strings.HasPrefix(lower, "include:") || strings.HasPrefix(lower, "ip4:"):
			return fmt.Sprintf("%s is not an SPF record: put v=spf1 and a space before it.", quoted(v.Text))
		}
	}
	return ""
}

// absentSPF also checks the domain itself, where SPF records are for senders without a return path
// of their own.
func (c *checker) absentSPF(ctx context.Context, r app.DNSRecord, answer app.DNSAnswer) app.RecordCheck {
	fits := func(v app.DNSValue) bool { return isSPF(v.Text) && c.hasOwnTerm(v.Text) }
	check := c.absent(ctx, r, answer, fits)
	if answer.CNAME == "" && strings.HasSuffix(check.Detail, "Add one with the value shown.") && c.needs.SPF != "" && c.found(ctx, c.domain.Name, app.DNSText, fits) {
		check.Detail = fmt.Sprintf("There is no TXT record at %s. %s has %s in its own SPF record, but bounces go to the return path, and receivers look there: add a TXT record with the value shown at %s.", r.Name, c.domain.Name, c.needs.SPF, r.Name)
	}
	return check
}

// hasOwnTerm reports whether the record itself contains the mechanism that the relay needs.
func (c *checker) hasOwnTerm(text string) bool {
	rec, err := parseSPF(text)
	if err != nil {
		return false
	}
	want, needed := c.wantedTerm()
	return !needed || slices.ContainsFunc(rec.terms, func(t spfTerm) bool { return t.covers(want) })
}

func (c *checker) wantedTerm() (want spfTerm, needed bool) {
	if c.needs.SPF == "" {
		return spfTerm{}, false
	}
	return parsedTerm(c.needs.SPF), true
}

func parsedTerm(mechanism string) spfTerm {
	want, err := parseSPFTerm(mechanism)
	if err != nil { // not a valid mechanism: compare the text
		want = spfTerm{name: mechanism}
	}
	return want
}

// allows reports whether a valid record contains a mechanism.
func (c *checker) allows(ctx context.Context, name string, rec *spfRecord, mechanism string) bool {
	w := &spfWalk{lookup: c.lookup, want: parsedTerm(mechanism), needed: true}
	_, err := w.record(ctx, name, rec, true)
	return err == nil && w.found
}

// validBy returns the mechanism because of which a verified domain stays verified although its record
// lacks that of the primary: another relay was the primary when the domain was verified. Empty: there
// is none.
func (c *checker) validBy(ctx context.Context, name string, rec *spfRecord) string {
	by := c.domain.SPFCheck().ValidBy
	if c.domain.Status != app.DomainVerified || by == "" || by == c.needs.SPF || by != app.AnySPF && !c.allows(ctx, name, rec, by) {
		return ""
	}
	return by
}

// withRelays adds to the result for a valid record which relays of the region it has and lacks. by is
// the mechanism that made it valid.
func (c *checker) withRelays(ctx context.Context, check app.RecordCheck, where string, rec *spfRecord, by string) app.RecordCheck {
	check.ValidBy = cmp.Or(by, app.AnySPF)
	for _, mechanism := range c.needs.SPFTerms() {
		if mechanism == by || rec.all() == '+' || c.allows(ctx, check.Name, rec, mechanism) {
			check.Has = append(check.Has, mechanism)
		} else {
			check.Lacks = append(check.Lacks, mechanism)
		}
	}
	if len(check.Lacks) > 0 && check.Detail == "" {
		missing := strings.Join(check.Lacks, " and ")
		check.Detail = fmt.Sprintf("The SPF record at %s (%s) does not name every relay of the region: %s is missing. Change it to %s", where, quoted(rec.text), missing, withTerms(rec, check.Lacks...))
	}
	return check
}

func (c *checker) spfVerdict(ctx context.Context, r app.DNSRecord, where, text string) app.RecordCheck {
	rec, err := parseSPF(text)
	if err != nil {
		return verdict(r, app.LiveMismatch, "The SPF record at %s (%s) is invalid: %s.", where, quoted(text), err)
	}
	w := &spfWalk{lookup: c.lookup}
	w.want, w.needed = c.wantedTerm()
	fault, err := w.record(ctx, r.Name, rec, true)
	switch {
	case err != nil:
		return verdict(r, app.LiveUnknown, "The SPF record at %s (%s) can't be evaluated because a DNS lookup failed: %s.", where, quoted(text), printable(err.Error(), 3*maxQuoted))
	case fault != "":
		return verdict(r, app.LiveMismatch, "The SPF record at %s (%s) is invalid: %s.", where, quoted(text), fault)
	}
	by := c.needs.SPF
	if w.needed && !w.found {
		by = c.validBy(ctx, r.Name, rec)
	}
	found := verdict(r, app.LiveFound, "")
	switch {
	case w.needed && !w.found && by == "":
		return verdict(r, app.LiveMismatch, "The SPF record at %s (%s) %s", where, quoted(text), c.missingTerm(rec, w))
	case rec.all() == '+':
		found = verdict(r, app.LiveFound, "The SPF record at %s allows everyone to send: replace +all with ~all.", where)
	case !w.needed && !slices.ContainsFunc(rec.terms, func(t spfTerm) bool { return t.name != "all" }) && rec.redirect == "":
		found = verdict(r, app.LiveFound, "The SPF record at %s names no sender. The address that receivers see is not known here: if mail leaves through a host of your own network, add its public address, like ip4:ADDRESS, before all.", where)
	}
	return c.withRelays(ctx, found, where, rec, by)
}

// missingTerm describes why the record does not allow the relay.
func (c *checker) missingTerm(rec *spfRecord, w *spfWalk) string {
	_, unread := rec.beforeAll()
	for _, t := range unread {
		if t.covers(w.want) {
			return fmt.Sprintf("has %s after all, and everything after all is ignored. Move it before all: %s", t.text, withTerms(rec, c.needs.SPF))
		}
	}
	for _, t := range rec.terms {
		if t.covers(w.want) {
			return fmt.Sprintf("refuses the relay's mail by %s. Write %s without the sign before it.", t.text, c.needs.SPF)
		}
	}
	return fmt.Sprintf("does not allow the relay to send: %s is missing. Change it to %s", c.needs.SPF, withTerms(rec, c.needs.SPF))
}

// withTerms returns the record with mechanisms before all or redirect, and without mechanisms that
// receivers ignore.
func withTerms(rec *spfRecord, terms ...string) string {
	words := strings.Fields(rec.text)
	i := slices.IndexFunc(words, func(w string) bool {
		w = strings.ToLower(w)
		return strings.TrimLeft(w, "+-~?") == "all" || strings.HasPrefix(w, "redirect=")
	})
	if i < 0 {
		i = len(words)
	}
	tail := words[i:]
	if len(tail) > 1 {
		tail = tail[:1]
	}
	out := slices.Concat(words[:i], terms, tail)
	return printable(strings.Join(out, " "), 4*maxQuoted)
}
