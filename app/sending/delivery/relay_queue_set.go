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

// RelayQueues is the set of relay queues of a Service. Relays are added and removed while the service
// runs; readers see the set of one moment.
type RelayQueues struct {
	s        *Service
	changing sync.Mutex // held while the set changes
	running  bool
	queues   atomic.Pointer[[]*relayQueue]

	mu sync.Mutex
	// ending holds queues whose relay was removed or replaced and that still have work; removed
	// holds the state of removed relays by name.
	ending  map[*relayQueue]bool
	removed map[string]*relayState
}

func (o *RelayQueues) all() []*relayQueue {
	if now := o.queues.Load(); now != nil {
		return *now
	}
	return nil
}

// start starts all queues. It reports whether they were stopped before.
func (o *RelayQueues) start(ctx context.Context) (began bool, err error) {
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

// becomeLeader closes the open troubles that an earlier leader stored for the relays.
func (o *RelayQueues) becomeLeader(ctx context.Context) error {
	for _, l := range o.all() {
		if err := l.becomeLeader(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (o *RelayQueues) add(l *relayQueue) { o.set(append(slices.Clone(o.all()), l)) }

// Publish makes this server accept mail for its own relays, whatever relays another server has.
func (o *RelayQueues) Publish() {
	var routes []Route
	for _, l := range o.all() {
		routes = append(routes, Route{Relay: l.relay})
	}
	o.s.Settings.SetRelays(base.NewRelays(RegionsOf(routes, o.s.Settings.Capture)))
}

func (o *RelayQueues) set(all []*relayQueue) { o.queues.Store(&all) }

// markEnding adds a queue that is draining; markEnded removes it.
func (o *RelayQueues) markEnding(l *relayQueue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending == nil {
		o.ending = map[*relayQueue]bool{}
	}
	o.ending[l] = true
}

func (o *RelayQueues) markEnded(l *relayQueue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.ending, l)
}

// withEnding returns all queues, including those that are draining.
func (o *RelayQueues) withEnding() []*relayQueue {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := slices.Clone(o.all())
	for l := range o.ending {
		all = append(all, l)
	}
	return all
}

// RegionsOf returns the regions of routes with the DNS records that their relays need. Relays of
// the capture transport need none.
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

// SetRelays replaces the relays. The first is the default region. The queue of a removed relay
// drains: transactions past MAIL finish, other units go back to the database queue with their next
// time unchanged. A changed relay keeps its usage counts and measured speed and is tried
// immediately, whatever its circuit breaker was doing.
func (o *RelayQueues) SetRelays(ctx context.Context, list []relayurl.Relay) error {
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

// Reconnect makes new senders for relays that read a CA file, because the file may have changed. A
// relay whose file can't be read keeps its sender.
func (o *RelayQueues) Reconnect(ctx context.Context) error {
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

// queueFor makes the queue of a relay. old is the queue that it replaces, or nil.
func (o *RelayQueues) queueFor(relay relayurl.Relay, old *relayQueue) *relayQueue {
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

func (o *RelayQueues) connect(relay relayurl.Relay) (Sender, error) {
	if o.s.Connect == nil {
		return nil, errors.New("this process makes no connections")
	}
	return o.s.Connect(relay)
}

// replace drains the queues that are not in next and starts the new ones.
func (o *RelayQueues) replace(ctx context.Context, before, next []*relayQueue) error {
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

// retire drains a queue and, if its relay was removed, resets the circuit breakers.
func (o *RelayQueues) retire(l *relayQueue) {
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
			successor.wake() // units that were handed back are due again
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

// unusable is the Sender of a relay whose configuration is invalid. Send always fails.
type unusable struct{ err error }

// Send implements Sender.
func (u unusable) Send(context.Context, *app.Outgoing, func(context.Context, string) error) app.Result {
	return app.Result{Kind: app.ResultTrouble, Stage: app.StageConnect, Reply: app.Reply{Text: u.err.Error()}}
}

// Drain implements Sender.
func (unusable) Drain() {}

// Close implements Sender.
func (unusable) Close() {}

// Bound implements Sender.
func (unusable) Bound() int { return 0 }
