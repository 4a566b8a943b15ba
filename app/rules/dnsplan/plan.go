// Package dnsplan decides which DNS records of a domain to add, replace and remove, from the records
// that are wanted, those that exist, and those that this server published before.
//
// A plan never loosens what exists. Values are added to a set, and the rest of the set stays. Only
// values that this server published are replaced or removed; SPF and DMARC records of others are
// completed by one term. Everything else is a conflict, which is named and for which nothing is
// written.
package dnsplan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/rules/dnscheck"
)

// Record is a record that exists or was published. Hosts are lower case without a final dot; the
// strings of a TXT record are joined.
type Record struct {
	Name     string
	Type     string
	Value    string
	Priority int    // MX
	Proxied  bool   // the provider answers with addresses of its own
	ID       string // the provider's id; empty: unknown
}

// Name is what exists at a name.
type Name struct {
	Apex    bool // of the zone
	Records []Record
}

// Input is what a plan depends on.
type Input struct {
	// Wanted are the records of the domain, with Live as the last check found them: what works
	// already is no conflict.
	Wanted []app.DNSRecord
	// Names is what exists, by name, for the names of Wanted and Published, and for the domain: its
	// delegation counts.
	Names map[string]Name
	// Published are whole values that this server published. A record of others that was completed
	// is not one of them.
	Published []Record
	// SPFTerms are the mechanisms that the SPF record should contain. It must contain the first,
	// unless that is empty.
	SPFTerms []string
	// SPFFault returns why receivers would refuse an SPF record; empty: nothing. nil: not checked.
	SPFFault func(name, record string) string
	// DMARCReports is the address to add for aggregate reports; empty: none.
	DMARCReports string
	// OwnReports is the address of this server for aggregate reports, which is added to a record of the domain itself;
	// empty: none.
	OwnReports string
	// PolicyOf is the domain above whose DMARC policy counts while the domain has none; empty: none.
	// PolicyUnknown: the DNS did not answer.
	PolicyOf      string
	PolicyUnknown bool
}

// Action is what a change does.
type Action string

// The actions of changes.
const (
	Add     Action = "add"
	Replace Action = "replace"
	Remove  Action = "remove"
)

// Change is a change of one record.
type Change struct {
	Action         Action `json:"action" enum:"add,replace,remove"`
	Record         string `json:"record,omitempty" enum:"DKIM,SPF,DMARC,Tracking,Receiving,TLSRPT" doc:"Absent for a record that is no longer needed"`
	Type           string `json:"type" enum:"TXT,MX,CNAME"`
	Name           string `json:"name"`
	Before         string `json:"before,omitempty" doc:"The value that is replaced or removed"`
	BeforePriority int    `json:"before_priority,omitempty" doc:"Of MX records"`
	After          string `json:"after,omitempty" doc:"The value afterwards"`
	Priority       int    `json:"priority,omitempty" doc:"Of MX records"`
	// ID is the provider's id of the record that is replaced or removed.
	ID string `json:"-"`
	// Completes: the record is one of others that keeps all else that it has.
	Completes bool `json:"completes,omitempty" doc:"A term is added to a record that this server did not publish"`
}

// Conflict is a record that can't be published.
type Conflict struct {
	Record string `json:"record" enum:"DKIM,SPF,DMARC,Tracking,Receiving,TLSRPT"`
	Type   string `json:"type" enum:"TXT,MX,CNAME"`
	Name   string `json:"name"`
	Reason string `json:"reason" doc:"What exists there, and what to do"`
}

// Plan is what to change. Removals come first.
type Plan struct {
	Changes   []Change
	Conflicts []Conflict
	Unchanged int // wanted records that exist already
}

