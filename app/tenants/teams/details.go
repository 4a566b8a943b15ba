package teams

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/plan"
	"mailer/db"
)

// Details is a team as the operator sees it.
type Details struct {
	app.Team
	Plan      plan.Plan  // which a server in cloud mode goes by
	Suspended Suspension // whether and why nothing of it leaves
}

func detailsOf(t *db.TeamState) Details {
	return Details{Team: t.Team, Plan: t.Plan, Suspended: Suspension{Team: t.Team, Since: t.Suspension.Since, Reason: t.Reason}}
}

// ListTeamDetails returns a page of all teams, newest first, and whether there are more. Errors:
// CodeValidation for a cursor that is none of them.
func (s *Service) ListTeamDetails(ctx context.Context, page app.Page) ([]Details, bool, error) {
	rows, more, err := db.GetPage(ctx, s.DB, func(r *db.Reader) ([]db.TeamState, bool, error) { return r.TeamStates(page) })
	out := make([]Details, len(rows))
	for i := range rows {
		out[i] = detailsOf(&rows[i])
	}
	return out, more, base.Cursor(page, err)
}

// Details returns one team by its id. Errors: CodeNotFound.
func (s *Service) TeamDetails(ctx context.Context, id string) (Details, error) {
	t, err := db.Get(ctx, s.DB, func(r *db.Reader) (db.TeamState, error) { return r.TeamState(id) })
	return detailsOf(&t), base.Lookup("team", err)
}

// Changed is what an operator changes of a team; nil stays as it is.
type Change struct {
	Name      *string
	Plan      *plan.Input
	Suspended *bool
	Reason    string // why it is suspended
}

// validate checks all that is wanted before any of it is done. Errors: CodeValidation.
func (c *Change) validate() error {
	if c.Name != nil {
		if _, err := teamName(*c.Name); err != nil {
			return err
		}
	}
	if c.Plan != nil {
		if err := c.Plan.Validate(); err != nil {
			return err
		}
	}
	if c.Reason != "" && (c.Suspended == nil || !*c.Suspended) {
		return app.Invalid("reason", "belongs to `suspended`: true")
	}
	return checkReason(c.Reason)
}

// ChangeTeam makes the changes to a team by the rules of RenameTeam, SetPlan, SuspendTeam
// and ResumeTeam, in that order, and returns it as it is then. Errors: CodeValidation,
// CodeNotFound, CodeConflict for a name that another team has: nothing is changed then.
func (s *Service) ChangeTeam(ctx context.Context, id string, c Change) (Details, error) {
	if err := c.validate(); err != nil {
		return Details{}, err
	}
	t, err := s.TeamDetails(ctx, id)
	if err != nil {
		return Details{}, err
	}
	if c.Name != nil {
		if _, err := s.RenameTeam(ctx, &t.Team, *c.Name); err != nil {
			return Details{}, err
		}
	}
	if c.Plan != nil {
		if _, err := s.SetPlan(ctx, id, *c.Plan); err != nil {
			return Details{}, err
		}
	}
	switch {
	case c.Suspended == nil:
	case *c.Suspended:
		_, err = s.SuspendTeam(ctx, id, c.Reason)
	default:
		_, err = s.ResumeTeam(ctx, id)
	}
	if err != nil {
		return Details{}, err
	}
	return s.TeamDetails(ctx, id)
}

// DeleteTeam begins to delete a team whose name is said again, as BeginDeletion does; the
// server removes what it has. Errors: those of BeginDeletion, CodeValidation for another
// name.
func (s *Service) DeleteTeam(ctx context.Context, id, name string) (Deletion, error) {
	t, err := s.TeamDetails(ctx, id)
	if err != nil {
		return Deletion{}, err
	}
	if name != t.Name {
		return Deletion{}, app.Invalid("name", "must be the name of the team that is deleted for good, as it is written")
	}
	return s.BeginDeletion(ctx, t.Team)
}
