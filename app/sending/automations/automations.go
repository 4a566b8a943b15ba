package automations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/automation"
	"mailer/db"
)

// flowTTL is how long a checked flow stays in memory.
const flowTTL = time.Hour

// Input is an automation to create.
type Input struct {
	Name   string
	Status app.AutomationStatus // empty: disabled
	Flow   app.AutomationFlow
}

// Patch changes an automation. Nil members are unchanged.
type Patch struct {
	Name        *string
	Status      *app.AutomationStatus
	Steps       []app.AutomationStep // nil: unchanged, with Connections
	Connections []app.AutomationConnection
	Settings    *SettingsPatch
	// MoveRuns moves open runs to the new version, by the key of the step at which they are.
	MoveRuns bool
	stop     bool // the open runs end
}

// Create adds an automation. Errors: CodeValidation; CodeForbidden if the key may not enable it;
// CodePlanLimitReached.
func (s *Service) Create(ctx context.Context, key *app.Key, in Input) (a app.Automation, err error) {
	a = app.Automation{Name: strings.TrimSpace(in.Name), Status: in.Status, Version: 1, Flow: in.Flow}
	if a.Status == "" {
		a.Status = app.AutomationDisabled
	}
	flow, err := check(&a)
	if err != nil {
		return a, err
	}
	if err := mayDecide(key, a.Status, app.AutomationDisabled); err != nil {
		return a, err
	}
	a.ID, a.TeamID = app.NewID(), key.TeamID
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		n, err := tx.CountAutomations(key.TeamID, app.MaxAutomations)
		if err != nil {
			return err
		}
		if n == app.MaxAutomations {
			return app.Errorf(app.CodeValidation, "A team can have at most %d automations; delete one that is not used any more", app.MaxAutomations)
		}
		if err := s.checkParts(&tx.Reader, &a, flow); err != nil {
			return err
		}
		a.CreatedAt, a.UpdatedAt = tx.Now, tx.Now
		if err := s.plan(tx, &a, flow); err != nil {
			return err
		}
		if err := tx.InsertAutomation(&a); err != nil {
			return err
		}
		if err := s.listen(tx, &a, flow); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "automation.create", a.ID, nil, audited(&a))
	})
	return a, base.Unavailable(err)
}

// check checks name, status and flow. Errors: CodeValidation.
func check(a *app.Automation) (*automation.Flow, error) {
	switch {
	case a.Name == "":
		return nil, app.Invalid("name", "is required")
	case utf8.RuneCountInString(a.Name) > app.MaxAutomationName:
		return nil, app.Invalid("name", "can have at most %d characters", app.MaxAutomationName)
	case !utf8.ValidString(a.Name) || app.HasHidden(a.Name):
		return nil, app.Invalid("name", "must not contain line breaks, other control characters or invisible formatting")
	case a.Status != app.AutomationEnabled && a.Status != app.AutomationDisabled:
		return nil, app.Invalid("status", "must be enabled or disabled")
	}
	flow, err := automation.Parse(&a.Flow)
	if err == nil {
		a.Flow.AutomationSettings = flow.AutomationSettings // in canonical spelling
	}
	return flow, err
}

// mayDecide returns nil if a key may give an automation a status, which was another one before. Errors:
// CodeForbidden.
func mayDecide(key *app.Key, status, before app.AutomationStatus) error {
	if key.Role.Manages() || status == app.AutomationDisabled && before == app.AutomationDisabled {
		return nil
	}
	return app.Errorf(app.CodeForbidden, "Enabling an automation, and changing or stopping an enabled one, needs the role owner or admin; make it with status disabled")
}

// listen stores the events for which an automation listens.
func (s *Service) listen(tx *db.Tx, a *app.Automation, flow *automation.Flow) error {
	names := flow.Listens()
	return tx.SetListeners(a, flow.Trigger.EventName, names)
}

// audited is what the audit log shows of an automation.
func audited(a *app.Automation) map[string]any {
	return map[string]any{"name": a.Name, "status": a.Status, "version": a.Version}
}

