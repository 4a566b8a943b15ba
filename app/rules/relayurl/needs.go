package relayurl

import (
	"net/netip"
	"strings"

	"mailer/app"
	"mailer/app/kit/publicip"
	"mailer/app/rules/dnscheck"
)

// Needs returns what the relay wants in the DNS of the domains that use it. SPF is
// the relay's option where it was given, else:
//   - ses: the provider's include, and its host for feedback as the MX;
//   - other known providers: their include;
//   - a public address: ip4 or ip6 with it; a host name: a with it;
//   - a host of the own network, or no relay at all (nil: capture): nothing is
//     known of the address that receivers will see, so SPF is empty, and any
//     sound SPF record will do.
func (r *Relay) Needs() app.RelayNeeds {
	if r == nil || r.Host == "" {
		return app.RelayNeeds{}
	}
	needs := app.RelayNeeds{SPF: r.SPF}
	if r.Profile == ProfileSES {
		needs.Feedback = "feedback-smtp." + r.sesRegion() + ".amazonses.com"
	}
	if needs.SPF == "" {
		needs.SPF = r.usualSPF()
	}
	return needs
}

// usualSPF is the mechanism for a relay whose operator named none.
func (r *Relay) usualSPF() string {
	if r.Profile == ProfileSES {
		return app.ProviderBySource(app.SourceSES).SPF
	}
	if p := app.ProviderByHost(r.Host); p.SPF != "" {
		return p.SPF
	}
	addr, err := netip.ParseAddr(r.Host)
	switch {
	case err != nil && !strings.Contains(r.Host, "."):
		return ""
	case err != nil:
		return "a:" + r.Host
	case !publicip.Is(addr.Unmap()):
		return ""
	}
	return dnscheck.SPFAddress(addr.Unmap())
}

// sesRegion is the region in the host's name, since the relay's own may be any
// name that the operator chose.
func (r *Relay) sesRegion() string {
	labels := strings.Split(r.Host, ".")
	if len(labels) == 4 && strings.HasPrefix(labels[0], "email-smtp") && labels[2] == "amazonaws" {
		return labels[1]
	}
	return r.Region
}
