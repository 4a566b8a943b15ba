package rest

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestClientAddress(t *testing.T) {
	own := proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	for _, c := range []struct {
		trusted proxies
		remote  string
		said    []string
		want    string
	}{
		{loopback, "203.0.113.7:4711", nil, "203.0.113.7"},
		{loopback, "203.0.113.7:4711", []string{"198.51.100.9"}, "203.0.113.7"}, // not a trusted proxy
		{loopback, "127.0.0.1:4711", nil, "127.0.0.1"},
		{loopback, "127.0.0.2:4711", []string{"198.51.100.9"}, "198.51.100.9"},
		{loopback, "127.0.0.1:4711", []string{"1.2.3.4, 198.51.100.9"}, "198.51.100.9"},
		{loopback, "127.0.0.1:4711", []string{"1.2.3.4", "198.51.100.9"}, "198.51.100.9"},
		{loopback, "127.0.0.1:4711", []string{"1.2.3.4, 198.51.100.9,127.0.0.1", "127.0.0.9"}, "198.51.100.9"},
		{loopback, "127.0.0.1:4711", []string{"198.51.100.9:8080"}, "198.51.100.9"},
		{loopback, "127.0.0.1:4711", []string{"[2001:db8::9]:8080"}, "2001:db8::9"},
		{loopback, "[::1]:4711", []string{"2001:db8::9"}, "2001:db8::9"},
		{loopback, "10.0.0.5:4711", []string{"198.51.100.9"}, "10.0.0.5"}, // private is not enough
		{loopback, "127.0.0.1:4711", []string{"198.51.100.9, unknown"}, "127.0.0.1"},
		{loopback, "127.0.0.1:4711", []string{"nonsense\x00"}, "127.0.0.1"},
		{loopback, "127.0.0.1:4711", []string{""}, "127.0.0.1"},
		{loopback, "[::ffff:203.0.113.7]:4711", nil, "203.0.113.7"},
		{loopback, "@", nil, ""},
		{own, "10.1.2.3:1", []string{"1.2.3.4, 198.51.100.9, 10.9.9.9"}, "198.51.100.9"},
		{own, "[2001:db8:1::5]:1", []string{"198.51.100.9"}, "198.51.100.9"},
		{own, "127.0.0.1:1", []string{"198.51.100.9"}, "127.0.0.1"}, // the configured proxies replace the default
		{own, "10.1.2.3:1", []string{"10.0.0.7"}, "10.0.0.7"},       // a client inside
	} {
		want, _ := netip.ParseAddr(c.want)
		if got := c.trusted.clientAddress(c.remote, http.Header{"X-Forwarded-For": c.said}); got != want {
			t.Errorf("%s with %q: %s, want %s", c.remote, c.said, got, c.want)
		}
	}
}
