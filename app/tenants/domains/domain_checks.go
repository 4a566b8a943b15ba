package domains

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/dnscheck"
	"mailer/app/rules/webhook"
	"mailer/db"
)

const (
	// checkTimeout bounds all queries about one domain.
	checkTimeout = 30 * time.Second
	// maxConcurrentChecks is how many domains are checked at the same time.
	maxConcurrentChecks = 16
	// maxDuePerRound is how many due domains one round checks.
	maxDuePerRound = 100
)

// checker runs at most one check of each domain at a time.
type checker struct {
	mu      sync.Mutex
	running map[string]bool // by domain id; true: another check was requested
	slots   chan struct{}
}

func newChecker() *checker {
	return &checker{running: map[string]bool{}, slots: make(chan struct{}, maxConcurrentChecks)}
}

// request requests a check of a domain. It returns true if the caller must run the check. Otherwise
// the running check is repeated, since records published meanwhile may be missing in its answers.
func (c *checker) request(id string) (start bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, busy := c.running[id]
	c.running[id] = true
	return !busy
}

// next reports whether a check is requested. Otherwise it marks the domain as not running.
func (c *checker) next(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[id] {
		c.running[id] = false
		return true
	}
	delete(c.running, id)
	return false
}

// clear marks a domain as not running and drops its request.
func (c *checker) clear(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, id)
}

// VerifyDomain starts a check of a domain and does not wait for it. A domain that was never
// checked, or that has failed, becomes pending. Errors: CodeNotFound.
func (s *Service) VerifyDomain(ctx context.Context, key *app.Key, id string) error {
	d, err := s.beginVerifying(ctx, key.TeamID, id, false)
	if err != nil {
		return err
	}
	s.startCheck(d)
	return nil
}

// CheckDomain is VerifyDomain for a domain by name, and waits for the outcome. Errors:
// CodeNotFound.
func (s *Service) CheckDomain(ctx context.Context, teamID, name string) (d app.Domain, err error) {
	if d, err = s.DomainByName(ctx, teamID, name); err != nil {
		return d, err
	}
	if d, err = s.beginVerifying(ctx, teamID, d.ID, false); err != nil {
		return d, err
	}
	if err := s.check(ctx, &d); err != nil {
		return d, base.Lookup("domain", err)
	}
	return s.DomainByName(ctx, teamID, d.Name)
}

// beginVerifying marks a domain as due, and as pending if it was not verified. published: its records
// were just published, so that its 72 hours start again and the next checks follow soon.
func (s *Service) beginVerifying(ctx context.Context, teamID, id string, published bool) (d app.Domain, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if d, err = tx.Domain(teamID, id); err != nil {
			return err
		}
		before := d.Status
		if published {
			d.PendingSince = time.Time{}
		}
		d.Status, d.PendingSince, d.CheckAt = app.StartVerifying(&d, tx.Now)
		if err := tx.SetDomainChecks(&d); err != nil {
			return err
		}
		if err := base.Audit(ctx, tx, teamID, "domain.verify", id, map[string]any{"status": before}, map[string]any{"name": d.Name, "status": d.Status}); err != nil || d.Status == before {
			return err
		}
		return s.announceDomain(tx, webhook.DomainUpdated, &d)
	})
	return d, base.Lookup("domain", err)
}

// startCheck checks a domain in the background. If the server stops first, the next start checks
// the domain, since it stays due.
func (s *Service) startCheck(d app.Domain) {
	if s.Resolver == nil || s.Claiming.Err() != nil || !s.checks.request(d.ID) {
		return
	}
	s.Workers.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				s.checks.clear(d.ID)
				s.Log.Error("panic in a check of a domain", "domain", d.Name, "panic", r, "stack", string(debug.Stack()))
			}
		}()
		select {
		case s.checks.slots <- struct{}{}:
			defer func() { <-s.checks.slots }()
		case <-s.Claiming.Done():
			return
		}
		for s.checks.next(d.ID) {
			if err := s.check(s.Claiming, &d); err != nil && s.Claiming.Err() == nil && app.CodeOf(err) != app.CodeNotFound && !errors.Is(err, db.ErrNotFound) {
				s.Log.Error("check a domain", "domain", d.Name, "err", err)
			}
		}
	})
}

// CheckDue is the cron job that checks due domains.
func (s *Service) CheckDue(ctx context.Context) error {
	if s.Resolver == nil {
		return nil
	}
	due, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Domain, error) { return r.DueDomains(clock.Now(), maxDuePerRound) })
	if err != nil {
		return fmt.Errorf("find due domains: %w", err)
	}
	for _, d := range due {
		s.startCheck(d)
	}
	return nil
}

