package pacing

import (
	"math"
	"slices"
	"time"
)

// planner simulates ShareBulk with messages as a continuous flow. The amount is computed minute by
// minute, as the window is counted. The division is computed in blocks of minutes: one at first,
// later a hundredth of the elapsed time, so that the relative precision is the same for a forecast
// of an hour or of weeks.
type planner struct {
	*Forecast
	at     float64               // seconds after Now
	minute int64                 // Unix minute of at
	mail   [24 * 60]float64      // transactional messages in a second, by minute of the day
	share  float64               // part of Daily that transactional mail leaves to broadcasts
	used   [DayMinutes]planUsage // usage in the window by minute
	total  planUsage
	queues []flow
	open   []*flow // queued and unfinished, in order
	teams  []flowTeam
	ids    []string // ids of teams
	pieces []piece  // of the block
}

type planUsage struct{ sent, bulk float64 }

// piece is a part of a minute: its messages are sent from its start with its speed.
type piece struct {
	at, speed, sent float64
	minute          int64
}

// flow is one broadcast.
type flow struct {
	team      int
	from      float64   // seconds after Now
	left      float64   // messages
	may       float64   // messages that the window allows in this block
	done      float64   // seconds after Now; negative: not finished
	remaining int64     // messages at the start
	perRound  int64     // messages that the window allowed when it was queued; negative: not queued
	watched   bool      // record days
	days      []float64 // messages by day since it was queued
}

// flowTeam is the broadcasts of a team.
type flowTeam struct {
	drip bool
	left float64 // messages
	part float64 // of the window
	slow float64 // messages that DripRate allows in this block
	open int     // broadcasts that may send
}

const (
	// epsilon is treated as zero: smaller than a rounding error of a message.
	epsilon = 1e-6
	// maxHorizon limits the work of one forecast.
	maxHorizon = 100 * 24 * time.Hour
	// maxBlock is in minutes.
	maxBlock = 60
)

func newPlanner(f *Forecast) *planner {
	p := &planner{Forecast: f, minute: f.Now.Unix() / 60}
	for _, u := range f.Usage {
		if age := p.minute - u.Minute; age >= 0 && age < DayMinutes {
			p.count(u.Minute, float64(u.Sent-u.Bulk), float64(u.Bulk))
		}
	}
	p.forecastMail()
	p.share = p.forecastShare()
	p.queues = make([]flow, len(f.Queues))
	for i := range f.Queues {
		q := &f.Queues[i]
		p.queues[i] = flow{team: p.team(q), from: q.From.Sub(f.Now).Seconds(), remaining: min(max(q.Remaining, 0), MaxBroadcastRecipients), done: -1, perRound: -1}
		p.queues[i].left = float64(p.queues[i].remaining)
		if q.From.IsZero() {
			p.queues[i].from = 0
		}
	}
	return p
}

func (p *planner) team(q *PlannedQueue) int {
	i := slices.Index(p.ids, q.TeamID)
	if i < 0 {
		i = len(p.ids)
		p.ids, p.teams = append(p.ids, q.TeamID), append(p.teams, flowTeam{})
	}
	p.teams[i].drip = p.teams[i].drip || q.Drip
	return i
}

// forecastMail expects the same transactional mail as at the same time a day before, smoothed over
// an hour.
func (p *planner) forecastMail() {
	var day [24 * 60]float64
	sum := 0.0
	for _, u := range p.Usage {
		if age := p.minute - u.Minute; age > 0 && age < DayMinutes {
			day[u.Minute%(24*60)] += float64(max(0, u.Sent-u.Bulk))
		}
	}
	const around = 30
	for m := -around; m <= around; m++ {
		sum += day[(m+24*60)%(24*60)]
	}
	for m := range p.mail {
		p.mail[m] = max(0, sum) / ((2*around + 1) * 60)
		sum += day[(m+around+1)%(24*60)] - day[(m-around+24*60)%(24*60)]
	}
}

// forecastShare expects transactional mail to use the same part of each day as of the last one. A
// day on which it used more than half of the share of broadcasts is ignored as an exception.
func (p *planner) forecastShare() float64 {
	left := float64(p.Daily) - (p.total.sent - p.total.bulk)
	if left < float64(p.Share)/2 {
		return float64(p.Share)
	}
	return min(left, float64(p.Share))
}

func (p *planner) count(minute int64, mail, bulk float64) {
	u := &p.used[minute%DayMinutes]
	u.sent += mail + bulk
	u.bulk += bulk
	p.total.sent += mail + bulk
	p.total.bulk += bulk
}

