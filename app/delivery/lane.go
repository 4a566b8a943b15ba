package delivery

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"mailer/app/relays"
	"mailer/app/service"
	"mailer/db"
)

// laneMemory bounds the bytes of messages that a lane works on at once; a
// larger message has the lane for itself.
const laneMemory = 64 << 20

// lane carries the units of one relay: the dispatchers of its lines claim those that
// are due, fairly between teams, and workers send them.
type lane struct {
	s          *Service
	name       string
	relay      relays.Relay
	sender     Sender
	gate       *rest
	rests      rests
	breaker    breaker
	limits     *limits
	forecaster *forecaster
	composer   *composer
	ledger     *ledger
	memory     *semaphore.Weighted
	dots       dots
	claims     *claims
	several    atomic.Bool // there is more than one team
	mail       *mailLine
	bulk       *bulkLine

	mu      sync.Mutex
	strikes map[string]int // troubles in a row that an email met after MAIL
}

func newLane(s *Service, route Route) *lane {
	relay := route.Relay
	connections := max(relay.Connections, 1)
	limits := newLimits(relay, s.BulkShare)
	limits.warned = s.drips
	l := &lane{
		s: s, name: relay.Region, relay: relay, sender: route.Sender, gate: &rest{}, limits: limits,
		forecaster: newForecaster(s.DB, relay.Region, limits), composer: &composer{s, relay}, ledger: &ledger{s, relay},
		memory: semaphore.NewWeighted(laneMemory), dots: make(dots, connections), claims: &claims{alone: &s.suspect, emails: map[string]sender{}}, strikes: map[string]int{},
	}
	l.mail = &mailLine{l.newLine(false, idleMail)}
	l.bulk = &bulkLine{l.newLine(true, idleBulk)}
	return l
}

// newLine makes a line with two workers for each connection, since one stores what
// came of its message while the other sends, and as many more as messages are composed
// and signed at once.
func (l *lane) newLine(bulk bool, idle time.Duration) *line {
	connections := cap(l.dots)
	return &line{lane: l, bulk: bulk, idle: idle, woken: service.NewBell(),
		jobs: newQueue(4*(connections+l.s.Builders), 2*connections+l.s.Builders, l.several.Load)}
}

// start sets the dispatchers and the workers to work.
func (l *lane) start(ctx context.Context) error {
	if err := l.limits.load(ctx, l.s.DB); err != nil {
		return err
	}
	// Of an earlier process: how the relay is now shows soon.
	if err := l.s.DB.WriteVital(context.Background(), func(tx *db.Tx) error { return tx.CloseTroubles(l.name) }); err != nil {
		return fmt.Errorf("close old troubles: %w", err)
	}
	l.staff(l.mail.line, l.mail.claim)
	l.staff(l.bulk.line, l.bulk.claim)
	return nil
}

// staff sets a line's dispatcher to work, which claims by claim, and its workers.
func (l *lane) staff(n *line, claim func(ctx context.Context, room int) (next time.Duration, err error)) {
	l.s.Workers.Go(func() {
		defer n.jobs.end()
		l.dispatch(l.s.Taking, n, claim)
	})
	for range n.jobs.workers {
		l.s.Workers.Go(func() {
			for j := n.jobs.take(); j != nil; j = n.jobs.take() {
				if n.jobs.low(j.unit.TeamID) {
					n.woken.Ring()
				}
				l.run(j)
				n.ended(j)
			}
		})
	}
}

// wake has both dispatchers look for due units; it never blocks.
func (l *lane) wake() {
	l.mail.woken.Ring()
	l.bulk.woken.Ring()
}

// dispatch claims due units until ctx ends.
func (l *lane) dispatch(ctx context.Context, n *line, claim func(ctx context.Context, room int) (next time.Duration, err error)) {
	for {
		next := service.SweepEvery
		if room := n.room(); room > 0 {
			due, err := claim(ctx, room)
			if err != nil && ctx.Err() == nil {
				l.s.LogUnlessHindered("claim units", err, "relay", l.name)
				due = service.SweepEvery
			}
			next = due
		}
		if _, _, until := l.gate.look(); until.After(time.Now()) {
			next = min(next, time.Until(until))
		}
		if !service.Pause(ctx, next, n.woken) {
			return
		}
	}
}
