package automations

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/automation"
	"mailer/app/sending/mail"
	"mailer/db"
)

// postponement is how long a run waits whose step could not be executed for an unknown reason.
const postponement = 5 * time.Minute

// executeOrPostpone executes the steps at which some runs of a team are due. If that fails for an unknown reason, each
// is executed alone, and one that fails is tried again later, so that the others do not wait for it.
func (s *Service) executeOrPostpone(ctx context.Context, due []app.Run) error {
	err := s.execute(ctx, due)
	if err == nil || isTransient(ctx, err) {
		return err
	}
	if len(due) == 1 {
		return s.postpone(ctx, &due[0], err)
	}
	var failed []error
	for one := range slices.Chunk(due, 1) {
		failed = append(failed, s.executeOrPostpone(ctx, one))
	}
	return errors.Join(failed...)
}

// postpone lets a run wait whose step could not be executed because of cause.
func (s *Service) postpone(ctx context.Context, due *app.Run, cause error) error {
	s.Log.Error("the step of a run can't be executed; it is tried again later", "team", due.TeamID, "automation", due.AutomationID, "run", due.ID, "step", due.StepKey, "err", cause)
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		run, err := tx.Run(due.TeamID, due.ID)
		if err != nil || run.Status != app.RunRunning || run.StepN != due.StepN {
			return base.IgnoreNotFound(err)
		}
		run.DueAt = tx.Now.Add(postponement)
		return tx.UpdateRun(&run, run.StepN)
	})
}

// change moves a run on from the step at which it is due. It may be called again after a failed commit.
type change func(t *turn, step *automation.Step) error

