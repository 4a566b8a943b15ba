package certificates

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/time/rate"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/tracking"
	"mailer/db"
)

const (
	// fileCheckInterval is the interval of checks for changed files, hostCheckInterval of checks
	// for hosts without a certificate.
	fileCheckInterval = 2 * time.Second
	hostCheckInterval = 10 * time.Second
	// warnInterval is how often the log warns of an expiring certificate.
	warnInterval = 24 * time.Hour
	// renewBefore is how long before its expiry a certificate needs attention. For short-lived
	// certificates it is half of the renewal period.
	renewBefore     = 14 * 24 * time.Hour
	renewBeforePart = 6
	// maxOrders may be made in a row, then one every orderInterval: an authority allows some
	// hundred in three hours.
	maxOrders     = 20
	orderInterval = 40 * time.Second
	// expiredRetention is how long an expired certificate is stored.
	expiredRetention = 30 * 24 * time.Hour
	// challengeRetention is how long the challenge of a server that died is stored.
	challengeRetention = 24 * time.Hour
)

// delays are the delays after consecutive failures of a host: an authority that refused five times
// in an hour refuses for longer.
var delays = []time.Duration{5 * time.Minute, 15 * time.Minute, 45 * time.Minute, time.Hour}

// Service manages the certificates of a server. In a command it reads their state from the
// database.
type Service struct {
	*base.Base
	cfg    *Config // nil: in a command
	change base.Signal
	orders *rate.Limiter
	hosts  atomic.Pointer[map[string]bool] // hosts that may have a certificate
	acme   atomic.Pointer[acmeTransport]   // nil: not by ACME

	mu     sync.Mutex
	states map[string]*state // by host or file
}

// state is the state of a host's certificate.
type state struct {
	db.CertificateState
	warned time.Time
}

// New returns the service. cfg is nil in a command and without TLS.
func New(b *base.Base, cfg *Config) *Service {
	s := &Service{Base: b, change: base.NewSignal(), orders: rate.NewLimiter(rate.Every(orderInterval), maxOrders), states: map[string]*state{}}
	if cfg == nil || !cfg.Asked() {
		return s
	}
	s.cfg = cfg
	if cfg.Auto() {
		s.setHosts(nil)
		s.acme.Store(newACMETransport(s))
	}
	return s
}

// Start obtains and renews certificates until the server stops. Stored certificates are served
// from now on.
func (s *Service) Start(ctx context.Context) error {
	if s.cfg == nil {
		return s.forget(ctx, func(string) bool { return false }) // it had certificates before
	}
	if s.cfg.Auto() {
		if err := s.load(ctx); err != nil {
			return err
		}
	} else if err := s.forget(ctx, func(name string) bool { return name == s.cfg.certFile }); err != nil {
		return err
	}
	s.serve()
	return nil
}

// RespondToChallenge serves certificates that another server obtains, until Start.
func (s *Service) RespondToChallenge(ctx context.Context) error {
	if s.cfg == nil {
		return nil
	}
	if s.cfg.Auto() {
		if err := s.read(ctx); err != nil {
			return err
		}
	}
	s.serve()
	return nil
}

// serve connects the service to handshakes. It acts once.
func (s *Service) serve() {
	if s.cfg.service.Swap(s) == nil {
		s.Workers.Go(s.work)
	}
}

// Retry tries failed hosts again now, after their problem was fixed.
func (s *Service) Retry() {
	s.mu.Lock()
	for _, st := range s.states {
		st.FailedAt = time.Time{}
	}
	s.mu.Unlock()
	s.change.Notify()
}

func (s *Service) work() {
	for {
		var pause time.Duration
		switch {
		case !s.cfg.Auto():
			pause = s.follow()
		case s.DB.Cluster().Leads():
			pause = s.round()
		default:
			if err := s.read(s.Claiming); err != nil {
				s.LogUnlessUnavailable("read which certificates there are", err)
			}
			pause = hostCheckInterval
		}
		if !base.Sleep(s.Claiming, pause, s.change) {
			return
		}
	}
}

