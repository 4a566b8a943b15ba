package base

import (
	"mailer/app"
	"mailer/db"
)

// Cap limits how many objects of a kind a team can have. Objects without limit would cost every
// team: in lists and on the disk.
type Cap struct {
	kind db.Capped
	// Max is the limit. Name is the plural of the kind.
	Max    int
	Name   string
	advice string // what the caller can do to create another one
}

// The limits.
var (
	CapKeys       = Cap{db.CappedKeys, 200, "API keys", "delete one that is not used any more"}
	CapSegments   = Cap{db.CappedSegments, 1000, "segments", "delete one that is not used any more"}
	CapTopics     = Cap{db.CappedTopics, 1000, "topics", "delete one that is not used any more"}
	CapTemplates  = Cap{db.CappedTemplates, 1000, "templates", "delete one that is not used any more"}
	CapBlocks     = Cap{db.CappedBlocks, 200, "saved blocks", "delete one that is not used any more"}
	CapForms      = Cap{db.CappedForms, 200, "sign-up forms", "delete one that is not used any more"}
	CapBroadcasts = Cap{db.CappedBroadcasts, 100, "broadcasts that are scheduled or queued", "wait until one is sent, or cancel one"}
)

// Check returns nil where a team may have another object. It runs inside the Write that adds the
// object. Errors: CodeValidation.
func (c Cap) Check(r *db.Reader, teamID string) error {
	n, err := r.CountCapped(c.kind, teamID, c.Max)
	if err != nil || n < c.Max {
		return err
	}
	return app.Errorf(app.CodeValidation, "A team can have at most %d %s; %s", c.Max, c.Name, c.advice)
}
