package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/routing"
	"mailer/db"
)

// RelayQueues is the set of relay queues of a Service. Relays are added and removed, and regions
// switch from one relay to another, while the service runs; readers see the set of one moment.
type RelayQueues struct {
	s        *Service
	changing sync.Mutex // held while the set changes
	running  bool
	current  atomic.Pointer[relaySet]

	mu      sync.Mutex
	ending  map[*relayQueue]bool   // retired queues that still have work
	removed map[string]*relayState // states of removed relays by name
	claims  map[string]*claims     // by key of the queue
}

// relaySet is the set of one moment.
type relaySet struct {
	queues    []*relayQueue
	endpoints []*endpoint // in the order of the configuration
	regions   []Region
}

// Region is a region with the relays through which its mail leaves. Relays are named in full.
type Region struct {
	Name       string
	Relays     []string // the primary first
	Emails     string   // relay that carries emails now; empty: the primary
	Broadcasts string   // relay that carries broadcasts now; empty: the primary
	Routed     []Routed // queues of routes
	Rules      []routing.Rule
	Resend     bool // mail that a relay may have sent is sent again through the one that is active then
	// ByOperator: an operator chose the relays that carry mail now.
	ByOperator bool
	// AlignedOnly: mail of a domain whose SPF record does not name a reserve does not leave through it.
	AlignedOnly bool
}

// Routed is the queue of a route.
type Routed struct {
	Relay   string // that the route names
	Carrier string // relay that carries its mail now
}

// GroupByRegion returns the regions of relays, all of which use their primary.
func GroupByRegion(list []relayurl.Relay) (regions []Region) {
	for _, relay := range list {
		i := slices.IndexFunc(regions, func(r Region) bool { return r.Name == relay.Region })
		if i < 0 {
			i, regions = len(regions), append(regions, Region{Name: relay.Region})
		}
		regions[i].Relays = append(regions[i].Relays, relay.FullName())
	}
	return regions
}

// pinned reports whether a unit that may have left through a relay of the region stays with it. A
// region whose only relay has its name needs no other queue.
func (r *Region) pinned() bool { return len(r.Relays) > 1 || r.Relays[0] != r.Name }

func (o *RelayQueues) now() *relaySet {
	if now := o.current.Load(); now != nil {
		return now
	}
	return &relaySet{}
}

func (o *RelayQueues) all() []*relayQueue { return o.now().queues }

// endpoint returns the endpoint of a relay; nil: there is none.
func (s *relaySet) endpoint(name string) *endpoint {
	for _, e := range s.endpoints {
		if e.name == name {
			return e
		}
	}
	return nil
}

// region returns a region; nil: there is none.
func (s *relaySet) region(name string) *Region {
	for i := range s.regions {
		if s.regions[i].Name == name {
			return &s.regions[i]
		}
	}
	return nil
}

// plan returns which queues the endpoints need for the regions.
func (s *relaySet) plan() (out []planned) {
	add := func(r *Region, relay, key string, emails, broadcasts bool) {
		if e := s.endpoint(relay); e != nil {
			out = append(out, planned{carried{key, emails, broadcasts, r.pinned() && !r.Resend, relay != r.Relays[0]}, e})
		}
	}
	for i := range s.regions {
		r := &s.regions[i]
		emails, broadcasts := cmp.Or(r.Emails, r.Relays[0]), cmp.Or(r.Broadcasts, r.Relays[0])
		if emails == broadcasts {
			add(r, emails, r.Name, true, true)
		} else {
			add(r, emails, r.Name, true, false)
			add(r, broadcasts, r.Name, false, true)
		}
		if !r.pinned() {
			continue
		}
		for _, relay := range r.Relays {
			add(r, relay, app.OnlyQueue(r.Name, relay), true, true)
		}
		for _, route := range r.Routed {
			add(r, route.Carrier, app.RoutedQueue(r.Name, route.Relay), true, true)
		}
	}
	return out
}

// countTraffic lets the relays of regions with reserves count what leaves through them.
func (s *relaySet) countTraffic() {
	for _, e := range s.endpoints {
		e.limits.setCounted(slices.ContainsFunc(s.regions, func(r Region) bool { return len(r.Relays) > 1 && slices.Contains(r.Relays, e.name) }))
	}
}

