package delivery

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"mailer/app"
	"mailer/app/relays"
	"mailer/app/reputation"
	"mailer/app/service"
	"mailer/db"
)

// idleMail is how long a dispatcher of emails sleeps where nothing is due; it
// is woken when the database changes.
const idleMail = time.Minute

// laneMemory bounds the bytes of messages that a lane works on at once; a
// larger message has the lane for itself.
const laneMemory = 64 << 20

// lane carries the units of one relay: a dispatcher claims those that are due,
// fairly between teams, and workers send them.
type lane struct {
	s       *Service
	name    string
	relay   relays.Relay
	sender  Sender
	gate    *gate
	breaker breaker
	limits  *limits
	plans   planCache
	memory  *semaphore.Weighted
	dots    chan struct{} // one token a connection: see hold
	mail    line
	bulk    line
	flight  atomic.Int64 // jobs of broadcasts that were claimed and have not ended

	mu      sync.Mutex
	claimed map[string]bool
	strikes map[string]int // troubles in a row that an email met after MAIL
	trouble *app.RelayTrouble
}

// line is what leads the units of emails, or those of broadcasts, to workers of
// their own, so that none waits behind the other's.
type line struct {
	jobs  chan *job
	woken chan struct{}
	turn  string // the team that the last round ended with
}

func newLine(places int) line {
	return line{jobs: make(chan *job, places), woken: make(chan struct{}, 1)}
}

// wake has the dispatcher look for due units; it never blocks.
func (n *line) wake() {
	select {
	case n.woken <- struct{}{}:
	default:
	}
}

// job is a claimed unit.
type job struct {
	unit    app.Unit              // Attempts counts the one that begins now
	minute  int64                 // whose place it has in the daily limit
	dotted  bool                  // it holds a token of lane.dots
	left    bool                  // hold agreed to the dot
	held    error                 // why hold refused it
	counts  reputation.OutcomeKey // where its outcomes count
	found   *app.Insights         // of what it says; nil: not known
	blocked app.Blocked           // what was found of its recipients when it was read
	obeyed  bool                  // recipients were left out; the rest of the unit is due
	ahead   *readEmail            // what readAhead read; nil: to be read
	// to is the recipient of a broadcast at its first attempt; nil: to be read.
	to *app.BroadcastRecipient
}

// bulk tells whether the unit is of a broadcast.
func (j *job) bulk() bool { return j.unit.BroadcastID != "" }

func newLane(s *Service, route Route) *lane {
	connections := max(route.Relay.Connections, 1)
	places := 4 * (connections + s.Builders)
	l := &lane{
		s: s, name: route.Relay.Region, relay: route.Relay, sender: route.Sender,
		gate: newGate(), limits: newLimits(route.Relay, s.BulkShare), memory: semaphore.NewWeighted(laneMemory),
		dots: make(chan struct{}, connections), mail: newLine(places), bulk: newLine(places),
		claimed: map[string]bool{}, strikes: map[string]int{},
	}
	l.limits.warned = s.drips
	return l
}

// start sets the dispatchers and the workers to work.
func (l *lane) start(ctx context.Context) error {
	if err := l.limits.load(ctx, l.s.DB); err != nil {
		return err
	}
	if err := l.closeTroubles(); err != nil { // of an earlier process: how the relay is now shows soon
		return fmt.Errorf("close old troubles: %w", err)
	}
	l.staff(&l.mail, l.claim)
	l.staff(&l.bulk, l.claimBulk)
	return nil
}

// staff sets a line's dispatcher to work, which claims by claim, and its workers:
// two for each connection, since one stores what came of its message while the other
// sends, and as many more as messages are composed and signed at once.
func (l *lane) staff(n *line, claim func(ctx context.Context, room int) (next time.Duration, err error)) {
	l.s.Workers.Go(func() {
		defer close(n.jobs)
		l.dispatch(l.s.Taking, n, claim)
	})
	for range 2*cap(l.dots) + l.s.Builders {
		l.s.Workers.Go(func() {
			for j := range n.jobs {
				if 2*len(n.jobs) < cap(n.jobs) {
					n.wake()
				}
				l.run(j)
				l.release(j.unit)
				if j.bulk() {
					l.flight.Add(-1)
				}
				if j.obeyed || j.bulk() { // a broadcast's may be due again sooner than its dispatcher looks
					n.wake()
				}
			}
		})
	}
}

