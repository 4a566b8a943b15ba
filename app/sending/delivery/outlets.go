package delivery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/relayurl"
)

// Outlets are the lanes of a service. They come and go while it runs; who reads them has
// those of one moment.
type Outlets struct {
	s        *Service
	changing sync.Mutex // held by who changes them
	running  bool
	queues   atomic.Pointer[[]*relayQueue]
	// ending are lanes whose relay is gone or another; gone are the standings of relays
	// that were taken away, by name.
	mu      sync.Mutex
	ending  map[*relayQueue]bool
	removed map[string]*relayState
}

func (o *Outlets) all() []*relayQueue {
	if now := o.queues.Load(); now != nil {
		return *now
	}
	return nil
}

// start sets all to work, and reports whether they were not at work before.
func (o *Outlets) start(ctx context.Context) (began bool, err error) {
	o.changing.Lock()
	defer o.changing.Unlock()
	if o.running {
		return false, nil
	}
	o.running = true
	for _, l := range o.all() {
		if err := l.start(ctx); err != nil {
			return true, err
		}
	}
	return true, nil
}

// becomeLeader settles what is noted of relays that this server carries, which leads from now on.
func (o *Outlets) becomeLeader(ctx context.Context) error {
	for _, l := range o.all() {
		if err := l.becomeLeader(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (o *Outlets) add(l *relayQueue) { o.set(append(slices.Clone(o.all()), l)) }

// Publish has this server accept mail for the relays that it has, whatever another one has.
func (o *Outlets) Publish() {
	var routes []Route
	for _, l := range o.all() {
		routes = append(routes, Route{Relay: l.relay})
	}
	o.s.Settings.SetRelays(base.NewRelays(RegionsOf(routes, o.s.Settings.Capture)))
}

func (o *Outlets) set(all []*relayQueue) { o.queues.Store(&all) }

// markEnding notes a lane that ends, over that it has; open are those that have not.
func (o *Outlets) markEnding(l *relayQueue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending == nil {
		o.ending = map[*relayQueue]bool{}
	}
	o.ending[l] = true
}

func (o *Outlets) markEnded(l *relayQueue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.ending, l)
}

func (o *Outlets) withEnding() []*relayQueue {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := slices.Clone(o.all())
	for l := range o.ending {
		out = append(out, l)
	}
	return out
}

// RegionsOf are relays as the DNS sees them; those of the capture transport need nothing.
func RegionsOf(routes []Route, capture bool) []base.Region {
	var out []base.Region
	for _, route := range routes {
		r := base.Region{Name: route.Relay.Region}
		if !capture {
			r.Needs = route.Relay.Needs()
		}
		out = append(out, r)
	}
	return out
}

// SetRelays has the lanes be those of these relays, the first being the default region.
// A relay that is gone drains: what is past MAIL ends, the rest goes back to the queue in
// its place. One that changed is another from now on, with what it was used for and its
// pace as they were; it is tried at once, whatever it rested for.
func (o *Outlets) SetRelays(ctx context.Context, list []relayurl.Relay) error {
	o.changing.Lock()
	defer o.changing.Unlock()
	before := o.all()
	next, routes := make([]*relayQueue, 0, len(list)), make([]Route, 0, len(list))
	for _, relay := range list {
		l := o.s.queueOf(relay.Region)
		if l == nil || l.relay != relay {
			l = o.queueFor(relay, l)
		}
		next, routes = append(next, l), append(routes, Route{Relay: relay})
	}
	o.set(next)
	o.s.Settings.SetRelays(base.NewRelays(RegionsOf(routes, o.s.Settings.Capture)))
	err := o.replace(ctx, before, next)
	if !o.running || !o.s.leader.Load() {
		return err
	}
	return errors.Join(err, o.s.SaveSettings(ctx), o.s.ReportUnroutable(ctx))
}

// Reconnect makes the senders anew of relays that read a file, since it may hold
// something else now. One that can't be read leaves its relay as it was.
func (o *Outlets) Reconnect(ctx context.Context) error {
	o.changing.Lock()
	defer o.changing.Unlock()
	before := o.all()
	next := slices.Clone(before)
	var failed []error
	for i, l := range before {
		if l.relay.CAFile == "" || o.s.Connect == nil {
			continue
		}
		sender, err := o.s.Connect(l.relay)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		next[i] = newRelayQueue(o.s, Route{l.relay, sender}, l.relayState)
	}
	o.set(next)
	return errors.Join(append(failed, o.replace(ctx, before, next))...)
}

// queueFor makes the lane of a relay, in the place of one of its name where there is one.
func (o *Outlets) queueFor(relay relayurl.Relay, old *relayQueue) *relayQueue {
	sender, err := o.connect(relay)
	if err != nil {
		o.s.Log.Error("a relay can't be used as it is configured", "relay", relay.String(), "err", err, "help", "mailer relays test "+relay.Region)
		sender = unusable{err}
	}
	o.mu.Lock()
	known := o.removed[relay.Region]
	delete(o.removed, relay.Region)
	o.mu.Unlock()
	if old != nil {
		known = old.relayState
	}
	if known != nil {
		known.limits.setRelay(relay)
	}
	return newRelayQueue(o.s, Route{relay, sender}, known)
}

func (o *Outlets) connect(relay relayurl.Relay) (Sender, error) {
	if o.s.Connect == nil {
		return nil, errors.New("this process makes no connections")
	}
	return o.s.Connect(relay)
}

// replace ends the lanes that are no more and sets the new ones to work.
func (o *Outlets) replace(ctx context.Context, before, next []*relayQueue) error {
	for _, l := range before {
		if !slices.Contains(next, l) {
			o.retire(l)
		}
	}
	if !o.running {
		return nil
	}
	var failed []error
	for _, l := range next {
		if slices.Contains(before, l) {
			continue
		}
		replaces := slices.ContainsFunc(before, func(old *relayQueue) bool { return old.name == l.name })
		if !replaces && o.s.leader.Load() {
			failed = append(failed, l.becomeLeader(ctx))
		}
		failed = append(failed, l.start(ctx))
		l.breaker.retryNow()
		l.wake()
		o.s.Log.Info("mail leaves through", "relay", l.relay.String())
	}
	return errors.Join(failed...)
}

// retire ends a lane.
func (o *Outlets) retire(l *relayQueue) {
	if o.s.queueOf(l.name) == nil {
		o.s.Log.Info("relay removed: its queued mail stays queued", "relay", l.relay.String())
		l.breaker.reset()
		l.senderBreakers.reset()
		o.mu.Lock()
		if o.removed == nil {
			o.removed = map[string]*relayState{}
		}
		o.removed[l.name] = l.relayState
		o.mu.Unlock()
	}
	o.markEnding(l)
	l.drain(func() {
		o.markEnded(l)
		if successor := o.s.queueOf(l.name); successor != nil {
			successor.wake() // what came back is its own
			return
		}
		if !o.s.leader.Load() {
			return
		}
		if err := o.s.ReportUnroutable(o.s.Claiming); err != nil && o.s.Claiming.Err() == nil {
			o.s.LogUnlessUnavailable("tell of mail without a relay", err, "relay", l.name)
		}
	})
}

// unusable is the sender of a relay that can't be used as it is configured.
type unusable struct{ err error }

// Send implements Sender: nothing is sent.
func (u unusable) Send(context.Context, *app.Outgoing, func(context.Context, string) error) app.Result {
	return app.Result{Kind: app.ResultTrouble, Stage: app.StageConnect, Reply: app.Reply{Text: u.err.Error()}}
}

// Drain implements Sender.
func (unusable) Drain() {}

// Trip implements Sender.
func (unusable) Close() {}

// Bound implements Sender.
func (unusable) Bound() int { return 0 }
