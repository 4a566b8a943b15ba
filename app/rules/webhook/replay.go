package webhook

import (
	"slices"
	"time"

	"mailer/app"
)

// MaxReplayIDs is how many events one replay can name.
const MaxReplayIDs = 100

// Replay says of which events a webhook is told once more: those named, all that were
// given up, or all of a time.
type Replay struct {
	IDs    []string // as the endpoint gets them: msg_…
	Failed bool
	Since  time.Time // zero: none
	Until  time.Time // zero: now
	After  string    // the last event that an earlier call looked at
}

// Validate checks that one set is asked for, and returns the named events by the ids that
// they have in the database. Errors: CodeValidation.
func (r *Replay) Validate() (ids []string, err error) {
	sets := 0
	for _, given := range []bool{len(r.IDs) > 0, r.Failed, !r.Since.IsZero()} {
		if given {
			sets++
		}
	}
	switch {
	case len(r.IDs) > 0 && sets > 1, sets == 0:
		return nil, app.Invalid("message_ids", "or `failed` or `since` is required, and message_ids can't be combined")
	case !r.Until.IsZero() && (len(r.IDs) > 0 || r.Since.IsZero() || !r.Until.After(r.Since)):
		return nil, app.Invalid("until", "goes with an earlier `since`")
	case len(r.IDs) > MaxReplayIDs:
		return nil, app.Invalid("message_ids", "can hold at most %d items", MaxReplayIDs)
	}
	for _, s := range r.IDs {
		id, ok := ParseMessageID(s)
		if !ok {
			return nil, app.Invalid("message_ids", "must be ids of events: msg_ and a uuid")
		}
		ids = append(ids, id)
	}
	if r.After != "" {
		id, ok := ParseMessageID(r.After)
		if !ok {
			return nil, app.Invalid("after", "must be the searched_to of an earlier answer")
		}
		r.After = id
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
