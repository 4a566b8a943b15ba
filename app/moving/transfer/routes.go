package transfer

import (
	"context"
	"fmt"
	"slices"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/db"
)

// mailRoutes exports the routes for received mail, and the addresses to which they forward.
func (x *export) mailRoutes() error {
	var routes []app.MailRoute
	var destinations []app.ForwardAddress
	err := x.DB.Read(x.ctx, func(r *db.Reader) (err error) {
		if routes, err = r.MailRoutes(x.team.ID); err != nil {
			return err
		}
		destinations, err = r.ForwardAddresses(x.team.ID, app.MaxForwardAddresses)
		return err
	})
	if err != nil {
		return err
	}
	for i := range destinations {
		d := &destinations[i]
		if err := x.put(archive.Destinations, &archive.Destination{ID: d.ID, Address: d.Address, Status: d.Status(), AskedAt: d.AskedAt, AgreedAt: d.AgreedAt, StoppedAt: d.StoppedAt, CreatedAt: d.CreatedAt}); err != nil {
			return err
		}
	}
	for i := range routes {
		m := &routes[i]
		if err := x.put(archive.Routes, &archive.Route{ID: m.ID, Match: m.Match, Actions: m.Actions, CreatedAt: m.CreatedAt}); err != nil {
			return err
		}
	}
	return nil
}

// destinationsIn adds missing addresses to which mail is forwarded. What an owner stopped stays stopped. What an owner
// agreed to counts only with Trust, since an archive could claim it; otherwise the owner has to agree again, and the import
// asks nobody.
func (m *importer) destinationsIn(ctx context.Context) error {
	all, err := db.Get(ctx, m.s.DB, func(r *db.Reader) ([]app.ForwardAddress, error) {
		return r.ForwardAddresses(m.team.ID, app.MaxForwardAddresses)
	})
	if err != nil {
		return fmt.Errorf("read destinations of routes: %w", err)
	}
	there := map[string]bool{}
	for i := range all {
		there[all[i].Address] = true
	}
	var in archive.Destination
	return m.r.Each(archive.Destinations, &in, func(int) error {
		_, key, err := app.ParseBareAddress(in.Address)
		what := fmt.Sprintf("destination %s", in.Address)
		switch {
		case err != nil:
			m.unmovable(what, err.Error())
			return nil
		case there[key.String()]:
			return nil
		case len(there) >= app.MaxForwardAddresses:
			m.unmovable(what, fmt.Sprintf("a team can have at most %d destinations", app.MaxForwardAddresses))
			return nil
		}
		there[key.String()] = true
		d := app.ForwardAddress{ID: m.id(in.ID), TeamID: m.team.ID, Address: key.String(), StoppedAt: in.StoppedAt}
		if m.Trust && m.r.Team.FromMailer() {
			d.AskedAt, d.AgreedAt = in.AskedAt, in.AgreedAt
		} else if !in.AgreedAt.IsZero() && in.StoppedAt.IsZero() {
			m.unmovable(what, "its owner has to agree again: name the address in the actions of a route to ask, or import your own export with --trust")
		}
		if !m.Apply {
			return nil
		}
		return m.write(ctx, func(tx *db.Tx) (err error) {
			if d.ID, err = freeID(tx.ForwardAddressIDTaken, d.ID); err != nil {
				return err
			}
			d.CreatedAt = orDefault(in.CreatedAt, tx.Now)
			return tx.PutForwardAddress(&d)
		})
	})
}