// planned is a queue that is wanted.
type planned struct {
	carried
	through *endpoint
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
	for _, e := range o.now().endpoints {
		if err := e.becomeLeader(ctx, o.s); err != nil {
			return err
		}
	}
	if err := o.closeTroublesOfRegions(ctx); err != nil {
		return err
	}
	return o.assignDoubts(ctx)
}

// closeTroublesOfRegions closes what stopped servers stored about mail that waits for another relay
// of its region.
func (o *RelayQueues) closeTroublesOfRegions(ctx context.Context) error {
	regions := o.now().regions
	err := o.s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		stopped, err := tx.DeadNodes()
		if err != nil {
			return err
		}
		for i := range regions {
			if r := &regions[i]; r.pinned() {
				if err := tx.CloseTroublesOf(stopped, r.Name); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("close old troubles of regions: %w", err)
	}
	return nil
}

// assignDoubts fits the queues of units in doubt to the regions: with several relays they stay with
// the one that may have taken them, and a single relay that has the name of its region has no queue
// of its own. Units in the queue of a route that does not exist any more leave through the active
// relay.
func (o *RelayQueues) assignDoubts(ctx context.Context) error {
	regions := o.now().regions
	err := o.s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		for i := range regions {
			r := &regions[i]
			own := app.OnlyQueue(r.Name, r.Name)
			if !r.pinned() {
				if err := tx.MergeQueue(own, r.Name); err != nil {
					return err
				}
			} else if !r.Resend {
				if err := tx.MoveDoubts(r.Name, own); err != nil {
					return err
				}
			}
		}
		return o.endRoutes(tx)
	})
	if err != nil {
		return fmt.Errorf("fit the queues of units in doubt to the relays: %w", err)
	}
	return nil
}

// endRoutes moves the waiting units of routes that do not exist any more to the queues of their
// regions.
func (o *RelayQueues) endRoutes(tx *db.Tx) error {
	waiting, err := tx.UnitRelays()
	if err != nil {
		return err
	}
	for _, queue := range waiting {
		if region := app.QueueRegion(queue); o.routeEnded(queue) {
			if err := tx.MergeQueue(queue, region); err != nil {
				return err
			}
			tx.AfterCommit(func() { o.s.Wake(region) })
		}
	}
	return nil
}

// routeEnded reports whether a queue is that of a route that does not exist any more.
func (o *RelayQueues) routeEnded(queue string) bool {
	return app.IsRouted(queue) && !o.s.SendsRegion(queue) && o.s.SendsRegion(app.QueueRegion(queue))
}

// configure makes the queues of a server that has not started.
func (o *RelayQueues) configure(routes []Route) {
	next := &relaySet{regions: GroupByRegion(RelaysOf(routes))}
	for _, route := range routes {
		next.endpoints = append(next.endpoints, newEndpoint(o.s, route, nil))
	}
	next.countTraffic()
	for _, p := range next.plan() {
		next.queues = append(next.queues, newRelayQueue(o.s, p.carried, p.through, o.claimsOf(p.key)))
	}
	o.current.Store(next)
}

// claimsOf returns the claims of a queue, which its successors share.
func (o *RelayQueues) claimsOf(key string) *claims {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.claims == nil {
		o.claims = map[string]*claims{}
	}
	if o.claims[key] == nil {
		o.claims[key] = &claims{suspectInWork: &o.s.suspectInWork, emails: map[string]sender{}}
	}
	return o.claims[key]
}

// Publish makes this server accept mail for its own relays, whatever relays another server has.
func (o *RelayQueues) Publish() {
	o.s.Settings.SetRelays(base.NewRelays(o.now().settings(o.s.Settings.Capture)))
}

// settings returns the regions as DNS records depend on them.
func (s *relaySet) settings(capture bool) []base.Region {
	var list []relayurl.Relay
	for _, e := range s.endpoints {
		list = append(list, e.relay)
	}
	return RegionSettings(list, s.regions, capture)
}

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

// senders returns the senders of all queues, including those that are draining.
func (o *RelayQueues) senders() (all []Sender) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.now().endpoints {
		all = append(all, e.sender)
	}
	for l := range o.ending {
		if !slices.Contains(all, l.sender) {
			all = append(all, l.sender)
		}
	}
	return all
}

