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
	"mailer/app/kit/membudget"
	"mailer/app/rules/outcome"
	"mailer/app/rules/relayurl"
	"mailer/db"
)

// queueMemory bounds the bytes of messages that a relay queue works on concurrently where the
// process has no memory limit. A larger message is sent alone.
const queueMemory = 64 << 20

// relayQueue sends the units of one relay. The dispatchers claim due units, fairly between teams,
// and workers send them.
type relayQueue struct {
	*relayState
	s           *Service
	relay       relayurl.Relay
	sender      Sender
	composer    *composer
	recorder    *recorder
	memory      *semaphore.Weighted
	memoryLimit int64 // bytes that memory holds in all
	commitSlots commitSlots
	manyTeams   atomic.Bool // more than one team has mail
	mail        *mailDispatcher
	bulk        *bulkDispatcher

	accepting     context.Context // ends when no new unit may begin: the service stops, or the relay was removed or replaced
	stopAccepting context.CancelFunc
	work          sync.WaitGroup // dispatchers and workers
}

// relayState is what is known of a relay by its name. It outlives a relayQueue: a relay whose
// password changes keeps its usage, its measured speed, its open troubles, and the claims of units
// that the old queue still works on.
type relayState struct {
	name           string
	breaker        *breaker
	senderBreakers senderBreakers
	refusals       outcome.Classifier
	limits         *limits
	forecaster     *forecaster
	claims         *claims
	pause          atomic.Pointer[activePause] // nil: not paused

	mu      sync.Mutex
	strikes map[string]int // by email: troubles after MAIL in a row
}

func newRelayState(s *Service, relay relayurl.Relay) *relayState {
	limits := newLimits(relay, s.tuning.Load().BulkShare)
	limits.setServers(s.DB.Cluster().Partition().Count)
	limits.inWarning = s.Guardrails.Drips
	return &relayState{name: relay.Region, breaker: &breaker{}, limits: limits, forecaster: newForecaster(s.DB, relay.Region, limits),
		claims: &claims{suspectInWork: &s.suspectInWork, emails: map[string]sender{}}, strikes: map[string]int{}}
}

// newRelayQueue makes the queue of a relay. known is its state from an earlier queue, or nil.
func newRelayQueue(s *Service, route Route, known *relayState) *relayQueue {
	relay := route.Relay
	if known == nil {
		known = newRelayState(s, relay)
	}
	memoryLimit := membudget.Scale(s.Memory, queueMemory)
	l := &relayQueue{
		relayState: known, s: s, relay: relay, sender: route.Sender, composer: &composer{s, relay}, recorder: &recorder{s, relay},
		memory: semaphore.NewWeighted(memoryLimit), memoryLimit: memoryLimit, commitSlots: make(commitSlots, max(relay.Connections, 1)),
	}
	l.accepting, l.stopAccepting = context.WithCancel(s.Claiming)
	l.mail = &mailDispatcher{l.newDispatcher(false, idleMail)}
	l.bulk = &bulkDispatcher{l.newDispatcher(true, idleBulk)}
	return l
}

// newDispatcher makes a dispatcher. It has two workers per connection, because one stores the
// result of its message while the other sends, and one more per message that is composed
// concurrently.
func (l *relayQueue) newDispatcher(bulk bool, idle time.Duration) *dispatcher {
	connections := cap(l.commitSlots)
	return &dispatcher{relayQueue: l, bulk: bulk, idle: idle, wakeup: base.NewSignal(),
		jobs: fair.NewQueue[job](4*(connections+l.s.Builders), 2*connections+l.s.Builders, l.manyTeams.Load)}
}

// becomeLeader closes the relay's troubles that an earlier process stored. Present troubles show
// with the next transactions.
func (l *relayQueue) becomeLeader(ctx context.Context) error {
	err := l.s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		stopped, err := tx.DeadNodes()
		if err != nil {
			return err
		}
		if err := tx.CloseTroublesOf(stopped, l.name); err != nil {
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

// start starts the dispatchers and workers.
func (l *relayQueue) start(ctx context.Context) error {
	if err := l.limits.load(ctx, l.s.DB); err != nil {
		return err
	}
	l.startDispatcher(l.mail.dispatcher, l.mail.claim)
	l.startDispatcher(l.bulk.dispatcher, l.bulk.claim)
	return nil
}

// startDispatcher starts a dispatcher, which claims units by calling claim, and its workers.
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

// goWork runs fn in a goroutine that drain waits for.
func (l *relayQueue) goWork(fn func()) {
	l.work.Add(1)
	l.s.Workers.Go(func() {
		defer l.work.Done()
		fn()
	})
}

// drain ends the queue: it begins no new unit, transactions past MAIL finish, and other units go
// back to the database queue with their next time unchanged. over is called when all work ended.
func (l *relayQueue) drain(over func()) {
	l.stopAccepting()
	l.sender.Drain()
	l.s.Workers.Go(func() {
		l.work.Wait()
		l.sender.Close()
		over()
	})
}

// wake makes both dispatchers look for due units. It never blocks.
func (l *relayQueue) wake() {
	l.mail.wakeup.Notify()
	l.bulk.wakeup.Notify()
}

// dispatch claims due units until the queue accepts no more. Only the end of the service cancels a
// claim that runs; units claimed when the queue is drained are handed back by the workers.
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
		if until := l.breaker.status().openUntil; until.After(clock.Now()) {
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