// wake has both dispatchers look for due units; it never blocks.
func (l *lane) wake() {
	l.mail.wake()
	l.bulk.wake()
}

// watchStore wakes the dispatchers when the database changed, until the engine stops:
// until then, what they read of it holds, so that they sleep until something is due.
func (s *Service) watchStore() {
	var last db.Version
	changed := true
	tick := time.NewTicker(service.SweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.Taking.Done():
			return
		}
		before := changed
		now := s.DB.Version()
		last, changed = now, now != last
		if !changed && !before { // what another process commits may be seen before it can be read
			continue
		}
		for _, l := range s.lanes {
			l.wake()
		}
	}
}

// dispatch claims due units until ctx ends.
func (l *lane) dispatch(ctx context.Context, n *line, claim func(ctx context.Context, room int) (next time.Duration, err error)) {
	for {
		next := service.SweepEvery
		// Half the places at once: a claim costs a commit, however many it takes.
		if room := cap(n.jobs) - len(n.jobs); 2*room >= cap(n.jobs) && l.gate.room(room) > 0 {
			due, err := claim(ctx, l.gate.room(room))
			if err != nil && ctx.Err() == nil {
				l.s.Log.Error("claim units", "relay", l.name, "err", err)
			}
			if err == nil {
				next = due
			}
		}
		if !service.Pause(ctx, next, n.woken) {
			return
		}
	}
}

// claim takes up to room due units of emails, stores that their attempts begin,
// and hands them to the workers. It answers how long to sleep.
func (l *lane) claim(ctx context.Context, room int) (time.Duration, error) {
	units, next, err := l.due(ctx, &l.mail, room, idleMail)
	if err != nil || len(units) == 0 {
		return next, err
	}
	begun, err := l.begin(ctx, units)
	jobs := make([]*job, len(begun))
	for i, u := range begun {
		jobs[i] = &job{unit: u}
	}
	l.readAhead(ctx, jobs)
	for _, j := range jobs {
		l.mail.jobs <- j // there is room: only the dispatcher fills it
	}
	return next, err
}

// begin stores that attempts begin and gives the units that they are of; the
// others are released.
func (l *lane) begin(ctx context.Context, units []app.Unit) ([]app.Unit, error) {
	var begun, stale []app.Unit
	err := l.s.DB.WritePatient(ctx, func(tx *db.Tx) error {
		begun, stale = nil, nil
		for _, u := range units {
			ok, err := l.s.beginUnit(tx, u)
			switch {
			case err != nil:
				return err
			case ok:
				begun = append(begun, u)
			default:
				stale = append(stale, u)
			}
		}
		return nil
	})
	if err != nil {
		l.release(units...)
		return nil, err
	}
	l.release(stale...)
	for i := range begun {
		begun[i].Attempts++
	}
	return begun, nil
}

// due reads what of a line may be sent now, at most room units, each team in
// turn, and marks them claimed. next is when to look again: in most at the latest.
func (l *lane) due(ctx context.Context, n *line, room int, most time.Duration) (units []app.Unit, next time.Duration, err error) {
	now := time.Now()
	next = most
	var waiting []string
	err = l.s.DB.Read(ctx, func(r *db.Reader) error {
		teams, err := r.DueTeams(l.name, n == &l.bulk)
		if err != nil {
			return err
		}
		for _, t := range teams {
			if n == &l.bulk && l.s.rests(t.TeamID, l.name) {
				continue
			}
			if d := t.NextAt.Sub(now); d > 0 {
				next = min(next, d)
				continue
			}
			waiting = append(waiting, t.TeamID)
		}
		units, err = l.shares(r, n, waiting, now, room)
		return err
	})
	switch {
	case len(units) == room:
		next = most // a worker that takes one wakes us
	case len(units) == 0 && len(waiting) > 0:
		next = min(next, service.SweepEvery) // its attempt still runs, or just ended
	}
	return units, next, err
}

