package domains

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// dkimBits is the length of a DKIM key (RFC 8301 3.2).
const dkimBits = 2048

// DKIMPurpose is the purpose that private DKIM keys are sealed for.
const DKIMPurpose = "dkim"

// AddDomain adds a domain to a team, with a new DKIM key pair. A trusted domain is verified
// immediately. Errors: CodeConflict, CodeValidation, CodePlanLimitReached; CodeRateLimitExceeded
// and CodeServiceUnavailable if many domains are added at the same time.
func (s *Service) AddDomain(ctx context.Context, teamID string, in app.DomainInput) (app.Domain, error) {
	d, err := in.Validate(s.Regions())
	if err != nil {
		return app.Domain{}, err
	}
	d.ID, d.TeamID, d.CreatedAt, d.Status = app.NewID(), teamID, clock.Now().UTC(), app.DomainNotStarted
	if d.Trusted {
		d.Status = app.DomainVerified
	}
	conflict := app.Errorf(app.CodeConflict, "The domain %s is registered already", d.Name)
	if _, err := s.DomainByName(ctx, teamID, d.Name); err == nil {
		return app.Domain{}, conflict // checked before the key, which takes a tenth of a second
	}
	if err := s.DB.Read(ctx, func(r *db.Reader) error { return s.teams.CheckDomainLimit(r, teamID) }); err != nil {
		return app.Domain{}, base.Unavailable(err) // also checked before the key
	}
	pair, err := s.newDKIMPair(ctx, &d, app.DKIMSelector, app.DKIMSigning)
	if err != nil {
		return app.Domain{}, err
	}
	d.Keys = []app.DKIMPair{pair}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if d.Receiving {
			if err := s.MayReceive(&tx.Reader, &d); err != nil {
				return err
			}
		}
		limitErr := s.teams.CheckDomainLimit(&tx.Reader, teamID)
		if err := tx.InsertDomain(&d); err != nil {
			return err
		}
		if limitErr != nil {
			return limitErr
		}
		tx.AfterCommit(func() { s.dkim.Forget(dkimName(d.TeamID, d.Name)) })
		if err := s.announceDomain(tx, webhook.DomainCreated, &d); err != nil {
			return err
		}
		return base.Audit(ctx, tx, teamID, "domain.create", d.ID, nil, map[string]any{"name": d.Name, "region": d.Region, "trusted": d.Trusted})
	})
	if errors.Is(err, db.ErrConflict) {
		return app.Domain{}, conflict
	}
	return d, base.Unavailable(err)
}

// newDKIMPair makes a key pair with the private key sealed for the domain. Errors: those of
// acquireKeySlot.
func (s *Service) newDKIMPair(ctx context.Context, d *app.Domain, selector string, state app.DKIMState) (app.DKIMPair, error) {
	release, err := s.acquireKeySlot(ctx, d.TeamID)
	if err != nil {
		return app.DKIMPair{}, err
	}
	defer release()
	key, err := s.NewKey()
	if err != nil {
		return app.DKIMPair{}, fmt.Errorf("make DKIM key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return app.DKIMPair{}, fmt.Errorf("encode DKIM key: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return app.DKIMPair{}, fmt.Errorf("encode DKIM key: %w", err)
	}
	return app.DKIMPair{
		Selector: selector, State: state, Public: base64.StdEncoding.EncodeToString(public),
		Sealed: s.Sealer.Seal(DKIMPurpose, d.ID, private), CreatedAt: clock.Now().UTC(),
	}, nil
}

// ListDomains returns a page of a team's domains, newest first, without their keys, and whether
// there are more.
func (s *Service) ListDomains(ctx context.Context, teamID string, page app.Page) (rows []app.Domain, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Domain, bool, error) { return r.ListDomains(teamID, page) })
	return rows, more, base.Cursor(page, err)
}

// GetDomain returns one domain of the key's team with its keys and the last check. Errors:
// CodeNotFound.
func (s *Service) GetDomain(ctx context.Context, key *app.Key, id string) (d app.Domain, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if d, err = r.Domain(key.TeamID, id); err != nil {
			return err
		}
		d.Pauses, err = r.DomainTroubles(d.TeamID, d.Name)
		return err
	})
	return d, base.Lookup("domain", err)
}

// DomainByName returns a team's domain. Errors: CodeNotFound.
func (s *Service) DomainByName(ctx context.Context, teamID, name string) (d app.Domain, err error) {
	if ascii, perr := mailbox.ParseDomain(name); perr == nil {
		name = ascii
	}
	d, err = db.Get(ctx, s.DB, func(r *db.Reader) (app.Domain, error) { return r.DomainByName(teamID, name) })
	return d, base.Lookup("domain", err)
}

