package relayurl

import (
	"slices"
	"strings"

	"mailer/app"
)

// Identify returns a mail for a relay with what has its provider name the email in
// its reports, where the provider would not name it otherwise. It is the only header
// of that name.
func (r *Relay) Identify(m *app.Mail, emailID string) *app.Mail {
	idHeader := app.ProviderByHost(r.Host).IDHeader
	if idHeader == nil {
		return m
	}
	ours := idHeader(emailID)
	out := *m
	out.Headers = slices.DeleteFunc(slices.Clone(m.Headers), func(h app.Header) bool { return strings.EqualFold(h.Name, ours.Name) })
	out.Headers = append(out.Headers, ours)
	return &out
}
