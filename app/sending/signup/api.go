package signup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// StartOptIn starts a confirmed opt-in by API. The answer is pending also if no confirmation is sent,
// because of the limits of the address. Errors: CodeValidation; CodeNotFound for topics, segments and the
// form; CodeConflict for an address that is unsubscribed or refused within a year, and if no host serves
// the pages of the team; CodeRateLimitExceeded if many opt-ins of the address are pending.
func (s *Service) StartOptIn(ctx context.Context, key *app.Key, in app.SignUpInput) (out app.SignUp, err error) {
	defer s.Load.Enter()()
	if err := s.Ready(); err != nil {
		return out, err
	}
	n, err := in.Validate()
	if err != nil {
		return out, err
	}
	form, err := s.startWith(ctx, key, &in)
	if err != nil {
		return out, err
	}
	o := &db.OptIn{SignUp: app.SignUp{ID: app.NewID(), TeamID: key.TeamID, Hash: s.Sealer.AddressHash(key.TeamID, n.Key), Email: n.Contact.Email, Status: app.OptInPending}}
	o.Request = app.SignUpRequest{Segments: n.Segments, FirstName: n.Contact.FirstName, LastName: n.Contact.LastName, Language: languageOf()}
	for _, choice := range n.Topics {
		o.Request.Topics = append(o.Request.Topics, choice.ID)
	}
	if o.Request.Properties, err = n.Changes.Apply(nil); err != nil {
		return out, err
	}
	if form != nil {
		o.FormID, o.FormVersion, o.Request.FormName, o.Request.Language = form.ID, form.Version, form.Name, languageOf(form.Language)
		o.Request.Segments = union(o.Request.Segments, form.Segments)
	}
	person := s.personOf(n.Key)
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := s.mayStart(&tx.Reader, o, n); err != nil {
			return err
		}
		stored, err := s.insert(tx, o, person, false)
		if err != nil {
			return err
		}
		if !stored {
			return app.Errorf(app.CodeRateLimitExceeded, "%d opt-ins of this address are pending; wait until they are decided or expire", maxPendingSame)
		}
		return tx.CountForm(o.TeamID, o.FormID, db.FormCounts{Requested: 1})
	})
	return o.SignUp, base.Unavailable(err)
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// startWith returns the form of an opt-in by API, and checks that a confirmation can be sent: from a
// domain of the team, with pages that a host serves.
func (s *Service) startWith(ctx context.Context, key *app.Key, in *app.SignUpInput) (form *app.Form, err error) {
	if in.FormID != "" {
		f, err := s.GetForm(ctx, key, in.FormID)
		if err != nil {
			return nil, err
		}
		if f.Confirm != app.DoubleOptIn {
			return nil, app.Invalid("form", "must be a form with `confirm` double")
		}
		form = &f
	} else if _, err = s.senderOf(ctx, key.TeamID, ""); err != nil {
		return nil, err
	}
	at, err := s.Hosts.BaseOf(ctx, key.TeamID)
	if err == nil && at == "" {
		err = errNoHost()
	}
	return form, err
}

// mayStart returns nil if an opt-in may be asked for by API: what it names exists, and the address neither
// unsubscribed nor refused. It runs inside Write. Errors: CodeNotFound, CodeValidation, CodeConflict.
func (s *Service) mayStart(r *db.Reader, o *db.OptIn, n *app.NewContact) error {
	for _, id := range n.Segments {
		if _, err := r.Segment(o.TeamID, id); err != nil {
			return base.Lookup("segment", err)
		}
	}
	for _, id := range o.Request.Topics {
		if err := r.TopicExists(o.TeamID, id); err != nil {
			return base.Lookup("topic", err)
		}
	}
	types, err := r.PropertyTypes(o.TeamID)
	if err != nil {
		return fmt.Errorf("read properties: %w", err)
	}
	if err := n.Changes.Fits(types); err != nil {
		return err
	}
	c, err := r.ContactByAddress(o.TeamID, o.Hash)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	suppression, err := r.SuppressionByAddress(o.TeamID, o.Hash)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	if c.Unsubscribed || suppression.Origin == app.OriginUnsubscribe {
		return app.Errorf(app.CodeConflict, "This address unsubscribed from everything; only its person can subscribe again, through a form")
	}
	now := s.now()
	refused, err := r.IsRefused(o.TeamID, o.Hash, now)
	if err == nil && refused {
		err = app.Errorf(app.CodeConflict, "The person of this address refused an opt-in within the last year")
	}
	return err
}

// ListOptIns returns a page of opt-ins of a state, newest first, and whether there are more; empty: of all
// states. Errors: CodeValidation.
func (s *Service) ListOptIns(ctx context.Context, key *app.Key, status app.OptInStatus, page app.Page) (rows []app.SignUp, more bool, err error) {
	if status != "" && !slices.Contains(app.OptInStatuses, status) {
		return nil, false, app.Invalid("status", "must be pending, confirmed, expired or refused")
	}
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.SignUp, bool, error) { return r.ListOptIns(key.TeamID, status, page) })
	return rows, more, base.Cursor(page, err)
}

// GetOptIn returns an opt-in of the key's team, and its consent record once it is confirmed; nil: none.
// Error: CodeNotFound.
func (s *Service) GetOptIn(ctx context.Context, key *app.Key, id string) (out app.SignUp, consent *app.Consent, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		o, err := r.OptIn(key.TeamID, id)
		if err != nil {
			return err
		}
		out = o.SignUp
		if out.ContactID == "" {
			return nil
		}
		c, err := r.ConsentOfOptIn(key.TeamID, out.ContactID, out.ID)
		if err == nil {
			consent = &c
		}
		return base.IgnoreNotFound(err)
	})
	return out, consent, base.Lookup("opt-in", err)
}
