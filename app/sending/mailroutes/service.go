// Package mailroutes implements routes for received mail: which are stored, announced, forwarded, answered or dropped,
// and the agreement of the people to whom mail is forwarded.
//
// Failure policy: what a route is to do is stored in the Write that stores the received email, and done once: the Write
// that accepts the new email also ends its work. Work that fails for a reason that may pass is tried again for a day;
// other reasons are stored with the received email. Nothing is forwarded to an address whose owner has not agreed, or
// has stopped it.
package mailroutes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/webhooks"
	"mailer/db"
)

// Service implements routes.
type Service struct {
	*base.Base
	events   *webhooks.Service
	mail     *mail.Service
	audience *audience.Service
	wake     base.Signal          // there may be work
	failedAt map[string]time.Time // by team and effect: work that failed lately. Round uses it
}

// New makes the service.
func New(b *base.Base, events *webhooks.Service, mail *mail.Service, audience *audience.Service) *Service {
	return &Service{Base: b, events: events, mail: mail, audience: audience, wake: base.NewSignal(), failedAt: map[string]time.Time{}}
}

// List returns a page of the team's routes in order, and whether there are more. Errors: CodeValidation for an unknown
// cursor.
func (s *Service) List(ctx context.Context, key *app.Key, page app.Page) ([]app.MailRoute, bool, error) {
	routes, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.MailRoute, error) { return readRoutes(r, key.TeamID) })
	if err != nil {
		return nil, false, base.Unavailable(err)
	}
	return base.Paginate(routes, page, func(m *app.MailRoute) string { return m.ID })
}

// Get returns one route. Error: CodeNotFound.
func (s *Service) Get(ctx context.Context, key *app.Key, id string) (app.MailRoute, error) {
	m, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.MailRoute, error) { return readRoute(r, key.TeamID, id) })
	return m, base.Lookup("route", err)
}

// readRoutes reads the routes of a team with their destinations.
func readRoutes(r *db.Reader, teamID string) ([]app.MailRoute, error) {
	routes, err := r.MailRoutes(teamID)
	if err != nil || !slices.ContainsFunc(routes, func(m app.MailRoute) bool { return m.Does(app.RouteForward) }) {
		return routes, err
	}
	list, err := r.ForwardAddresses(teamID, app.MaxForwardAddresses)
	if err != nil {
		return nil, err
	}
	known := make(map[string]app.ForwardAddress, len(list))
	for _, a := range list {
		known[a.Address] = a
	}
	for i := range routes {
		for _, a := range routes[i].Actions {
			if a.Type != app.RouteForward {
				continue
			}
			d, ok := known[a.To]
			if !ok {
				d = app.ForwardAddress{TeamID: teamID, Address: a.To}
			}
			routes[i].Destinations = append(routes[i].Destinations, d)
		}
	}
	return routes, nil
}

// readRoute reads one route with its destinations. Error: db.ErrNotFound.
func readRoute(r *db.Reader, teamID, id string) (app.MailRoute, error) {
	routes, err := readRoutes(r, teamID)
	if err != nil {
		return app.MailRoute{}, err
	}
	if i := slices.IndexFunc(routes, func(m app.MailRoute) bool { return m.ID == id }); i >= 0 {
		return routes[i], nil
	}
	return app.MailRoute{}, db.ErrNotFound
}

// Create adds a route, and asks the owners of new destinations. Errors: CodeValidation, also for an unknown template;
// those of mail.Accept for the mail that asks an owner.
func (s *Service) Create(ctx context.Context, key *app.Key, in app.MailRouteInput) (m app.MailRoute, err error) {
	if m, err = in.Validate(); err != nil {
		return m, err
	}
	m.ID, m.TeamID = app.NewID(), key.TeamID
	asked, err := s.prepare(ctx, &m)
	if err != nil {
		return m, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		routes, err := tx.MailRoutes(key.TeamID)
		if err != nil {
			return err
		}
		if len(routes) >= app.MaxMailRoutes {
			return app.Errorf(app.CodeValidation, "A team can have at most %d routes; delete one that is not used any more", app.MaxMailRoutes)
		}
		m.CreatedAt, m.Position = tx.Now, len(routes)+1
		at := in.Position
		if at == 0 {
			at = m.Position
		}
		if at < 1 || at > m.Position {
			return app.Invalid("position", "must be 1 to %d", m.Position)
		}
		if err := checkTemplates(&tx.Reader, &m); err != nil {
			return err
		}
		if err := tx.InsertMailRoute(&m); err != nil {
			return err
		}
		if err := move(tx, append(routes, m), m.ID, at); err != nil {
			return err
		}
		if err := s.ask(tx, asked); err != nil {
			return err
		}
		if m, err = readRoute(&tx.Reader, key.TeamID, m.ID); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "route.create", m.ID, nil, audited(&m))
	})
	return m, s.mail.Explain(ctx, base.Unavailable(err))
}

