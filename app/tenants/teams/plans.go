package teams

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/plan"
	"mailer/db"
)

// planTTL is how long a plan is cached. It is shorter than the time between a change by another
// process and its next call.
const planTTL = 20 * time.Millisecond

// maxCachedPlans bounds the caches of plans and sums, in teams.
const maxCachedPlans = 10_000

// periodSum is how many recipients counted from the first day of a period up to, but not including,
// a day. It no longer changes: only the count of the day itself still grows. Days are those of
// plan.UnixDay.
type periodSum struct{ start, day, sum int64 }

// sumBeforeDay returns how many recipients of a team counted from the day start up to, but not
// including, day. It is cached.
func (s *Service) sumBeforeDay(r *db.Reader, teamID string, start, day int64) (int64, error) {
	if known, ok := s.periodSums.Get(teamID); ok && known.start == start && known.day == day {
		return known.sum, nil
	}
	mark := s.periodSums.Mark()
	sum, err := r.RecipientsBetween(teamID, start, day)
	if err != nil {
		return 0, err
	}
	s.periodSums.Put(teamID, periodSum{start, day, sum}, mark)
	return sum, nil
}

// PlanOf returns the plan of a team in cloud mode.
func (s *Service) PlanOf(r *db.Reader, teamID string) (plan.Plan, error) {
	if p, ok := s.plans.Get(teamID); ok {
		return p, nil
	}
	mark := s.plans.Mark()
	p, err := readPlan(r, teamID)
	if err == nil {
		s.plans.Put(teamID, p, mark)
	}
	return p, err
}

func readPlan(r *db.Reader, teamID string) (plan.Plan, error) {
	p, err := r.TeamPlan(teamID)
	if errors.Is(err, db.ErrNotFound) {
		return plan.Plan{Name: plan.Free}, nil
	}
	if err != nil {
		return p, fmt.Errorf("read the team's plan: %w", err)
	}
	return p, nil
}

// SetPlan sets the plan of a team and returns the new plan. A running server applies the plan
// immediately, and checks mail that waits for a daily quota again within a second or two. If both
// plans are monthly, the current period continues. Errors: CodeValidation, CodeNotFound.
func (s *Service) SetPlan(ctx context.Context, teamID string, in plan.Input) (next plan.Plan, err error) {
	if err := in.Validate(); err != nil {
		return next, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		old, err := readPlan(&tx.Reader, teamID)
		if err != nil {
			return err
		}
		next = old.Next(in, tx.Now)
		if err := tx.SetTeamPlan(teamID, &next); err != nil {
			return err
		}
		tx.AfterCommit(func() {
			s.plans.Forget(teamID)
			s.OnPlan()
		})
		if err := tx.ReleaseBacklog(teamID); err != nil {
			return err
		}
		return base.Audit(ctx, tx, teamID, "plan.set", teamID, auditedPlan(&old), auditedPlan(&next))
	})
	return next, base.Lookup("team", err)
}

// auditedPlan returns what the audit log shows of a plan.
func auditedPlan(p *plan.Plan) map[string]any {
	if p.Daily() {
		return map[string]any{"name": p.Name}
	}
	return map[string]any{"name": p.Name, "included": p.Included(), "overage": p.Overage}
}

// CheckAttachments checks the size of the attachments of an email or a broadcast. Errors:
// CodePayloadTooLarge.
func (s *Service) CheckAttachments(r *db.Reader, teamID string, files []app.Attachment) error {
	n := app.SumSizes(files)
	if n == 0 {
		return nil
	}
	limit, by, err := s.attachmentLimit(r, teamID)
	if err != nil {
		return err
	}
	if n > limit {
		return app.Errorf(app.CodePayloadTooLarge, "`attachments` hold %d bytes together, at most %d are taken%s", n, limit, by)
	}
	return nil
}

// AttachmentLimit returns how many bytes the attachments of an email or a broadcast of a team may have together.
func (s *Service) AttachmentLimit(r *db.Reader, teamID string) (int64, error) {
	limit, _, err := s.attachmentLimit(r, teamID)
	return limit, err
}

// attachmentLimit returns the limit and what sets it, to be appended to a sentence.
func (s *Service) attachmentLimit(r *db.Reader, teamID string) (limit int64, by string, err error) {
	if !s.Settings.Cloud {
		return s.MaxAttachments, "", nil
	}
	plan, err := s.PlanOf(r, teamID)
	if err != nil {
		return 0, "", err
	}
	return plan.Terms().Attachments, " by the plan " + string(plan.Name), nil
}

// ImageLimit returns how many bytes the images of a team may have together, and what sets the limit,
// to be appended to a sentence.
func (s *Service) ImageLimit(r *db.Reader, teamID string) (limit int64, by string, err error) {
	if !s.Settings.Cloud {
		return s.MaxImages, "", nil
	}
	plan, err := s.PlanOf(r, teamID)
	if err != nil {
		return 0, "", err
	}
	return plan.Terms().Images, " by the plan " + string(plan.Name), nil
}

// ContactsLeft returns how many more contacts a team may have; negative: no limit.
func (s *Service) ContactsLeft(r *db.Reader, teamID string) (int, error) {
	if !s.Settings.Cloud {
		return -1, nil
	}
	plan, err := s.PlanOf(r, teamID)
	if err != nil || plan.Terms().Contacts == 0 {
		return -1, err
	}
	n, err := r.ContactCount(teamID)
	if err != nil {
		return 0, fmt.Errorf("count contacts: %w", err)
	}
	return max(0, plan.Terms().Contacts-n), nil
}

// CheckDomainLimit returns nil if a team may have another domain. Errors: CodePlanLimitReached.
func (s *Service) CheckDomainLimit(r *db.Reader, teamID string) error {
	if !s.Settings.Cloud {
		return nil
	}
	plan, err := s.PlanOf(r, teamID)
	if err != nil || plan.Terms().Domains == 0 {
		return err
	}
	n, err := r.CountDomains(teamID, plan.Terms().Domains)
	if err != nil {
		return fmt.Errorf("count domains: %w", err)
	}
	if n >= plan.Terms().Domains {
		return app.Errorf(app.CodePlanLimitReached, "The plan %s has %d domains, and this team has as many", plan.Name, n)
	}
	return nil
}
