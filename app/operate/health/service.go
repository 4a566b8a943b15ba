package health

import (
	"context"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"mailer/app/base"
	"mailer/app/operate/backup"
	"mailer/app/operate/certificates"
	"mailer/app/sending/queue"
	"mailer/app/sending/relays"
	"mailer/app/tenants/domains"
	"mailer/db/engine"
)

// Service checks a server.
type Service struct {
	*base.Base
	domains *domains.Service
	routing *relays.Service
	queue   *queue.Service
	backup  *backup.Service
	certs   *certificates.Service
	network Network
	target  Target
	rounds  *rounds
	alerts  *atomic.Pointer[Alerts]
	// stepTimeout is the timeout of each kind of checks; 0: none.
	stepTimeout time.Duration
}

// New returns the service.
func New(base *base.Base, senders *domains.Service, relays *relays.Service, waits *queue.Service, copies *backup.Service, certs *certificates.Service) *Service {
	return &Service{Base: base, domains: senders, routing: relays, queue: waits, backup: copies, certs: certs, rounds: &rounds{}, alerts: &atomic.Pointer[Alerts]{}}
}

// WithTarget returns a service that checks the database p with the network n.
func (s *Service) WithTarget(p Target, n Network) *Service {
	out := *s
	out.target, out.network = p, n
	return &out
}

// Doctor makes all checks, with or without a running server. It sends nothing and changes nothing.
func (s *Service) Doctor(ctx context.Context) ([]Check, error) {
	deep, err := s.deepChecks(ctx, true)
	if err != nil {
		return nil, err
	}
	return s.merge(ctx, deep)
}

// step is one kind of checks.
type step struct {
	name  string
	check func(context.Context) ([]Check, error)
}

// deepChecks makes the checks that use the network: relays, DNS, public URL. dns includes the
// records of domains, which the server also checks four times an hour.
func (s *Service) deepChecks(ctx context.Context, dns bool) ([]Check, error) {
	steps := []step{{"clock", s.checkClock}, {"relays", s.askRelays}}
	if dns {
		steps = append(steps, step{"domains", s.askDomains}, step{"reports", s.checkReportRecord}, step{"reverse names", s.checkReverseNames})
	}
	found, err := s.each(ctx, steps)
	if err != nil {
		return nil, err
	}
	return append(append(append(Machine(s.target, nil), found...), s.checkBaseURL(ctx)...), s.checkBounces(ctx)...), nil
}

// knownChecks makes the checks that use only the database and the server's state.
func (s *Service) knownChecks(ctx context.Context) ([]Check, error) {
	return s.each(ctx, []step{{"readiness", s.checkReadiness}, {"disk", s.knownDisk}, {"images", s.checkImages}, {"sign-up", s.checkSignUps}, {"capture", s.checkCapture}, {"relays", s.knownRelays},
		{"domains", s.knownDomains}, {"block lists", s.knownBlockLists}, {"queue", s.knownQueue}, {"webhooks", s.checkWebhooks}, {"backups", s.checkBackups}, {"certificates", s.checkCertificates}})
}

// merge merges current checks into a round of deep checks.
func (s *Service) merge(ctx context.Context, deep []Check) ([]Check, error) {
	now, err := s.knownChecks(ctx)
	if err != nil {
		return nil, err
	}
	return named(s.target, merged(deep, now)), nil
}

// unitFiles are the paths at which a systemd unit of the server is installed.
var unitFiles = []string{"/etc/systemd/system/mailer.service", "/usr/lib/systemd/system/mailer.service", "/lib/systemd/system/mailer.service"}

// checkStopped reports that no server runs. The command starts the systemd unit if one of its files
// exists.
func checkStopped(p Target, units []string) Check {
	stopped := bad("server", "server_stopped", "", "database", engine.Name(p.Database))
	if slices.ContainsFunc(units, func(path string) bool { _, err := os.Stat(path); return err == nil }) {
		stopped.Finding.Command = "systemctl start mailer"
	}
	return named(p, []Check{stopped})[0]
}

// Findings returns the current findings: of known checks and, if a server runs, of its last round.
func (s *Service) Findings(ctx context.Context) ([]Finding, error) {
	var deep []Check
	if s.target.Running {
		last, err := s.lastStored(ctx)
		if err != nil {
			return nil, err
		}
		deep = last.Checks
	}
	all, err := s.merge(ctx, deep)
	if err != nil {
		return nil, err
	}
	if !s.target.Running {
		all = append(all, checkStopped(s.target, unitFiles))
	}
	return findings(all), nil
}

// each makes several kinds of checks.
func (s *Service) each(ctx context.Context, steps []step) (checks []Check, err error) {
	for _, step := range steps {
		found, err := s.bounded(ctx, step.name, step.check)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, err
		case err != nil: // the other kinds are still checked
			found = []Check{s.checkFailed(step.name, err)}
		}
		checks = append(checks, found...)
	}
	return checks, nil
}

// bounded makes checks with the timeout. A timeout is a finding.
func (s *Service) bounded(ctx context.Context, name string, check func(context.Context) ([]Check, error)) ([]Check, error) {
	if s.stepTimeout == 0 {
		return check(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, s.stepTimeout)
	defer cancel()
	found, err := check(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return []Check{bad(name, "check_slow", name, "check", name, "span", s.stepTimeout.String())}, nil
	}
	return found, err
}
