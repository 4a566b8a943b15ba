package conn

import (
	"net"
	"testing"
)

func TestNetwork(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.7:25": "192.0.2.7/32", "[::ffff:192.0.2.7]:25": "192.0.2.7/32", "[2001:db8:1:2:3:4:5:6]:25": "2001:db8:1:2::/64", "[fe80::1%eth0]:25": "fe80::/64",
	} {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := Network(a).String(); got != want {
			t.Errorf("%s counts for %s, want %s", addr, got, want)
		}
	}
}
