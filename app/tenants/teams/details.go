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
	Plan      plan.Plan  // applies in cloud mode only
	Suspended Suspension // whether and why the team's mail is held
}

func detailsOf(t *db.TeamState) Details {
	return Details{Team: t.Team, Plan: t.Plan, Suspended: Suspension{Team: t.Team, Since: t.Suspension.Since, Reason: t.Reason}}
}

// ListTeamDetails returns a page of all teams, newest first, and whether there are more. Errors:
// CodeValidation for an unknown cursor.
func (s *Service) ListTeamDetails(ctx context.Context, page app.Page) ([]Details, bool, error) {
	rows, more, err := db.GetPage(ctx, s.DB, func(r *db.Reader) ([]db.TeamState, bool, error) { return r.TeamStates(page) })
	out := make([]Details, len(rows))
	for i := range rows {
		out[i] = detailsOf(&rows[i])
	}
	return out, more, base.Cursor(page, err)
}

// TeamDetails returns one team by its id. Errors: CodeNotFound.
func (s *Service) TeamDetails(ctx context.Context, id string) (Details, error) {
	t, err := db.Get(ctx, s.DB, func(r *db.Reader) (db.TeamState, error) { return r.TeamState(id) })
	return detailsOf(&t), base.Lookup("team", err)
}

// Change is an operator's change of a team; nil fields stay.
type Change struct {
	Name      *string
	Plan      *plan.Input
	Suspended *bool
	Reason    string // why the team is suspended
}

// validate checks the whole change before any part of it is made. Errors: CodeValidation.
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

// ChangeTeam changes a team as RenameTeam, SetPlan, SuspendTeam and ResumeTeam do, in that order,
// and returns the changed team. Errors: CodeValidation, CodeNotFound, and CodeConflict for a name
// that another team has, in which case nothing is changed.
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

// DeleteTeam begins to delete a team, as BeginDeletion does. The server deletes its data. name must
// repeat the name of the team. Errors: those of BeginDeletion, CodeValidation for another name.
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
