package engine

import (
	"context"

	"mailer/app"
)

// TestBroadcast is to come with the rendering of broadcasts.
func (e *Engine) TestBroadcast(ctx context.Context, key *app.Key, id string, to []string) (emails []string, err error) {
	return nil, app.Errorf(app.CodeServiceUnavailable, "not built yet")
}
