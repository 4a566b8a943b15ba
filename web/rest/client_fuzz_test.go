package rest

import (
	"net/http"
	"testing"
)

// FuzzClientAddress: whatever X-Forwarded-For contains, the result is an address without a zone or
// invalid, and only a proxy's header counts.
func FuzzClientAddress(f *testing.F) {
	f.Add("127.0.0.1:1", "203.0.113.7", "")
	f.Add("127.0.0.1:1", "198.51.100.1", "203.0.113.7, ::ffff:127.0.0.1")
	f.Add("[::1]:1", "fe80::2%25x, ", "[2001:db8::1]:80")
	f.Add("203.0.113.9:1", "10.0.0.1", ",")
	f.Add("x", "<script>", ",,")
	f.Fuzz(func(t *testing.T, remote, first, second string) {
		peer := peerAddress(remote)
		got := proxies(loopback).clientAddress(remote, http.Header{"X-Forwarded-For": {first, second}})
		if got.Zone() != "" || got.Is4In6() || got.IsValid() != peer.IsValid() || !proxies(loopback).has(peer) && got != peer {
			t.Errorf("%q, %q, %q: %s", remote, first, second, got)
		}
	})
}
