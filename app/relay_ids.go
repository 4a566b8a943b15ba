package app

import "slices"

// Identify returns a mail for a relay with what has its provider name the email in
// its reports, where the provider would not name it otherwise.
func (r *Relay) Identify(m *Mail, emailID string) *Mail {
	header := providerOf(r.Host).idHeader
	if header == nil {
		return m
	}
	out := *m
	out.Headers = append(slices.Clip(m.Headers), header(emailID))
	return &out
}
