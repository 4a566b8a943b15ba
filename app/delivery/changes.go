package delivery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"mailer/app"
	"mailer/app/relays"
	"mailer/app/service"
)

// lanes are those of a service. They come and go while it runs; who reads them has those
// of one moment.
type lanes struct {
	changing sync.Mutex // held by who changes them
	running  bool
	now      atomic.Pointer[[]*lane]
	// ending are lanes whose relay is gone or another; gone are the standings of relays
	// that were taken away, by name.
	mu     sync.Mutex
	ending map[*lane]bool
	gone   map[string]*standing
}

func (s *lanes) all() []*lane {
	if now := s.now.Load(); now != nil {
		return *now
	}
	return nil
}

func (s *lanes) add(l *lane) { s.set(append(slices.Clone(s.all()), l)) }

func (s *lanes) set(all []*lane) { s.now.Store(&all) }

// end notes a lane that ends, over that it has; open are those that have not.
func (s *lanes) end(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending == nil {
		s.ending = map[*lane]bool{}
	}
	s.ending[l] = true
}

func (s *lanes) over(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ending, l)
}

func (s *lanes) open() []*lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.all())
	for l := range s.ending {
		out = append(out, l)
	}
	return out
}

// RegionsOf are relays as the DNS sees them; those of the capture transport need nothing.
func RegionsOf(routes []Route, capture bool) []service.Region {
	var out []service.Region
	for _, route := range routes {
		r := service.Region{Name: route.Relay.Region}
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
func (s *Service) SetRelays(ctx context.Context, list []relays.Relay) error {
	s.lanes.changing.Lock()
	defer s.lanes.changing.Unlock()
	before := s.lanes.all()
	next := make([]*lane, 0, len(list))
	routes := make([]Route, 0, len(list))
	for _, relay := range list {
		l := s.laneOf(relay.Region)
		if l == nil || l.relay != relay {
			l = s.laneFor(relay, l)
		}
		next, routes = append(next, l), append(routes, Route{Relay: relay})
	}
	s.lanes.set(next)
	s.Settings.SetOutlets(service.OutletsOf(RegionsOf(routes, s.Settings.Capture)))
	err := s.turnOver(ctx, before, next)
	if !s.lanes.running {
		return err
	}
	return errors.Join(err, s.RememberServer(ctx), s.TellStranded(ctx))
}

// Reconnect makes the senders anew of relays that read a file, since it may hold
// something else now. One that can't be read leaves its relay as it was.
func (s *Service) Reconnect(ctx context.Context) error {
	s.lanes.changing.Lock()
	defer s.lanes.changing.Unlock()
	before := s.lanes.all()
	next := slices.Clone(before)
	var failed []error
	for i, l := range before {
		if l.relay.CAFile == "" || s.Connect == nil {
			continue
		}
		sender, err := s.Connect(l.relay)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		next[i] = newLane(s, Route{l.relay, sender}, l.standing)
	}
	s.lanes.set(next)
	return errors.Join(append(failed, s.turnOver(ctx, before, next))...)
}

// laneFor makes the lane of a relay, in the place of one of its name where there is one.
func (s *Service) laneFor(relay relays.Relay, old *lane) *lane {
	sender, err := s.connect(relay)
	if err != nil {
		s.Log.Error("a relay can't be used as it is configured", "relay", relay.String(), "err", err, "help", "mailer relays test "+relay.Region)
		sender = unusable{err}
	}
	s.lanes.mu.Lock()
	known := s.lanes.gone[relay.Region]
	delete(s.lanes.gone, relay.Region)
	s.lanes.mu.Unlock()
	if old != nil {
		known = old.standing
	}
	if known != nil {
		known.limits.become(relay)
	}
	return newLane(s, Route{relay, sender}, known)
}

func (s *Service) connect(relay relays.Relay) (Sender, error) {
	if s.Connect == nil {
		return nil, errors.New("this process makes no connections")
	}
	return s.Connect(relay)
}

// turnOver ends the lanes that are no more and sets the new ones to work.
func (s *Service) turnOver(ctx context.Context, before, next []*lane) error {
	for _, l := range before {
		if !slices.Contains(next, l) {
			s.drop(l)
		}
	}
	if !s.lanes.running {
		return nil
	}
	var failed []error
	for _, l := range next {
		if slices.Contains(before, l) {
			continue
		}
		succeeds := slices.ContainsFunc(before, func(old *lane) bool { return old.name == l.name })
		failed = append(failed, l.start(ctx, succeeds))
		l.gate.again()
		l.wake()
		s.Log.Info("mail leaves through", "relay", l.relay.String())
	}
	return errors.Join(failed...)
}

// drop ends a lane.
func (s *Service) drop(l *lane) {
	if s.laneOf(l.name) == nil {
		s.Log.Info("relay is taken away: what waits for it goes on waiting", "relay", l.relay.String())
		l.gate.forget()
		l.rests.forget()
		s.lanes.mu.Lock()
		if s.lanes.gone == nil {
			s.lanes.gone = map[string]*standing{}
		}
		s.lanes.gone[l.name] = l.standing
		s.lanes.mu.Unlock()
	}
	s.lanes.end(l)
	l.retire(func() {
		s.lanes.over(l)
		if heir := s.laneOf(l.name); heir != nil {
			heir.wake() // what came back is its own
			return
		}
		if err := s.TellStranded(s.Taking); err != nil && s.Taking.Err() == nil {
			s.LogUnlessHindered("tell of mail without a relay", err, "relay", l.name)
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

// Close implements Sender.
func (unusable) Close() {}

// Bound implements Sender.
func (unusable) Bound() int { return 0 }
