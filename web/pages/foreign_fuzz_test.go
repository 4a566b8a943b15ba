package pages

import (
	"net/http"
	"net/netip"
	"testing"

	"mailer/app"
)

// FuzzFormChoices reads any bytes as what a page of preferences posts: what comes
// out are choices about ids.
func FuzzFormChoices(f *testing.F) {
	const id = "019e0000-0000-7000-8000-000000000000"
	for _, seed := range []string{"", id + "=opt_in", id + "=opt_out&" + id + "=opt_in", shownTopic + "=" + id, "%zz", "a;b", id + "=\x00", shownTopic + "=x&=" + id} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		choices, err := formChoices(body)
		if err != nil && choices != nil {
			t.Errorf("%q: choices and %v", body, err)
		}
		for name, choice := range choices {
			if canonical, ok := app.ParseID(name); !ok || canonical != name || choice != app.OptIn && choice != app.OptOut {
				t.Errorf("%q: %q %q", body, name, choice)
			}
		}
	})
}

// FuzzVisitorAddress shows an address or nothing, whatever a proxy says.
func FuzzVisitorAddress(f *testing.F) {
	f.Add("127.0.0.1:1", "203.0.113.7")
	f.Add("127.0.0.1:1", "203.0.113.7, ::ffff:10.0.0.1")
	f.Add("[fe80::1%eth0]:1", "fe80::2%25x, ")
	f.Add("203.0.113.9:1", "10.0.0.1")
	f.Add("x", "<script>")
	f.Fuzz(func(t *testing.T, remote, said string) {
		shown := visitorAddress(remote, http.Header{"X-Forwarded-For": {said}})
		if shown == "" {
			return
		}
		if a, err := netip.ParseAddr(shown); err != nil || a.Zone() != "" || a.Is4In6() {
			t.Errorf("%q, %q shown as %q", remote, said, shown)
		}
	})
}
