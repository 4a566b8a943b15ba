package delivery

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/fair"
	"mailer/app/kit/footprint"
	"mailer/app/rules/relayurl"
	"mailer/db"
)

// queueMemory bounds the bytes of messages that a lane works on concurrently, where the memory of the
// process has no limit; a larger message has the lane for itself.
const queueMemory = 64 << 20

// lane carries the units of one relay: the dispatchers of its lines claim those that
// are due, fairly between teams, and workers send them.
type lane struct {
	*standing
	s        *Service
	relay    relayurl.Relay
	sender   Sender
	composer *composer
	ledger   *ledger
	memory   *semaphore.Weighted
	room     int64 // bytes of memory in all
	dots     dots
	several  atomic.Bool // there is more than one team
	mail     *mailDispatcher
	bulk     *bulkDispatcher

	taking context.Context // ends when it begins no new unit: the service stops, or its relay is gone or another
	leave  context.CancelFunc
	work   sync.WaitGroup // its dispatchers and workers
}

// standing is what is known of a relay by its name. It outlives a lane: a relay whose
// password changes keeps what it was used for, its pace and the troubles that hold, and
// what the old lane works on still is nobody else's.
type standing struct {
	name       string
	gate       *rest
	rests      rests
	breaker    breaker
	limits     *limits
	forecaster *forecaster
	claims     *claims
	pause      atomic.Pointer[pause] // nil: it is not paused

	mu      sync.Mutex
	strikes map[string]int // troubles in a row that an email met after MAIL
}

func newRelayState(s *Service, relay relayurl.Relay) *standing {
	limits := newLimits(relay, s.tuning.Load().BulkShare)
	limits.setServers(s.DB.Cluster().Partition().Count)
	limits.warned = s.Guardrails.Drips
	return &standing{name: relay.Region, gate: &rest{}, limits: limits, forecaster: newForecaster(s.DB, relay.Region, limits),
		claims: &claims{alone: &s.suspect, emails: map[string]sender{}}, strikes: map[string]int{}}
}

// newRelayQueue makes the lane of a relay. known is what is known of it; nil: nothing.
func newRelayQueue(s *Service, route Route, known *standing) *lane {
	relay := route.Relay
	if known == nil {
		known = newRelayState(s, relay)
	}
	room := footprint.Scale(s.Memory, queueMemory)
	l := &lane{
		standing: known, s: s, relay: relay, sender: route.Sender, composer: &composer{s, relay}, ledger: &ledger{s, relay},
		memory: semaphore.NewWeighted(room), room: room, dots: make(dots, max(relay.Connections, 1)),
	}
	l.taking, l.leave = context.WithCancel(s.Claiming)
	l.mail = &mailDispatcher{l.newDispatcher(false, idleMail)}
	l.bulk = &bulkDispatcher{l.newDispatcher(true, idleBulk)}
	return l
}

// newDispatcher makes a line with two workers for each connection, since one stores what
// came of its message while the other sends, and as many more as messages are composed
// and signed at once.
func (l *lane) newDispatcher(bulk bool, idle time.Duration) *line {
	connections := cap(l.dots)
	return &line{lane: l, bulk: bulk, idle: idle, woken: base.NewSignal(),
		jobs: fair.NewQueue[job](4*(connections+l.s.Builders), 2*connections+l.s.Builders, l.several.Load)}
}

// lead closes what is noted of the relay's troubles: of an earlier process, or of a time
// without this relay. How it is now shows soon.
func (l *lane) lead(ctx context.Context) error {
	err := l.s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		gone, err := tx.DeadNodes()
		if err != nil {
			return err
		}
		if err := tx.CloseTroublesOf(gone, l.name); err != nil {
			return err
		}
		if p := l.pause.Load(); p != nil {
			return l.recordPause(tx, p)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("close old troubles: %w", err)
	}
	return nil
}

// start sets the dispatchers and the workers to work.
func (l *lane) start(ctx context.Context) error {
	if err := l.limits.load(ctx, l.s.DB); err != nil {
		return err
	}
	l.staff(l.mail.line, l.mail.claim)
	l.staff(l.bulk.line, l.bulk.claim)
	return nil
}

// staff sets a line's dispatcher to work, which claims by claim, and its workers.
func (l *lane) staff(n *line, claim func(ctx context.Context, room int) (next time.Duration, err error)) {
	l.employ(func() {
		defer n.jobs.Close()
		l.dispatch(n, claim)
	})
	for range n.jobs.Workers {
		l.employ(func() {
			for j := n.jobs.Take(); j != nil; j = n.jobs.Take() {
				if n.jobs.NeedsRefill(j.unit.TeamID) {
					n.woken.Notify()
				}
				l.run(j)
				n.ended(j)
			}
		})
	}
}

// employ runs fn in the background.
func (l *lane) employ(fn func()) {
	l.work.Add(1)
	l.s.Workers.Go(func() {
		defer l.work.Done()
		fn()
	})
}

// retire has the lane end: it begins nothing more, what is past MAIL goes on, and the
// rest goes back to the queue in its place. over is called once nothing is left.
func (l *lane) retire(over func()) {
	l.leave()
	l.sender.Drain()
	l.s.Workers.Go(func() {
		l.work.Wait()
		l.sender.Close()
		over()
	})
}

// wake has both dispatchers look for due units; it never blocks.
func (l *lane) wake() {
	l.mail.woken.Notify()
	l.bulk.woken.Notify()
}

// dispatch claims due units until the lane takes no more. What is claimed by then is
// handed back by the workers: only the service's end may stop a claim half way.
func (l *lane) dispatch(n *line, claim func(ctx context.Context, room int) (next time.Duration, err error)) {
	ctx := l.s.Claiming
	for {
		next := base.SweepEvery
		if room := n.room(); room > 0 && !l.s.DB.Cluster().Partition().Warming {
			due, err := claim(ctx, room)
			if err != nil && ctx.Err() == nil {
				l.s.LogUnlessUnavailable("claim units", err, "relay", l.name)
				due = base.SweepEvery
			}
			next = due
		}
		if _, _, until := l.gate.look(); until.After(clock.Now()) {
			next = min(next, clock.Until(until))
		}
		if until := l.pausedUntil(); until.After(clock.Now()) {
			next = min(next, clock.Until(until))
		}
		if !base.Sleep(l.taking, next, n.woken) {
			return
		}
	}
}
