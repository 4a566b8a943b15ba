package domains

import (
	"net/url"

	"mailer/app"
)

// Regions returns the regions that domains can be in, the default first. It is empty if no server
// has run on this database yet: then any region is accepted.
func (s *Service) Regions() []string {
	if s.Settings.Capture {
		return []string{app.DefaultRegion}
	}
	var names []string
	for _, r := range s.Settings.Relays().Regions {
		names = append(names, r.Name)
	}
	return names
}

// recordInputs returns what the records of a domain depend on: the needs of its region's relay
// (none without a relay), and the host that its tracking host points to. This server is the
// feedback host if it receives bounces and the relay names none, and the receiver of all mail.
func (s *Service) recordInputs(d *app.Domain) (needs app.RelayNeeds, trackingTarget string) {
	if u, err := url.Parse(s.Settings.BaseURL); err == nil {
		trackingTarget = u.Hostname()
	}
	region := s.Settings.RegionOf(d.Region)
	for _, r := range s.Settings.Relays().Regions {
		if r.Name == region {
			needs = r.Needs
		}
	}
	needs.Receiver = app.BounceMX(s.Settings.BounceHost)
	if host := s.Settings.ReportHost(); host != "" {
		needs.Reports, needs.TLSReports = s.Sealer.ReportAddress(app.ReportDMARC, d.ID, host), s.Sealer.ReportAddress(app.ReportTLS, d.ID, host)
	}
	if needs.Feedback == "" {
		needs.Feedback = needs.Receiver
	}
	return needs, trackingTarget
}