// List returns a page of the team's automations without their flows, newest first. An empty status selects
// all. Errors: CodeValidation for an unknown cursor.
func (s *Service) List(ctx context.Context, key *app.Key, status app.AutomationStatus, page app.Page) (rows []app.Automation, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Automation, bool, error) {
		return r.ListAutomations(key.TeamID, status, page)
	})
	return rows, more, base.Cursor(page, err)
}

// Get returns an automation with its flow. Error: CodeNotFound.
func (s *Service) Get(ctx context.Context, key *app.Key, id string) (a app.Automation, err error) {
	a, err = db.Get(ctx, s.DB, func(r *db.Reader) (app.Automation, error) { return readWhole(r, key.TeamID, id) })
	return a, base.Lookup("automation", err)
}

func readWhole(r *db.Reader, teamID, id string) (a app.Automation, err error) {
	if a, err = r.Automation(teamID, id); err != nil {
		return a, err
	}
	a.Flow, err = r.AutomationFlow(a.ID, a.Version)
	return a, err
}

// NotMoved is an open run that stayed on its version, because its step does not exist in the new one.
type NotMoved struct{ RunID, StepKey string }

// Updated is an automation that was changed, and with Patch.MoveRuns what became of its open runs.
type Updated struct {
	app.Automation
	Moved    int64
	NotMoved []NotMoved // at most 100
}

// Update changes an automation. A change of the flow makes a new version; open runs stay on theirs unless
// the patch moves them. Errors: CodeNotFound, and those of Create.
func (s *Service) Update(ctx context.Context, key *app.Key, id string, patch Patch) (u Updated, err error) {
	a := &u.Automation
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		before, err := readWhole(&tx.Reader, key.TeamID, id)
		if err != nil {
			return err
		}
		*a = before
		if patch.Name != nil {
			a.Name = strings.TrimSpace(*patch.Name)
		}
		if patch.Status != nil {
			a.Status = *patch.Status
		}
		changesFlow := patch.Steps != nil || patch.Settings != nil
		if patch.Steps != nil {
			a.Flow.Steps, a.Flow.Connections = patch.Steps, patch.Connections
		}
		if patch.Settings != nil {
			patch.Settings.apply(&a.Flow.AutomationSettings)
		}
		flow, err := check(a)
		if err != nil {
			return err
		}
		if err := mayDecide(key, a.Status, before.Status); err != nil {
			return err
		}
		if err := s.checkParts(&tx.Reader, a, flow); err != nil {
			return err
		}
		a.UpdatedAt = tx.Now
		if changesFlow || a.Status != before.Status {
			if err := s.plan(tx, a, flow); err != nil {
				return err
			}
		}
		if changesFlow {
			a.Version++
			if err := tx.InsertAutomationVersion(a); err != nil {
				return err
			}
		}
		if err := tx.UpdateAutomation(a); err != nil {
			return err
		}
		if patch.stop {
			if err := tx.StopAutomation(key.TeamID, id); err != nil {
				return err
			}
		}
		if err := s.listen(tx, a, flow); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "automation.update", id, audited(&before), audited(a))
	})
	if err == nil && patch.MoveRuns {
		u.Moved, u.NotMoved, err = s.moveRuns(ctx, a)
	}
	return u, base.Lookup("automation", err)
}

// Duplicate adds a disabled copy of an automation. Errors: CodeNotFound, and those of Create.
func (s *Service) Duplicate(ctx context.Context, key *app.Key, id string) (app.Automation, error) {
	a, err := s.Get(ctx, key, id)
	if err != nil {
		return a, err
	}
	name := []rune(a.Name)
	const suffix = " (copy)"
	name = name[:min(len(name), app.MaxAutomationName-len(suffix))]
	return s.Create(ctx, key, Input{Name: string(name) + suffix, Flow: a.Flow})
}

// Stop disables an automation and ends its open runs as cancelled. None of them does anything after Stop has
// returned; very many are listed as running for a while. Errors: CodeNotFound, CodeForbidden.
func (s *Service) Stop(ctx context.Context, key *app.Key, id string) (a app.Automation, err error) {
	disabled := app.AutomationDisabled
	u, err := s.Update(ctx, key, id, Patch{Status: &disabled, stop: true})
	if err != nil {
		return a, err
	}
	a = u.Automation
	_, err = s.endRuns(context.WithoutCancel(ctx), a.ID, runsPerRequest)
	s.wake.Notify()
	return a, err
}