// Update changes a route and returns it. Actions that name a paused destination resume it, and its owner is asked again
// if the last mail was long ago. Errors: CodeNotFound and those of Create.
func (s *Service) Update(ctx context.Context, key *app.Key, id string, patch app.MailRoutePatch) (m app.MailRoute, err error) {
	if m, err = s.Get(ctx, key, id); err != nil {
		return m, err
	}
	if m, err = patch.Apply(m); err != nil {
		return m, err
	}
	var asked []question
	if patch.Actions != nil {
		if asked, err = s.prepare(ctx, &m); err != nil {
			return m, err
		}
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		routes, err := tx.MailRoutes(key.TeamID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(routes, func(m app.MailRoute) bool { return m.ID == id })
		if i < 0 {
			return db.ErrNotFound
		}
		old := routes[i]
		if m, err = patch.Apply(old); err != nil {
			return err
		}
		if patch.Position < 0 || patch.Position > len(routes) {
			return app.Invalid("position", "must be 1 to %d", len(routes))
		}
		if err := checkTemplates(&tx.Reader, &m); err != nil {
			return err
		}
		if err := tx.UpdateMailRoute(&m); err != nil {
			return err
		}
		routes[i] = m
		if patch.Position != 0 {
			if err := move(tx, routes, id, patch.Position); err != nil {
				return err
			}
		}
		if err := s.ask(tx, asked); err != nil {
			return err
		}
		if m, err = readRoute(&tx.Reader, key.TeamID, id); err != nil {
			return err
		}
		if m.Position == old.Position && m.Match == old.Match && slices.Equal(m.Actions, old.Actions) {
			return nil
		}
		return base.Audit(ctx, tx, key.TeamID, "route.update", id, audited(&old), audited(&m))
	})
	return m, base.Lookup("route", s.mail.Explain(ctx, err))
}

// Delete deletes a route. Destinations keep what their owners decided. Error: CodeNotFound.
func (s *Service) Delete(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		routes, err := tx.MailRoutes(key.TeamID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(routes, func(m app.MailRoute) bool { return m.ID == id })
		if i < 0 {
			return db.ErrNotFound
		}
		old := routes[i]
		if err := tx.DeleteMailRoute(key.TeamID, id); err != nil {
			return err
		}
		if err := number(tx, slices.Delete(routes, i, i+1)); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "route.delete", id, audited(&old), nil)
	})
	return base.Lookup("route", err)
}

// move stores a new order in which one route is at a position.
func move(tx *db.Tx, routes []app.MailRoute, id string, to int) error {
	i := slices.IndexFunc(routes, func(m app.MailRoute) bool { return m.ID == id })
	moved := routes[i]
	routes = slices.Insert(slices.Delete(routes, i, i+1), to-1, moved)
	return number(tx, routes)
}

// number stores the positions of routes in a new order.
func number(tx *db.Tx, routes []app.MailRoute) error {
	for i := range routes {
		if routes[i].Position == i+1 {
			continue
		}
		routes[i].Position = i + 1
		if err := tx.UpdateMailRoute(&routes[i]); err != nil {
			return err
		}
	}
	return nil
}

// audited is what the audit log shows of a route.
func audited(m *app.MailRoute) map[string]any {
	return map[string]any{"match": m.Match, "actions": m.Actions, "position": m.Position}
}

// checkTemplates checks that the templates of a route exist and are published. Errors: CodeValidation.
func checkTemplates(r *db.Reader, m *app.MailRoute) error {
	for i, a := range m.Actions {
		if a.Type != app.RouteReply {
			continue
		}
		field := fmt.Sprintf("actions[%d].template_id", i)
		t, err := r.Template(m.TeamID, a.TemplateID)
		switch {
		case errors.Is(err, db.ErrNotFound):
			return app.Invalid(field, "names no template of this team")
		case err != nil:
			return err
		case t.PublishedID == "":
			return app.Invalid(field, "names a template that is not published; publish it first")
		}
	}
	return nil
}

// effectsFor is how long it is known that an email was forwarded or answered.
const effectsFor = 30 * 24 * time.Hour

// Purge deletes what is known about mail that was forwarded or answered long ago.
func (s *Service) Purge(ctx context.Context) error {
	return s.InChunks(ctx, "old effects of routes", func(tx *db.Tx) (bool, error) {
		return tx.PurgeRouteEffects(tx.Now.Add(-effectsFor), base.PurgeChunk)
	})
}

// NoteForward stores the result of a forwarded mail for its destination: refusals in a row pause it, which is announced.
func (s *Service) NoteForward(tx *db.Tx, teamID, destinationID string, result app.LastEvent) error {
	d, err := tx.ForwardAddress(teamID, destinationID)
	if err != nil {
		return base.IgnoreNotFound(err)
	}
	now := d.Note(result, tx.Now)
	if now == d {
		return nil
	}
	if now.Status() == app.ForwardPaused && d.Status() == app.ForwardAgreed {
		tx.AfterCommit(func() {
			s.Log.Warn("forwarding to an address is paused: it refused mail", "team", teamID, "destination", destinationID, "refusals", now.Refusals)
		})
		err := s.events.Announce(tx, teamID, webhook.RouteDestinationPaused, func() (any, error) {
			routes, err := tx.MailRoutes(teamID)
			return webhook.DestinationPausedDataOf(&now, routes, result, tx.Now), err
		})
		if err != nil {
			return err
		}
	}
	return tx.PutForwardAddress(&now)
}

// age returns how old work is.
func age(w *db.RouteWork) time.Duration { return clock.Since(w.CreatedAt) }