// ID identifies the content of a plan, so that nothing else is done than what was shown.
func (p *Plan) ID() string {
	h := sha256.New()
	for _, c := range p.Changes {
		fmt.Fprintf(h, "%q %q %q %q %d %q %d\n", c.Action, c.Type, c.Name, c.Before, c.BeforePriority, c.After, c.Priority)
	}
	for _, c := range p.Conflicts {
		fmt.Fprintf(h, "conflict %q %q %q\n", c.Type, c.Name, c.Reason)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// planner makes one plan.
type planner struct {
	Input
	plan Plan
}

// Make returns the plan for an input. It changes nothing of the input.
func Make(in Input) Plan {
	p := &planner{Input: in}
	names := map[string]Name{}
	for name, n := range in.Names {
		n.Records = slices.Clone(n.Records)
		names[name] = n
	}
	p.Names = names
	p.removeUnwanted()
	for _, w := range in.Wanted {
		p.want(w)
	}
	slices.SortStableFunc(p.plan.Changes, func(a, b Change) int { return cmp.Compare(rank(a.Action), rank(b.Action)) })
	return p.plan
}

func rank(a Action) int {
	if a == Remove {
		return 0
	}
	return 1
}

// removeUnwanted removes what this server published at names and of types that are not wanted any
// more.
func (p *planner) removeUnwanted() {
	for _, r := range p.Published {
		if slices.ContainsFunc(p.Wanted, func(w app.DNSRecord) bool { return w.Name == r.Name && w.Type == r.Type }) {
			continue
		}
		if i := slices.IndexFunc(p.Names[r.Name].Records, func(e Record) bool { return e.Type == r.Type && e.Value == r.Value }); i >= 0 {
			p.remove("", p.Names[r.Name].Records[i])
		}
	}
}

// remove removes a record that exists, also from what later decisions see.
func (p *planner) remove(kind string, r Record) {
	n := p.Names[r.Name]
	n.Records = slices.DeleteFunc(n.Records, func(e Record) bool { return e == r })
	p.Names[r.Name] = n
	p.plan.Changes = append(p.plan.Changes, Change{Action: Remove, Record: kind, Type: r.Type, Name: r.Name, Before: r.Value, BeforePriority: r.Priority, ID: r.ID})
}

// conflict names why a record can't be published, unless the check found that it works.
func (p *planner) conflict(w app.DNSRecord, reason string, args ...any) {
	if w.Live == app.LiveFound {
		p.plan.Unchanged++
		return
	}
	p.plan.Conflicts = append(p.plan.Conflicts, Conflict{Record: w.Record, Type: w.Type, Name: w.Name, Reason: fmt.Sprintf(reason, args...)})
}

// want plans one wanted record.
func (p *planner) want(w app.DNSRecord) {
	n := p.Names[w.Name]
	if cut, server := p.delegation(w.Name); cut != "" {
		p.conflict(w, "%s is delegated to other name servers (%s): publish the record there.", cut, server)
		return
	}
	if at := find(n.Records, string(app.DNSCNAME)); at != nil && w.Type != string(app.DNSCNAME) {
		p.conflict(w, "%s is a CNAME to %s, and no other record can be beside a CNAME. Delete the CNAME first.", w.Name, at.Value)
		return
	}
	switch {
	case w.Record == app.RecordSPF && w.Type == string(app.DNSText):
		p.wantSPF(w)
	case w.Record == app.RecordDMARC:
		p.wantDMARC(w)
	case w.Type == string(app.DNSCNAME):
		p.wantCNAME(w)
	case w.Record == app.RecordTLSReports:
		p.wantOnly(w, func(r Record) bool { return dnscheck.NamesTLSReports(r.Value, w.Value) },
			"%s has the TXT record %s already. Add the address of the value shown to its rua=, after a comma.")
	case w.Record == app.RecordReceiving:
		p.wantOnly(w, func(r Record) bool { return r.Value == w.Value }, "Mail for %[1]s goes to %[2]s. Publishing this would divert it. Use in.%[1]s.")
	case w.Type == string(app.DNSMX):
		p.wantOnly(w, func(r Record) bool { return r.Value == w.Value },
			"%s has the MX %s already, and mail to it must not be sent elsewhere. Choose another return path for the domain, or delete that MX.")
	default:
		p.wantOnly(w, func(r Record) bool { return dnscheck.IsDKIMKey(r.Value, w.Value) },
			"%s has the TXT record %s already, and receivers may take either of two records for the key. Delete it, or rotate the DKIM key to use another name.")
	}
}

// delegation returns the name, equal to name or above, that is delegated to a server; empty: none is
// known.
func (p *planner) delegation(name string) (cut, server string) {
	for at, n := range p.Names {
		ns := find(n.Records, "NS")
		if ns != nil && !n.Apex && (at == name || strings.HasSuffix(name, "."+at)) && len(at) > len(cut) {
			cut, server = at, ns.Value
		}
	}
	return cut, server
}

// find returns the first record of a type; nil: none.
func find(records []Record, kind string) *Record {
	if i := slices.IndexFunc(records, func(r Record) bool { return r.Type == kind }); i >= 0 {
		return &records[i]
	}
	return nil
}

// isOurs reports whether this server published a record.
func (p *planner) isOurs(r Record) bool {
	return slices.ContainsFunc(p.Published, func(o Record) bool { return o.Name == r.Name && o.Type == r.Type && o.Value == r.Value })
}

// ofType returns the records of a name and type for which fits is true, first those of others, then
// those that this server published.
func (p *planner) ofType(name string, t string, fits func(Record) bool) (others, ours []Record) {
	for _, r := range p.Names[name].Records {
		switch {
		case r.Type != t || !fits(r):
		case p.isOurs(r):
			ours = append(ours, r)
		default:
			others = append(others, r)
		}
	}
	return others, ours
}

// wantOnly plans a record that must be the only one of its type at its name. same reports whether a
// record is as good as the wanted one. taken describes a record of others.
func (p *planner) wantOnly(w app.DNSRecord, same func(Record) bool, taken string) {
	others, ours := p.ofType(w.Name, w.Type, func(r Record) bool { return !same(r) })
	if len(others) > 0 {
		p.conflict(w, taken, w.Name, app.CutText(others[0].Value, 100))
		return
	}
	p.set(w, same, ours)
}

// set plans a record in place of those that this server published before.
func (p *planner) set(w app.DNSRecord, same func(Record) bool, ours []Record) {
	if slices.ContainsFunc(p.Names[w.Name].Records, func(r Record) bool { return r.Type == w.Type && same(r) }) {
		p.plan.Unchanged++
	} else if len(ours) > 0 {
		p.replace(w, ours[0], w.Value, false)
		ours = ours[1:]
	} else {
		p.plan.Changes = append(p.plan.Changes, Change{Action: Add, Record: w.Record, Type: w.Type, Name: w.Name, After: w.Value, Priority: w.Priority})
	}
	for _, r := range ours {
		p.remove(w.Record, r)
	}
}

func (p *planner) replace(w app.DNSRecord, old Record, value string, completes bool) {
	p.plan.Changes = append(p.plan.Changes, Change{Action: Replace, Record: w.Record, Type: w.Type, Name: w.Name,
		Before: old.Value, BeforePriority: old.Priority, After: value, Priority: w.Priority, ID: old.ID, Completes: completes})
}

// wantSPF completes the SPF record of others, since a second one would make both void (RFC 7208
// 3.2), or publishes one.
func (p *planner) wantSPF(w app.DNSRecord) {
	others, ours := p.ofType(w.Name, w.Type, func(r Record) bool { return dnscheck.IsSPF(r.Value) })
	switch len(others) {
	case 0:
		same := func(r Record) bool { return r.Value == w.Value }
		p.set(w, same, slices.DeleteFunc(ours, same))
	case 1:
		p.completeSPF(w, others[0], ours)
	default:
		p.conflict(w, "%s has %d SPF records, which makes them all void. Make one of them.", w.Name, len(others))
	}
}

func (p *planner) completeSPF(w app.DNSRecord, old Record, ours []Record) {
	value := old.Value
	for i, term := range p.SPFTerms {
		next, why := p.addSPF(w, value, term)
		if why == "" {
			value = next
		} else if i == 0 { // a record without the others is valid
			p.conflict(w, "%s", why)
			return
		}
	}
	if value == old.Value {
		p.plan.Unchanged++
	} else {
		p.replace(w, old, value, true)
	}
	for _, r := range ours {
		p.remove(w.Record, r)
	}
}

// addSPF returns an SPF record with a mechanism, or why that can't be added.
func (p *planner) addSPF(w app.DNSRecord, record, term string) (next, why string) {
	next, err := dnscheck.AddSPFTerm(record, term)
	if err != nil {
		return "", fmt.Sprintf("The SPF record at %s can't be completed: %s. Correct it, or add %s to it where it belongs.", w.Name, err, cmp.Or(term, "the relay"))
	}
	if next != record && p.SPFFault != nil {
		if fault := p.SPFFault(w.Name, next); fault != "" {
			return "", fmt.Sprintf("With %s, receivers would refuse the SPF record at %s: %s.", term, w.Name, strings.TrimSuffix(fault, "."))
		}
	}
	return next, ""
}

// wantDMARC leaves an existing policy alone, also one that is inherited, and adds the address for
// reports only if that is requested.
func (p *planner) wantDMARC(w app.DNSRecord) {
	others, ours := p.ofType(w.Name, w.Type, func(r Record) bool { return dnscheck.IsDMARC(r.Value) })
	all := slices.Concat(others, ours)
	switch {
	case len(all) > 1:
		p.conflict(w, "%s has %d DMARC records, so receivers ignore all of them. Delete all but one.", w.Name, len(all))
	case len(all) == 1 && p.DMARCReports == "" && p.OwnReports == "":
		p.plan.Unchanged++
	case len(all) == 1:
		p.completeDMARC(w, all[0], len(others) == 1)
	case p.PolicyUnknown:
		p.conflict(w, "The DNS did not answer whether a domain above has a DMARC policy, which a record at %s would override. Try again later.", w.Name)
	case p.PolicyOf != "" && p.DMARCReports != "":
		w.Live = app.LiveUnknown // the policy works, but the address is not added
		p.conflict(w, "The DMARC policy of %s counts for this domain, and a record at %s would override it. Add rua=mailto:%s to the record of %s.", p.PolicyOf, w.Name, p.DMARCReports, p.PolicyOf)
	case p.PolicyOf != "":
		p.plan.Unchanged++
	default:
		if p.DMARCReports != "" {
			value, err := dnscheck.AddDMARCReports(w.Value, p.DMARCReports)
			if err != nil {
				w.Live = app.LiveUnknown
				p.conflict(w, "%s can't get reports: %s.", p.DMARCReports, strings.TrimSuffix(err.Error(), "."))
				return
			}
			w.Value = value
		}
		p.set(w, func(r Record) bool { return r.Value == w.Value }, nil)
	}
}

func (p *planner) completeDMARC(w app.DNSRecord, old Record, completes bool) {
	value, err := old.Value, error(nil)
	if p.DMARCReports != "" {
		value, err = dnscheck.AddDMARCReports(value, p.DMARCReports)
	}
	if err == nil && p.OwnReports != "" {
		if more, own := dnscheck.AddDMARCReports(value, p.OwnReports); own == nil { // a record that can't be completed works without
			value = more
		}
	}
	switch {
	case err != nil:
		w.Live = app.LiveUnknown
		p.conflict(w, "The DMARC record at %s can't be completed: %s.", w.Name, strings.TrimSuffix(err.Error(), "."))
	case value == old.Value:
		p.plan.Unchanged++
	default:
		p.replace(w, old, value, completes)
	}
}

// wantCNAME plans a CNAME, which can't be beside other records (RFC 1034 3.6.2).
func (p *planner) wantCNAME(w app.DNSRecord) {
	n := p.Names[w.Name]
	for _, r := range n.Records {
		switch {
		case r.Type == w.Type && r.Value == w.Value && r.Proxied:
			p.conflict(w, "The provider answers for %s with addresses of its own. Switch its proxy off for this record.", w.Name)
			return
		case r.Type == w.Type && r.Value == w.Value, p.isOurs(r) && r.Type == w.Type:
		case r.Type == w.Type:
			p.conflict(w, "%s is a CNAME to %s already. Delete it, or choose another tracking subdomain.", w.Name, r.Value)
			return
		default:
			p.conflict(w, "%s has a record of the type %s already, and a CNAME can't be beside other records. Delete it, or choose another tracking subdomain.", w.Name, r.Type)
			return
		}
	}
	if n.Apex {
		p.conflict(w, "%s is the name of a zone, where no CNAME can be. Choose another tracking subdomain.", w.Name)
		return
	}
	_, ours := p.ofType(w.Name, w.Type, func(r Record) bool { return r.Value != w.Value })
	p.set(w, func(r Record) bool { return r.Value == w.Value }, ours)
}
