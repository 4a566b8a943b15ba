package app

import (
	"net/netip"
	"slices"
	"testing"
)

func TestIsPublicAddress(t *testing.T) {
	for in, want := range map[string]bool{
		"1.1.1.1": true, "172.15.0.1": true, "172.32.0.1": true, "223.255.255.254": true, "100.128.0.1": true,
		"2606:4700::1111": true, "::ffff:1.1.1.1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "224.0.0.1": false, "255.255.255.255": false, "192.0.2.1": false,
		"::": false, "::1": false, "fe80::1": false, "fc00::1": false, "ff02::1": false, "2001:db8::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false,
		"2001:0:7f00:1::": false, "::7f00:1": false, "2606:4700::1%eth0": false,
	} {
		if got := IsPublicAddress(netip.MustParseAddr(in)); got != want {
			t.Errorf("IsPublicAddress(%s) = %v", in, got)
		}
	}
	if IsPublicAddress(netip.Addr{}) {
		t.Error("the zero Addr is public")
	}
}

func TestRangesAreReadWithCommasAndSpaces(t *testing.T) {
	got, err := ParseRanges([]string{"10.1.2.3/8,127.0.0.1", " ::1  fd00::1/8 ", "::ffff:192.168.0.1"})
	want := []string{"10.0.0.0/8", "127.0.0.1/32", "::1/128", "fd00::/8", "192.168.0.1/32"}
	var texts []string
	for _, p := range got {
		texts = append(texts, p.String())
	}
	if err != nil || !slices.Equal(texts, want) {
		t.Errorf("%q %v", texts, err)
	}
	for _, bad := range []string{"10.0.0.0/33", "localhost", "10.0.0.0/8/8", "fe80::1%eth0", "::ffff:10.0.0.0/104", "10.0.0"} {
		if _, err := ParseRanges([]string{bad}); err == nil {
			t.Errorf("%s is a range", bad)
		}
	}
	if none, err := ParseRanges(nil); err != nil || none != nil {
		t.Errorf("of nothing: %v %v", none, err)
	}
}
