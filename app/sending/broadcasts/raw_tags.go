package broadcasts

import (
	"mailer/app"
	"mailer/app/rules/mergetags"
	"mailer/db"
)

// rawTags returns the merge tags of other services in a broadcast, which would be sent as they are.
func rawTags(b *app.Broadcast) []mergetags.RawTag {
	if b.Syntax != app.PlainSyntax { // its own tags look like those
		return nil
	}
	return mergetags.FindRaw(b.Parts()...)
}

// returnToDraft makes a scheduled broadcast with raw tags a draft again. It was scheduled by a
// version that did not check for raw tags.
func (s *Service) returnToDraft(tx *db.Tx, b *app.Broadcast, cause error) error {
	tx.AfterCommit(func() {
		s.Log.Error("a scheduled broadcast is not sent and is a draft again", "broadcast", b.ID, "team", b.TeamID, "err", cause,
			"help", "change the draft, then send it")
	})
	return tx.ReturnToDraft(b.TeamID, b.ID)
}
