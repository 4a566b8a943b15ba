// Package delivery sends queued mail through SMTP relays. Each relay has a queue with a dispatcher
// for emails and one for broadcasts, a circuit breaker per relay and sender domain, rate and daily
// limits, and the recording of results.
//
// Failure policy: an unknown failure is temporary. A transaction that got no reply after its final
// dot is a doubt: it is logged, listed and sent again with the same bytes.
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

// Config holds what the service needs besides the Base.
type Config struct {
	Routes []Route // the first is the default region; empty: no mail is sent
	// Connect makes the Sender of a relay that is added or changed while the service runs.
	Connect func(relayurl.Relay) (Sender, error)
	// Tick is called from one goroutine every PollEvery while the service runs. changed reports
	// whether the database was written since the last call or the one before. nil: not called.
	Tick       func(changed bool)
	PeerWrote  func()         // called after another server wrote to the database
	DoubtDelay time.Duration  // 0: 60 s
	MaxWait    time.Duration  // how long mail is tried unless the email or its relay sets it; 0: app.DefaultMaxWait, negative: no limit
	Builders   int            // messages composed and signed concurrently by the senders of Routes; 0: app.ComposeWorkers
	Memory     int64          // memory limit of the process in bytes; 0: none
	BulkShare  float64        // fraction of a relay's daily limit that broadcasts may use; 0: pacing.DefaultBulkShare
	Jitter     func() float64 // returns 0 to 1; nil: random
}

// Service sends queued mail through the configured relays.
type Service struct {
	*base.Base
	Config
	events   *webhooks.Service
	teams    *teams.Service
	domains  *domains.Service
	audience *audience.Service
	mail     *mail.Service
	// RelayQueues holds the relay queues.
	RelayQueues   *RelayQueues
	began         clock.Mark
	leader        atomic.Bool // this server runs the background jobs
	suspectInWork atomic.Bool // a unit that may crash the process is in work
	// Guardrails pauses teams and regions whose bounce or complaint rates are too high.
	Guardrails  *guardrails.Service
	returnPaths returnPathHosts
	alignments  *cache.Cache[string, domainRecords] // by team and domain
	tuning      atomic.Pointer[Tuning]
}

// New makes a Service.
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
		returnPaths: cache.New[string, string](maxCachedHosts, returnPathTTL), alignments: cache.New[string, domainRecords](maxAlignments, alignmentTTL)}
	s.tuning.Store(&Tuning{DoubtDelay: cfg.DoubtDelay, MaxWait: cfg.MaxWait, BulkShare: cfg.BulkShare})
	s.RelayQueues = &RelayQueues{s: s}
	s.Guardrails = guardrails.New(base, events, teamService, guardrails.Config{Regions: s.RelayQueues.regions, Changed: s.RelayQueues.wakeBulk})
	base.DB.Cluster().OnChange(s.RelayQueues.updateServerShare)
	s.RelayQueues.configure(cfg.Routes)
	return s
}

// Tuning holds the settings of Config that can change while the service runs.
type Tuning struct {
	DoubtDelay, MaxWait time.Duration
	BulkShare           float64
}

// Tune changes these settings, also for mail that is already queued.
func (s *Service) Tune(t Tuning) {
	s.tuning.Store(&t)
	for _, l := range s.RelayQueues.now().endpoints {
		l.limits.setBulkShare(t.BulkShare)
	}
	s.RelayQueues.wakeBulk()
	s.WakeQueues()
}

// Start judges teams and regions again and starts the relay queues unless they run. Where servers
// share a database, only the leader calls Start.
func (s *Service) Start(ctx context.Context) error {
	if err := s.Guardrails.Start(ctx); err != nil {
		return err
	}
	s.leader.Store(true)
	if err := s.RelayQueues.becomeLeader(ctx); err != nil {
		return err
	}
	if s.DB.Cluster().Shared() {
		s.Workers.Go(s.watchPeers)
	}
	return s.send(ctx)
}

// StartFollower starts the relay queues of a server that is not the leader.
func (s *Service) StartFollower(ctx context.Context) error {
	if err := s.Guardrails.Follow(ctx); err != nil {
		return err
	}
	return s.send(ctx)
}

func (s *Service) send(ctx context.Context) error {
	began, err := s.RelayQueues.start(ctx)
	if err != nil || !began {
		return err
	}
	s.Workers.Go(s.watchStore)
	return nil
}
