package teams

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// maxReason is the largest reason of a suspension, in bytes.
const maxReason = 500

// Suspension is whether and why the mail of a team is held.
type Suspension struct {
	Team    app.Team
	Since   time.Time // zero: not suspended
	Reason  string    // shown to the team's callers; may be empty
	Changed bool      // the call changed it
}

func checkReason(reason string) error {
	if reason = strings.TrimSpace(reason); len(reason) > maxReason || app.HasControl(reason) {
		return app.Invalid("reason", "must be one line of at most %d bytes", maxReason)
	}
	return nil
}

// SuspendTeam holds all mail of a team, found by name or id. Mail that is not past its final dot
// waits, and sends are refused with the reason. For a suspended team it changes the reason. Errors:
// CodeNotFound, CodeValidation.
func (s *Service) SuspendTeam(ctx context.Context, nameOrID, reason string) (out Suspension, err error) {
	if err := checkReason(reason); err != nil {
		return out, err
	}
	reason = strings.TrimSpace(reason)
	return s.changeSuspension(ctx, nameOrID, "team.suspend", func(tx *db.Tx, before db.Suspension, team app.Team) (bool, error) {
		if !before.Since.IsZero() && before.Reason == reason {
			return false, nil
		}
		waiting := app.RelayTrouble{ID: app.NewID(), TeamID: team.ID, StartedAt: tx.Now, StopsClock: true, Detail: app.EventDetail{Message: "Nothing of this team leaves: " + suspensionMessage(reason)}}
		return true, tx.SuspendTeam(team.ID, reason, waiting)
	})
}

// ResumeTeam releases the mail of a suspended team. Errors: CodeNotFound.
func (s *Service) ResumeTeam(ctx context.Context, nameOrID string) (Suspension, error) {
	out, err := s.changeSuspension(ctx, nameOrID, "team.resume", func(tx *db.Tx, before db.Suspension, team app.Team) (bool, error) {
		if before.Since.IsZero() {
			return false, nil
		}
		return true, tx.ResumeTeam(team.ID)
	})
	if err == nil && out.Changed && s.OnPlan != nil {
		s.OnPlan()
	}
	return out, err
}

// changeSuspension runs fn to change the suspension of a team, and appends a change to the audit
// log.
func (s *Service) changeSuspension(ctx context.Context, nameOrID, action string, fn func(*db.Tx, db.Suspension, app.Team) (bool, error)) (result Suspension, err error) {
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		result = Suspension{}
		if result.Team, err = tx.FindTeam(nameOrID); err != nil {
			return teamNotFound(nameOrID, err)
		}
		before, err := tx.Suspension(result.Team.ID)
		if err != nil {
			return err
		}
		if result.Changed, err = fn(tx, before, result.Team); err != nil {
			return err
		}
		after, err := tx.Suspension(result.Team.ID)
		if err != nil {
			return err
		}
		result.Since, result.Reason = after.Since, after.Reason
		if !result.Changed {
			return nil
		}
		return base.Audit(ctx, tx, result.Team.ID, action, result.Team.ID, auditedSuspension(before), auditedSuspension(after))
	})
	return result, base.Unavailable(err)
}

func auditedSuspension(s db.Suspension) map[string]any {
	if s.Since.IsZero() {
		return map[string]any{"suspended_at": nil}
	}
	return map[string]any{"suspended_at": app.FormatTime(s.Since), "reason": s.Reason}
}

// suspensionMessage returns who suspended a team, and why.
func suspensionMessage(reason string) string {
	if reason == "" {
		return "the operator of this server suspended it"
	}
	return "the operator of this server suspended it: " + reason
}

// MaySend refuses sends of a suspended team. Errors: CodeSendingPaused.
func MaySend(r *db.Reader, teamID string) error {
	s, err := r.Suspension(teamID)
	if err != nil {
		return fmt.Errorf("read whether the team is suspended: %w", err)
	}
	if s.Since.IsZero() {
		return nil
	}
	return app.Errorf(app.CodeSendingPaused, "Sending is paused: %s", suspensionMessage(s.Reason))
}
