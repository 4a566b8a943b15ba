package delivery

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"mailer/app"
	"mailer/app/relays"
	"mailer/app/service"
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
	gate       *gate
	breaker    breaker
	limits     *limits
	forecaster *forecaster
	composer   *composer
	ledger     *ledger
	memory     *semaphore.Weighted
	dots       dots
	claims     *claims
	mail       *mailLine
	bulk       *bulkLine

	mu      sync.Mutex
	strikes map[string]int // troubles in a row that an email met after MAIL
	trouble *app.RelayTrouble
}

func newLane(s *Service, route Route) *lane {
	relay := route.Relay
	connections := max(relay.Connections, 1)
	limits := newLimits(relay, s.BulkShare)
	limits.warned = s.drips
	l := &lane{
		s: s, name: relay.Region, relay: relay, sender: route.Sender, gate: newGate(), limits: limits,
		forecaster: newForecaster(s.DB, relay.Region, limits), composer: &composer{s, relay}, ledger: &ledger{s, relay},
		memory: semaphore.NewWeighted(laneMemory), dots: make(dots, connections), claims: &claims{emails: map[string]bool{}}, strikes: map[string]int{},
	}
	places := 4 * (connections + s.Builders)
	l.mail = &mailLine{l.newLine(places, idleMail)}
	l.bulk = &bulkLine{line: l.newLine(places, idleBulk), limits: limits, rate: relay.Rate}
	l.bulk.bulk = true
	return l
}

func (l *lane) newLine(places int, idle time.Duration) *line {
	return &line{s: l.s, region: l.name, idle: idle, claims: l.claims, jobs: make(chan *job, places), woken: service.NewBell()}
}

// start sets the dispatchers and the workers to work.
func (l *lane) start(ctx context.Context) error {
	if err := l.limits.load(ctx, l.s.DB); err != nil {
		return err
	}
	if err := l.closeTroubles(); err != nil { // of an earlier process: how the relay is now shows soon
		return fmt.Errorf("close old troubles: %w", err)
	}
	l.staff(l.mail.line, l.mail.claim)
	l.staff(l.bulk.line, l.bulk.claim)
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
