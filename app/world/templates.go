package world

import "mailer/app"

// Template makes one of a team and publishes it.
func (w *World) Template(key *app.Key, alias string, c app.TemplateContent) app.Template {
	w.T.Helper()
	t, err := w.Server.Templates.CreateTemplate(w.T.Context(), key, app.TemplateInput{Name: "x", Alias: alias, TemplateContent: c})
	Must(w.T, err)
	t, err = w.Server.Templates.PublishTemplate(w.T.Context(), key, t.ID)
	Must(w.T, err)
	return t
}