// execute executes the steps at which some runs are due, in one Write. Emails are made before it.
func (s *Service) execute(ctx context.Context, due []app.Run) error {
	mails, err := s.prepare(ctx, due)
	if err != nil {
		return err
	}
	changes := make([]change, len(due))
	for i := range due {
		changes[i] = (*turn).timeUp
		if due[i].Sends {
			changes[i] = func(t *turn, step *automation.Step) error { return t.timeToSend(step, mails[i]) }
		}
	}
	return s.DB.WriteBatched(ctx, func(tx *db.Tx) error {
		for i := range due {
			if err := s.move(tx, &due[i], changes[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// move runs a change of a run, unless the run is not due at the same step any more. A run whose contact was deleted is
// cancelled instead.
func (s *Service) move(tx *db.Tx, due *app.Run, change change) error {
	run, err := tx.Run(due.TeamID, due.ID)
	if err != nil {
		return base.IgnoreNotFound(err)
	}
	if run.Status != app.RunRunning || run.Held != "" || run.StepN != due.StepN || run.DueAt.IsZero() || run.DueAt.After(tx.Now) {
		return nil // another process moved it, or it was held
	}
	flow, err := s.flow(&tx.Reader, run.AutomationID, run.Version)
	if err != nil {
		return err
	}
	contact, err := tx.Contact(run.TeamID, run.ContactID)
	t := s.newTurn(tx, &run, flow, &contact)
	t.since = run.DueAt
	step := flow.Step(run.StepKey)
	switch {
	case run.Ending != "":
		return t.cancel(step, run.Ending)
	case errors.Is(err, db.ErrNotFound):
		return t.cancel(step, app.ReasonContactDeleted)
	case err != nil:
		return err
	case step == nil:
		return t.cancel(nil, app.ReasonNotMoved)
	}
	if met, goal, err := t.inGoalSegment(); err != nil || met {
		if err == nil {
			err = t.reachGoal(goal)
		}
		return err
	}
	return change(t, step)
}

// cancel ends the run before its end.
func (t *turn) cancel(step *automation.Step, reason app.RunReason) error {
	if step != nil && t.waits() {
		t.record(step, app.StepSkipped, map[string]any{"reason": string(reason)}, nil)
		t.count(step, db.CountWaiting, -1)
		t.count(step, db.CountCancelled, 1)
	}
	return t.end(app.RunCancelled, reason)
}

// timeUp continues a run whose wait is over.
func (t *turn) timeUp(step *automation.Step) error {
	by, output := app.ConnectDefault, map[string]any(nil)
	if _, ok := step.Config.(*automation.WaitForEventConfig); ok {
		by, output = app.ConnectTimeout, map[string]any{"timed_out": true}
	}
	t.leave(step, app.StepCompleted, output, nil)
	return t.follow(step, by)
}

// stepMail is the email that was made for a step, or why none can be made.
type stepMail struct {
	step    string // its key
	topicID string
	email   *app.Email
	failure error
}

// timeToSend continues a run that was due to send the email of its step, or of the step after its pause. m is nil if
// no email was made, because the run changed meanwhile: a pause is over, and the next round looks at a mail again.
func (t *turn) timeToSend(step *automation.Step, m *stepMail) error {
	switch _, sends := stepConfig[automation.SendEmailConfig](step); {
	case !sends:
		t.mail = m
		return t.timeUp(step)
	case m == nil || m.step != step.Key:
		return nil
	}
	return t.sendMail(step, m)
}

// sendMail accepts the email of the step at which the run is, or skips or fails the step, and moves the run on.
func (t *turn) sendMail(step *automation.Step, m *stepMail) error {
	failure := m.failure
	if failure == nil {
		failure = t.s.accept(t, m.email)
	}
	refusal := (*app.Error)(nil)
	switch {
	case failure == nil:
		t.leave(step, app.StepCompleted, map[string]any{"email_id": m.email.ID}, nil)
		return t.follow(step, app.ConnectDefault)
	case !errors.As(failure, &refusal):
		return failure
	case refusal.Code == app.CodeAllRecipientsSuppressed:
		return t.skipMail(step, m.topicID)
	case isTemporary(refusal.Code):
		t.s.rest(t.run.TeamID, t.tx.Now.Add(restAfterRefusal))
		t.record(step, app.StepRunning, map[string]any{"waits": refusal.Message}, nil)
		return t.store()
	}
	reason, message := reasonOf(failure, refusal)
	t.fail(step, reason, message)
	return t.store()
}

// isTemporary reports whether a refusal ends without a change by the team: a quota, a pause, or a busy server.
func isTemporary(code app.Code) bool {
	switch code {
	case app.CodeDailyQuotaExceeded, app.CodeMonthlyQuotaExceeded, app.CodeSendingPaused, app.CodeBroadcastsPaused, app.CodeRateLimitExceeded, app.CodeServiceUnavailable, app.CodePlanLimitReached:
		return true
	}
	return false
}

// reasonOf returns why a mail can never be sent.
func reasonOf(failure error, refusal *app.Error) (app.RunReason, string) {
	unverified := (*app.UnverifiedDomain)(nil)
	switch {
	case errors.As(failure, &unverified):
		return app.ReasonSenderMissing, refusal.Message
	case errors.Is(failure, errTemplateMissing):
		return app.ReasonTemplateMissing, "The template was deleted, or is not published any more"
	case errors.Is(failure, errTopicMissing):
		return app.ReasonTopicMissing, "The topic was deleted"
	}
	return app.ReasonRejected, refusal.Message
}

// accept accepts the email of a step inside the Write that moves its run.
func (s *Service) accept(t *turn, email *app.Email) error {
	if email.Automated == app.AutomatedMarketing {
		region, _, err := s.mail.SendingRegion(&t.tx.Reader, email.TeamID, email.From.Domain)
		if err != nil {
			return err
		}
		if err := s.MayBroadcast(&t.tx.Reader, email.TeamID, region); err != nil {
			return err
		}
	}
	return s.mail.Accept(t.tx, email)
}

// skipMail leaves out a mail that its recipient must not get, and continues the run, or ends it if the
// automation has ExitOnOptOut.
func (t *turn) skipMail(step *automation.Step, topicID string) error {
	address := []string{t.contact.Email}
	suppressed, err := t.s.audience.BlockedRecipients(&t.tx.Reader, t.run.TeamID, "", address)
	if err != nil {
		return err
	}
	reason, optedOut := suppressed.Reason(t.contact.Email), false
	if reason == "" {
		blocked, err := t.s.audience.BlockedForMarketing(&t.tx.Reader, t.run.TeamID, topicID, address)
		if err != nil {
			return err
		}
		reason, optedOut = blocked.Reason(t.contact.Email), true
	}
	t.leave(step, app.StepSkipped, map[string]any{"reason": reason}, nil)
	if optedOut && t.flow.ExitOnOptOut {
		return t.end(app.RunCancelled, app.ReasonOptedOut)
	}
	return t.follow(step, app.ConnectDefault)
}

// Errors of a mail whose template or topic is gone.
var (
	errTemplateMissing = &app.Error{Code: app.CodeNotFound, Message: "Template not found"}
	errTopicMissing    = &app.Error{Code: app.CodeNotFound, Message: "Topic not found"}
)

// prepare makes the emails of the steps at which runs of a team are, or of those after their pauses; nil: there is no
// such step any more, or the contact was deleted.
func (s *Service) prepare(ctx context.Context, due []app.Run) ([]*stepMail, error) {
	flows, contacts := make([]*automation.Flow, len(due)), make([]app.Contact, len(due))
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		for i := range due {
			if !due[i].Sends {
				continue
			}
			if flows[i], err = s.flow(r, due[i].AutomationID, due[i].Version); err != nil {
				return err
			}
			contacts[i], err = r.Contact(due[i].TeamID, due[i].ContactID)
			if err = base.IgnoreNotFound(err); err != nil { // move cancels the run
				return err
			}
		}
		return nil
	})
	mails, templates := make([]*stepMail, len(due)), mail.StepTemplates{}
	for i := range due {
		if err != nil {
			return nil, err
		}
		if contacts[i].ID != "" {
			mails[i], err = s.stepMail(ctx, &due[i], flows[i], &contacts[i], templates)
		}
	}
	return mails, err
}

// stepMail makes the email of the step at which a run is, or of the one after its pause; nil: there is no such step
// any more.
func (s *Service) stepMail(ctx context.Context, due *app.Run, flow *automation.Flow, contact *app.Contact, templates mail.StepTemplates) (*stepMail, error) {
	step := flow.Step(due.StepKey)
	if step == nil {
		return nil, nil
	}
	if after := mailAfter(flow, step); after != nil {
		step = after
	}
	c, ok := stepConfig[automation.SendEmailConfig](step)
	if !ok {
		return nil, nil
	}
	in := mailOf(c, flow, contact, &due.Context)
	automated := app.AutomatedMarketing
	if c.Transactional {
		automated = app.AutomatedTransactional
	}
	m := &stepMail{step: step.Key, topicID: in.TopicID}
	refusal := (*app.Error)(nil)
	var err error
	if m.email, err = s.mail.PrepareStep(ctx, due.TeamID, in, automated, templates); !errors.As(err, &refusal) {
		if err == nil {
			m.email.AutomationRun, m.email.AutomationStep = due.ID, step.Key
		}
		return m, err
	}
	if m.failure, err = s.missing(ctx, due.TeamID, in); m.failure == nil {
		m.failure = refusal
	}
	return m, err
}

// missing returns an error if the template or the topic of a mail is gone.
func (s *Service) missing(ctx context.Context, teamID string, in *app.EmailInput) (failure, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		t, err := r.Template(teamID, in.Template.ID)
		if errors.Is(err, db.ErrNotFound) || err == nil && t.PublishedID == "" {
			failure = errTemplateMissing
			return nil
		}
		if err != nil || in.TopicID == "" {
			return err
		}
		if err = r.TopicExists(teamID, in.TopicID); errors.Is(err, db.ErrNotFound) {
			failure, err = errTopicMissing, nil
		}
		return err
	})
	return failure, err
}

// mailOf returns the send of a step to a contact.
func mailOf(c *automation.SendEmailConfig, flow *automation.Flow, contact *app.Contact, run *app.RunContext) *app.EmailInput {
	in := &app.EmailInput{From: c.From, To: []string{contact.Email}, Subject: c.Subject, TopicID: c.TopicID,
		Template: &app.TemplateUse{ID: c.Template.ID, Language: contact.Properties["language"].Text, Contact: contact, Variables: map[string]app.PropertyValue{}}}
	if c.ReplyTo != "" {
		in.ReplyTo = []string{c.ReplyTo}
	}
	if in.TopicID == "" && !c.Transactional {
		in.TopicID = flow.TopicID
	}
	values := &automation.Values{Contact: contact, Event: run.Event, Received: run.Received}
	for name, v := range c.Template.Variables {
		if field, isVar := automation.VarOf(v); isVar {
			found, ok := values.Lookup(field)
			if !ok || found == nil {
				continue // the fallback of the template
			}
			v = encoded(found)
		}
		if value, err := app.JSONValue(v); err == nil {
			in.Template.Variables[name] = value
		}
	}
	return in
}

// mailsAllowed returns how many emails of a team may be accepted now. If none may, next is when to look again.
func (s *Service) mailsAllowed(ctx context.Context, teamID string) (n int, next time.Time, err error) {
	now := clock.Now()
	window, until := s.paceOf(teamID).state(now)
	if until.After(now) {
		return 0, until, nil
	}
	if n = s.paceOf(teamID).spare(now); n > 0 {
		return min(n, runsPerRound), next, nil
	}
	open, err := db.Get(ctx, s.DB, func(r *db.Reader) (int, error) { return r.OpenAutomated(teamID, window) })
	if err != nil {
		return 0, next, err
	}
	if n = s.paceOf(teamID).allow(now, open); n == 0 {
		return 0, now.Add(busyPause), nil
	}
	return min(n, runsPerRound), next, nil
}

// rest lets the mails of a team rest until a time.
func (s *Service) rest(teamID string, until time.Time) { s.paceOf(teamID).rest(until) }

// encoded returns the JSON of a value that was decoded from JSON.
func encoded(v any) jsontext.Value {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("null") // not possible
	}
	return b
}
