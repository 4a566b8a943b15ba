// Package pacing divides a relay's capacity among waiting broadcasts, and forecasts when each will
// finish by the same rules. It has no dependencies within the module, does no I/O and keeps no
// state. Callers pass the time and all counts.
//
// It can't fail. A forecast is zero if the relay's speed is unknown.
package pacing

import (
	"math"
	"slices"
)

// DefaultBulkShare is the part of a relay's daily limit that broadcasts may use. The rest is for
// transactional mail.
const DefaultBulkShare = 0.7

// DayMinutes is the window of a relay's daily limit. Usage is counted in whole minutes, so the
// window is one minute longer than a day: the limit is never exceeded in any 24 h.
const DayMinutes = 24*60 + 1

// DripRate is how many messages a team with a guardrail warning may start in a second.
const DripRate = 1

// MaxBroadcastRecipients is the maximum number of recipients of one broadcast: its email ids end
// in a 32-bit number from 1.
const MaxBroadcastRecipients = 1<<32 - 1

// BulkShare returns how many messages of a daily limit broadcasts may use. part is their part of
// it.
func BulkShare(daily int64, part float64) int64 {
	return int64(math.Floor(float64(daily)*part + 1e-6)) // 0.9999999 is a rounding error of 1
}

// UsageMinute is what a relay sent in one minute.
type UsageMinute struct {
	Minute int64 // Unix minutes
	Sent   int64
	Bulk   int64 // of Sent, messages of broadcasts
}

// BulkQueue is a queued broadcast.
type BulkQueue struct {
	ID        string
	TeamID    string
	Remaining int64 // messages not started
	// Drip: its team has a guardrail warning and gets DripRate for all its broadcasts.
	Drip bool
	// AtLimit: its team has reached its limit for now. Its part of the daily window stays
	// reserved.
	AtLimit bool
}

// need returns how many messages of a daily window the broadcast can use.
func (q *BulkQueue) need() int64 {
	n := min(max(q.Remaining, 0), MaxBroadcastRecipients)
	if q.Drip {
		return min(n, DripRate*24*60*60)
	}
	return n
}

// BulkBatch is how many messages of a broadcast to start next.
type BulkBatch struct {
	ID string
	N  int
}

// bulkTeam is the queued broadcasts of one team.
type bulkTeam struct {
	id     string
	queues []int   // indexes in the list, in order
	open   []int64 // messages of each that the window allows
}

// bulkTeams groups waiting queues by team, in the order of their first ones.
func bulkTeams(queues []BulkQueue) []bulkTeam {
	var teams []bulkTeam
	for i := range queues {
		if queues[i].need() == 0 {
			continue
		}
		t := slices.IndexFunc(teams, func(t bulkTeam) bool { return t.id == queues[i].TeamID })
		if t < 0 {
			t = len(teams)
			teams = append(teams, bulkTeam{id: queues[i].TeamID})
		}
		teams[t].queues = append(teams[t].queues, i)
		teams[t].open = append(teams[t].open, 0)
	}
	return teams
}

// divideWindow divides the window equally among teams; what one can't use goes to the others.
// Within a team it is reserved in the order of the broadcasts, so that a later one can't use what
// is reserved for an earlier one. A negative window means no limit. Remainders and next are as in
// fill.
func divideWindow(queues []BulkQueue, teams []bulkTeam, window int64, first int) (next int) {
	next = first
	needs, parts := make([]int64, len(teams)), make([]int64, len(teams))
	for t := range teams {
		for _, i := range teams[t].queues {
			needs[t] += queues[i].need()
		}
	}
	if window >= 0 {
		next = fill(window, needs, parts, first)
	} else {
		parts = needs
	}
	for t := range teams {
		for k, i := range teams[t].queues {
			teams[t].open[k] = min(queues[i].need(), parts[t])
			parts[t] -= teams[t].open[k]
		}
	}
	return next
}

// fill divides total equally, to none more than its need, and adds the parts to got. Remainders go
// to those from first on, one each. next is the first of the next round.
func fill(total int64, needs, got []int64, first int) (next int) {
	for total > 0 {
		waiting := int64(0)
		for i := range needs {
			if got[i] < needs[i] {
				waiting++
			}
		}
		if waiting == 0 {
			return first
		}
		part := total / waiting
		if part == 0 {
			return remainder(total, needs, got, first)
		}
		for i := range needs {
			n := min(part, needs[i]-got[i])
			got[i] += n
			total -= n
		}
	}
	return first
}

// remainder adds one message each to total of those with a need, from first on.
func remainder(total int64, needs, got []int64, first int) (next int) {
	next = first
	for k := range needs {
		i := (first + k) % len(needs)
		if total > 0 && got[i] < needs[i] {
			got[i]++
			total--
			next = (i + 1) % len(needs)
		}
	}
	return next
}

// ShareBulk divides free messages among queues in their order: equally between teams, then between
// the broadcasts of a team, as far as the window allows (the remaining messages of the daily
// limit; negative: no limit). Remainders rotate: among teams from the one after that of the last
// round's last broadcast (after), and within a team by the remaining messages, which tell how
// often each had a turn.
func ShareBulk(queues []BulkQueue, window int64, free int, after string) []BulkBatch {
	teams := bulkTeams(queues)
	if len(teams) == 0 || free <= 0 {
		return nil
	}
	first := 0
	if i := slices.IndexFunc(queues, func(q BulkQueue) bool { return q.ID == after }); i >= 0 {
		first = (slices.IndexFunc(teams, func(t bulkTeam) bool { return t.id == queues[i].TeamID }) + 1) % len(teams)
	}
	next := divideWindow(queues, teams, window, first)
	needs, got := make([]int64, len(teams)), make([]int64, len(teams))
	for t := range teams {
		needs[t] = teams[t].perRound(queues)
	}
	if last := fill(int64(free), needs, got, first); last != first {
		next = last // the capacity was the limit
	}
	var turns []BulkBatch
	for k := range teams {
		t := (next + k) % len(teams)
		turns = append(turns, teams[t].divide(queues, got[t])...)
	}
	return turns
}

// perRound returns how many messages of a team may be started in one round.
func (t *bulkTeam) perRound(queues []BulkQueue) (n int64) {
	drip := false
	for k, i := range t.queues {
		if queues[i].AtLimit {
			return 0
		}
		drip = drip || queues[i].Drip
		n += t.open[k]
	}
	if drip {
		return min(n, 1)
	}
	return n
}

// divide divides n messages among a team's broadcasts.
func (t *bulkTeam) divide(queues []BulkQueue, n int64) []BulkBatch {
	open := slices.Index(t.open, 0) // the window allows the first ones
	if open < 0 {
		open = len(t.open)
	}
	if open == 0 || n == 0 {
		return nil
	}
	var left int64
	for _, i := range t.queues {
		left += queues[i].Remaining
	}
	got := make([]int64, open)
	fill(n, t.open[:open], got, int((int64(open)-left%int64(open))%int64(open)))
	var turns []BulkBatch
	for k, n := range got {
		if n > 0 {
			turns = append(turns, BulkBatch{queues[t.queues[k]].ID, int(n)})
		}
	}
	return turns
}
