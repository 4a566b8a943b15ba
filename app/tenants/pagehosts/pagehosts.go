// Package pagehosts implements the hosts at which pages of teams answer: forms, archives, images. They
// are the own host of a team, the operator's --pages-host, and the host of the base URL while the
// server has one team.
//
// Failure policy: while the database can't be read, the hosts that were read last count. A check of a
// DNS record without an answer changes nothing.
package pagehosts

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/cache"
	"mailer/app/kit/clock"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/dnscheck"
	"mailer/app/rules/tracking"
	"mailer/db"
)

const (
	// cachedFor is how long the own hosts are cached: another server may change them.
	cachedFor = 10 * time.Second
	// checkTimeout bounds the queries about one host.
	checkTimeout = 30 * time.Second
	// A record that was not found is checked each soon for newFor, and then, like one that was found,
	// each later.
	soon   = time.Minute
	later  = time.Hour
	newFor = 72 * time.Hour
	// maxPerRound is how many hosts one round checks.
	maxPerRound = 50
)

// Service implements the hosts of pages.
type Service struct {
	*base.Base
	resolver app.DNSLookup // nil: nothing is checked
	known    *cache.Cache[string, hosts]
	checks   chan struct{}
}

// hosts are the own hosts of teams.
type hosts struct {
	byName map[string]db.PagesHost
	byTeam map[string]db.PagesHost
}

// New makes the service.
func New(b *base.Base, resolver app.DNSLookup) *Service {
	return &Service{Base: b, resolver: resolver, known: cache.New[string, hosts](1, cachedFor), checks: make(chan struct{}, 4)}
}

// allKey is the only key of the cache.
const allKey = "all"

// hosts returns the own hosts of all teams.
func (s *Service) hosts(ctx context.Context) (hosts, error) {
	all, err := s.known.Load(ctx, allKey, func(ctx context.Context) (hosts, error) {
		rows, err := db.Get(ctx, s.DB, (*db.Reader).PagesHosts)
		h := hosts{byName: map[string]db.PagesHost{}, byTeam: map[string]db.PagesHost{}}
		for _, row := range rows {
			h.byName[row.Name], h.byTeam[row.TeamID] = row, row
		}
		return h, err
	})
	if err != nil {
		if last, ok := s.known.Last(allKey); ok {
			s.known.Put(allKey, last, s.known.Mark())
			return last, nil
		}
	}
	return all, base.Unavailable(err)
}

// Serves reports whether a host, with or without a port, serves the pages of a team. Error:
// CodeServiceUnavailable.
func (s *Service) Serves(ctx context.Context, hostport, teamID string) (bool, error) {
	host := tracking.HostOf(hostport)
	if host != "" && host == s.Settings.PagesHost {
		return true, nil
	}
	all, err := s.hosts(ctx)
	if err != nil {
		return false, err
	}
	if owner, ok := all.byName[host]; ok {
		return owner.TeamID == teamID, nil
	}
	if !tracking.CountsAsBase(s.baseHost(), host) {
		return false, nil
	}
	several, err := db.Get(ctx, s.DB, (*db.Reader).SeveralTeams)
	return err == nil && !several, base.Unavailable(err)
}

// IsPagesHost reports whether a host, with or without a port, is the own host of a team or the
// operator's host for pages, where neither the API nor the dashboard answers.
func (s *Service) IsPagesHost(ctx context.Context, hostport string) bool {
	host := tracking.HostOf(hostport)
	if host == "" || host == s.baseHost() {
		return false
	}
	if host == s.Settings.PagesHost {
		return true
	}
	all, err := s.hosts(ctx)
	if err != nil {
		s.LogUnlessUnavailable("read the own hosts of teams", err)
	}
	_, own := all.byName[host]
	return own
}

// TeamAt returns the id of the team whose own host a host is, with or without a port; empty: none.
// Error: CodeServiceUnavailable.
func (s *Service) TeamAt(ctx context.Context, hostport string) (string, error) {
	all, err := s.hosts(ctx)
	return all.byName[tracking.HostOf(hostport)].TeamID, err
}

// BaseOf returns the URL, without a path, at which the pages of a team are: that of its own host once
// its DNS record was found, of the operator's host, or the base URL while the server has one team;
// empty: none. Error: CodeServiceUnavailable.
func (s *Service) BaseOf(ctx context.Context, teamID string) (string, error) {
	own, err := s.OwnBase(ctx, teamID)
	if err != nil || own != "" {
		return own, err
	}
	if s.Settings.PagesHost != "" {
		return s.withHost(s.Settings.PagesHost), nil
	}
	several, err := db.Get(ctx, s.DB, (*db.Reader).SeveralTeams)
	if err != nil || several {
		return "", base.Unavailable(err)
	}
	return s.Settings.BaseURL, nil
}

// FilesBase returns the URL, without a path, at which files of strangers are: that of the operator's host, which has no
// cookies, or else the base URL.
func (s *Service) FilesBase() string {
	if s.Settings.PagesHost != "" {
		return s.withHost(s.Settings.PagesHost)
	}
	return s.Settings.BaseURL
}

// OwnBase is BaseOf for the own host of a team alone.
func (s *Service) OwnBase(ctx context.Context, teamID string) (string, error) {
	all, err := s.hosts(ctx)
	if own := all.byTeam[teamID]; err == nil && own.PointsHere {
		return s.withHost(own.Name), nil
	}
	return "", err
}

