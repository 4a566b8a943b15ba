package delivery

import (
	"sync"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
)

// troubleBreaker is a gate, and what is noted of its being shut.
type troubleBreaker struct {
	circuitBreaker
	mu         sync.Mutex
	trouble    *app.RelayTrouble // nil: it is open
	lastResult app.Result        // the latest of it
}

// senderBreakers are the senders of whom a relay takes nothing for now.
type senderBreakers struct {
	n        atomic.Int64 // how many: mostly none
	mu       sync.Mutex
	bySender map[sender]*troubleBreaker
}

// matching returns the gates that mail of a sender must pass: its team's and its own.
func (r *senderBreakers) matching(s sender) []*troubleBreaker {
	if r.n.Load() == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*troubleBreaker
	for _, who := range [...]sender{{team: s.team}, s} {
		if g := r.bySender[who]; g != nil {
			out = append(out, g)
		}
	}
	return out
}

// find returns the gate of a sender; nil: it does not rest.
func (r *senderBreakers) find(s sender) *troubleBreaker {
	if r.n.Load() == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bySender[s]
}

// getOrCreate returns the gate of a sender, and makes one where there is none.
func (r *senderBreakers) getOrCreate(s sender) *troubleBreaker {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.bySender[s]
	if g == nil {
		if r.bySender == nil {
			r.bySender = map[sender]*troubleBreaker{}
		}
		g = &troubleBreaker{}
		r.bySender[s] = g
		r.n.Store(int64(len(r.bySender)))
	}
	return g
}

// remove forgets a gate that is open again.
func (r *senderBreakers) remove(g *troubleBreaker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s, known := range r.bySender {
		if known == g {
			delete(r.bySender, s)
		}
	}
	r.n.Store(int64(len(r.bySender)))
}

// retryNow has all of them tried now.
func (r *senderBreakers) retryNow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.bySender {
		g.retryNow()
	}
}

// reset ends what is noted of troubles, and has all be tried now: the relay was taken
// away, and may be another when it comes back.
func (r *troubleBreaker) reset() {
	r.retryNow()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trouble = nil
}

// reset is that of all of them.
func (r *senderBreakers) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.bySender {
		g.reset()
	}
}

// permits is the passes of one transaction.
type permits struct {
	relay   permit
	senders []senderPermit // through the gates of its sender
}

type senderPermit struct {
	breaker *troubleBreaker
	permit  permit
}

// permitOf returns the pass that a transaction has of a gate. One that began before
// the gate was there has the first.
func (v permits) permitOf(g *troubleBreaker) permit {
	for _, own := range v.senders {
		if own.breaker == g {
			return own.permit
		}
	}
	return permit{}
}

// allow returns the leave to begin a unit's transaction, unless the relay rests or
// takes nothing of its sender.
func (l *relayQueue) allow(u app.Unit) (v permits, ok bool) {
	s := senderOf(u)
	if l.paused() {
		return v, false
	}
	if v.relay, ok = l.breaker.allow(l.refusals.unaffected(s)); !ok {
		return v, false
	}
	for _, g := range l.senderBreakers.matching(s) {
		p, ok := g.allow(false)
		if !ok {
			l.release(v)
			return v, false
		}
		v.senders = append(v.senders, senderPermit{g, p})
	}
	return v, true
}

// openedSince reports whether a sender's domain rests since a transaction of it began.
func (l *relayState) openedSince(v permits, s sender) bool {
	g := l.senderBreakers.find(s)
	if g == nil {
		return false
	}
	o, _, _ := g.state()
	return o != breakerClosed && !v.permitOf(g).probe
}

// release passes a transaction's rights to probe on to others, where it has not used them.
func (l *relayState) release(v permits) {
	l.breaker.release(v.relay)
	for _, own := range v.senders {
		own.breaker.release(own.permit)
	}
}

// claimable says how many units of a sender may be claimed, want at most; of one that rests,
// again is when that changes by itself.
func (l *relayState) claimable(s sender, want int) (n int, again time.Time) {
	for _, g := range l.senderBreakers.matching(s) {
		switch o, _, until := g.state(); {
		case o < halfOpen && until.After(clock.Now()):
			return 0, until
		case o < halfOpen: // its probe is on the way; how that ends wakes us
			return 0, time.Time{}
		case o == halfOpen:
			want = min(want, 1)
		}
	}
	return want, time.Time{}
}

// probes reports whether how the transaction ends decides for others.
func (v permits) probes() bool {
	for _, own := range v.senders {
		if own.permit.probe {
			return true
		}
	}
	return v.relay.probe
}
