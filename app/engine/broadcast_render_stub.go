package engine

import "mailer/app"

// renderUntracked stands here until the rendering of broadcasts is merged.
func renderUntracked(s *app.Sealer, b *app.Broadcast, rec *app.BroadcastRecipient) (*app.Mail, error) {
	m := &app.Mail{From: b.From, ReplyTo: b.ReplyTo, Subject: b.Subject, HTML: b.HTML, TopicID: b.TopicID}
	if b.Text != nil {
		m.Text = *b.Text
	}
	a, err := app.ParseAddress(rec.Email)
	if err != nil {
		a = app.Address{Local: app.Erased}
	}
	m.To = []app.Address{a}
	return m, nil
}
