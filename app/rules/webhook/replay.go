package webhook

import (
	"slices"
	"time"

	"mailer/app"
)

// MaxReplayIDs is the maximum number of events in one replay.
const MaxReplayIDs = 100

// Replay selects the events to deliver again to a webhook: by id, all failed ones, or those of a
// period.
type Replay struct {
	IDs    []string // as endpoints see them: msg_…
	Failed bool
	Since  time.Time // zero: none
	Until  time.Time // zero: now
	After  string    // last event of the previous call
}

// Validate checks that exactly one selection is given and returns the ids of the named events.
// Errors: CodeValidation.
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
