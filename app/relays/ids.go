package relays

import (
	"slices"

	"mailer/app"
)

// Identify returns a mail for a relay with what has its provider name the email in
// its reports, where the provider would not name it otherwise.
func (r *Relay) Identify(m *app.Mail, emailID string) *app.Mail {
	header := app.ProviderOf(r.Host).IdHeader
	if header == nil {
		return m
	}
	out := *m
	out.Headers = append(slices.Clip(m.Headers), header(emailID))
	return &out
}
