package relayurl

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
)

func TestParseRelay(t *testing.T) {
	base := Relay{Region: "us-east-1", Host: "mail.acme.test", Port: 587, TLS: TLSRequired, Connections: 8, Timeout: 30 * time.Second, Profile: ProfileGeneric, DKIM: true}
	with := func(change func(*Relay)) Relay { r := base; change(&r); return r }
	for in, want := range map[string]Relay{
		"smtp://mail.acme.test":                   base,
		"smtp://MAIL.acme.test/":                  base,
		"SMTP://mail.acme.test:587":               base,
		"smtps://mail.acme.test":                  with(func(r *Relay) { r.TLS, r.Port = TLSImplicit, 465 }),
		"smtp://mail.acme.test:2525?tls=off":      with(func(r *Relay) { r.TLS, r.Port = TLSOff, 2525 }),
		"smtp://mail.acme.test?tls=opportunistic": with(func(r *Relay) { r.TLS = TLSOpportunistic }),
		"eu-west-1=smtp://u:p@mail.acme.test": with(func(r *Relay) {
			r.Region, r.User, r.Password = "eu-west-1", "u", "p"
		}),
		"smtp://u%40acme.test:p%3A%2F%40%23+%25=@mail.acme.test": with(func(r *Relay) {
			r.User, r.Password = "u@acme.test", "p:/@#+%="
		}),
		"smtp://mail.acme.test?rate=14.5&daily=50000&connections=256&ca=/etc/a+b%20c.pem&profile=ses&dkim=off&timeout=1m30s": with(func(r *Relay) {
			r.Rate, r.Daily, r.Connections, r.CAFile, r.Profile, r.DKIM, r.Timeout = 14.5, 50000, 256, "/etc/a+b c.pem", ProfileSES, false, 90*time.Second
		}),
		"smtp://mail.acme.test?spf=include:SPF.acme.test":         with(func(r *Relay) { r.SPF = "include:spf.acme.test" }),
		"smtp://mail.acme.test?spf=a:out.acme.test":               with(func(r *Relay) { r.SPF = "a:out.acme.test" }),
		"smtp://mail.acme.test?spf=mx:acme.test":                  with(func(r *Relay) { r.SPF = "mx:acme.test" }),
		"smtp://mail.acme.test?spf=ip4:198.51.100.0/24":           with(func(r *Relay) { r.SPF = "ip4:198.51.100.0/24" }),
		"smtp://mail.acme.test?spf=ip6%3A2001:DB8::/32":           with(func(r *Relay) { r.SPF = "ip6:2001:db8::/32" }),
		"smtp://mail.acme.test?soft_bounce=on&helo=Out.acme.test": with(func(r *Relay) { r.SoftBounce, r.Hello = true, "out.acme.test" }),
		"smtp://mail.acme.test?soft_bounce=off&helo=localhost":    with(func(r *Relay) { r.Hello = "localhost" }),
		"smtp://mail.acme.test?helo=[192.0.2.1]":                  with(func(r *Relay) { r.Hello = "[192.0.2.1]" }),
		"smtp://mail.acme.test?helo=%5Bipv6:2001:DB8::1%5D":       with(func(r *Relay) { r.Hello = "[IPv6:2001:db8::1]" }),
		"smtp://mail.acme.test?helo=bücher.example":               with(func(r *Relay) { r.Hello = "xn--bcher-kva.example" }),
		"smtp://u:p@localhost?tls=off": with(func(r *Relay) {
			r.Host, r.User, r.Password, r.TLS = "localhost", "u", "p", TLSOff
		}),
		"smtp://u:p@127.8.0.1?tls=opportunistic": with(func(r *Relay) {
			r.Host, r.User, r.Password, r.TLS = "127.8.0.1", "u", "p", TLSOpportunistic
		}),
		"smtp://u:p@[::1]?tls=off": with(func(r *Relay) {
			r.Host, r.User, r.Password, r.TLS = "::1", "u", "p", TLSOff
		}),
		"smtp://localhost":                                  with(func(r *Relay) { r.Host = "localhost" }),
		"smtp://mail_relay":                                 with(func(r *Relay) { r.Host = "mail_relay" }),
		"smtp://127.0.0.1:25":                               with(func(r *Relay) { r.Host, r.Port = "127.0.0.1", 25 }),
		"smtp://[::1]:25":                                   with(func(r *Relay) { r.Host, r.Port = "::1", 25 }),
		"smtp://bücher.example":                             with(func(r *Relay) { r.Host = "xn--bcher-kva.example" }),
		"smtp://email-smtp.eu-west-1.amazonaws.com":         with(func(r *Relay) { r.Host, r.Profile = "email-smtp.eu-west-1.amazonaws.com", ProfileSES }),
		"smtp://email-smtp.x.amazonaws.com?profile=generic": with(func(r *Relay) { r.Host = "email-smtp.x.amazonaws.com" }),
	} {
		got, err := ParseOne(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", in, got, want)
		}
	}
}

