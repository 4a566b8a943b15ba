package relayurl

import (
	"net/netip"
	"strings"

	"mailer/app"
	"mailer/app/kit/publicip"
	"mailer/app/rules/dnscheck"
	"mailer/app/rules/feedback"
)

// Needs returns the DNS records that domains using the relay need. SPF is the relay's option if
// given, otherwise:
//   - ses: the provider's include, and its feedback host as the MX;
//   - other known providers: their include;
//   - a public address: ip4 or ip6 with it; a host name: a with it;
//   - a private host, or no relay (nil: capture): the address that receivers
//     see is unknown, so SPF is empty, and any valid SPF record is accepted.
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

// usualSPF returns the mechanism for a relay without the option spf.
func (r *Relay) usualSPF() string {
	if r.Profile == ProfileSES {
		return feedback.ProviderBySource(app.SourceSES).SPF
	}
	if p := feedback.ProviderByHost(r.Host); p.SPF != "" {
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

// sesRegion returns the region in the host name, since the relay's own name is the operator's
// choice.
func (r *Relay) sesRegion() string {
	labels := strings.Split(r.Host, ".")
	if len(labels) == 4 && strings.HasPrefix(labels[0], "email-smtp") && labels[2] == "amazonaws" {
		return labels[1]
	}
	return r.Region
}
