package render

import "mailer/app"

// SubjectFor is the subject of the mail to one recipient of a broadcast.
func (b *BroadcastMail) SubjectFor(r *app.BroadcastRecipient) string {
	return app.CutText(b.subject.body(&filling{mail: b, recipient: r}).String(), app.MaxSubject)
}