// secret is a password, or the unencoded part of one: no error may contain it.
const secret = "hunter2sEcReT"

func TestParseRelayRefuses(t *testing.T) {
	for _, in := range []string{
		"", "mail.acme.test", "mail.acme.test:587", "http://mail.acme.test", "smtp:mail.acme.test", "smtp:///x", "smtp://", "smtp://:587",
		"smtp://u:" + secret + "@", "smtp://u:" + secret + "@:587",
		"smtp:u:" + secret + "@mail.acme.test", "u:" + secret + "@mail.acme.test", "tcp://u:" + secret + "@mail.acme.test",
		"smtp://u@mail.acme.test", "smtp://u:@mail.acme.test", "smtp://:" + secret + "@mail.acme.test", "smtp://@mail.acme.test",
		"smtp://u:" + secret + "%@mail.acme.test", "smtp://u:" + secret + "%zz@mail.acme.test",
		"smtp://u:a/" + secret + "@mail.acme.test", "smtp://u:1/" + secret + "@mail.acme.test",
		"smtp://u:1?" + secret + "@mail.acme.test", "smtp://u:1?" + secret + "&a=b@mail.acme.test", "smtp://u:1?rate=" + secret + "@mail.acme.test",
		"smtp://u:1?tls=" + secret + "@mail.acme.test", "smtp://u:1?ca=%" + secret + "@mail.acme.test",
		"smtp://u:1#" + secret + "@mail.acme.test", "smtp://u:a#" + secret + "@mail.acme.test", "smtp://u:[" + secret + "@mail.acme.test",
		"smtp://u:" + secret + " x@mail.acme.test", "smtp://u:" + secret + "\n@mail.acme.test", "smtp://u:" + secret + "%00@mail.acme.test", "smtp://u:" + secret + "%0D%0A@mail.acme.test",
		"smtp://u%00x:" + secret + "@mail.acme.test",
		"smtp://mail.acme.test:0", "smtp://mail.acme.test:65536", "smtp://mail.acme.test:" + secret,
		"smtp://mail.acme.test/path", "smtp://mail.acme.test#x", "smtp://mail..test", "smtp://-mail.test", "smtp://mail test", "smtp://ma%20il.test",
		"=smtp://mail.acme.test", "EU=smtp://mail.acme.test", "eu_west=smtp://mail.acme.test", "capture=smtp://mail.acme.test", strings.Repeat("a", 41) + "=smtp://mail.acme.test", "a=b=smtp://mail.acme.test",
		"smtp://mail.acme.test?tls=starttls", "smtp://mail.acme.test?tls=", "smtps://mail.acme.test?tls=off", "smtps://mail.acme.test?tls=opportunistic", "smtp://mail.acme.test?tls=OFF",
		"smtp://mail.acme.test?rate=0", "smtp://mail.acme.test?rate=-1", "smtp://mail.acme.test?rate=Inf", "smtp://mail.acme.test?rate=NaN", "smtp://mail.acme.test?rate=x", "smtp://mail.acme.test?rate=",
		"smtp://mail.acme.test?daily=0", "smtp://mail.acme.test?daily=1.5", "smtp://mail.acme.test?daily=-1",
		"smtp://mail.acme.test?connections=0", "smtp://mail.acme.test?connections=257", "smtp://mail.acme.test?connections=x",
		"smtp://mail.acme.test?ca=", "smtp://mail.acme.test?ca=a%00", "smtp://mail.acme.test?profile=SES", "smtp://mail.acme.test?profile=", "smtp://mail.acme.test?dkim=yes",
		"smtp://mail.acme.test?spf=", "smtp://mail.acme.test?spf=all", "smtp://mail.acme.test?spf=-all", "smtp://mail.acme.test?spf=+include:a.test", "smtp://mail.acme.test?spf=include:", "smtp://mail.acme.test?spf=include:%25{i}.test",
		"smtp://mail.acme.test?spf=include:a.test%20ip4:8.8.4.4", "smtp://mail.acme.test?spf=ip4:1.2.3", "smtp://mail.acme.test?spf=ip4:::1", "smtp://mail.acme.test?spf=a", "smtp://mail.acme.test?spf=a:b.test/24", "smtp://mail.acme.test?spf=include:localhost",
		"smtp://mail.acme.test?spf=v=spf1", "smtp://mail.acme.test?spf=redirect=a.test", "smtp://mail.acme.test?spf=ptr:a.test", "smtp://mail.acme.test?spf=exists:a.test", "smtp://mail.acme.test?spf=" + secret + ":" + secret, "smtp://mail.acme.test?spf=" + secret,
		"smtp://mail.acme.test?timeout=0s", "smtp://mail.acme.test?timeout=11m", "smtp://mail.acme.test?timeout=5",
		"smtp://mail.acme.test?soft_bounce=yes", "smtp://mail.acme.test?soft_bounce=", "smtp://mail.acme.test?soft_bounce=1",
		"smtp://mail.acme.test?helo=", "smtp://mail.acme.test?helo=a%20b", "smtp://mail.acme.test?helo=a%0D%0ARSET", "smtp://mail.acme.test?helo=192.0.2.1", "smtp://mail.acme.test?helo=::1",
		"smtp://mail.acme.test?helo=[192.0.2.1", "smtp://mail.acme.test?helo=[IPv6:192.0.2.1]", "smtp://mail.acme.test?helo=[2001:db8::1]", "smtp://mail.acme.test?helo=[IPv6:fe80::1%25eth0]", "smtp://mail.acme.test?helo=[]",
		"smtp://mail.acme.test?helo=a_b.test", "smtp://mail.acme.test?helo=a..b", "smtp://mail.acme.test?helo=" + secret + "%20", "smtp://mail.acme.test?helo=" + strings.Repeat("a.", 127) + "b",
		"smtp://u:" + secret + "@mail.acme.test?tls=off", "smtp://u:" + secret + "@mail.acme.test?tls=opportunistic", "smtp://u:" + secret + "@10.0.0.1?tls=off", "smtp://u:" + secret + "@localhost.acme.test?tls=off",
		"smtp://mail.acme.test?rate=1&rate=1", "smtp://mail.acme.test?Rate=1", "smtp://mail.acme.test?x=1", "smtp://mail.acme.test?rate=1&", "smtp://mail.acme.test?rate=1;daily=2",
	} {
		r, err := ParseOne(in)
		if err == nil {
			t.Errorf("%q passes as %s", in, r)
			continue
		}
		if r != (Relay{}) {
			t.Errorf("%q: a relay together with the error", in)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%q: the error contains the password: %v", in, err)
		}
	}
}

