package relayurl

import (
	"reflect"
	"testing"

	"mailer/app"
)

func TestRelayNeeds(t *testing.T) {
	for name, test := range map[string]struct {
		relay *Relay
		want  app.RelayNeeds
	}{
		"no relay":         {nil, app.RelayNeeds{}},
		"no host":          {&Relay{}, app.RelayNeeds{}},
		"ses":              {&Relay{Host: "email-smtp.eu-west-1.amazonaws.com", Region: "home", Profile: ProfileSES}, app.RelayNeeds{SPF: "include:amazonses.com", Feedback: "feedback-smtp.eu-west-1.amazonses.com"}},
		"ses fips":         {&Relay{Host: "email-smtp-fips.us-west-2.amazonaws.com", Profile: ProfileSES}, app.RelayNeeds{SPF: "include:amazonses.com", Feedback: "feedback-smtp.us-west-2.amazonses.com"}},
		"ses by a proxy":   {&Relay{Host: "proxy.acme.test", Region: "eu-north-1", Profile: ProfileSES}, app.RelayNeeds{SPF: "include:amazonses.com", Feedback: "feedback-smtp.eu-north-1.amazonses.com"}},
		"host":             {&Relay{Host: "mail.acme.test", Profile: ProfileGeneric}, app.RelayNeeds{SPF: "a:mail.acme.test"}},
		"host, one label":  {&Relay{Host: "postfix", Profile: ProfileGeneric}, app.RelayNeeds{}},
		"IPv4":             {&Relay{Host: "8.8.4.4", Profile: ProfileGeneric}, app.RelayNeeds{SPF: "ip4:8.8.4.4"}},
		"IPv6":             {&Relay{Host: "2606:4700::1", Profile: ProfileGeneric}, app.RelayNeeds{SPF: "ip6:2606:4700::1"}},
		"an option":        {&Relay{Host: "mail.acme.test", SPF: "include:spf.acme.test"}, app.RelayNeeds{SPF: "include:spf.acme.test"}},
		"option and ses":   {&Relay{Host: "email-smtp.eu-west-1.amazonaws.com", Profile: ProfileSES, SPF: "ip4:8.8.4.4"}, app.RelayNeeds{SPF: "ip4:8.8.4.4", Feedback: "feedback-smtp.eu-west-1.amazonses.com"}},
		"option, loopback": {&Relay{Host: "127.0.0.1", SPF: "ip4:8.8.4.4"}, app.RelayNeeds{SPF: "ip4:8.8.4.4"}},
		"postmark":         {&Relay{Host: "smtp-broadcasts.postmarkapp.com"}, app.RelayNeeds{SPF: "include:spf.mtasv.net"}},
		"mailgun":          {&Relay{Host: "smtp.eu.mailgun.org"}, app.RelayNeeds{SPF: "include:mailgun.org"}},
		"sendgrid":         {&Relay{Host: "smtp.sendgrid.net"}, app.RelayNeeds{SPF: "include:sendgrid.net"}},
		"mailjet":          {&Relay{Host: "in-v3.mailjet.com"}, app.RelayNeeds{SPF: "include:spf.mailjet.com"}},
		"lettermint":       {&Relay{Host: "smtp.lettermint.co"}, app.RelayNeeds{SPF: "a:smtp.lettermint.co"}},
		"not sendgrid":     {&Relay{Host: "smtp.notsendgrid.net"}, app.RelayNeeds{SPF: "a:smtp.notsendgrid.net"}},
		"loopback":         {&Relay{Host: "127.0.0.1", Profile: ProfileGeneric}, app.RelayNeeds{}},
		"private":          {&Relay{Host: "fd00::25", Profile: ProfileGeneric}, app.RelayNeeds{}},
		"IPv4 inside IPv6": {&Relay{Host: "::ffff:8.8.4.4", Profile: ProfileGeneric}, app.RelayNeeds{SPF: "ip4:8.8.4.4"}},
	} {
		if got := test.relay.Needs(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
