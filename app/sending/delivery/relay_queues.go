package delivery

import (
	"fmt"
	"time"

	"mailer/db"
	"mailer/db/engine"
)

// watchStore wakes the dispatchers when the database changed, until the service stops:
// until then, what they read of it holds, so that they sleep until something is due.
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
		lately := changed || before // what another process commits may be seen before it can be read
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

// reloadUsage has the daily limits of relays know what other servers used of them.
func (s *Service) reloadUsage(changed bool) {
	for _, l := range s.Outlets.all() {
		if err := l.limits.reload(s.Claiming, s.DB, changed); err != nil && s.Claiming.Err() == nil {
			s.LogUnlessUnavailable("read what a relay was used for", err, "relay", l.name)
		}
	}
}

// updateServerShare has the relays' rates be shared among as many servers as there are now.
func (o *Outlets) updateServerShare() {
	n := o.s.DB.Cluster().Partition().Count
	for _, l := range o.all() {
		l.limits.setServers(n)
	}
}

// regions are the names of all lanes.
func (o *Outlets) regions() (names []string) {
	for _, l := range o.all() {
		names = append(names, l.name)
	}
	return names
}

// wakeBulk has broadcasts go on that rested.
func (o *Outlets) wakeBulk() {
	for _, l := range o.all() {
		l.bulk.wakeup.Notify()
	}
}

// queueOf returns the lane of a region, nil where this process has none.
func (s *Service) queueOf(region string) *relayQueue {
	for _, l := range s.Outlets.all() {
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

// WakeQueues has every lane look for due mail.
func (s *Service) WakeQueues() {
	for _, l := range s.Outlets.all() {
		l.wake()
	}
}

// ClockMovedBack tells the limits of all lanes that the wall clock was put back.
func (s *Service) ClockMovedBack(now time.Time, by time.Duration) {
	for _, l := range s.Outlets.all() {
		l.limits.clockMovedBack(now, by)
	}
}

// RetryRelays ends the pauses of all lanes.
func (s *Service) RetryRelays() {
	for _, l := range s.Outlets.all() {
		l.breaker.retryNow()
		l.senderBreakers.retryNow()
		l.wake()
	}
}

// AdvanceUsage moves what the relays were used for with a clock that was put back.
func (s *Service) AdvanceUsage(tx *db.Tx, by time.Duration) error {
	for _, l := range s.Outlets.all() {
		if err := tx.AdvanceUsage(l.name, by); err != nil {
			return fmt.Errorf("move the use of relay %s: %w", l.name, err)
		}
	}
	return nil
}

// Sends reports whether this process has a relay to send through.
func (s *Service) Sends() bool { return len(s.Outlets.all()) > 0 }

// WakeBulk has the lane of a region look for broadcasts' due mail.
func (s *Service) WakeBulk(region string) {
	if l := s.queueOf(region); l != nil {
		l.bulk.wakeup.Notify()
	}
}
