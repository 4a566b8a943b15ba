package world

import (
	"mailer/app"
	"mailer/app/audience"
	"mailer/app/mail"
)

// Doors are the four methods of the pages, and which page's token each takes.
func (w *World) Doors() map[string]func(token string) (*audience.PageView, error) {
	ctx := w.T.Context()
	return map[string]func(string) (*audience.PageView, error){
		"UnsubscribePage": func(token string) (*audience.PageView, error) { return w.Server.Pages.UnsubscribePage(ctx, token) },
		"Unsubscribe":     func(token string) (*audience.PageView, error) { return w.Server.Pages.Unsubscribe(ctx, token) },
		"PreferencesPage": func(token string) (*audience.PageView, error) { return w.Server.Pages.PreferencesPage(ctx, token) },
		"SavePreferences": func(token string) (*audience.PageView, error) {
			return w.Server.Pages.SavePreferences(ctx, token, map[string]app.Subscription{})
		},
	}
}

// SendBare sends mail without a topic whose text leads to the page.
func (w *World) SendBare(to ...string) string {
	w.T.Helper()
	in := Letter(to...)
	in.HTML = "{{{UNSUBSCRIBE_URL}}}"
	id, err := w.Server.Mail.SendEmail(w.T.Context(), w.Key, in, mail.SendOptions{})
	Must(w.T, err)
	return id
}
