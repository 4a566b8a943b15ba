package delivery

import (
	"sync"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/outcome"
)

// senderBreakers holds the open circuit breakers of senders at one relay.
type senderBreakers struct {
	n        atomic.Int64 // len(bySender), read without the lock; usually 0
	mu       sync.Mutex
	bySender map[sender]*breaker
}

// matching returns the breakers that apply to a sender: that of its team and its own.
func (r *senderBreakers) matching(s sender) []*breaker {
	if r.n.Load() == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*breaker
	for _, key := range [...]sender{{Team: s.Team}, s} {
		if b := r.bySender[key]; b != nil {
			out = append(out, b)
		}
	}
	return out
}

// find returns the breaker of a sender; nil: none is open.
func (r *senderBreakers) find(s sender) *breaker {
	if r.n.Load() == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bySender[s]
}

// getOrCreate returns the breaker of a sender, and makes one if there is none.
func (r *senderBreakers) getOrCreate(s sender) *breaker {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.bySender[s]
	if b == nil {
		if r.bySender == nil {
			r.bySender = map[sender]*breaker{}
		}
		b = &breaker{}
		r.bySender[s] = b
		r.n.Store(int64(len(r.bySender)))
	}
	return b
}

// remove drops a breaker that has closed.
func (r *senderBreakers) remove(b *breaker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s, known := range r.bySender {
		if known == b {
			delete(r.bySender, s)
		}
	}
	r.n.Store(int64(len(r.bySender)))
}

// retryNow makes all breakers half-open immediately.
func (r *senderBreakers) retryNow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.bySender {
		b.retryNow()
	}
}

// reset resets all breakers.
func (r *senderBreakers) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.bySender {
		b.reset()
	}
}

// permits are the permits of one transaction.
type permits struct {
	relay   permit
	senders []senderPermit // of the breakers that apply to its sender
}

type senderPermit struct {
	breaker *breaker
	permit  permit
}

// permitOf returns the transaction's permit of a breaker: the zero permit if the breaker was made
// after the transaction began.
func (p permits) permitOf(b *breaker) permit {
	for _, own := range p.senders {
		if own.breaker == b {
			return own.permit
		}
	}
	return permit{}
}

// allow returns the permits to begin a unit's transaction. It reports false while the relay is
// paused or a breaker that applies to the unit is open.
func (l *relayQueue) allow(u app.Unit) (v permits, ok bool) {
	s := outcome.SenderOf(u)
	if l.paused() {
		return v, false
	}
	if v.relay, ok = l.breaker.allow(l.refusals.Unaffected(s)); !ok {
		return v, false
	}
	for _, b := range l.senderBreakers.matching(s) {
		p, ok := b.allow(false)
		if !ok {
			l.release(v)
			return v, false
		}
		v.senders = append(v.senders, senderPermit{b, p})
	}
	return v, true
}

// openedSince reports whether the breaker of a sender opened after a transaction of it began.
func (l *relayState) openedSince(p permits, s sender) bool {
	b := l.senderBreakers.find(s)
	if b == nil {
		return false
	}
	return b.status().state != breakerClosed && !p.permitOf(b).probe
}

// release ends the probes of a transaction that did not use them.
func (l *relayState) release(p permits) {
	l.breaker.release(p.relay)
	for _, own := range p.senders {
		own.breaker.release(own.permit)
	}
}

// claimable returns how many units of a sender may be claimed, at most want. If none, again is when
// to look again; zero: when the running probe ends.
func (l *relayState) claimable(s sender, want int) (n int, again time.Time) {
	for _, b := range l.senderBreakers.matching(s) {
		switch st := b.status(); {
		case st.affectedWait() && st.openUntil.After(clock.Now()):
			return 0, st.openUntil
		case st.affectedWait(): // a probe runs; its end wakes the dispatcher
			return 0, time.Time{}
		case st.state == breakerHalfOpen:
			want = min(want, 1)
		}
	}
	return want, time.Time{}
}

// probes reports whether the transaction is a probe, so that others wait for its outcome.
func (p permits) probes() bool {
	for _, own := range p.senders {
		if own.permit.probe {
			return true
		}
	}
	return p.relay.probe
}
