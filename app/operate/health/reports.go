package health

import (
	"context"
	"strings"

	"mailer/app"
)

// checkReportRecord checks the record that lets receivers send reports about domains of other organizations to the host
// of this server (RFC 7489 7.1).
func (s *Service) checkReportRecord(ctx context.Context) ([]Check, error) {
	const name = "reports"
	host := s.Settings.ReportHost()
	if host == "" || s.domains.Resolver == nil {
		return nil, nil
	}
	all, err := s.allDomains(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		d := &all[i]
		if d.Status != app.DomainVerified || app.OrganizationalDomain(d.Name) == app.OrganizationalDomain(host) {
			continue
		}
		answer, err := s.domains.Resolver(ctx, d.Name+"._report._dmarc."+host, app.DNSText)
		if err != nil {
			return []Check{bad(name, "check_failed", name, "check", "the DNS record for reports", "error", err.Error())}, nil
		}
		for _, v := range answer.Records {
			if version, _, _ := strings.Cut(v.Text, ";"); strings.TrimSpace(version) == "v=DMARC1" {
				return []Check{good(name, "receivers may send reports to %s", host)}, nil
			}
		}
		return []Check{bad(name, "report_record", host, "host", host, "domain", d.Name)}, nil
	}
	return []Check{good(name, "no domain needs a record for reports to %s", host)}, nil
}
