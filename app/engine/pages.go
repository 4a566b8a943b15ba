package engine

import (
	"context"

	"mailer/app"
)

// PageView is what a hosted page tells whoever holds its link.
type PageView struct {
	Team         string
	Topic        *app.ContactTopic  // that the link stood for; nil: all mailings
	Unsubscribed bool               // from all mailings
	Topics       []app.ContactTopic // to choose from, by name: the public ones, and a private one that the link stood for
	// The tokens of both pages for the same link. Preferences is empty where the
	// link stands for several addresses at once.
	Unsubscribe, Preferences string
}

// UnsubscribePage reads what the page of an unsubscribe link shows. It changes
// nothing. Errors: CodeNotFound for whatever is wrong with the token.
func (e *Engine) UnsubscribePage(ctx context.Context, token string) (*PageView, error) {
	return nil, app.NotFound("page")
}

// Unsubscribe opts out of the link's topic, or of all mailings, and gives what
// the page shows afterwards. Errors: CodeNotFound.
func (e *Engine) Unsubscribe(ctx context.Context, token string) (*PageView, error) {
	return nil, app.NotFound("page")
}

// PreferencesPage reads what the page of a preferences link shows. It changes
// nothing. Errors: CodeNotFound.
func (e *Engine) PreferencesPage(ctx context.Context, token string) (*PageView, error) {
	return nil, app.NotFound("page")
}

// SavePreferences notes a choice for each topic id of choices that the page
// shows; others are ignored. Errors: CodeNotFound.
func (e *Engine) SavePreferences(ctx context.Context, token string, choices map[string]app.Subscription) (*PageView, error) {
	return nil, app.NotFound("page")
}
