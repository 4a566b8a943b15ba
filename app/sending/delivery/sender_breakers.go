package delivery

import (
	"sync"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
)

// rest is a gate, and what is noted of its being shut.
type rest struct {
	gate
	mu      sync.Mutex
	trouble *app.RelayTrouble // nil: it is open
	met     app.Result        // the latest of it
}

// rests are the senders of whom a relay takes nothing for now.
type rests struct {
	n  atomic.Int64 // how many: mostly none
	mu sync.Mutex
	of map[sender]*rest
}

// before returns the gates that mail of a sender must pass: its team's and its own.
func (r *rests) before(s sender) []*rest {
	if r.n.Load() == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*rest
	for _, who := range [...]sender{{team: s.team}, s} {
		if g := r.of[who]; g != nil {
			out = append(out, g)
		}
	}
	return out
}

// find returns the gate of a sender; nil: it does not rest.
func (r *rests) find(s sender) *rest {
	if r.n.Load() == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[s]
}

// at returns the gate of a sender, and makes one where there is none.
func (r *rests) at(s sender) *rest {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.of[s]
	if g == nil {
		if r.of == nil {
			r.of = map[sender]*rest{}
		}
		g = &rest{}
		r.of[s] = g
		r.n.Store(int64(len(r.of)))
	}
	return g
}

// drop forgets a gate that is open again.
func (r *rests) drop(g *rest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s, known := range r.of {
		if known == g {
			delete(r.of, s)
		}
	}
	r.n.Store(int64(len(r.of)))
}

// again has all of them tried now.
func (r *rests) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.of {
		g.again()
	}
}

// forget ends what is noted of troubles, and has all be tried now: the relay was taken
// away, and may be another when it comes back.
func (r *rest) forget() {
	r.again()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trouble = nil
}

// forget is that of all of them.
func (r *rests) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.of {
		g.forget()
	}
}

// leave is the passes of one transaction.
type leave struct {
	relay pass
	own   []senderPermit // through the gates of its sender
}

type senderPermit struct {
	gate *rest
	pass pass
}

// through returns the pass that a transaction has of a gate. One that began before
// the gate was there has the first.
func (v leave) through(g *rest) pass {
	for _, own := range v.own {
		if own.gate == g {
			return own.pass
		}
	}
	return pass{}
}

// enter returns the leave to begin a unit's transaction, unless the relay rests or
// takes nothing of its sender.
func (l *lane) enter(u app.Unit) (v leave, ok bool) {
	s := senderOf(u)
	if l.halted() {
		return v, false
	}
	if v.relay, ok = l.gate.enter(l.breaker.innocent(s)); !ok {
		return v, false
	}
	for _, g := range l.rests.before(s) {
		p, ok := g.enter(false)
		if !ok {
			l.unclear(v)
			return v, false
		}
		v.own = append(v.own, senderPermit{g, p})
	}
	return v, true
}

// openedSince reports whether a sender's domain rests since a transaction of it began.
func (l *standing) openedSince(v leave, s sender) bool {
	g := l.rests.find(s)
	if g == nil {
		return false
	}
	o, _, _ := g.look()
	return o != open && !v.through(g).probe
}

// unclear passes a transaction's rights to probe on to others, where it has not used them.
func (l *standing) unclear(v leave) {
	l.gate.unclear(v.relay)
	for _, own := range v.own {
		own.gate.unclear(own.pass)
	}
}

// may says how many units of a sender may be claimed, want at most; of one that rests,
// again is when that changes by itself.
func (l *standing) may(s sender, want int) (n int, again time.Time) {
	for _, g := range l.rests.before(s) {
		switch o, _, until := g.look(); {
		case o < probe && until.After(clock.Now()):
			return 0, until
		case o < probe: // its probe is on the way; how that ends wakes us
			return 0, time.Time{}
		case o == probe:
			want = min(want, 1)
		}
	}
	return want, time.Time{}
}

// probes reports whether how the transaction ends decides for others.
func (v leave) probes() bool {
	for _, own := range v.own {
		if own.pass.probe {
			return true
		}
	}
	return v.relay.probe
}
