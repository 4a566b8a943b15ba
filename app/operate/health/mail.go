package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// maxDomainChecks is how many domains are looked up at the same time.
const maxDomainChecks = 8

// ownedDomain is a domain with the name of its team.
type ownedDomain struct {
	app.Domain
	team string
}

func (s *Service) allDomains(ctx context.Context) (all []ownedDomain, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		all = nil
		teams, err := r.ListTeams()
		if err != nil {
			return err
		}
		for _, team := range teams {
			page := app.Page{Limit: app.MaxLimit}
			for more := true; more; {
				var rows []app.Domain
				if rows, more, err = r.ListDomains(team.ID, page); err != nil {
					return err
				}
				for _, d := range rows {
					all = append(all, ownedDomain{d, team.Name})
					page.After = d.ID
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list domains: %w", err)
	}
	return all, nil
}

// knownDomains checks every domain by the results of its last DNS check.
func (s *Service) knownDomains(ctx context.Context) ([]Check, error) {
	all, err := s.allDomains(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return []Check{bad("domains", "domain_none", "")}, nil
	}
	var checks []Check
	for i := range all {
		d := &all[i]
		c := s.judgeDomain(&d.Domain, d.team)
		c.Settled = d.CheckedAt
		checks = append(checks, c)
	}
	return checks, nil
}

// askDomains checks the records of every domain in the DNS.
func (s *Service) askDomains(ctx context.Context) ([]Check, error) {
	all, err := s.allDomains(ctx)
	if err != nil {
		return nil, err
	}
	checks := make([]Check, len(all))
	var g errgroup.Group
	g.SetLimit(maxDomainChecks)
	for i, d := range all {
		g.Go(func() (err error) {
			checks[i], err = s.askDomain(ctx, &d.Domain, d.team)
			return err
		})
	}
	return checks, g.Wait()
}

// askDomain checks the records of one domain in the DNS. It returns no check if the domain was
// deleted meanwhile.
func (s *Service) askDomain(ctx context.Context, d *app.Domain, team string) (Check, error) {
	if !d.Trusted {
		found, err := s.domains.CheckDNS(ctx, d.TeamID, d.ID)
		if app.CodeOf(err) == app.CodeNotFound {
			return good("domain "+d.Name, "deleted meanwhile"), nil
		}
		if err != nil {
			return Check{}, fmt.Errorf("look up %s: %w", d.Name, err)
		}
		d.Checks = found
	}
	c := s.judgeDomain(d, team)
	c.Settled = clock.Now()
	return c, nil
}

// setupTime is how long the records of a new domain may be missing without a finding.
const setupTime = 72 * time.Hour

// judgeDomain checks the required records of a domain.
func (s *Service) judgeDomain(d *app.Domain, team string) Check {
	name := "domain " + d.Name
	if d.Trusted {
		return good(name, "trusted by the operator, team %s; DNS records are not checked", team)
	}
	found := good(name, "verified, team %s", team)
	for _, r := range s.domains.DomainRecords(d) {
		if r.Required && r.Live != app.LiveFound && len(d.Checks) > 0 {
			found = bad(name, "domain_record", d.ID, "id", d.ID, "domain", d.Name, "team", team, "record", r.Record, "name", r.Name, "live", string(r.Live), "detail", r.Detail)
			if r.Live == app.LiveUnknown && d.Status == app.DomainVerified {
				return found.lesser()
			}
			break
		}
	}
	if found.OK && d.Status != app.DomainVerified {
		found = bad(name, "domain_unverified", d.ID, "id", d.ID, "domain", d.Name, "team", team, "status", string(d.Status), "state", strings.ReplaceAll(string(d.Status), "_", " "))
	}
	if found.OK {
		return s.judgeReserves(d, team)
	}
	if d.Status != app.DomainVerified && clock.Since(d.CreatedAt) < setupTime {
		return found.lesser()
	}
	return found
}

// judgeReserves checks whether mail of a verified domain may leave through every relay of its region.
func (s *Service) judgeReserves(d *app.Domain, team string) Check {
	name, region := "domain "+d.Name, s.Settings.RegionOf(d.Region)
	params := []string{"id", d.ID, "domain", d.Name, "team", team, "region", region}
	if lacks := d.SPFCheck().Lacks; len(lacks) > 0 {
		record := s.domains.DomainRecords(d)
		i := slices.IndexFunc(record, func(r app.DNSRecord) bool { return r.Record == app.RecordSPF && r.Type == string(app.DNSText) })
		return bad(name, "domain_reserve", d.ID, append(params, "name", record[i].Name, "missing", strings.Join(lacks, ", "), "value", record[i].Value)...)
	}
	for _, r := range s.Settings.Relays().Regions {
		if r.Name == region && len(r.Needs.Unsigned) > 0 && d.StrictDMARC() != "" {
			return bad(name, "domain_unsigned", d.ID, append(params, "relay", strings.Join(r.Needs.Unsigned, ", "), "policy", d.StrictDMARC())...)
		}
	}
	return good(name, "verified, team %s", team)
}

// checkCapture reports that the server was started without sending.
func (s *Service) checkCapture(context.Context) ([]Check, error) {
	const name = "capture"
	if s.Settings.Capture {
		return []Check{bad(name, "capture", "")}, nil
	}
	return []Check{good(name, "not in use")}, nil
}

// checkClock compares the clock with the latest time that a server stored.
func (s *Service) checkClock(ctx context.Context) ([]Check, error) {
	noted, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return r.Setting(base.ClockSetting) })
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the latest time: %w", err)
	}
	milli, err := strconv.ParseInt(string(noted), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the latest time: %w", err)
	}
	if ahead := clock.Until(time.UnixMilli(milli)); ahead > clockPatience {
		return []Check{bad("clock of the database", "clock_behind", "", "ahead", ahead.Round(time.Second).String())}, nil
	}
	return nil, nil
}

// checkWebhooks reports failing webhooks.
func (s *Service) checkWebhooks(ctx context.Context) ([]Check, error) {
	const name = "webhooks"
	failing, err := db.Get(ctx, s.DB, (*db.Reader).FailingWebhooks)
	if err != nil {
		return nil, fmt.Errorf("list webhooks that fail: %w", err)
	}
	if len(failing) == 0 {
		return []Check{good(name, "no failing webhooks")}, nil
	}
	var checks []Check
	for _, w := range failing {
		id := "webhook_failing"
		if w.Status != webhook.Enabled {
			id = "webhook_disabled"
		}
		checks = append(checks, bad(name, id, w.ID, "id", w.ID, "endpoint", w.Endpoint, "team", cmp.Or(w.Team, w.TeamID), "since", app.FormatTime(w.FailingSince)))
	}
	return checks, nil
}