// finish returns the time of the last message of a queue; zero: unknown.
func (p *planner) finish(i int) time.Time {
	if p.queues[i].done < 0 {
		return time.Time{}
	}
	return p.Now.Add(time.Duration(math.Ceil(p.queues[i].done * 1e9)))
}

// run simulates until a horizon, or until a queue (all if negative) is finished.
func (p *planner) run(horizon time.Time, queue int) {
	if !(p.Speed > 0) {
		return
	}
	end := min(horizon.Sub(p.Now).Seconds(), maxHorizon.Seconds())
	next := p.begin()
	for p.at <= end && (len(p.open) > 0 || next < math.Inf(1)) && (queue < 0 || p.queues[queue].done < 0) {
		p.block(min(maxBlock, 1+int(p.at/6000)), next)
		if p.at >= next {
			next = p.begin()
		}
	}
}

// block simulates some minutes, or until the next queue opens.
func (p *planner) block(minutes int, next float64) {
	from := p.at
	p.pieces = p.pieces[:0]
	left, drips := p.left()
	sent := 0.0
	for range minutes {
		boundary := float64((p.minute+1)*60-p.Now.Unix()) - float64(p.Now.Nanosecond())/1e9
		until := min(boundary, next)
		n := p.piece(until-p.at, left-sent, drips)
		sent += n
		p.at = until
		if until == boundary {
			p.forget()
		}
		if until == next {
			break
		}
	}
	if sent > epsilon {
		p.divide(sent, p.free()+sent, p.at-from)
	}
}

// left returns the open messages, and the speed if only teams with DripRate are open; negative: no
// such limit.
func (p *planner) left() (left, drips float64) {
	for i := range p.teams {
		p.teams[i].left = 0
	}
	for _, q := range p.open {
		p.teams[q.team].left += q.left
		left += q.left
	}
	for _, t := range p.teams {
		switch {
		case t.left > 0 && !t.drip:
			return left, -1
		case t.left > 0:
			drips += DripRate
		}
	}
	return left, drips
}

// piece sends up to left messages of broadcasts in dt seconds of the minute.
func (p *planner) piece(dt, left, drips float64) float64 {
	mail := p.mail[p.minute%(24*60)]
	speed := max(0, p.Speed-mail)
	if drips >= 0 {
		speed = min(speed, drips)
	}
	sent := max(0, min(speed*dt, left, p.free()))
	p.pieces = append(p.pieces, piece{p.at, speed, sent, p.minute})
	p.count(p.minute, 0, sent)
	return sent
}

// free returns how many messages of broadcasts the daily limit allows now.
func (p *planner) free() float64 {
	if p.Daily == 0 {
		return math.Inf(1)
	}
	return max(0, min(p.share-p.total.bulk, float64(p.Daily)-p.total.sent))
}

// forget advances to the next minute and frees the usage of a day ago.
func (p *planner) forget() {
	p.minute++
	u := &p.used[p.minute%DayMinutes]
	p.total.sent -= u.sent
	p.total.bulk -= u.bulk
	*u = planUsage{}
}

// begin opens the queues that are due and returns when the next one opens.
func (p *planner) begin() (next float64) {
	next = math.Inf(1)
	p.open = p.open[:0]
	for i := range p.queues {
		q := &p.queues[i]
		switch {
		case q.from > p.at:
			next = min(next, q.from)
		case q.remaining == 0:
			q.done, q.perRound = max(q.done, p.at), 0
		case q.left >= epsilon:
			p.open = append(p.open, q)
		}
	}
	p.notePerRound()
	return next
}

// notePerRound records how much of each queue that has just opened can be sent immediately.
func (p *planner) notePerRound() {
	waiting := make([]BulkQueue, len(p.open))
	for i, q := range p.open {
		waiting[i] = BulkQueue{TeamID: p.ids[q.team], Remaining: int64(math.Ceil(q.left - epsilon)), Drip: p.teams[q.team].drip}
	}
	teams := bulkTeams(waiting)
	divideWindow(waiting, teams, p.window(), 0)
	for _, t := range teams {
		for k, i := range t.queues {
			if q := p.open[i]; q.perRound < 0 {
				q.perRound = t.open[k]
			}
		}
	}
}

// window returns free in whole messages; negative: no limit.
func (p *planner) window() int64 {
	if p.Daily == 0 {
		return -1
	}
	return int64(p.free() + epsilon)
}

