package reports

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/mailreport"
	"mailer/db"
)

// Limits of an overview.
const (
	DefaultDays = 30
	MaxDays     = 90
	adviceDays  = 90 // that advice looks back
	maxShown    = 100
	maxLatest   = 10
)

// Overview is what the counted reports about a domain say.
type Overview struct {
	Domain       app.Domain
	Since, Until time.Time // days in UTC; Until is today
	// Policy is the DMARC policy that the domain publishes at present. PolicyKnown: a check found it, or reports did.
	Policy      mailreport.PublishedPolicy
	PolicyKnown bool
	Sum         app.ReportDay // of all days
	Reporters   int
	DaysSeen    int // days with reports
	Sentences   []mailreport.Sentence
	Advice      mailreport.Advice
	Sources     []SourceRow // those with the most failed messages first, at most maxShown
	AllSources  int
	Days        []app.ReportDay // with reports, oldest first
	TLS         app.ReportDay
	TLSDays     []app.ReportDay
	TLSFailures []app.ReportSource // at most maxShown
	Named       app.NamedSources
	Latest      []app.MailReport // at most maxLatest, also those that are not counted
	// Addresses get reports; empty: this server receives none.
	Addresses map[app.MailReportKind]string
}

// SourceRow is a source in an overview.
type SourceRow struct {
	app.ReportSource
	ReverseName string
	Named       mailreport.Ownership
}

// Overview returns what the reports about a domain of the key's team say of the last days. Errors: CodeNotFound.
func (s *Service) Overview(ctx context.Context, key *app.Key, domainID string, days int) (o Overview, err error) {
	now := clock.Now().UTC()
	o.Until = now.Truncate(24 * time.Hour)
	o.Since = o.Until.AddDate(0, 0, 1-days)
	var rows, tls, policyDays []app.ReportDay
	var sources, policySources []app.ReportSource
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if o.Domain, err = r.Domain(key.TeamID, domainID); err != nil {
			return err
		}
		if o.Named, err = r.NamedSources(key.TeamID, domainID); err != nil {
			return err
		}
		since := o.Since.Format(time.DateOnly)
		adviceSince := o.Until.AddDate(0, 0, -adviceDays).Format(time.DateOnly)
		if policyDays, err = r.ReportDays(key.TeamID, domainID, app.ReportDMARC, adviceSince); err != nil {
			return err
		}
		rows = slices.DeleteFunc(slices.Clone(policyDays), func(d app.ReportDay) bool { return d.Day < since })
		if tls, err = r.ReportDays(key.TeamID, domainID, app.ReportTLS, since); err != nil {
			return err
		}
		if sources, err = r.ReportSources(key.TeamID, domainID, app.ReportDMARC, since, ""); err != nil {
			return err
		}
		if o.TLSFailures, err = r.ReportSources(key.TeamID, domainID, app.ReportTLS, since, ""); err != nil {
			return err
		}
		o.Policy, o.PolicyKnown = policyOf(&o.Domain, policyDays)
		if policySources, err = r.ReportSources(key.TeamID, domainID, app.ReportDMARC, adviceSince, string(o.Policy)); err != nil {
			return err
		}
		o.Latest, _, err = r.ListMailReports(key.TeamID, domainID, app.Page{Limit: maxLatest})
		return err
	})
	if err != nil {
		return o, base.Lookup("domain", err)
	}
	o.Days, o.Sum, o.Reporters = sumDays(rows)
	o.TLSDays, o.TLS, _ = sumDays(tls)
	o.DaysSeen = len(o.Days)
	if host := s.Host(); host != "" {
		o.Addresses = map[app.MailReportKind]string{app.ReportDMARC: s.Sealer.ReportAddress(app.ReportDMARC, domainID, host), app.ReportTLS: s.Sealer.ReportAddress(app.ReportTLS, domainID, host)}
	}
	names, err := s.reverseNames(ctx, sources)
	if err != nil {
		return o, err
	}
	o.setSources(sources, names)
	o.Sentences = mailreport.Summary(mailreport.SummaryInput{Since: firstDay(o.Days, o.Since), Until: now, Policy: o.Policy, Messages: o.Sum.Messages, Days: o.DaysSeen, Sources: sourcesOf(sources, &o.Named, names)})
	o.Advice = s.advice(&o, policyDays, sourcesOf(policySources, &o.Named, names))
	sortFailing(o.TLSFailures)
	o.TLSFailures = o.TLSFailures[:min(len(o.TLSFailures), maxShown)]
	return o, nil
}