// UpdateDomain changes the tracking of a domain, and whether it receives mail. Mail accepted before keeps the old settings. A new
// tracking host is checked now, and used once a check finds it in the DNS. The same applies to the MX record of a
// domain that is to receive mail. Errors: CodeNotFound, CodeValidation; CodeConflict if another team has verified a
// domain that is to receive mail.
func (s *Service) UpdateDomain(ctx context.Context, key *app.Key, id string, patch app.DomainPatch) (d app.Domain, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		old, err := tx.Domain(key.TeamID, id)
		if err != nil {
			return err
		}
		if d, err = patch.Apply(old); err != nil {
			return err
		}
		if d.OpenTracking == old.OpenTracking && d.ClickTracking == old.ClickTracking && d.TrackingSubdomain == old.TrackingSubdomain && d.Receiving == old.Receiving {
			return nil
		}
		if d.Receiving && !old.Receiving {
			if err := s.MayReceive(&tx.Reader, &d); err != nil {
				return err
			}
		}
		if err := tx.SetDomainTracking(&d); err != nil {
			return err
		}
		if (d.TrackingSubdomain != old.TrackingSubdomain || d.Receiving && !old.Receiving) && (d.Status == app.DomainVerified || d.Status == app.DomainPending) {
			tx.AfterCommit(func() { s.startCheck(d) })
		}
		if err := s.announceDomain(tx, webhook.DomainUpdated, &d); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "domain.update", id, auditedTracking(&old), auditedTracking(&d))
	})
	return d, base.Lookup("domain", err)
}

// auditedTracking returns what the audit log shows of a domain's tracking, and of its capabilities.
func auditedTracking(d *app.Domain) map[string]any {
	return map[string]any{"name": d.Name, "open_tracking": d.OpenTracking, "click_tracking": d.ClickTracking, "tracking_subdomain": d.TrackingSubdomain, "receiving": d.Receiving}
}

// DeleteDomain deletes a domain with its keys, and the API keys that are restricted to it. Waiting
// mail of the domain fails at its next attempt. Errors: CodeNotFound; CodeConflict if a restricted
// API key has a higher role than key.
func (s *Service) DeleteDomain(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		d, err := tx.Domain(key.TeamID, id)
		if err != nil {
			return err
		}
		bound, err := tx.KeysOfDomain(d.TeamID, d.ID)
		if err != nil {
			return fmt.Errorf("read the keys of a domain: %w", err)
		}
		if err := checkBoundKeys(bound, key); err != nil {
			return err
		}
		if err := tx.DeleteDomain(key.TeamID, id); err != nil {
			return err
		}
		tx.AfterCommit(func() {
			s.dkim.Forget(dkimName(d.TeamID, d.Name))
			s.teams.ForgetKeys()
		})
		if err := s.announceDomain(tx, webhook.DomainDeleted, &d); err != nil {
			return err
		}
		keys := make([]string, len(bound))
		for i := range bound {
			keys[i] = bound[i].ID
		}
		return base.Audit(ctx, tx, key.TeamID, "domain.delete", id, map[string]any{"name": d.Name, "region": d.Region, "trusted": d.Trusted, "keys": keys}, nil)
	})
	return base.Lookup("domain", err)
}

// checkBoundKeys refuses to delete keys of a higher role together with their domain. Errors:
// CodeConflict.
func checkBoundKeys(bound []app.Key, key *app.Key) error {
	for _, k := range bound {
		if k.Role.Above(key.Role) {
			return app.Errorf(app.CodeConflict, "The API key %q of the role %s is bound to this domain and would end with it; a key of that role has to delete one of them first",
				k.Name, k.Role)
		}
	}
	return nil
}

// RotateDKIM makes the next DKIM key of a domain. Its record is listed, and once a check finds the
// record the key signs. A next key that exists already is returned. Errors: CodeNotFound.
func (s *Service) RotateDKIM(ctx context.Context, teamID, name string) (d app.Domain, err error) {
	if d, err = s.DomainByName(ctx, teamID, name); err != nil {
		return d, err
	}
	return s.rotate(ctx, d)
}

// RotateDKIMByID is RotateDKIM for a domain by id.
func (s *Service) RotateDKIMByID(ctx context.Context, key *app.Key, id string) (d app.Domain, err error) {
	if d, err = s.GetDomain(ctx, key, id); err != nil {
		return d, err
	}
	return s.rotate(ctx, d)
}

