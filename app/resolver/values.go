package resolver

import (
	"strings"

	"github.com/miekg/dns"

	"mailer/app"
)

// value turns a record into ours; of types that Lookup does not know only the
// TTL is left.
func value(rr dns.RR) app.DNSValue {
	v := app.DNSValue{TTL: int(rr.Header().Ttl)}
	switch rr := rr.(type) {
	case *dns.TXT:
		for _, s := range rr.Txt {
			v.Strings = append(v.Strings, unescape(s))
		}
		v.Text = strings.Join(v.Strings, "")
	case *dns.MX:
		v.Text, v.Priority = plain(rr.Mx), int(rr.Preference)
	case *dns.CNAME:
		v.Text = plain(rr.Target)
	case *dns.A:
		v.Text = rr.A.String()
	case *dns.AAAA:
		v.Text = rr.AAAA.String()
	}
	return v
}

// unescape takes back how the library shows the bytes of a string: \" \\ and
// \DDD (RFC 1035 5.1).
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		if i+2 < len(s) && isDigit(s[i]) && isDigit(s[i+1]) && isDigit(s[i+2]) {
			b = append(b, (s[i]-'0')*100+(s[i+1]-'0')*10+s[i+2]-'0')
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