// policyOf returns the DMARC policy that a domain publishes at present: as the last check found it, else as the latest
// reports did. known is false if neither did.
func policyOf(d *app.Domain, days []app.ReportDay) (p mailreport.PublishedPolicy, known bool) {
	if p := d.DMARCPolicy(); p != "" {
		return mailreport.PublishedPolicy(p), true
	}
	if d.LacksDMARC() {
		return mailreport.PolicyAbsent, true
	}
	for _, day := range slices.Backward(days) {
		if day.Policy != "" {
			return mailreport.PublishedPolicy(day.Policy), true
		}
	}
	return mailreport.PolicyAbsent, false
}

// advice returns the next step. Reports that found another policy than the present one don't count for it.
func (s *Service) advice(o *Overview, days []app.ReportDay, sources []mailreport.Source) mailreport.Advice {
	in := mailreport.AdviceInput{Domain: o.Domain.Name, Policy: o.Policy, Sources: sources}
	if !o.PolicyKnown { // no report yet, and no check
		in.Policy = mailreport.PolicyNone
	}
	days = slices.DeleteFunc(slices.Clone(days), func(d app.ReportDay) bool { return d.Policy != string(o.Policy) })
	byDay, sum, reporters := sumDays(days)
	in.Days, in.Messages, in.Reporters = len(byDay), sum.Messages, reporters
	return mailreport.Advise(in)
}

// sumDays sums rows by day, oldest first, and all together, and counts the reporters.
func sumDays(rows []app.ReportDay) (days []app.ReportDay, sum app.ReportDay, reporters int) {
	seen := map[string]bool{}
	for _, r := range rows { // ordered by day
		if n := len(days); n == 0 || days[n-1].Day != r.Day {
			days = append(days, app.ReportDay{Day: r.Day})
		}
		for _, to := range []*app.ReportDay{&days[len(days)-1], &sum} {
			to.Messages, to.Passed, to.Quarantined, to.Rejected, to.Uploaded = to.Messages+r.Messages, to.Passed+r.Passed, to.Quarantined+r.Quarantined, to.Rejected+r.Rejected, to.Uploaded+r.Uploaded
		}
		seen[r.Reporter] = true
	}
	return days, sum, len(seen)
}

// firstDay returns the first day with reports; without any, since.
func firstDay(days []app.ReportDay, since time.Time) time.Time {
	if len(days) > 0 {
		if day, err := time.Parse(time.DateOnly, days[0].Day); err == nil {
			return day
		}
	}
	return since
}

// sortFailing sorts the sources with the most failed messages first, then those with the most messages.
func sortFailing(sources []app.ReportSource) {
	slices.SortFunc(sources, func(a, b app.ReportSource) int {
		return cmp.Or(cmp.Compare(b.Messages-b.Passed, a.Messages-a.Passed), cmp.Compare(b.Messages, a.Messages), strings.Compare(a.Source, b.Source))
	})
}

func (o *Overview) setSources(sources []app.ReportSource, names map[string]string) {
	sources = slices.Clone(sources)
	sortFailing(sources)
	o.AllSources = len(sources)
	sources = sources[:min(len(sources), maxShown)]
	for i, rule := range sourcesOf(sources, &o.Named, names) {
		o.Sources = append(o.Sources, SourceRow{sources[i], rule.ReverseName, rule.Named})
	}
}

// List returns a page of the reports about a domain of the key's team, newest first; without a domain, about all. domain
// is an id or a name. Errors: CodeNotFound, CodeValidation.
func (s *Service) List(ctx context.Context, key *app.Key, domain string, page app.Page) (rows []app.MailReport, more bool, err error) {
	if domain != "" {
		d, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Domain, error) {
			if id, ok := app.ParseID(domain); ok {
				return r.Domain(key.TeamID, id)
			}
			return r.DomainByName(key.TeamID, strings.ToLower(domain))
		})
		if err != nil {
			return nil, false, base.Lookup("domain", err)
		}
		domain = d.ID
	}
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.MailReport, bool, error) { return r.ListMailReports(key.TeamID, domain, page) })
	return rows, more, base.Cursor(page, err)
}

// NameSources stores which sources send for a domain, and which do not. A nil list stays as it is. Errors: CodeNotFound,
// CodeValidation.
func (s *Service) NameSources(ctx context.Context, key *app.Key, domainID string, own, other []string) error {
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		before, err := tx.NamedSources(key.TeamID, domainID)
		if err != nil {
			return err
		}
		after := before
		if own != nil {
			after.Own = own
		}
		if other != nil {
			after.NotOwn = other
		}
		if after, err = after.Validate(); err != nil {
			return err
		}
		if err := tx.SetNamedSources(key.TeamID, domainID, &after); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "domain.name_sources", domainID, before, after)
	})
	return base.Lookup("domain", err)
}
