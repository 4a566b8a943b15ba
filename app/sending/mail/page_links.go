package mail

import "mailer/app"

// addPageLink fixes the address of the page that an email leads to, where it
// needs one: the same for all its attempts. With one recipient the link stands
// for that address, with several for each of them. Errors: CodeValidation where
// no server of this database told yet where its pages are. Then the mail is whole,
// and is looked at for its score.
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
