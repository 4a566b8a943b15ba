package app

import "testing"

func TestRelayNeeds(t *testing.T) {
	for name, test := range map[string]struct {
		relay *Relay
		want  RelayNeeds
	}{
		"no relay":         {nil, RelayNeeds{}},
		"no host":          {&Relay{}, RelayNeeds{}},
		"ses":              {&Relay{Host: "email-smtp.eu-west-1.amazonaws.com", Region: "home", Profile: ProfileSES}, RelayNeeds{"include:amazonses.com", "feedback-smtp.eu-west-1.amazonses.com"}},
		"ses fips":         {&Relay{Host: "email-smtp-fips.us-west-2.amazonaws.com", Profile: ProfileSES}, RelayNeeds{"include:amazonses.com", "feedback-smtp.us-west-2.amazonses.com"}},
		"ses by a proxy":   {&Relay{Host: "proxy.acme.test", Region: "eu-north-1", Profile: ProfileSES}, RelayNeeds{"include:amazonses.com", "feedback-smtp.eu-north-1.amazonses.com"}},
		"host":             {&Relay{Host: "mail.acme.test", Profile: ProfileGeneric}, RelayNeeds{SPF: "a:mail.acme.test"}},
		"host, one label":  {&Relay{Host: "postfix", Profile: ProfileGeneric}, RelayNeeds{}},
		"IPv4":             {&Relay{Host: "8.8.4.4", Profile: ProfileGeneric}, RelayNeeds{SPF: "ip4:8.8.4.4"}},
		"IPv6":             {&Relay{Host: "2606:4700::1", Profile: ProfileGeneric}, RelayNeeds{SPF: "ip6:2606:4700::1"}},
		"an option":        {&Relay{Host: "mail.acme.test", SPF: "include:spf.acme.test"}, RelayNeeds{SPF: "include:spf.acme.test"}},
		"option and ses":   {&Relay{Host: "email-smtp.eu-west-1.amazonaws.com", Profile: ProfileSES, SPF: "ip4:8.8.4.4"}, RelayNeeds{"ip4:8.8.4.4", "feedback-smtp.eu-west-1.amazonses.com"}},
		"option, loopback": {&Relay{Host: "127.0.0.1", SPF: "ip4:8.8.4.4"}, RelayNeeds{SPF: "ip4:8.8.4.4"}},
		"postmark":         {&Relay{Host: "smtp-broadcasts.postmarkapp.com"}, RelayNeeds{SPF: "include:spf.mtasv.net"}},
		"mailgun":          {&Relay{Host: "smtp.eu.mailgun.org"}, RelayNeeds{SPF: "include:mailgun.org"}},
		"sendgrid":         {&Relay{Host: "smtp.sendgrid.net"}, RelayNeeds{SPF: "include:sendgrid.net"}},
		"not sendgrid":     {&Relay{Host: "smtp.notsendgrid.net"}, RelayNeeds{SPF: "a:smtp.notsendgrid.net"}},
		"loopback":         {&Relay{Host: "127.0.0.1", Profile: ProfileGeneric}, RelayNeeds{}},
		"private":          {&Relay{Host: "fd00::25", Profile: ProfileGeneric}, RelayNeeds{}},
		"IPv4 inside IPv6": {&Relay{Host: "::ffff:8.8.4.4", Profile: ProfileGeneric}, RelayNeeds{SPF: "ip4:8.8.4.4"}},
	} {
		if got := test.relay.Needs(); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
