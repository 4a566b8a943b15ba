package relayurl

import (
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/rules/feedback"
)

// Identify returns the mail with a header that makes the relay's provider name the email in its
// reports, if it would not do so otherwise. It replaces other headers of that name.
func (r *Relay) Identify(m *app.Mail, emailID string) *app.Mail {
	idHeader := feedback.ProviderByHost(r.Host).IDHeader
	if idHeader == nil {
		return m
	}
	ours := idHeader(emailID)
	out := *m
	out.Headers = slices.DeleteFunc(slices.Clone(m.Headers), func(h app.Header) bool { return strings.EqualFold(h.Name, ours.Name) })
	out.Headers = append(out.Headers, ours)
	return &out
}
