package automations

import (
	"context"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/automation"
	"mailer/db"
)

// Explanation says where a contact is in an automation, or why it is not there.
type Explanation struct {
	Sentence string
	RunID    string        // empty: the contact has no run
	Status   app.RunStatus // of that run
}

const (
	// explainedRuns is how many of the newest runs of a contact are looked at for one that was started.
	explainedRuns = 20
	// explainedEvents is how many events of a contact are looked at.
	explainedEvents = 100
)

// Explain answers in one sentence where a contact is in an automation, and what became of a step of its newest
// run; an empty step asks about the run. contact is an id or an address. Errors: CodeNotFound for the automation
// or the contact, CodeValidation for an unknown step.
func (s *Service) Explain(ctx context.Context, key *app.Key, automationID, contact, step string) (out Explanation, err error) {
	a, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Automation, error) { return r.Automation(key.TeamID, automationID) })
	if err != nil {
		return out, base.Lookup("automation", err)
	}
	if contact == "" {
		return out, app.Invalid("contact_id", "is required")
	}
	c, err := s.audience.GetContact(ctx, key, contact)
	if err != nil {
		return out, err
	}
	in := automation.ExplainInput{Automation: a, Contact: c, Who: who(&c), Step: step}
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if in.Flow, err = s.flow(r, automationID, in.Automation.Version); err != nil {
			return err
		}
		if in.Clock, err = clockOf(r, &c); err != nil {
			return err
		}
		if in.Run, err = newestRun(r, key.TeamID, automationID, c.ID); err != nil {
			return err
		}
		if in.Run == nil {
			return s.readStart(r, &in)
		}
		if in.RunFlow, err = s.flow(r, automationID, in.Run.Version); err != nil {
			return err
		}
		in.Steps, err = r.RunSteps(in.Run.ID)
		return err
	})
	if err != nil {
		return out, base.Lookup("automation", err)
	}
	if step != "" && in.Flow.Step(step) == nil && (in.RunFlow == nil || in.RunFlow.Step(step) == nil) {
		return out, app.Invalid("step", "must be the key of a step of the automation")
	}
	out.Sentence = automation.Explain(&in)
	if in.Run != nil {
		out.RunID, out.Status = in.Run.ID, in.Run.Status
	}
	return out, nil
}

// who names a contact in a sentence.
func who(c *app.Contact) string {
	if c.FirstName != "" {
		return c.FirstName
	}
	return c.Email
}

// newestRun returns the newest run of a contact that was started, else the newest; nil: there is none.
func newestRun(r *db.Reader, teamID, automationID, contactID string) (*app.Run, error) {
	runs, err := r.RunsOfContactIn(teamID, automationID, contactID, explainedRuns)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	if i := slices.IndexFunc(runs, func(run app.Run) bool { return run.Reason != app.ReasonLoop }); i >= 0 {
		return &runs[i], nil
	}
	return &runs[0], nil
}

// readStart reads what explains why the automation did not start for the contact.
func (s *Service) readStart(r *db.Reader, in *automation.ExplainInput) error {
	a, c, trigger := &in.Automation, &in.Contact, &in.Flow.Trigger
	entry, err := r.Entry(a.ID, c.ID, "")
	if base.IgnoreNotFound(err) != nil {
		return err
	}
	in.LastStart = entry.LastAt
	signals, err := r.SignalsSince(c.TeamID, c.ID, trigger.EventName, time.Time{}, explainedEvents)
	if err != nil {
		return err
	}
	for i := range signals {
		in.Events = append(in.Events, automation.WalkEvent{Name: signals[i].Name, At: signals[i].CreatedAt, Payload: signals[i].Payload})
	}
	counts, err := r.AutomationCounts(a.ID)
	if err != nil {
		return err
	}
	in.Full, in.Names = counts[""][db.CountFull] > 0, map[string]string{}
	if trigger.TopicID != "" {
		t, err := r.TopicFor(c.TeamID, trigger.TopicID, c.Hash)
		if base.IgnoreNotFound(err) != nil {
			return err
		}
		in.Names[trigger.TopicID], in.Topic = t.Name, app.AddressSubscription{Topic: t.Name, Subscription: t.Subscription, Explicit: t.Explicit}
	}
	if trigger.SegmentID == "" {
		return nil
	}
	segment, err := r.Segment(c.TeamID, trigger.SegmentID)
	if err != nil {
		return base.IgnoreNotFound(err)
	}
	in.Names[segment.ID] = segment.Name
	in.InSegment, err = r.ContactInSegment(c.TeamID, segment.ID, c.ID)
	return base.IgnoreNotFound(err)
}