// routesIn adds missing routes behind those of the team. One with the same id, or the same match and actions, is the same,
// and is not changed.
func (m *importer) routesIn(ctx context.Context) error {
	all, err := db.Get(ctx, m.s.DB, func(r *db.Reader) ([]app.MailRoute, error) { return r.MailRoutes(m.team.ID) })
	if err != nil {
		return fmt.Errorf("read routes: %w", err)
	}
	done := 0
	var in archive.Route
	return m.r.Each(archive.Routes, &in, func(int) error {
		done++
		what := fmt.Sprintf("route for %s", in.Match)
		actions := slices.Clone(in.Actions)
		for i := range actions {
			if actions[i].TemplateID != "" {
				actions[i].TemplateID = m.templateIDs[actions[i].TemplateID]
			}
		}
		if i := slices.IndexFunc(all, func(r app.MailRoute) bool {
			return r.ID == in.ID && m.r.Team.FromMailer() || r.Match == in.Match && slices.Equal(r.Actions, actions)
		}); i >= 0 {
			m.report.Routes = append(m.report.Routes, Thing{Name: in.Match})
			return m.moved(archive.Routes, in.ID, all[i].ID)
		}
		left := slices.DeleteFunc(actions, func(a app.RouteAction) bool { return a.Type == app.RouteReply && a.TemplateID == "" })
		input := app.MailRouteInput{Match: in.Match, Actions: left}
		route, err := input.Validate()
		switch {
		case len(left) == 0 && len(in.Actions) > 0:
			m.unmovable(what, "the template that it answers with can't be taken")
			return nil
		case err != nil:
			m.unmovable(what, err.Error())
			return nil
		case len(all) >= app.MaxMailRoutes:
			m.unmovable(what, fmt.Sprintf("a team can have at most %d routes", app.MaxMailRoutes))
			return nil
		case len(left) < len(in.Actions):
			m.unmovable(what, "it does not answer here: the template of its answer can't be taken")
		}
		route.ID, route.TeamID, route.Position = m.id(in.ID), m.team.ID, len(all)+1
		added, err := m.add(ctx, &m.report.Routes, what, Thing{Name: route.Match}, func(tx *db.Tx) (err error) {
			if route.ID, err = freeID(tx.MailRouteIDTaken, route.ID); err != nil {
				return err
			}
			now, err := tx.MailRoutes(m.team.ID) // others may have been added meanwhile
			if err != nil {
				return err
			}
			if len(now) >= app.MaxMailRoutes {
				return app.Errorf(app.CodeValidation, "a team can have at most %d routes", app.MaxMailRoutes)
			}
			route.Position, route.CreatedAt = len(now)+1, orDefault(in.CreatedAt, tx.Now)
			return tx.InsertMailRoute(&route)
		})
		if err != nil || !added {
			return err
		}
		all = append(all, route)
		if err := m.moved(archive.Routes, in.ID, route.ID); err != nil {
			return err
		}
		return m.progress(archive.Routes, done)
	})
}

// replyAddresses switches on reply addresses if the team had them, unless that would change mail of domains that were not
// imported.
func (m *importer) replyAddresses(ctx context.Context) error {
	if !m.r.Team.ReplyAddresses || !m.r.Team.FromMailer() {
		return nil
	}
	imported := map[string]bool{}
	for _, id := range m.domains {
		imported[id] = true
	}
	others := false
	var now db.TeamSettings
	err := m.s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if now, err = r.TeamSettings(m.team.ID); err != nil {
			return err
		}
		all, err := eachItem(func(p app.Page) ([]app.Domain, bool, error) { return r.ListDomains(m.team.ID, p) }, func(d *app.Domain) string { return d.ID })
		others = slices.ContainsFunc(all, func(d app.Domain) bool { return d.Receiving && !imported[d.ID] })
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("read the settings of the team: %w", err)
	case now.ReplyAddresses:
		return nil
	case others:
		m.unmovable("the setting reply_addresses", "the team has other domains here that receive mail, and their mail would change: switch it on in the settings of the team")
		return nil
	case !m.Apply:
		return nil
	}
	return m.write(ctx, func(tx *db.Tx) error {
		t, err := tx.TeamSettings(m.team.ID)
		if err != nil {
			return err
		}
		t.ReplyAddresses = true
		return tx.SetTeamSettings(&t)
	})
}
