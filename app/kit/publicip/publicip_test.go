package publicip

import (
	"net/netip"
	"testing"
)

func TestPublicAddresses(t *testing.T) {
	for in, want := range map[string]bool{
		"1.1.1.1": true, "172.15.0.1": true, "172.32.0.1": true, "223.255.255.254": true, "100.128.0.1": true,
		"2606:4700::1111": true, "::ffff:1.1.1.1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "224.0.0.1": false, "255.255.255.255": false, "192.0.2.1": false,
		"::": false, "::1": false, "fe80::1": false, "fc00::1": false, "ff02::1": false, "2001:db8::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false,
		"2001:0:7f00:1::": false, "::7f00:1": false, "2606:4700::1%eth0": false,
	} {
		if got := Is(netip.MustParseAddr(in)); got != want {
			t.Errorf("Is(%s) = %v", in, got)
		}
	}
	if Is(netip.Addr{}) {
		t.Error("the zero Addr is public")
	}
}
