package queue

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Doubts returns a page of the transactions of a team whose outcome at the relay is or was unknown,
// newest first, and whether there are more; for all teams if team is empty. Errors: CodeNotFound
// for the team, CodeValidation for the cursor.
func (s *Service) Doubts(ctx context.Context, team string, page app.Page) (doubts []app.Doubt, more bool, err error) {
	var unknown error // error about the team, not about the cursor
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		var id string
		if id, unknown = findTeam(r, team); unknown != nil {
			return nil
		}
		doubts, more, err = r.DoubtsOf(id, page)
		return err
	})
	if unknown != nil {
		return nil, false, base.Unavailable(unknown)
	}
	return doubts, more, base.Cursor(page, err)
}
