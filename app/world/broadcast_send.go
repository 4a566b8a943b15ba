package world

import (
	"mailer/app"
	"mailer/app/broadcasts"
	"mailer/app/mail"
)

func (w *World) SendNews(in app.BroadcastInput, scheduledAt string) broadcasts.BroadcastView {
	w.T.Helper()
	in.Send, in.ScheduledAt = true, scheduledAt
	v, err := w.Server.Broadcasts.CreateBroadcast(w.T.Context(), w.Key, in, mail.SendOptions{})
	Must(w.T, err)
	return v
}