// check queries the DNS about a domain and stores the outcome.
func (s *Service) check(ctx context.Context, d *app.Domain) error {
	checks, err := s.CheckDNS(ctx, d.TeamID, d.ID)
	if err != nil {
		return err
	}
	return s.DB.Write(ctx, func(tx *db.Tx) error { return s.storeCheck(tx, d, checks) })
}

// CheckDNS queries the DNS about the records of a domain and changes nothing. Errors: CodeNotFound;
// that of ctx.
func (s *Service) CheckDNS(ctx context.Context, teamID, id string) ([]app.RecordCheck, error) {
	if s.Resolver == nil {
		return nil, errors.New("no resolver is configured")
	}
	d, err := s.GetDomain(ctx, &app.Key{TeamID: teamID}, id) // including its keys
	if err != nil {
		return nil, err
	}
	checkCtx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	needs, target := s.recordInputs(&d)
	checks := dnscheck.Check(checkCtx, d.WithoutExpiredKeys(clock.Now()), needs, target, s.Resolver)
	return checks, ctx.Err() // an expired ctx is no missing record
}

// storeCheck stores the outcome of a check: the new status, and the next DKIM key as the signing
// key if its record was found. Only changes of these are announced.
func (s *Service) storeCheck(tx *db.Tx, checked *app.Domain, checks []app.RecordCheck) error {
	d, err := tx.Domain(checked.TeamID, checked.ID)
	if err != nil {
		return err
	}
	promoted, err := promoteKey(tx, &d, checks)
	if err != nil {
		return err
	}
	if err := tx.PurgeDKIMKeys(d.ID, tx.Now.Add(-app.DKIMRetention)); err != nil {
		return err
	}
	before := d.Status
	d.Status, d.PendingSince, d.CheckAt = app.NextDomainStatus(&d, checks, tx.Now)
	d.Checks, d.CheckedAt = checks, tx.Now
	if err := setReceives(tx, &d); err != nil {
		return err
	}
	if err := tx.SetDomainChecks(&d); err != nil {
		return err
	}
	if d.Status == before && !promoted {
		return nil
	}
	tx.AfterCommit(func() {
		s.dkim.Forget(dkimName(d.TeamID, d.Name))
		s.Log.Info("domain checked", "domain", d.Name, "status", d.Status, "was", before, "new_dkim_key", promoted)
	})
	return s.announceDomain(tx, webhook.DomainUpdated, &d)
}

// setReceives sets whether a domain receives mail after a check: the team wants it, it is verified for this team alone,
// and the MX record of this server was found. While the DNS does not answer, the last result counts.
func setReceives(tx *db.Tx, d *app.Domain) error {
	live := app.LiveMissing
	for _, c := range d.Checks {
		if c.Record == app.RecordReceiving && c.Name == d.Name {
			live = c.Live
		}
	}
	found := live == app.LiveFound || live == app.LiveUnknown && d.Receives
	d.Receives = d.Receiving && d.Status == app.DomainVerified && found
	if !d.Receives {
		return nil
	}
	others, err := verifiedByOthers(&tx.Reader, d)
	if d.Receives = err == nil && !others; d.Receives {
		d.ReceivesAt = tx.Now
	}
	return err
}

// verifiedByOthers reports whether another team has verified the same name.
func verifiedByOthers(r *db.Reader, d *app.Domain) (bool, error) {
	all, err := r.DomainsNamed(d.Name)
	return slices.ContainsFunc(all, func(o db.ReceivingDomain) bool { return o.TeamID != d.TeamID && o.Verified }), err
}

// MayReceive refuses to receive mail for a domain on a server that receives none, or for which another team has
// verified the name. Errors: CodeValidation, CodeConflict.
func (s *Service) MayReceive(r *db.Reader, d *app.Domain) error {
	if app.BounceMX(s.Settings.BounceHost) == "" {
		return app.Invalid("capabilities.receiving", "can't be enabled: this server receives no mail. Its operator starts it with --smtp-receive, and with --bounce-host where the host is not that of --base-url")
	}
	others, err := verifiedByOthers(r, d)
	if err == nil && others {
		return app.Errorf(app.CodeConflict, "Another team of this server has verified %s: mail for a domain is received for one team only", d.Name)
	}
	return err
}

// promoteKey makes the next key of a domain the signing key, if there is one and its record was
// found.
func promoteKey(tx *db.Tx, d *app.Domain, checks []app.RecordCheck) (promoted bool, err error) {
	next := d.Key(app.DKIMNext)
	if next == nil || !d.KeyIsLive(next, checks) {
		return false, nil
	}
	if err := tx.PromoteDKIMKey(d.ID); err != nil {
		return false, err
	}
	*d, err = tx.Domain(d.TeamID, d.ID)
	return err == nil, err
}
