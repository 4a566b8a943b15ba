package engine

import (
	"context"

	"mailer/app"
)

// ListSegmentContacts gives a page of a segment's contacts, those that its
// filter picks and those added by hand, newest first, and whether there are
// more. Errors: CodeNotFound for an unknown segment, CodeValidation for a cursor
// that is not in the list.
func (e *Engine) ListSegmentContacts(ctx context.Context, key *app.Key, segmentID string, page app.Page) ([]app.Contact, bool, error) {
	return nil, false, app.NotFound("segment")
}