func (s *Service) rotate(ctx context.Context, d app.Domain) (app.Domain, error) {
	if d.Key(app.DKIMNext) != nil {
		return d, nil
	}
	id, teamID := d.ID, d.TeamID
	pair, err := s.newDKIMPair(ctx, &d, d.NextSelector(), app.DKIMNext)
	if err != nil {
		return d, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if d, err = tx.Domain(teamID, id); err != nil || d.Key(app.DKIMNext) != nil { // another rotation was faster
			return err
		}
		if err := tx.InsertDKIMKey(id, &pair); err != nil {
			return err
		}
		d.Keys, d.CheckAt = append(d.Keys, pair), tx.Now
		if err := tx.SetDomainChecks(&d); err != nil {
			return err
		}
		if err := s.announceDomain(tx, webhook.DomainUpdated, &d); err != nil {
			return err
		}
		return base.Audit(ctx, tx, teamID, "domain.rotate_dkim", id, nil, map[string]any{"name": d.Name, "selector": pair.Selector})
	})
	return d, base.Lookup("domain", err)
}

// announceDomain announces an event of a domain to webhooks.
func (s *Service) announceDomain(tx *db.Tx, name webhook.EventName, d *app.Domain) error {
	return s.events.Announce(tx, d.TeamID, name, func() (any, error) {
		return d.Data(s.DomainRecords(d)), nil
	})
}

// DomainRecords returns the DNS records that the domain's owner publishes, with the outcome of the
// last check.
func (s *Service) DomainRecords(d *app.Domain) []app.DNSRecord {
	needs, target := s.recordInputs(d)
	records := d.WithoutExpiredKeys(clock.Now()).Records(needs, target)
	if missing := s.Settings.MissingRelay(s.Settings.RegionOf(d.Region)); missing != "" {
		for i := range records {
			if r := &records[i]; r.Record == app.RecordSPF && r.Type == string(app.DNSText) {
				r.Detail = strings.TrimSpace(r.Detail + " What lets a relay send is missing in the value shown: " + missing + ".")
			}
		}
	}
	return records
}

const (
	// dkimTTL is how long an opened key is cached.
	dkimTTL = 10 * time.Second
	// maxCachedDKIM bounds the cache of keys.
	maxCachedDKIM = 10_000
)

// dkimName returns the cache key of a team's domain.
func dkimName(teamID, domain string) string { return teamID + " " + domain }

// DKIMKey returns the signing key of a team's domain, at most 10 seconds old unless it changed in
// this process; nil for an unknown domain. In capture mode an unknown domain has a key too, so that
// captured messages look like real ones. Errors: seal.ErrSeal, those of the store.
func (s *Service) DKIMKey(ctx context.Context, teamID, name string) (*app.DKIMKey, error) {
	return s.dkim.Load(ctx, dkimName(teamID, name), func(ctx context.Context) (*app.DKIMKey, error) {
		return s.openDKIM(ctx, teamID, name)
	})
}

func (s *Service) openDKIM(ctx context.Context, teamID, name string) (*app.DKIMKey, error) {
	d, err := s.DomainByName(ctx, teamID, name)
	if app.CodeOf(err) == app.CodeNotFound {
		return s.throwawayKey(name)
	}
	if err != nil {
		return nil, err
	}
	pair := d.Key(app.DKIMSigning)
	if pair == nil {
		return nil, fmt.Errorf("%s has no DKIM key that signs", name)
	}
	der, err := s.Sealer.Open(DKIMPurpose, d.ID, pair.Sealed)
	if err != nil {
		return nil, fmt.Errorf("open DKIM key of %s: %w", name, err)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("parse DKIM key of %s: %w", name, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("DKIM key of %s can't sign", name)
	}
	return &app.DKIMKey{Domain: d.Name, Selector: pair.Selector, Signer: signer}, nil
}

// throwawayKey returns a key for an unknown domain, whose mail only capture mode accepts. Its
// messages should look like real ones.
func (s *Service) throwawayKey(name string) (*app.DKIMKey, error) {
	if !s.Settings.Capture {
		return nil, nil
	}
	key, err := s.throwaway()
	if err != nil {
		return nil, fmt.Errorf("make throwaway DKIM key: %w", err)
	}
	return &app.DKIMKey{Domain: name, Selector: app.DKIMSelector, Signer: key}, nil
}
