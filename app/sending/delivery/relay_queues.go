package delivery

import (
	"slices"
	"time"

	"mailer/app"
	"mailer/app/rules/routing"
	"mailer/db/engine"
)

// watchStore wakes the dispatchers when the database changed, until the service stops. Between
// changes the dispatchers can sleep until the next unit is due.
func (s *Service) watchStore() {
	last, changed := engine.Version{}, true
	tick := time.NewTicker(s.PollEvery)
	defer tick.Stop()
	for {
		heard := false
		select {
		case <-tick.C:
		case <-s.DB.Cluster().Changed():
			heard = true
		case <-s.Claiming.Done():
			return
		}
		before := changed
		now := s.DB.Version()
		last, changed = now, now != last
		lately := changed || before // the version may change before the commit of another process can be read
		if s.Tick != nil {
			s.Tick(lately)
		}
		s.reloadUsage(lately)
		if lately {
			s.WakeQueues()
		}
		if heard {
			s.Guardrails.PeerWrote()
			s.PeerWrote()
		}
	}
}

// reloadUsage updates the daily limits with what other servers sent.
func (s *Service) reloadUsage(changed bool) {
	for _, l := range s.RelayQueues.now().endpoints {
		if err := l.limits.reload(s.Claiming, s.DB, changed); err != nil && s.Claiming.Err() == nil {
			s.LogUnlessUnavailable("read what a relay was used for", err, "relay", l.name)
		}
	}
}

// updateServerShare divides the relays' rates by the current number of servers.
func (o *RelayQueues) updateServerShare() {
	n := o.s.DB.Cluster().Partition().Count
	for _, l := range o.now().endpoints {
		l.limits.setServers(n)
	}
}

// regions returns the names of all regions.
func (o *RelayQueues) regions() (names []string) {
	for _, r := range o.now().regions {
		names = append(names, r.Name)
	}
	return names
}

// wakeBulk wakes the dispatchers of broadcasts.
func (o *RelayQueues) wakeBulk() {
	for _, l := range o.all() {
		l.wakeBulk()
	}
}

// bulkKey returns the queue in which recipients of a region's broadcasts begin, unless a rule sends
// them through another one. each reports whether there may be such rules.
func (s *Service) bulkKey(region string) (key string, each bool) {
	rule, each := routing.Default(s.Settings.RoutingRules(region), routing.Broadcast, "")
	if rule == nil {
		return region, each
	}
	return rule.Queue, each
}

// bulkQueueOf returns the queue that carries the broadcasts of a region; nil: this process has no
// such region.
func (s *Service) bulkQueueOf(region string) *relayQueue {
	key, _ := s.bulkKey(region)
	for _, l := range s.RelayQueues.all() {
		if l.key == key && l.broadcasts {
			return l
		}
	}
	return nil
}

// SendsRegion implements Outlet. region may be any queue of a unit.
func (s *Service) SendsRegion(region string) bool {
	return slices.ContainsFunc(s.RelayQueues.all(), func(l *relayQueue) bool { return l.key == region })
}

// Wake implements Outlet.
func (s *Service) Wake(region string) {
	for _, l := range s.RelayQueues.all() {
		if app.QueueRegion(l.key) == region {
			l.wake()
		}
	}
}

// WakeMail implements Outlet.
func (s *Service) WakeMail(queue string) {
	for _, l := range s.RelayQueues.all() {
		if l.key == queue {
			l.wakeMail()
		}
	}
}

// WakeQueues makes every relay queue look for due mail.
func (s *Service) WakeQueues() {
	for _, l := range s.RelayQueues.all() {
		l.wake()
	}
}

// MaxRetryDelay returns the longest time between two attempts of a unit. Only a message whose
// replies were lost several times may wait longer.
func (s *Service) MaxRetryDelay() time.Duration {
	return max(app.MaxRetryDelay, s.tuning.Load().DoubtDelay)
}

// ClockMovedBack tells all limits that the wall clock moved back.
func (s *Service) ClockMovedBack(now time.Time) {
	for _, l := range s.RelayQueues.now().endpoints {
		l.limits.clockMovedBack(now)
	}
}

// RetryRelays makes all circuit breakers half-open immediately.
func (s *Service) RetryRelays() {
	for _, l := range s.RelayQueues.all() {
		l.breaker.retryNow()
		l.senderBreakers.retryNow()
		l.wake()
	}
}

// Sends reports whether this process has a relay.
func (s *Service) Sends() bool { return len(s.RelayQueues.all()) > 0 }

// WakeBulk wakes the broadcast dispatchers of a region.
func (s *Service) WakeBulk(region string) {
	for _, l := range s.RelayQueues.all() {
		if app.QueueRegion(l.key) == region {
			l.wakeBulk()
		}
	}
}
