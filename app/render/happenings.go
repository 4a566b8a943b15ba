package render

import "mailer/app"

// Subject is the subject of the mail to one recipient of a broadcast.
func (b *Broadcast) Subject(r *app.BroadcastRecipient) string {
	return app.CutText(b.subject.body(&filling{mail: b, recipient: r}).String(), app.MaxSubject)
}
