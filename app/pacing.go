package app

import "time"

// Pacing of broadcasts (decisions.md 8): pure rules, by which the pacer goes and
// the planner foretells.

// DefaultBulkShare is the part of a relay's daily limit that broadcasts may use;
// the rest stays for transactional mail.
const DefaultBulkShare = 0.7

// BulkQueue is a queued broadcast as pacing sees it.
type BulkQueue struct {
	ID        string
	TeamID    string
	Remaining int64 // messages that were not begun
}

// BulkTurn is how many messages of a broadcast are begun next.
type BulkTurn struct {
	ID string
	N  int
}

// ShareBulk divides room messages among queues, which stand in the order in which
// they were queued: in equal parts between teams, then between the broadcasts of
// a team, beginning behind the one (after) that the last round ended with. window
// is how many more messages the day's share allows; negative: there is no limit.
func ShareBulk(queues []BulkQueue, window int64, room int, after string) []BulkTurn {
	if window >= 0 {
		room = min(room, int(min(window, 1<<30)))
	}
	var turns []BulkTurn
	for i, q := range queues {
		if n := min(int64(max(1, room/(len(queues)-i))), q.Remaining); room > 0 && n > 0 {
			turns = append(turns, BulkTurn{q.ID, int(n)})
			room -= int(n)
		}
	}
	return turns
}

// Plan is what the planner foretells of a broadcast.
type Plan struct {
	FinishesAt time.Time // when its last message leaves; zero: nobody can say
	Now        int64     // messages that the capacity of this moment allows
	TooLarge   bool      // it needs more than MaxPlan
	Warning    *PlanWarning
}

// MaxPlan is how far ahead a broadcast may finish (api.md, Limits).
const MaxPlan = 24 * 24 * time.Hour

// PlanWarning says that a broadcast does not leave all at once.
type PlanWarning struct {
	Code    string `json:"code"` // WarningPaced or WarningQueuedBehind
	Days    int    `json:"days"` // begun ones, until it finishes
	Message string `json:"message"`
}

// The codes of a PlanWarning (api.md, Broadcasts).
const (
	WarningPaced        = "paced"         // a part can leave now
	WarningQueuedBehind = "queued_behind" // nothing can leave now
)
