package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"mailer/app"
	"mailer/app/clock"
	"mailer/app/service"
	"mailer/app/webhook"
	"mailer/db"
)

// domainsAtOnce is how many domains are looked up at the same time.
const domainsAtOnce = 8

// checkDomains looks for the records of every domain in the DNS.
func (s *Service) checkDomains(ctx context.Context) ([]Check, error) {
	type owned struct {
		app.Domain
		team string
	}
	var all []owned
	err := s.DB.Read(ctx, func(r *db.Reader) error {
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
					all = append(all, owned{d, team.Name})
					page.After = d.ID
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list domains: %w", err)
	}
	if len(all) == 0 {
		return []Check{bad("domains", "there is no sending domain yet", "mailer domains add NAME")}, nil
	}
	checks := make([]Check, len(all))
	var g errgroup.Group
	g.SetLimit(domainsAtOnce)
	for i, d := range all {
		g.Go(func() (err error) {
			checks[i], err = s.checkDomain(ctx, &d.Domain, d.team)
			return err
		})
	}
	return checks, g.Wait()
}

// checkDomain judges one domain by its required records. Of one that is deleted
// meanwhile nothing is said.
func (s *Service) checkDomain(ctx context.Context, d *app.Domain, team string) (Check, error) {
	name := "domain " + d.Name
	if d.Trusted {
		return good(name, "trusted by the operator, team %s; DNS records are not checked", team), nil
	}
	found, err := s.domains.LookUp(ctx, d.TeamID, d.ID)
	if app.CodeOf(err) == app.CodeNotFound {
		return good(name, "deleted meanwhile"), nil
	}
	if err != nil {
		return Check{}, fmt.Errorf("look up %s: %w", d.Name, err)
	}
	fix := fmt.Sprintf("publish the records shown by mailer domains records %s --team %s, then run mailer domains verify %s --team %s", d.Name, strconv.Quote(team), d.Name, strconv.Quote(team))
	d.Checks = found
	for _, r := range s.domains.DomainRecords(d) {
		if r.Required && r.Live != app.LiveFound {
			words := fmt.Sprintf("team %s: %s record %s is %s", team, r.Record, r.Name, r.Live)
			if r.Detail != "" {
				words += ": " + r.Detail
			}
			return bad(name, words, fix), nil
		}
	}
	if d.Status != app.DomainVerified {
		return bad(name, fmt.Sprintf("team %s: the records are found, but the status is %s", team, d.Status), fmt.Sprintf("mailer domains verify %s --team %s", d.Name, strconv.Quote(team))), nil
	}
	return good(name, "verified, team %s", team), nil
}

// checkCapture says that nothing leaves where that is what the server was started for.
func (s *Service) checkCapture(context.Context) ([]Check, error) {
	const name = "capture"
	if s.Settings.Capture {
		return []Check{bad(name, "capture mode: mail is signed and stored, not sent", "start mailer serve without --capture and --dev, with a relay; mailer queue requeue --captured then sends the captured mail")}, nil
	}
	return []Check{good(name, "not in use")}, nil
}

// checkClock compares the clock with the latest time that a server saw.
func (s *Service) checkClock(ctx context.Context) ([]Check, error) {
	noted, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return r.Setting(service.ClockSetting) })
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
		whose := "this machine's"
		if db.Shared(s.DB) {
			whose = "the database's"
		}
		return []Check{bad("clock of the database", fmt.Sprintf("a server recorded a time %s ahead of %s clock: one of them is wrong", ahead.Round(time.Second), whose),
			"timedatectl set-ntp true; a running server then corrects mail that was scheduled by the wrong time")}, nil
	}
	return nil, nil
}

// checkWebhooks names the webhooks that fail.
func (s *Service) checkWebhooks(ctx context.Context) ([]Check, error) {
	const name = "webhooks"
	failing, err := db.Get(ctx, s.DB, (*db.Reader).FailingWebhooks)
	if err != nil {
		return nil, fmt.Errorf("list webhooks that fail: %w", err)
	}
	if len(failing) == 0 {
		return []Check{good(name, "none fails")}, nil
	}
	var checks []Check
	for _, w := range failing {
		what := "fails"
		if w.Status != webhook.Enabled {
			what = "is disabled, and failed"
		}
		checks = append(checks, bad(name, fmt.Sprintf("%s (%s of team %s) %s since %s", w.Endpoint, w.ID, cmp.Or(w.Team, w.TeamID), what, app.FormatTime(w.FailingSince)),
			"fix the endpoint; GET /webhooks/"+w.ID+"/events shows its responses; then PATCH its status to enabled, or delete it"))
	}
	return checks, nil
}