// RegionSettings returns the regions with the DNS records that their relays need. Relays of the
// capture transport need none.
func RegionSettings(list []relayurl.Relay, regions []Region, capture bool) []base.Region {
	var out []base.Region
	for _, region := range regions {
		r := base.Region{Name: region.Name}
		for i, name := range region.Relays {
			at := slices.IndexFunc(list, func(relay relayurl.Relay) bool { return relay.FullName() == name })
			if capture || at < 0 {
				continue
			}
			if i == 0 {
				r.Needs = list[at].Needs()
				continue
			}
			if !list[at].DKIM {
				r.Needs.Unsigned = append(r.Needs.Unsigned, name)
			}
			if spf := spfOfReserve(&list[at]); spf != "" && !slices.Contains(r.Needs.SPFTerms(), spf) {
				r.Needs.ReserveSPF = append(r.Needs.ReserveSPF, spf)
			}
		}
		if !capture && region.pinned() {
			r.Relays = region.Relays
		}
		if !capture {
			r.Rules = region.queuedRules()
		}
		if region.pinned() && !capture {
			r.Relays, r.Active = region.Relays, cmp.Or(region.Emails, region.Relays[0])
		}
		out = append(out, r)
	}
	return out
}

// queuedRules returns the rules with the queues of their mail. That of a rule whose relay does not
// exist waits if it is strict, and leaves through the active relay otherwise.
func (r *Region) queuedRules() []routing.Rule {
	rules := slices.Clone(r.Rules)
	for i := range rules {
		rule := &rules[i]
		exists := slices.Contains(r.Relays, rule.Relay)
		switch {
		case exists && !r.pinned(), !exists && !rule.Strict:
			rule.Queue = r.Name
		case rule.Strict:
			rule.Queue = app.OnlyQueue(r.Name, rule.Relay)
		default:
			rule.Queue = app.RoutedQueue(r.Name, rule.Relay)
		}
	}
	return rules
}

// switchGrace is how long a transaction through the former relay of a region may go on before its
// final dot.
const switchGrace = 30 * time.Second

// SetRelays replaces the relays and regions. The first region is the default one. The queue of a
// removed relay drains: transactions past MAIL finish, other units go back to the database queue with
// their next time unchanged. The same happens in a region that switches, where transactions before
// the final dot end after switchGrace. A changed relay keeps its usage counts and measured speed and
// is tried immediately, whatever its circuit breaker was doing.
func (o *RelayQueues) SetRelays(ctx context.Context, list []relayurl.Relay, regions []Region) error {
	o.changing.Lock()
	defer o.changing.Unlock()
	before := o.now()
	next := &relaySet{regions: regions}
	for _, relay := range list {
		e := before.endpoint(relay.FullName())
		if e == nil || e.relay != relay {
			e = o.endpointFor(relay, e)
		}
		next.endpoints = append(next.endpoints, e)
	}
	err := o.replace(ctx, before, next)
	o.s.Settings.SetRelays(base.NewRelays(next.settings(o.s.Settings.Capture)))
	if !o.running || !o.s.leader.Load() {
		return err
	}
	return errors.Join(err, o.assignDoubts(ctx), o.s.SaveSettings(ctx), o.s.ReportUnroutable(ctx))
}

// Reconnect makes new senders for relays that read a CA file, because the file may have changed. A
// relay whose file can't be read keeps its sender.
func (o *RelayQueues) Reconnect(ctx context.Context) error {
	o.changing.Lock()
	defer o.changing.Unlock()
	before := o.now()
	next := &relaySet{endpoints: slices.Clone(before.endpoints), regions: before.regions}
	var failed []error
	for i, e := range before.endpoints {
		if e.relay.CAFile == "" || o.s.Connect == nil {
			continue
		}
		sender, err := o.s.Connect(e.relay)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		next.endpoints[i] = newEndpoint(o.s, Route{e.relay, sender}, e.relayState)
	}
	return errors.Join(append(failed, o.replace(ctx, before, next))...)
}

// endpointFor makes the endpoint of a relay. old is the one that it replaces, or nil.
func (o *RelayQueues) endpointFor(relay relayurl.Relay, old *endpoint) *endpoint {
	sender, err := o.connect(relay)
	if err != nil {
		o.s.Log.Error("a relay can't be used as it is configured", "relay", relay.String(), "err", err, "help", "mailer relays test "+relay.FullName())
		sender = unusable{err}
	}
	o.mu.Lock()
	known := o.removed[relay.FullName()]
	delete(o.removed, relay.FullName())
	o.mu.Unlock()
	if old != nil {
		known = old.relayState
	}
	if known != nil {
		known.limits.setRelay(relay)
	}
	return newEndpoint(o.s, Route{relay, sender}, known)
}

