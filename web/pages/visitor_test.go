package pages

import (
	"net/http"
	"testing"
)

func TestTheAddressOfAVisitor(t *testing.T) {
	for _, c := range []struct {
		remote string
		said   []string
		want   string
	}{
		{"203.0.113.7:4711", nil, "203.0.113.7"},
		{"203.0.113.7:4711", []string{"198.51.100.9"}, "203.0.113.7"}, // no proxy of ours
		{"127.0.0.1:4711", []string{"198.51.100.9"}, "198.51.100.9"},
		{"127.0.0.1:4711", []string{"1.2.3.4, 198.51.100.9"}, "198.51.100.9"},
		{"127.0.0.1:4711", []string{"1.2.3.4", "198.51.100.9"}, "198.51.100.9"},
		{"[::1]:4711", []string{"2001:db8::9"}, "2001:db8::9"},
		{"10.0.0.5:4711", []string{"nonsense\x00"}, "10.0.0.5"},
		{"[::ffff:203.0.113.7]:4711", nil, "203.0.113.7"},
		{"@", nil, ""},
	} {
		if got := visitorAddress(c.remote, http.Header{"X-Forwarded-For": c.said}); got != c.want {
			t.Errorf("%s with %q: %s, want %s", c.remote, c.said, got, c.want)
		}
	}
}
