package reports

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/inbound"
	"mailer/app/rules/mailreport"
)

// content is a report that was read: one of dmarc and tls is set.
type content struct {
	kind  app.MailReportKind
	email string // of the reporter, as the report has it
	head  app.MailReport
	dmarc *mailreport.DMARC
	tls   *mailreport.TLS
}

// readReport reads a report. Errors: CodeValidation.
func readReport(raw []byte) (*content, error) {
	c := &content{}
	switch mailreport.Kind(raw) {
	case mailreport.DMARCReport:
		r, err := mailreport.ReadDMARC(raw)
		if err != nil {
			return nil, err
		}
		c.kind, c.dmarc, c.email = app.ReportDMARC, r, r.Email
		c.head = app.MailReport{Name: r.Reporter, ReportID: r.ReportID, Begin: r.Begin, End: r.End}
	case mailreport.TLSReport:
		r, err := mailreport.ReadTLS(raw)
		if err != nil {
			return nil, err
		}
		c.kind, c.tls, c.email = app.ReportTLS, r, r.Contact
		c.head = app.MailReport{Name: r.Reporter, ReportID: r.ReportID, Begin: r.Begin, End: r.End}
	default:
		return nil, app.Errorf(app.CodeValidation, "It is neither a DMARC report (XML, plain or in gzip or zip) nor a TLS report (JSON, plain or in gzip)")
	}
	c.head.Kind = c.kind
	c.head.Reporter = reporterOf(c.email, c.head.Name)
	if c.head.ReportID == "" {
		sum := sha256.Sum256(raw)
		c.head.ReportID = "sha256:" + hex.EncodeToString(sum[:])
	}
	return c, nil
}

// reporterOf returns the organizational domain of a reporter's address, or its name if the address has none.
func reporterOf(email, name string) string {
	if _, host, ok := strings.Cut(email, "@"); ok {
		if domain, err := mailbox.ParseDomain(strings.Trim(host, "<> ")); err == nil {
			return app.OrganizationalDomain(domain)
		}
	}
	return strings.ToLower(name)
}

// reportInMail returns the bytes of the report in a message; nil: there is none.
func reportInMail(raw []byte) []byte {
	const maxLeaves = 20
	leaves := inbound.Leaves(raw, maxLeaves)
	parts := make([]mailreport.Part, len(leaves))
	for i, l := range leaves {
		parts[i] = mailreport.Part{ContentType: l.ContentType, Content: l.Content}
	}
	if i, kind := mailreport.Find(parts); kind != mailreport.NoReport {
		return parts[i].Content
	}
	return nil
}

