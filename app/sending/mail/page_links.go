package mail

import "mailer/app"

// addPageLink sets the unsubscribe URL of an email that needs one. It is the same for all attempts.
// With one recipient the link applies to that address, with several to each of them. Then the email
// is complete, and addPageLink sets its insights. Errors: CodeValidation if the base URL is
// unknown, since no server has run yet.
func (s *Service) addPageLink(email *app.Email) error {
	if !email.NeedsUnsubscribePage() {
		s.Inspect(email)
		return nil
	}
	base := s.Settings.BaseURL
	if base == "" {
		return app.Errorf(app.CodeValidation, "This email needs an unsubscribe link, and where the pages of this server are reached is not known before `mailer serve` ran on its database")
	}
	link := app.PageLink{TeamID: email.TeamID, TopicID: email.TopicID, Source: email.ID}
	if recipients := envelopeOf(email); len(recipients) == 1 {
		link.Address = s.Sealer.AddressHash(email.TeamID, app.KeyOf(recipients[0]))
	}
	email.Unsubscribe = s.Sealer.UnsubscribeURL(base, link)
	s.Inspect(email)
	return nil
}
