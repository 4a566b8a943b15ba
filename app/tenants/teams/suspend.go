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

// maxReason bounds what an operator says of why a team is suspended, in bytes.
const maxReason = 500

// Suspension says whether and why nothing of a team leaves.
type Suspension struct {
	Team    app.Team
	Since   time.Time // zero: its mail leaves
	Reason  string    // what its callers are told; may be empty
	Changed bool      // it was otherwise before
}

func checkReason(reason string) error {
	if reason = strings.TrimSpace(reason); len(reason) > maxReason || app.HasControl(reason) {
		return app.Invalid("reason", "must be one line of at most %d bytes", maxReason)
	}
	return nil
}

// SuspendTeam has nothing of a team, found by name or id, leave from now on: what is not
// past its final dot waits in its place, and sends are refused with the reason. Of one
// that is suspended already the reason changes. Errors: CodeNotFound, CodeValidation.
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

// ResumeTeam has mail of a team leave again. Errors: CodeNotFound.
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

// changeSuspension changes whether a team is suspended, and audits that where it changes
// anything.
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

// suspensionMessage say by whom and why a team is suspended.
func suspensionMessage(reason string) string {
	if reason == "" {
		return "the operator of this server suspended it"
	}
	return "the operator of this server suspended it: " + reason
}

// MaySend refuses what a suspended team sends. Errors: CodeSendingPaused.
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
