package domains

import (
	"context"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// Deletion is the outcome of deleting a domain.
type Deletion struct {
	Domain  app.Domain
	Waiting int64 // waiting emails and broadcast recipients of the domain, which will fail
	Keys    int   // API keys that were restricted to the domain and deleted with it
}

// DeleteByName is DeleteDomain by name, for the operator. Errors: CodeNotFound.
func (s *Service) DeleteByName(ctx context.Context, teamID, name string) (out Deletion, err error) {
	if out.Domain, err = s.DomainByName(ctx, teamID, name); err != nil {
		return out, err
	}
	d := &out.Domain
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		keys, err := r.KeysOfDomain(teamID, d.ID)
		if err != nil {
			return fmt.Errorf("read the keys of a domain: %w", err)
		}
		out.Keys = len(keys)
		open, err := r.OpenOf(teamID, d.Name)
		out.Waiting = open.Waiting
		return err
	})
	if err != nil {
		return out, base.Unavailable(err)
	}
	return out, s.DeleteDomain(ctx, &app.Key{TeamID: teamID, Role: app.RoleOwner}, d.ID)
}

// Trust marks a domain as trusted by the operator, or removes the mark. A trusted domain is
// verified whatever the DNS contains. Without the mark it gets the status of its last check, and is
// checked again. Errors: CodeNotFound.
func (s *Service) Trust(ctx context.Context, teamID, name string, trusted bool) (d app.Domain, err error) {
	if d, err = s.DomainByName(ctx, teamID, name); err != nil {
		return d, err
	}
	id := d.ID
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if d, err = tx.Domain(teamID, id); err != nil || d.Trusted == trusted {
			return err
		}
		before := map[string]any{"name": d.Name, "trusted": d.Trusted, "status": d.Status}
		d.Trusted = trusted
		d.Status, d.PendingSince, d.CheckAt = app.NextDomainStatus(&d, d.Checks, tx.Now)
		if !trusted {
			if d.CheckedAt.IsZero() {
				d.Status = app.DomainNotStarted
			}
			d.Status, d.PendingSince, d.CheckAt = app.StartVerifying(&d, tx.Now)
		}
		if err := tx.SetDomainTrust(&d); err != nil {
			return err
		}
		if err := s.announceDomain(tx, webhook.DomainUpdated, &d); err != nil {
			return err
		}
		return base.Audit(ctx, tx, teamID, "domain.trust", id, before, map[string]any{"trusted": trusted, "status": d.Status})
	})
	return d, base.Lookup("domain", err)
}