func (o *RelayQueues) connect(relay relayurl.Relay) (Sender, error) {
	if o.s.Connect == nil {
		return nil, errors.New("this process makes no connections")
	}
	return o.s.Connect(relay)
}

// replace makes next the current set: it drains the queues and endpoints that next does not have and
// starts the new ones.
func (o *RelayQueues) replace(ctx context.Context, before, next *relaySet) error {
	next.countTraffic()
	for _, p := range next.plan() {
		same := slices.IndexFunc(before.queues, func(l *relayQueue) bool { return l.carried == p.carried && l.endpoint == p.through })
		if same >= 0 {
			next.queues = append(next.queues, before.queues[same])
			if p.reserve {
				defer before.queues[same].wake() // what waits for another relay depends on the region
			}
			continue
		}
		next.queues = append(next.queues, newRelayQueue(o.s, p.carried, p.through, o.claimsOf(p.key)))
	}
	o.current.Store(next)
	for _, l := range before.queues {
		if !slices.Contains(next.queues, l) {
			o.retire(l, slices.Contains(next.endpoints, l.endpoint))
		}
	}
	for _, e := range before.endpoints {
		if !slices.Contains(next.endpoints, e) {
			o.remove(e)
		}
	}
	if !o.running {
		return nil
	}
	var failed []error
	for _, e := range next.endpoints {
		if slices.Contains(before.endpoints, e) {
			continue
		}
		if before.endpoint(e.name) == nil && o.s.leader.Load() {
			failed = append(failed, e.becomeLeader(ctx, o.s))
		}
		e.breaker.retryNow()
		o.s.Log.Info("mail leaves through", "relay", e.relay.String())
	}
	for _, l := range next.queues {
		if slices.Contains(before.queues, l) {
			continue
		}
		failed = append(failed, l.start(ctx))
		if slices.Contains(before.endpoints, l.endpoint) && (app.QueueRelay(l.key) == "" || app.IsRouted(l.key) && app.QueueRelay(l.key) == l.name) { // the region switched, or its route returned, to a relay that passed a test
			l.forgive()
		}
		l.breaker.retryNow()
		l.wake()
	}
	return errors.Join(failed...)
}

// forgive closes the breakers for which a region left the relay, which has passed a test since, and
// lets mail of other refused senders be tried.
func (l *relayQueue) forgive() {
	const msg = "a region uses the relay again"
	l.breaker.close()
	l.endTrouble(l.breaker, msg)
	if s, ok := l.senders.sole(); ok {
		if b := l.senderBreakers.find(s); b != nil {
			b.close()
			l.senderBreakers.remove(b)
			l.endTrouble(b, msg)
		}
	}
	l.senderBreakers.retryNow()
}

// remove ends an endpoint and, if its relay was removed, resets the circuit breakers.
func (o *RelayQueues) remove(e *endpoint) {
	if o.now().endpoint(e.name) == nil {
		o.s.Log.Info("relay removed: its queued mail stays queued", "relay", e.relay.String())
		e.breaker.reset()
		e.senderBreakers.reset()
		o.mu.Lock()
		if o.removed == nil {
			o.removed = map[string]*relayState{}
		}
		o.removed[e.name] = e.relayState
		o.mu.Unlock()
	}
	e.close(o.s)
}

// retire drains a queue. switched: other queues still use its relay.
func (o *RelayQueues) retire(l *relayQueue, switched bool) {
	grace := time.Duration(0)
	if switched {
		grace = switchGrace
	}
	o.markEnding(l)
	l.endWaiting()
	l.drain(grace, func() {
		o.markEnded(l)
		for _, successor := range o.all() { // units that were handed back are due again
			if successor.key == l.key {
				successor.wake()
			}
		}
		if !o.s.leader.Load() {
			return
		}
		err := errors.Join(o.assignDoubts(o.s.Claiming), o.s.ReportUnroutable(o.s.Claiming))
		if err != nil && o.s.Claiming.Err() == nil {
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
