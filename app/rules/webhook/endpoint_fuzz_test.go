package webhook

import (
	"net/netip"
	"net/url"
	"testing"
)

// FuzzEndpoint checks that an accepted webhook has an https endpoint that is not a private literal
// address, and a secret of valid size.
func FuzzEndpoint(f *testing.F) {
	f.Add("https://example.com/x", "", "msg_019e0000-0000-7000-8000-000000000000")
	f.Add("https://127.0.0.1/", "whsec_AAAA", "msg_")
	f.Add("https://[::ffff:10.0.0.1]:443/?q#f", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "x")
	f.Add(`https://a\@b.example`, "whsec_\n", "msg_019E0000-0000-7000-8000-000000000000")
	f.Add("https://user:p@example.com", "x", "")
	f.Add("https://0x7f.1/", "", "")
	f.Fuzz(func(t *testing.T, endpoint, secret, message string) {
		in := Input{Endpoint: endpoint, Events: []EventName{"email.sent"}, Secret: secret}
		if w, err := in.Validate(nil); err == nil {
			u, err := url.Parse(w.Endpoint)
			if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
				t.Errorf("%q is taken", endpoint)
			}
			if a, err := netip.ParseAddr(u.Hostname()); err == nil && (a.Unmap().IsLoopback() || a.Unmap().IsPrivate()) {
				t.Errorf("%q is taken", endpoint)
			}
		}
		if s, err := secretOf(secret); err == nil && (len(s.Key) < MinSecretSize || len(s.Key) > MaxSecretSize) {
			t.Errorf("a secret of %d bytes", len(s.Key))
		}
		if id, ok := ParseMessageID(message); ok && MessageID(id) != message && len(MessageID(id)) != len(message) {
			t.Errorf("%q is of %q", message, id)
		}
	})
}