// domains returns the domains that the report is about.
func (c *content) domains() (names []string) {
	if c.dmarc != nil {
		return []string{c.dmarc.Domain}
	}
	for i := range c.tls.Policies {
		if name := c.tls.Policies[i].Domain; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// below returns domains below that of a DMARC report with messages in it, at most limit.
func (c *content) below(limit int) (names []string) {
	if c.dmarc == nil {
		return nil
	}
	seen := map[string]bool{}
	for i := range c.dmarc.Rows {
		for name := c.dmarc.Rows[i].HeaderFrom; strings.HasSuffix(name, "."+c.dmarc.Domain) && !seen[name] && len(names) < limit; _, name, _ = strings.Cut(name, ".") {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// about returns what the report says of a domain. ok is false if it is about others only. A DMARC report about a domain
// above counts with those messages whose From is of the domain. A TLS policy without a domain is taken for that of the
// domain if addressed, since the report went to the domain's own address.
func (c *content) about(domain string, addressed bool) (m app.MailReport, sources []app.ReportSource, ok bool) {
	m = c.head
	if c.tls != nil {
		return c.aboutTLS(m, domain, addressed)
	}
	exact := c.dmarc.Domain == domain
	if !exact && !strings.HasSuffix(domain, "."+c.dmarc.Domain) {
		return m, nil, false
	}
	if m.Policy = c.dmarc.Policy.P; !exact {
		m.Policy = cmp.Or(c.dmarc.Policy.SP, m.Policy)
	}
	sums := map[string]*app.ReportSource{}
	for i := range c.dmarc.Rows {
		row := &c.dmarc.Rows[i]
		if !exact && row.HeaderFrom != domain && !strings.HasSuffix(row.HeaderFrom, "."+domain) {
			continue
		}
		s := app.ReportSource{Source: row.SourceIP.String(), Messages: row.Count}
		if row.Passed() {
			s.Passed = row.Count
		}
		if row.SPF == app.AuthPass {
			s.SPF = row.Count
		}
		if row.DKIM == app.AuthPass {
			s.DKIM = row.Count
		}
		switch row.Disposition {
		case "quarantine":
			s.Quarantined = row.Count
		case "reject":
			s.Rejected = row.Count
		}
		m.Messages, m.Passed, m.Quarantined, m.Rejected = m.Messages+s.Messages, m.Passed+s.Passed, m.Quarantined+s.Quarantined, m.Rejected+s.Rejected
		addTo(sums, s)
	}
	return m, largest(sums), exact || m.Messages > 0
}

func (c *content) aboutTLS(m app.MailReport, domain string, addressed bool) (app.MailReport, []app.ReportSource, bool) {
	sums := map[string]*app.ReportSource{}
	found := false
	for i := range c.tls.Policies {
		p := &c.tls.Policies[i]
		if p.Domain != domain && (p.Domain != "" || !addressed) {
			continue
		}
		found = true
		m.Messages, m.Passed = m.Messages+p.Successful+p.Failed, m.Passed+p.Successful
		for _, f := range p.Failures {
			name := strings.TrimSpace(f.Type + " " + f.ReceivingMX)
			addTo(sums, app.ReportSource{Source: app.CutText(cmp.Or(name, app.OtherSources), maxSource), Messages: f.Sessions})
		}
	}
	return m, largest(sums), found
}

const maxSource = 255 // bytes

func addTo(sums map[string]*app.ReportSource, s app.ReportSource) {
	if known := sums[s.Source]; known != nil {
		known.Add(&s)
	} else {
		sums[s.Source] = &s
	}
}

// largest returns the sources with the most failed messages, then the most messages, at most app.MaxSourcesOfDay. The
// others are summed as app.OtherSources.
func largest(sums map[string]*app.ReportSource) []app.ReportSource {
	all := make([]app.ReportSource, 0, len(sums))
	for _, s := range sums {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b app.ReportSource) int {
		return cmp.Or(cmp.Compare(b.Messages-b.Passed, a.Messages-a.Passed), cmp.Compare(b.Messages, a.Messages), strings.Compare(a.Source, b.Source))
	})
	if len(all) <= app.MaxSourcesOfDay {
		return all
	}
	other := app.ReportSource{Source: app.OtherSources}
	for i := range all[app.MaxSourcesOfDay:] {
		other.Add(&all[app.MaxSourcesOfDay+i])
	}
	return append(all[:app.MaxSourcesOfDay:app.MaxSourcesOfDay], other)
}

// kept is how long reports are kept.
func (s *Service) kept() time.Duration {
	keep := s.Settings.Rules().Keep
	return keep.KeptReports()
}

// checkPeriod refuses reports that are older than what is kept, or about the future. Errors: CodeValidation.
func checkPeriod(m *app.MailReport, now time.Time, kept time.Duration) error {
	switch {
	case m.Begin.Before(now.Add(-kept)):
		return app.Errorf(app.CodeValidation, "The report is about %s, and reports are kept for %d days only", m.Day(), int(kept/(24*time.Hour)))
	case m.Begin.After(now.Add(48 * time.Hour)):
		return app.Errorf(app.CodeValidation, "The report is about %s, which is in the future", m.Day())
	}
	return nil
}
