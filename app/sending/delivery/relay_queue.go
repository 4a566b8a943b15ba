package delivery

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"mailer/app"
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

// relayQueue sends the units of one queue through one relay. The dispatchers claim due units, fairly
// between teams, and workers send them.
type relayQueue struct {
	*endpoint
	carried
	s          *Service
	composer   *composer
	recorder   *recorder
	claims     *claims
	forecaster *forecaster
	manyTeams  atomic.Bool // more than one team has mail
	alignment  alignmentLog
	mail       *mailDispatcher // nil: not carried
	bulk       *bulkDispatcher // nil: not carried

	accepting     context.Context // ends when no new unit may begin: the service stops, or the queue was retired
	stopAccepting context.CancelFunc
	sending       context.Context // ends with transactions that have not reached the final dot
	stopSending   context.CancelFunc
	work          sync.WaitGroup // dispatchers and workers
}

// carried is what a relay queue sends through its relay.
type carried struct {
	key        string // of the units: see app.QueueRegion
	emails     bool
	broadcasts bool
	pins       bool // units that may have left stay with the relay
	reserve    bool // the relay is not the primary of the region
}

// pinnedQueue is the queue of a unit that may have left through this relay.
func (l *relayQueue) pinnedQueue() string {
	if !l.pins {
		return l.key
	}
	return app.OnlyQueue(app.QueueRegion(l.key), l.name)
}

// pin returns a unit that may have left through this relay, in the queue in which it stays.
func (l *relayQueue) pin(u app.Unit) app.Unit {
	u.Relay = l.pinnedQueue()
	return u
}

// endpoint is a relay with its connections. Several queues may use it.
type endpoint struct {
	*relayState
	relay       relayurl.Relay
	sender      Sender
	memory      *semaphore.Weighted
	memoryLimit int64 // bytes that memory holds in all
	commitSlots commitSlots
	users       sync.WaitGroup // queues
}

// newEndpoint makes the endpoint of a relay. known is its state from an earlier endpoint, or nil.
func newEndpoint(s *Service, route Route, known *relayState) *endpoint {
	if known == nil {
		known = newRelayState(s, route.Relay)
	}
	memoryLimit := membudget.Scale(s.Memory, queueMemory)
	return &endpoint{relayState: known, relay: route.Relay, sender: route.Sender,
		memory: semaphore.NewWeighted(memoryLimit), memoryLimit: memoryLimit, commitSlots: make(commitSlots, max(route.Relay.Connections, 1))}
}

// relayState is what is known of a relay by its name. It outlives an endpoint: a relay whose
// password changes keeps its usage, its measured speed and its open troubles.
type relayState struct {
	name           string // in full
	breaker        *breaker
	senderBreakers senderBreakers
	senders        senderLog
	refusals       outcome.Classifier
	limits         *limits
	pause          atomic.Pointer[activePause] // nil: not paused

	mu      sync.Mutex
	strikes map[string]int // by email: troubles after MAIL in a row
}

func newRelayState(s *Service, relay relayurl.Relay) *relayState {
	limits := newLimits(relay, s.tuning.Load().BulkShare)
	limits.setServers(s.DB.Cluster().Partition().Count)
	limits.inWarning = s.Guardrails.Drips
	return &relayState{name: relay.FullName(), breaker: &breaker{}, limits: limits, strikes: map[string]int{}}
}

// newRelayQueue makes a queue that sends through an endpoint. claims are those of its key.
func newRelayQueue(s *Service, what carried, through *endpoint, claims *claims) *relayQueue {
	l := &relayQueue{endpoint: through, carried: what, s: s, composer: &composer{s, through.relay, app.QueueRegion(what.key)}, recorder: &recorder{s, through.relay}, claims: claims,
		forecaster: newForecaster(s.DB, what.key, through.limits)}
	l.accepting, l.stopAccepting = context.WithCancel(s.Claiming)
	l.sending, l.stopSending = context.WithCancel(s.Sending)
	if what.emails {
		l.mail = &mailDispatcher{l.newDispatcher(false, idleMail)}
	}
	if what.broadcasts {
		l.bulk = &bulkDispatcher{l.newDispatcher(true, idleBulk)}
	}
	through.users.Add(1)
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
func (l *endpoint) becomeLeader(ctx context.Context, s *Service) error {
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
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
	if l.mail != nil {
		l.startDispatcher(l.mail.dispatcher, l.mail.claim)
	}
	if l.bulk != nil {
		l.startDispatcher(l.bulk.dispatcher, l.bulk.claim)
	}
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
// back to the database queue with their next time unchanged. Transactions that have not reached the
// final dot end after grace; 0: never. over is called when all work ended.
func (l *relayQueue) drain(grace time.Duration, over func()) {
	l.stopAccepting()
	l.s.Workers.Go(func() {
		if grace > 0 {
			defer time.AfterFunc(grace, l.stopSending).Stop()
		}
		l.work.Wait()
		l.stopSending()
		l.users.Done()
		over()
	})
}

// close ends an endpoint that no queue of the set uses any more: a Send without a connection ends,
// and the connections are closed when the last transaction ended.
func (e *endpoint) close(s *Service) {
	e.sender.Drain()
	s.Workers.Go(func() {
		e.users.Wait()
		e.sender.Close()
	})
}

// wake makes both dispatchers look for due units. It never blocks.
func (l *relayQueue) wake() {
	l.wakeMail()
	l.wakeBulk()
}

func (l *relayQueue) wakeMail() {
	if l.mail != nil {
		l.mail.wakeup.Notify()
	}
}

func (l *relayQueue) wakeBulk() {
	if l.bulk != nil {
		l.bulk.wakeup.Notify()
	}
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
			l.recordWaiting()
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