// withHost returns the base URL with another host name, and the same port.
func (s *Service) withHost(name string) string {
	u, err := url.Parse(s.Settings.BaseURL)
	if err != nil {
		return ""
	}
	if port := u.Port(); port != "" {
		name += ":" + port
	}
	return (&url.URL{Scheme: u.Scheme, Host: name}).String()
}

func (s *Service) baseHost() string {
	u, err := url.Parse(s.Settings.BaseURL)
	if err != nil {
		return ""
	}
	return tracking.HostOf(u.Host)
}

// Host is the own host of a team with its DNS record.
type Host struct {
	db.PagesHost
	Target string // of the CNAME record
}

// Get returns the own host of a team; nil: none.
func (s *Service) Get(ctx context.Context, teamID string) (*Host, error) {
	h, err := db.Get(ctx, s.DB, func(r *db.Reader) (db.PagesHost, error) { return r.PagesHost(teamID) })
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	return &Host{h, s.baseHost()}, base.Unavailable(err)
}

// Parse checks the form of a host name, and that the server does not use it itself. Error:
// CodeValidation for pages_host.
func Parse(own *base.Settings, name string) (string, error) {
	host, err := mailbox.ParseDomain(strings.TrimSuffix(strings.TrimSpace(name), "."))
	if err != nil {
		return "", app.Invalid("pages_host", "must be a host name like news.example.com, without a path or port")
	}
	u, err := url.Parse(own.BaseURL)
	if err == nil && tracking.HostOf(u.Host) == host || host == own.PagesHost || host == own.BounceHost {
		return "", app.Invalid("pages_host", "must be a host name of the team; %s is the server's", host)
	}
	return host, nil
}

// Set makes a name the own host of a team, or removes it if the name is empty. The name was returned
// by Parse. Errors: CodeValidation for pages_host if no verified domain of the team is above the name,
// CodeConflict if another team has it.
func Set(ctx context.Context, tx *db.Tx, teamID, name string) error {
	before, err := tx.PagesHost(teamID)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	if before.Name == name {
		return nil
	}
	if name == "" {
		err = tx.DeletePagesHost(teamID)
	} else {
		err = set(tx, teamID, name)
	}
	if err != nil {
		return err
	}
	return base.Audit(ctx, tx, teamID, "team.update", teamID, map[string]any{"pages_host": before.Name}, map[string]any{"pages_host": name})
}

func set(tx *db.Tx, teamID, name string) error {
	_, above, _ := strings.Cut(name, ".")
	ok, err := tx.VerifiedAbove(teamID, above)
	if err == nil && !ok {
		err = app.Invalid("pages_host", "must be below a verified domain of the team; %s is not", name)
	}
	if err != nil {
		return err
	}
	err = tx.SetPagesHost(teamID, name)
	if errors.Is(err, db.ErrConflict) {
		return app.Errorf(app.CodeConflict, "The pages_host %s belongs to another team of this server; choose another name", name)
	}
	return err
}

// Changed drops what is cached after the host of a team was set, and checks its DNS record in the
// background.
func (s *Service) Changed(teamID string) {
	s.known.Forget(allKey)
	if s.resolver == nil || s.Claiming.Err() != nil {
		return
	}
	s.Workers.Go(func() {
		select {
		case s.checks <- struct{}{}:
			defer func() { <-s.checks }()
		case <-s.Claiming.Done():
			return
		}
		h, err := db.Get(s.Claiming, s.DB, func(r *db.Reader) (db.PagesHost, error) { return r.PagesHost(teamID) })
		if err == nil {
			err = s.check(s.Claiming, &h)
		}
		if err != nil && !errors.Is(err, db.ErrNotFound) && s.Claiming.Err() == nil {
			s.LogUnlessUnavailable("check the own host of a team", err, "team", teamID)
		}
	})
}

// CheckDue is the cron job that checks the DNS records of own hosts.
func (s *Service) CheckDue(ctx context.Context) error {
	if s.resolver == nil {
		return nil
	}
	all, err := db.Get(ctx, s.DB, (*db.Reader).PagesHosts)
	if err != nil {
		return err
	}
	now, checked := clock.Now(), 0
	slices.SortStableFunc(all, func(a, b db.PagesHost) int { return a.CheckedAt.Compare(b.CheckedAt) })
	for i := range all {
		h := &all[i]
		every := later
		if !h.PointsHere && now.Sub(h.CreatedAt) < newFor {
			every = soon
		}
		if now.Sub(h.CheckedAt) < every || checked == maxPerRound {
			continue
		}
		checked++
		if err := s.check(ctx, h); err != nil {
			return fmt.Errorf("check the own host %s: %w", h.Name, err)
		}
	}
	return nil
}

// check queries the DNS about a host and stores what was found.
func (s *Service) check(ctx context.Context, h *db.PagesHost) error {
	checkCtx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found := dnscheck.PointsTo(checkCtx, h.Name, s.baseHost(), s.resolver)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if found.Live != app.LiveUnknown {
		h.PointsHere = found.Live == app.LiveFound
	}
	h.Detail = found.Detail
	err := s.DB.Write(ctx, func(tx *db.Tx) error { return tx.SetPagesHostCheck(h) })
	s.known.Forget(allKey)
	return base.IgnoreNotFound(err)
}
