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

// relayQueue carries the units of one relay: the dispatchers of its lines claim those that
// are due, fairly between teams, and workers send them.
type relayQueue struct {
	*relayState
	s           *Service
	relay       relayurl.Relay
	sender      Sender
	composer    *composer
	recorder    *recorder
	memory      *semaphore.Weighted
	memoryLimit int64 // bytes of memory in all
	commitSlots commitSlots
	manyTeams   atomic.Bool // there is more than one team
	mail        *mailDispatcher
	bulk        *bulkDispatcher

	accepting     context.Context // ends when it begins no new unit: the service stops, or its relay is gone or another
	stopAccepting context.CancelFunc
	work          sync.WaitGroup // its dispatchers and workers
}

// relayState is what is known of a relay by its name. It outlives a lane: a relay whose
// password changes keeps what it was used for, its pace and the troubles that hold, and
// what the old lane works on still is nobody else's.
type relayState struct {
	name           string
	breaker        *troubleBreaker
	senderBreakers senderBreakers
	refusals       refusalClassifier
	limits         *limits
	forecaster     *forecaster
	claims         *claims
	pause          atomic.Pointer[activePause] // nil: it is not paused

	mu      sync.Mutex
	strikes map[string]int // troubles in a row that an email met after MAIL
}

func newRelayState(s *Service, relay relayurl.Relay) *relayState {
	limits := newLimits(relay, s.tuning.Load().BulkShare)
	limits.setServers(s.DB.Cluster().Partition().Count)
	limits.inWarning = s.Guardrails.Drips
	return &relayState{name: relay.Region, breaker: &troubleBreaker{}, limits: limits, forecaster: newForecaster(s.DB, relay.Region, limits),
		claims: &claims{suspectInWork: &s.suspectInWork, emails: map[string]sender{}}, strikes: map[string]int{}}
}

// newRelayQueue makes the lane of a relay. known is what is known of it; nil: nothing.
func newRelayQueue(s *Service, route Route, known *relayState) *relayQueue {
	relay := route.Relay
	if known == nil {
		known = newRelayState(s, relay)
	}
	memoryLimit := footprint.Scale(s.Memory, queueMemory)
	l := &relayQueue{
		relayState: known, s: s, relay: relay, sender: route.Sender, composer: &composer{s, relay}, recorder: &recorder{s, relay},
		memory: semaphore.NewWeighted(memoryLimit), memoryLimit: memoryLimit, commitSlots: make(commitSlots, max(relay.Connections, 1)),
	}
	l.accepting, l.stopAccepting = context.WithCancel(s.Claiming)
	l.mail = &mailDispatcher{l.newDispatcher(false, idleMail)}
	l.bulk = &bulkDispatcher{l.newDispatcher(true, idleBulk)}
	return l
}

// newDispatcher makes a line with two workers for each connection, since one stores what
// came of its message while the other sends, and as many more as messages are composed
// and signed at once.
func (l *relayQueue) newDispatcher(bulk bool, idle time.Duration) *dispatcher {
	connections := cap(l.commitSlots)
	return &dispatcher{relayQueue: l, bulk: bulk, idle: idle, wakeup: base.NewSignal(),
		jobs: fair.NewQueue[job](4*(connections+l.s.Builders), 2*connections+l.s.Builders, l.manyTeams.Load)}
}

// becomeLeader closes what is noted of the relay's troubles: of an earlier process, or of a time
// without this relay. How it is now shows soon.
func (l *relayQueue) becomeLeader(ctx context.Context) error {
	err := l.s.DB.WriteVital(ctx, func(tx *db.Tx) error {
		gone, err := tx.Gone()
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
func (l *relayQueue) start(ctx context.Context) error {
	if err := l.limits.load(ctx, l.s.DB); err != nil {
		return err
	}
	l.startDispatcher(l.mail.dispatcher, l.mail.claim)
	l.startDispatcher(l.bulk.dispatcher, l.bulk.claim)
	return nil
}

// startDispatcher sets a line's dispatcher to work, which claims by claim, and its workers.
func (l *relayQueue) startDispatcher(n *dispatcher, claim func(ctx context.Context, capacity int) (next time.Duration, err error)) {
	l.goWork(func() {
		defer n.jobs.Close()
		l.dispatch(n, claim)
	})
	for range n.jobs.Workers {
		l.goWork(func() {
			for j := n.jobs.Take(); j != nil; j = n.jobs.Take() {
				if n.jobs.NeedsRefill(j.unit.TeamID) {
					n.wakeup.Notify()
				}
				l.deliver(j)
				n.finish(j)
			}
		})
	}
}

// goWork runs fn in the background.
func (l *relayQueue) goWork(fn func()) {
	l.work.Add(1)
	l.s.Workers.Go(func() {
		defer l.work.Done()
		fn()
	})
}

// drain has the lane end: it begins nothing more, what is past MAIL goes on, and the
// rest goes back to the queue in its place. over is called once nothing is left.
func (l *relayQueue) drain(over func()) {
	l.stopAccepting()
	l.sender.Drain()
	l.s.Workers.Go(func() {
		l.work.Wait()
		l.sender.Close()
		over()
	})
}

// wake has both dispatchers look for due units; it never blocks.
func (l *relayQueue) wake() {
	l.mail.wakeup.Notify()
	l.bulk.wakeup.Notify()
}

// dispatch claims due units until the lane takes no more. What is claimed by then is
// handed back by the workers: only the service's end may stop a claim half way.
func (l *relayQueue) dispatch(n *dispatcher, claim func(ctx context.Context, capacity int) (next time.Duration, err error)) {
	ctx := l.s.Claiming
	for {
		next := base.SweepEvery
		if capacity := n.capacity(); capacity > 0 && !l.s.DB.Cluster().Partition().Warming {
			due, err := claim(ctx, capacity)
			if err != nil && ctx.Err() == nil {
				l.s.LogUnlessUnavailable("claim units", err, "relay", l.name)
				due = base.SweepEvery
			}
			next = due
		}
		if _, _, until := l.breaker.state(); until.After(clock.Now()) {
			next = min(next, clock.Until(until))
		}
		if until := l.pausedUntil(); until.After(clock.Now()) {
			next = min(next, clock.Until(until))
		}
		if !base.Sleep(l.accepting, next, n.wakeup) {
			return
		}
	}
}
