package domains

import (
	"net/url"

	"mailer/app"
)

// Regions names the regions that domains can be in, the default first. None: no
// server ran on this database yet, and any may be named.
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

// recordInputs returns what the records of a domain depend on: what the relay of its
// region needs (nothing where there is no relay for it), with this server
// as the host for feedback where it takes bounces and the relay names none, and
// the host that its tracking host points to.
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
	if needs.Feedback == "" {
		needs.Feedback = app.BounceMX(s.Settings.BounceHost)
	}
	return needs, trackingTarget
}
