// Package delivery carries mail from the database to the relays: a lane for each
// relay with its gate, breaker and pace, the results of attempts, and doubts. broadcasts, reports and upkeep may
// import it; main hands it the Senders.
//
// Failure policy: an unknown failure is temporary; what was past the final dot
// and has no reply is a doubt that is told and sent again with the same bytes.
package delivery

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/cache"
	"mailer/app/kit/clock"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/guardrails"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
)

// Config is what the service needs beside the Base.
type Config struct {
	Routes []Route // the first is the default region; none: no mail leaves
	// Connect makes the Sender of a relay that comes, or changes, while the service runs.
	Connect func(relayurl.Relay) (Sender, error)
	// Tick is called every PollEvery while the service runs, from one goroutine; changed:
	// somebody has written to the database lately. nil: nobody asks.
	Tick       func(changed bool)
	PeerWrote  func()         // called by it once another server is known to have written
	DoubtDelay time.Duration  // 0: 60 s
	MaxWait    time.Duration  // how long mail is tried, where neither it nor its relay says; 0: app.DefaultMaxWait, negative: for ever
	Builders   int            // messages that the senders of Routes compose and sign at once; 0: app.ComposeWorkers
	Memory     int64          // bytes that the process may have; 0: as many as there are
	BulkShare  float64        // part of a relay's daily limit that broadcasts may use; 0: pacing.DefaultBulkShare
	Jitter     func() float64 // 0 to 1; nil: at random
}

// Service is the lanes to the relays.
type Service struct {
	*base.Base
	Config
	events   *webhooks.Service
	teams    *teams.Service
	domains  *domains.Service
	audience *audience.Service
	mail     *mail.Service
	// Outlets are the lanes as they come and go.
	Outlets       *Outlets
	began         clock.Mark
	leader        atomic.Bool // what happens by itself happens here, but for sending
	suspectInWork atomic.Bool // a unit that may be what ends the process is in work
	// Guardrails hold teams and regions back.
	Guardrails  *guardrails.Service
	returnPaths returnPathHosts
	tuning      atomic.Pointer[Tuning]
}

// New makes the service.
func New(base *base.Base, events *webhooks.Service, teamService *teams.Service, domainService *domains.Service, audienceService *audience.Service, mailService *mail.Service, cfg Config) *Service {
	if cfg.DoubtDelay == 0 {
		cfg.DoubtDelay = time.Minute
	}
	if cfg.MaxWait == 0 {
		cfg.MaxWait = app.DefaultMaxWait
	}
	if cfg.Builders == 0 {
		cfg.Builders = app.ComposeWorkers()
	}
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	s := &Service{Base: base, Config: cfg, began: clock.Begin(), events: events, teams: teamService, domains: domainService, audience: audienceService, mail: mailService,
		returnPaths: cache.New[string, string](maxCachedHosts, returnPathTTL)}
	s.tuning.Store(&Tuning{DoubtDelay: cfg.DoubtDelay, MaxWait: cfg.MaxWait, BulkShare: cfg.BulkShare})
	s.Outlets = &Outlets{s: s}
	s.Guardrails = guardrails.New(base, events, teamService, guardrails.Config{Regions: s.Outlets.regions, Changed: s.Outlets.wakeBulk})
	base.DB.Cluster().OnChange(s.Outlets.updateServerShare)
	for _, route := range cfg.Routes {
		s.Outlets.add(newRelayQueue(s, route, nil))
	}
	return s
}

// Tuning holds those settings of Config that can change while mail leaves.
type Tuning struct {
	DoubtDelay, MaxWait time.Duration
	BulkShare           float64
}

// Tune changes these settings, also for mail that waits already.
func (s *Service) Tune(t Tuning) {
	s.tuning.Store(&t)
	for _, l := range s.Outlets.all() {
		l.limits.setBulkShare(t.BulkShare)
	}
	s.Outlets.wakeBulk()
	s.WakeQueues()
}

// Start judges teams and regions anew and sets the lanes to work, unless they are. Of servers
// that share a database it is for the one that leads.
func (s *Service) Start(ctx context.Context) error {
	if err := s.Guardrails.Start(ctx); err != nil {
		return err
	}
	s.leader.Store(true)
	if err := s.Outlets.becomeLeader(ctx); err != nil {
		return err
	}
	if s.DB.Cluster().Shared() {
		s.Workers.Go(s.watchPeers)
	}
	return s.send(ctx)
}

// StartFollower sets the lanes to work beside another server that leads.
func (s *Service) StartFollower(ctx context.Context) error {
	if err := s.Guardrails.Follow(ctx); err != nil {
		return err
	}
	return s.send(ctx)
}

func (s *Service) send(ctx context.Context) error {
	began, err := s.Outlets.start(ctx)
	if err != nil || !began {
		return err
	}
	s.Workers.Go(s.watchStore)
	return nil
}