func TestParseRelays(t *testing.T) {
	if got, err := Parse(nil); got != nil || err != nil {
		t.Errorf("none: %v, %v", got, err)
	}
	got, err := Parse([]string{"smtp://a.test", "eu-west-1=smtps://b.test"})
	if err != nil || len(got) != 2 || got[0].Region != app.DefaultRegion || got[1].Region != "eu-west-1" {
		t.Errorf("%v, %v", got, err)
	}
	got, err = Parse([]string{"smtp://a.test", "smtp://b.test", "eu/ses=smtps://c.test", "us-east-1/d=smtp://d.test", "us-east-1=smtp://e.test"})
	var names []string
	for _, r := range got {
		names = append(names, r.Region+" "+r.FullName())
	}
	if want := "us-east-1 us-east-1, us-east-1 us-east-1#2, eu eu/ses, us-east-1 us-east-1/d, us-east-1 us-east-1#4"; err != nil || strings.Join(names, ", ") != want {
		t.Errorf("%q, want %q: %v", names, want, err)
	}
	for _, list := range [][]string{
		{"x=smtp://a.test", "x=smtp://a.test"}, {"x/a=smtp://a.test", "x/b=smtp://a.test"}, {"x/a=smtp://a.test", "x/a=smtp://b.test"}, {"smtp://a.test", "x/=smtp://a.test"},
		{"smtp://a.test", ""}, {"smtp://a.test", "y=smtp://u:" + secret + "%@b.test"},
	} {
		_, err := Parse(list)
		if err == nil || !strings.HasPrefix(err.Error(), "relay 2: ") || strings.Contains(err.Error(), secret) {
			t.Errorf("%v: %v", list, err)
		}
	}
}

// FuzzParseRelay checks that no error contains a part of the input, wherever the password is, and
// that accepted relays are complete.
func FuzzParseRelay(f *testing.F) {
	f.Add("smtp://u:", "@mail.acme.test")
	f.Add("x=smtps://", ":p@mail.acme.test?rate=1")
	f.Add("smtp://u:a?", "@h")
	f.Add("smtp://u:1/", "#@h")
	f.Add("smtp://h?ca=", "&timeout=1s")
	f.Add("smtp://[::1%25", "]:25")
	f.Fuzz(func(t *testing.T, before, after string) {
		r, err := ParseOne(before + secret + after)
		if err != nil {
			if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(secret)) {
				t.Errorf("%q: %v", before+secret+after, err)
			}
			return
		}
		if r.Host == "" || r.Port < 1 || r.Port > 65535 || r.Connections < 1 || r.Timeout < time.Second || !app.IsRegion(r.Region) || r.Region == app.CaptureRegion {
			t.Errorf("%+v", r)
		}
		if (r.User == "") != (r.Password == "") || app.HasControl(r.User+r.Password+r.Host+r.CAFile) || r.Rate < 0 || r.Daily < 0 {
			t.Errorf("%+v", r)
		}
	})
}