// load reads the stored certificates and failures, so that a restart neither orders existing
// certificates nor repeats failures too early.
func (s *Service) load(ctx context.Context) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	if err := s.forget(ctx, s.HasHost); err != nil {
		return err
	}
	return s.IgnoreFull(s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		return errors.Join(tx.PurgeCertificates(tx.Now.Add(-expiredRetention)), tx.PurgeChallenges(tx.Now.Add(-challengeRetention)))
	}))
}

// read reads the hosts and the states of their certificates.
func (s *Service) read(ctx context.Context) error {
	found, err := db.Get(ctx, s.DB, (*db.Reader).TenantHosts)
	if err != nil {
		return err
	}
	s.setHosts(found)
	ends, err := db.Get(ctx, s.DB, (*db.Reader).CertificateEnds)
	if err != nil {
		return err
	}
	states, err := s.States(ctx)
	if err != nil {
		return err
	}
	s.take(ends, states)
	return nil
}

// take initializes the states from stored ones.
func (s *Service) take(ends map[string]time.Time, states []db.CertificateState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range states {
		if st.ExpiresAt = ends[st.Host]; st.ExpiresAt.IsZero() {
			st.LookAt = time.Time{}
		}
		s.states[st.Host] = &state{CertificateState: st}
	}
	for host, end := range ends {
		if s.states[host] == nil {
			s.states[host] = &state{CertificateState: db.CertificateState{Host: host, ExpiresAt: end, LookAt: end.Add(-renewBefore)}}
		}
	}
}

// forget deletes the states of hosts except for those to keep.
func (s *Service) forget(ctx context.Context, keep func(host string) bool) error {
	states, err := s.States(ctx)
	if err != nil || len(states) == 0 {
		return err
	}
	return s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		for i := range states {
			if !keep(states[i].Host) {
				if err := tx.DeleteCertificateState(states[i].Host); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// States returns the state of each host's certificate as the server last stored it.
func (s *Service) States(ctx context.Context) ([]db.CertificateState, error) {
	return db.Get(ctx, s.DB, (*db.Reader).CertificateStates)
}

// setHosts sets the hosts that may have a certificate: those of the configuration and the given
// hosts of teams. gone reports whether a host was removed.
func (s *Service) setHosts(tenants []string) (removed bool) {
	now := map[string]bool{}
	for _, host := range slices.Concat(s.cfg.hosts, tenants) {
		if name, ok := hostName(host); ok {
			now[name] = true
		}
	}
	if old := s.hosts.Swap(&now); old != nil {
		for host := range *old {
			removed = removed || !now[host]
		}
	}
	return removed
}

// HasHost reports whether a host, with or without a port, is served by this server.
func (s *Service) HasHost(host string) bool {
	host = tracking.HostOf(host)
	if pair := s.cfg.pair.Load(); pair != nil {
		return pair.Leaf.VerifyHostname(host) == nil
	}
	known := s.hosts.Load()
	return known != nil && (*known)[host]
}

var (
	errUnknown = errors.New("no certificate is for that name")
	errNone    = errors.New("there is no certificate for that name yet")
)

// certificate returns the certificate for a handshake, from memory except for the first time.
func (s *Service) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := tracking.HostOf(hello.ServerName)
	if name == "" {
		name = s.cfg.hosts[0]
	}
	if !s.HasHost(name) {
		return nil, errUnknown
	}
	from := s.acme.Load()
	if slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto}) {
		return from.GetCertificate(hello)
	}
	if st := s.at(name); st == nil || !st.ExpiresAt.After(clock.Now()) {
		return nil, errNone
	}
	return from.GetCertificate(asking(name))
}

// at returns the state of a host; nil: unknown.
func (s *Service) at(host string) *db.CertificateState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.states[host]; st != nil {
		out := st.CertificateState
		return &out
	}
	return nil
}

// round updates the hosts and obtains missing certificates. It returns when to run again.
func (s *Service) round() time.Duration {
	s.refresh()
	hosts := slices.Sorted(maps.Keys(*s.hosts.Load()))
	s.sort(hosts)
	for _, host := range hosts {
		if s.Claiming.Err() != nil {
			break
		}
		s.look(host)
	}
	s.warn()
	return hostCheckInterval
}