// Delete deletes an automation and its runs. Errors: CodeNotFound, CodeForbidden.
func (s *Service) Delete(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		a, err := tx.Automation(key.TeamID, id)
		if err != nil {
			return err
		}
		if err := mayDecide(key, a.Status, a.Status); err != nil {
			return err
		}
		if err := tx.DeleteAutomation(key.TeamID, id); err != nil {
			return err
		}
		before := audited(&a)
		a.Status = app.AutomationDisabled
		if err := tx.SetListeners(&a, "", nil); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "automation.delete", id, before, nil)
	})
	if err == nil {
		_, err = s.endRuns(context.WithoutCancel(ctx), id, runsPerRequest)
	}
	return base.Lookup("automation", err)
}

// checkParts checks that what the steps name exists and belongs to the team, and for an enabled automation
// that its templates can be sent. Errors: CodeValidation naming the member.
func (s *Service) checkParts(r *db.Reader, a *app.Automation, flow *automation.Flow) error {
	for i := range a.Flow.Steps {
		step := flow.Step(a.Flow.Steps[i].Key)
		field := fmt.Sprintf("steps[%d].config", i)
		var err error
		switch c := step.Config.(type) {
		case *automation.TriggerConfig:
			err = errors.Join(s.known(r, a.TeamID, field+".segment_id", "segment", c.SegmentID), s.known(r, a.TeamID, field+".topic_id", "topic", c.TopicID),
				s.known(r, a.TeamID, field+".template_id", "template", c.TemplateID), s.known(r, a.TeamID, field+".broadcast_id", "broadcast", c.BroadcastID))
		case *automation.SendEmailConfig:
			err = errors.Join(s.known(r, a.TeamID, field+".template.id", "template", c.Template.ID), s.known(r, a.TeamID, field+".topic_id", "topic", c.TopicID))
			if err == nil && a.Status == app.AutomationEnabled {
				err = sendable(r, a.TeamID, field, c)
			}
		case *automation.SegmentConfig:
			err = s.known(r, a.TeamID, field+".segment_id", "segment", c.SegmentID)
		case *automation.SetTopicConfig:
			err = s.known(r, a.TeamID, field+".topic_id", "topic", c.TopicID)
		case *automation.WebhookConfig:
			err = s.known(r, a.TeamID, field+".webhook_id", "webhook", c.WebhookID)
		case *automation.GoalConfig:
			err = s.known(r, a.TeamID, field+".segment_id", "segment", c.SegmentID)
		}
		if err != nil {
			return err
		}
	}
	return s.known(r, a.TeamID, "topic_id", "topic", flow.TopicID)
}

// known returns nil if a team has an object of a kind; an empty id is ignored. Error: CodeValidation.
func (s *Service) known(r *db.Reader, teamID, field, kind, id string) (err error) {
	if id == "" {
		return nil
	}
	switch kind {
	case "segment":
		_, err = r.Segment(teamID, id)
	case "topic":
		err = r.TopicExists(teamID, id)
	case "template":
		_, err = r.Template(teamID, id)
	case "broadcast":
		_, err = r.BroadcastName(teamID, id)
	case "webhook":
		_, err = r.Webhook(teamID, id)
	}
	if errors.Is(err, db.ErrNotFound) {
		return app.Invalid(field, "names no %s of this team", kind)
	}
	return err
}

// sendable returns nil if a step can send its mail: the template is published, and template or step name a
// sender.
func sendable(r *db.Reader, teamID, field string, c *automation.SendEmailConfig) error {
	t, err := r.Template(teamID, c.Template.ID)
	if err != nil {
		return err
	}
	if t.PublishedID == "" {
		return app.Invalid(field+".template.id", "names a template that is not published; publish it first")
	}
	content, err := r.TemplateContent(teamID, t.PublishedID)
	if err != nil {
		return err
	}
	if c.From == "" && content.From == "" {
		return app.Invalid(field+".from", "is required, since the template has no sender")
	}
	return nil
}
