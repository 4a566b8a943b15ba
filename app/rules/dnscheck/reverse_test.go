package dnscheck

import (
	"net/netip"
	"testing"
)

func TestBlockListName(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.9":     "9.2.0.192.zen.example",
		"2001:db8::5:f": "f.0.0.0.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.zen.example",
	} {
		if got, err := BlockListName(netip.MustParseAddr(addr), "zen.example"); got != want || err != nil {
			t.Errorf("%s: %s, %v", addr, got, err)
		}
	}
}