// sort puts hosts of the configuration first, then those with the fewest failures: failing hosts
// of one tenant must not use up the orders for new hosts of others.
func (s *Service) sort(hosts []string) {
	failures := func(host string) int {
		if st := s.at(host); st != nil {
			return st.Failures
		}
		return 0
	}
	first := s.cfg.hosts
	slices.SortStableFunc(hosts, func(a, b string) int { return cmp.Or(rank(first, a)-rank(first, b), failures(a)-failures(b)) })
}

// rank returns the position of a host of the configuration, before all others.
func rank(first []string, host string) int {
	if at := slices.Index(first, host); at >= 0 {
		return at
	}
	return len(first)
}

// refresh reads the hosts of teams.
func (s *Service) refresh() {
	found, err := db.Get(s.Claiming, s.DB, (*db.Reader).TenantHosts)
	if err != nil {
		s.LogUnlessUnavailable("read which hosts need certificates", err)
		return
	}
	if !s.setHosts(found) {
		return
	}
	// The library renews the certificate of a host forever once it knows it, so it is replaced.
	s.acme.Swap(newACMETransport(s)).close()
	if err := s.forget(s.Claiming, s.HasHost); err != nil {
		s.LogUnlessUnavailable("forget hosts that need no certificate any more", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.states, func(host string, _ *state) bool { return !s.HasHost(host) })
}

// look obtains the certificate of a host if there is none. An existing one is loaded by the
// library, which renews it.
func (s *Service) look(host string) {
	st := s.at(host)
	if st != nil && clock.Since(st.FailedAt) < delay(st.Failures) {
		return
	}
	if (st == nil || !st.ExpiresAt.After(clock.Now())) && !s.orders.Allow() {
		return
	}
	from := s.acme.Load()
	has, err := from.GetCertificate(asking(host))
	if err == nil && !has.Leaf.NotAfter.After(clock.Now()) {
		err = errEnded
	}
	if err == nil || s.Claiming.Err() != nil {
		return
	}
	problem := from.lastProblem(err)
	s.failed(host, problem)
	s.Log.Error("a certificate could not be had", "host", host, "err", problem, "again_after", delay(s.at(host).Failures).String())
}

// errEnded is the error of an expired certificate that the library tries to renew.
var errEnded = errors.New("it ended, and could not be renewed")

func delay(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return delays[min(failures, len(delays))-1]
}

// failed records that a certificate could not be obtained.
func (s *Service) failed(host, failure string) {
	s.set(host, func(st *db.CertificateState) {
		st.Failures, st.FailedAt, st.Failure = st.Failures+1, clock.Now(), app.CutText(failure, 500)
	})
}

// renewed records a new certificate.
func (s *Service) renewed(host string, leaf *x509.Certificate) {
	lead := min(renewBefore, leaf.NotAfter.Sub(leaf.NotBefore)/renewBeforePart)
	s.set(host, func(st *db.CertificateState) {
		*st = db.CertificateState{Host: host, ExpiresAt: leaf.NotAfter, LookAt: leaf.NotAfter.Add(-lead)}
	})
}

// set changes the state of a host's certificate and stores it for commands.
func (s *Service) set(host string, change func(*db.CertificateState)) {
	s.mu.Lock()
	st := s.states[host]
	if st == nil {
		st = &state{CertificateState: db.CertificateState{Host: host}}
		s.states[host] = st
	}
	change(&st.CertificateState)
	now := st.CertificateState
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	if err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error { return tx.SetCertificateState(&now) }); err != nil {
		s.LogUnlessUnavailable("say how a certificate is", err)
	}
}

// writeTime is the timeout of a write for which no caller waits.
const writeTime = 30 * time.Second

// warn logs certificates that expire soon or have expired.
func (s *Service) warn() {
	for _, st := range s.ending(clock.Now()) {
		why := st.Failure
		if from := s.acme.Load(); why == "" && from != nil {
			if why = from.lastProblem(nil); why != "" {
				s.failed(st.Host, why)
			}
		}
		s.Log.Error("a certificate ends soon and is not renewed", "host", st.Host, "until", st.ExpiresAt, "err", why)
	}
}

// ending returns the certificates about which the log should warn now.
func (s *Service) ending(now time.Time) (all []db.CertificateState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.states {
		if st.ExpiresAt.IsZero() || now.Before(st.LookAt) || now.Sub(st.warned) < warnInterval {
			continue
		}
		st.warned = now
		all = append(all, st.CertificateState)
	}
	return all
}
