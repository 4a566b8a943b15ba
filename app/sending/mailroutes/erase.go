package mailroutes

import (
	"context"
	"slices"

	"mailer/app"
	"mailer/db"
)

// Erase removes erased addresses from the routes and destinations of a team. A route for such an address is deleted; one
// that only forwarded to it announces its mail instead.
func (s *Service) Erase(ctx context.Context, teamID string, of db.SetOf) error {
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		list, err := tx.ForwardAddresses(teamID, app.MaxForwardAddresses)
		if err != nil {
			return err
		}
		for i := range list {
			if of(list[i].ID).Has(list[i].Address) {
				if err := tx.DeleteForwardAddress(teamID, list[i].ID); err != nil {
					return err
				}
			}
		}
		routes, err := tx.MailRoutes(teamID)
		if err != nil {
			return err
		}
		kept := routes[:0]
		for _, m := range routes {
			set := of(m.ID)
			if set.Has(m.Match) {
				if err := tx.DeleteMailRoute(teamID, m.ID); err != nil {
					return err
				}
				continue
			}
			before := len(m.Actions)
			m.Actions = slices.DeleteFunc(m.Actions, func(a app.RouteAction) bool { return a.To != "" && set.Has(a.To) })
			if len(m.Actions) == 0 {
				m.Actions = []app.RouteAction{{Type: app.RouteWebhook}}
			} else if len(m.Actions) == before {
				kept = append(kept, m)
				continue
			}
			if err := tx.UpdateMailRoute(&m); err != nil {
				return err
			}
			kept = append(kept, m)
		}
		return number(tx, kept)
	})
}