// divide divides the messages of a block among the open queues as ShareBulk does: equally until a
// queue has reached its limit. seconds is the length of the block, window what it allowed.
func (p *planner) divide(sent, window, seconds float64) {
	p.divideOpenWindow(window, seconds)
	counted := 0.0
	for sent-counted > epsilon {
		teams := p.flowing()
		if teams == 0 {
			break
		}
		n := sent - counted
		for _, q := range p.open {
			if t := &p.teams[q.team]; q.may > 0 && t.open > 0 {
				n = min(n, q.may*teams*float64(t.open), t.slow*teams)
			}
		}
		for _, q := range p.open {
			if t := &p.teams[q.team]; q.may > 0 && t.open > 0 {
				p.advance(q, counted, n, 1/(teams*float64(t.open)))
			}
		}
		for i := range p.teams {
			if p.teams[i].open > 0 {
				p.teams[i].slow -= n / teams
			}
		}
		counted += n
	}
	p.open = slices.DeleteFunc(p.open, func(q *flow) bool { return q.left < epsilon })
	p.unsend(sent - counted)
}

// advance adds to a queue its part of n messages after counted messages. Its last message is sent
// when its flow begins, since the first one is sent immediately.
func (p *planner) advance(q *flow, counted, n, part float64) {
	own := min(n*part, q.may)
	if q.done < 0 && q.left-own < 1-epsilon {
		q.done = p.when(counted + max(0, q.left-1)/part)
	}
	q.left -= own
	if q.watched {
		q.note(p.at, own)
	}
	if q.may -= own; q.may < epsilon {
		q.may = 0
	}
}

// note counts messages of a block that ends at a time.
func (q *flow) note(end, n float64) {
	const day = 24 * 60 * 60
	k := max(0, int((end-epsilon-max(q.from, 0))/day))
	for len(q.days) <= k {
		q.days = append(q.days, 0)
	}
	q.days[k] += n
}

// when returns the time in the block at which a number of messages had been sent.
func (p *planner) when(sent float64) float64 {
	at := p.at
	for _, c := range p.pieces {
		if c.sent <= 0 {
			continue
		}
		at = c.at + min(sent, c.sent)/c.speed
		if sent < c.sent-epsilon {
			break
		}
		sent -= c.sent
	}
	return at
}

// unsend takes back messages that no team could use because of DripRate.
func (p *planner) unsend(n float64) {
	for i := len(p.pieces) - 1; i >= 0 && n > epsilon; i-- {
		c := &p.pieces[i]
		back := min(n, c.sent, p.used[c.minute%DayMinutes].bulk)
		p.count(c.minute, 0, -back)
		n -= back
	}
}

// divideOpenWindow sets how much of each queue may be sent, as divideWindow does.
func (p *planner) divideOpenWindow(window, seconds float64) {
	total, _ := p.left()
	if window >= total {
		for i := range p.teams {
			p.teams[i].part = p.teams[i].left
		}
	} else {
		p.divideParts(window)
	}
	for i := range p.teams {
		if p.teams[i].slow = math.Inf(1); p.teams[i].drip {
			p.teams[i].slow = seconds * DripRate
		}
	}
	for _, q := range p.open {
		t := &p.teams[q.team]
		q.may = min(q.left, t.part)
		t.part -= q.may
		if q.may < epsilon {
			q.may = 0
		}
	}
}

// divideParts fills teams equally, none beyond its need.
func (p *planner) divideParts(window float64) {
	for i := range p.teams {
		t := &p.teams[i]
		t.part = 0
		if t.drip {
			t.left = min(t.left, DripRate*24*60*60)
		}
	}
	for window > epsilon {
		waiting, least := 0, math.Inf(1)
		for i := range p.teams {
			if d := p.teams[i].left - p.teams[i].part; d > epsilon {
				waiting++
				least = min(least, d)
			}
		}
		if waiting == 0 {
			return
		}
		part := min(least, window/float64(waiting))
		for i := range p.teams {
			if t := &p.teams[i]; t.left-t.part > epsilon {
				t.part += part
			}
		}
		window -= part * float64(waiting)
	}
}

// flowing counts the teams that may send, and the broadcasts of each.
func (p *planner) flowing() (teams float64) {
	for i := range p.teams {
		p.teams[i].open = 0
	}
	for _, q := range p.open {
		if q.may > 0 && p.teams[q.team].slow >= epsilon {
			p.teams[q.team].open++
		}
	}
	for i := range p.teams {
		if p.teams[i].open > 0 {
			teams++
		}
	}
	return teams
}
