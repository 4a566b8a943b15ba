package delivery

import (
	"time"

	"mailer/app"
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
	for _, l := range s.RelayQueues.all() {
		if err := l.limits.reload(s.Claiming, s.DB, changed); err != nil && s.Claiming.Err() == nil {
			s.LogUnlessUnavailable("read what a relay was used for", err, "relay", l.name)
		}
	}
}

// updateServerShare divides the relays' rates by the current number of servers.
func (o *RelayQueues) updateServerShare() {
	n := o.s.DB.Cluster().Partition().Count
	for _, l := range o.all() {
		l.limits.setServers(n)
	}
}

// regions returns the names of all relays.
func (o *RelayQueues) regions() (names []string) {
	for _, l := range o.all() {
		names = append(names, l.name)
	}
	return names
}

// wakeBulk wakes the dispatchers of broadcasts.
func (o *RelayQueues) wakeBulk() {
	for _, l := range o.all() {
		l.bulk.wakeup.Notify()
	}
}

// queueOf returns the queue of a region; nil: this process has no such relay.
func (s *Service) queueOf(region string) *relayQueue {
	for _, l := range s.RelayQueues.all() {
		if l.name == region {
			return l
		}
	}
	return nil
}

// SendsRegion implements Outlet.
func (s *Service) SendsRegion(region string) bool { return s.queueOf(region) != nil }

// Wake implements Outlet.
func (s *Service) Wake(region string) {
	if l := s.queueOf(region); l != nil {
		l.wake()
	}
}

// WakeMail implements Outlet.
func (s *Service) WakeMail(region string) {
	if l := s.queueOf(region); l != nil {
		l.mail.wakeup.Notify()
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
	for _, l := range s.RelayQueues.all() {
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

// WakeBulk wakes the broadcast dispatcher of a region.
func (s *Service) WakeBulk(region string) {
	if l := s.queueOf(region); l != nil {
		l.bulk.wakeup.Notify()
	}
}