// shares gives each waiting team an equal part of room, beginning after the team
// that the last round ended with, so that a long queue of one does not delay
// the others. teams are in the order of their ids.
func (l *lane) shares(r *db.Reader, n *line, teams []string, now time.Time, room int) ([]app.Unit, error) {
	var out []app.Unit
	first := max(0, slices.IndexFunc(teams, func(id string) bool { return id > n.turn }))
	for i := range teams {
		if len(out) >= room {
			break
		}
		share := max(1, (room-len(out))/(len(teams)-i))
		team := teams[(first+i)%len(teams)]
		units, err := r.DueUnits(l.name, n == &l.bulk, team, now, share+l.busy())
		if err != nil {
			l.release(out...)
			return nil, err
		}
		out = append(out, l.take(units, share)...)
		n.turn = team
	}
	return out, nil
}

// busy is how many units are claimed.
func (l *lane) busy() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.claimed)
}

// take claims up to n of the units that nobody works on.
func (l *lane) take(units []app.Unit, n int) []app.Unit {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []app.Unit
	for _, u := range units {
		if len(out) < n && !l.claimed[u.EmailID] {
			l.claimed[u.EmailID] = true
			out = append(out, u)
		}
	}
	return out
}

func (l *lane) release(units ...app.Unit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range units {
		delete(l.claimed, u.EmailID)
	}
}

// Adopt takes over units of relays that this server does not have: its
// configuration changed, or a command wrote them for a default region.
func (s *Service) Adopt(ctx context.Context) error {
	if len(s.lanes) == 0 {
		return nil
	}
	var foreign []string
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		foreign = nil
		relays, err := r.UnitRelays()
		if err != nil {
			return err
		}
		open, err := r.BroadcastRelays()
		for _, name := range append(relays, open...) {
			if s.laneOf(name) == nil && !slices.Contains(foreign, name) {
				foreign = append(foreign, name)
			}
		}
		return err
	})
	if err != nil || len(foreign) == 0 {
		return err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		for _, name := range foreign {
			if err := tx.MoveUnits(name, s.lanes[0].name); err != nil {
				return err
			}
		}
		tx.AfterCommit(s.lanes[0].wake)
		return nil
	})
	if err != nil {
		return fmt.Errorf("take over units: %w", err)
	}
	s.Log.Warn("units of relays that are not configured leave through the default relay", "relays", foreign, "relay", s.lanes[0].name)
	return nil
}

// laneOf gives the lane of a region, nil where this process has none.
func (s *Service) laneOf(region string) *lane {
	for _, l := range s.lanes {
		if l.name == region {
			return l
		}
	}
	return nil
}

// Carries implements Outlet.
func (s *Service) Carries(region string) bool { return s.laneOf(region) != nil }

// Region implements Outlet.
func (s *Service) Region(region string) string {
	if len(s.lanes) == 0 || s.Carries(region) {
		return region
	}
	return s.lanes[0].name
}

// Wake implements Outlet.
func (s *Service) Wake(region string) {
	if l := s.laneOf(region); l != nil {
		l.wake()
	}
}

// WakeMail implements Outlet.
func (s *Service) WakeMail(region string) {
	if l := s.laneOf(region); l != nil {
		l.mail.wake()
	}
}

// WakeLanes has every lane look for due mail.
func (s *Service) WakeLanes() {
	for _, l := range s.lanes {
		l.wake()
	}
}

// PutBackLanes tells the limits of all lanes that the wall clock was put back.
func (s *Service) PutBackLanes(now time.Time, by time.Duration) {
	for _, l := range s.lanes {
		l.limits.putBack(now, by)
	}
}

// ReopenLanes ends the pauses of all lanes.
func (s *Service) ReopenLanes() {
	for _, l := range s.lanes {
		l.gate.again()
	}
}

// AdvanceUsage moves what the relays were used for with a clock that was put back.
func (s *Service) AdvanceUsage(tx *db.Tx, by time.Duration) error {
	for _, l := range s.lanes {
		if err := tx.AdvanceUsage(l.name, by); err != nil {
			return fmt.Errorf("move the use of relay %s: %w", l.name, err)
		}
	}
	return nil
}

// Sends reports whether this process has a relay to send through.
func (s *Service) Sends() bool { return len(s.lanes) > 0 }

// WakeBulkOf has the lane of a region look for broadcasts' due mail.
func (s *Service) WakeBulkOf(region string) {
	if l := s.laneOf(region); l != nil {
		l.bulk.wake()
	}
}
