package automations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/membudget"
	"mailer/app/rules/automation"
	"mailer/db"
)

// MaxSimulatedEvents is how many events a simulation can have.
const MaxSimulatedEvents = 100

// SimulationInput is a contact whose path through an automation is simulated.
type SimulationInput struct {
	ContactID string            // of an existing contact; this or Contact
	Contact   *app.ContactInput // made up; its segments and topics are ignored
	At        time.Time         // when the run starts; zero: now
	Payload   jsontext.Value    // of the event that starts it: a JSON object; nil: none
	Events    []automation.WalkEvent
}

// Simulation is the path of a contact, with the mails that the steps would send now.
type Simulation struct {
	automation.Path
	Emails map[string]*app.Email // by key of the step
}

// Simulate returns the path of a contact through an automation by a made-up clock. Nothing is stored or sent.
// Errors: CodeNotFound for the automation or the contact, CodeValidation naming the member,
// CodePayloadTooLarge if the mails are too large together.
func (s *Service) Simulate(ctx context.Context, key *app.Key, automationID string, in SimulationInput) (out Simulation, err error) {
	if err := in.validate(); err != nil {
		return out, err
	}
	out.Emails = map[string]*app.Email{}
	sim := &simulator{s: s, ctx: ctx, teamID: key.TeamID, emails: out.Emails, missing: map[string]app.RunReason{}}
	walk := automation.WalkInput{AutomationID: automationID, Event: in.Payload, At: in.At, Events: in.Events, Missing: func(step *automation.Step) app.RunReason { return sim.missing[step.Key] }, Send: sim.send}
	if walk.At.IsZero() {
		walk.At = clock.Now()
	}
	if in.Contact != nil {
		n, err := in.Contact.Validate()
		if err == nil {
			n.Contact.Properties, err = n.Changes.Apply(nil)
		}
		if err != nil {
			return out, under("contact.", err)
		}
		walk.Contact = n.Contact
		walk.Contact.TeamID, walk.Contact.Hash = key.TeamID, s.Sealer.AddressHash(key.TeamID, n.Key)
		walk.Contact.ID = uuid.UUID(walk.Contact.Hash).String() // the same address takes the same branch of a split
		walk.Contact.CreatedAt, walk.Contact.UpdatedAt = walk.At, walk.At
	}
	err = s.DB.Read(ctx, func(r *db.Reader) error { return sim.read(r, &in, &walk) })
	if err != nil {
		return out, base.Lookup("automation", err)
	}
	if why := automation.Unmet(&sim.flow.Trigger, &walk.Contact, in.Payload); why != "" {
		return out, app.Invalid("payload", "and the contact do not meet the condition of the trigger: %s; no run would start", why)
	}
	out.Path = automation.Walk(sim.flow, walk)
	return out, sim.err
}

// validate checks the input without the database. Errors: CodeValidation.
func (in *SimulationInput) validate() error {
	switch {
	case in.ContactID == "" && in.Contact == nil:
		return app.Errorf(app.CodeValidation, "One of `contact_id` and `contact` is required")
	case in.ContactID != "" && in.Contact != nil:
		return app.Errorf(app.CodeValidation, "Only one of `contact_id` and `contact` can be given")
	case len(in.Events) > MaxSimulatedEvents:
		return app.Invalid("events", "can hold at most %d items", MaxSimulatedEvents)
	}
	if in.ContactID != "" {
		id, ok := app.ParseID(in.ContactID)
		if !ok {
			return app.Invalid("contact_id", "must be the id of a contact")
		}
		in.ContactID = id
	}
	if err := checkPayload("payload", &in.Payload); err != nil {
		return err
	}
	for i := range in.Events {
		e, field := &in.Events[i], fmt.Sprintf("events[%d]", i)
		if e.Name == "" {
			return app.Invalid(field+".event", "is required")
		}
		if !strings.HasPrefix(e.Name, "mailer:") {
			if err := automation.CheckCustomEventName(field+".event", e.Name); err != nil {
				return err
			}
		}
		if e.At.IsZero() {
			return app.Invalid(field+".at", "is required")
		}
		if err := checkPayload(field+".payload", &e.Payload); err != nil {
			return err
		}
	}
	return nil
}

// checkPayload checks a payload; null becomes nil.
func checkPayload(field string, payload *jsontext.Value) error {
	switch {
	case len(*payload) > app.MaxEventPayload:
		return app.Invalid(field, "can have at most %d bytes", app.MaxEventPayload)
	case len(*payload) == 0 || payload.Kind() == 'n':
		*payload = nil
	case payload.Kind() != '{':
		return app.Invalid(field, "must be an object")
	}
	return nil
}

// under renames the field of an error to a member of an object.
func under(object string, err error) error {
	var refusal *app.Error
	if !errors.As(err, &refusal) || !strings.HasPrefix(refusal.Message, "`") {
		return err
	}
	named := *refusal
	named.Message = "`" + object + refusal.Message[1:]
	return &named
}

// simulator holds what the steps of one simulation use.
type simulator struct {
	s       *Service
	ctx     context.Context
	teamID  string
	flow    *automation.Flow
	missing map[string]app.RunReason // by key of the step
	size    int64                    // of the mails, in bytes
	emails  map[string]*app.Email    // by key of the step
	err     error                    // other than that of one step
}

// read reads the automation and the state of the contact. Errors: ErrNotFound for the automation, CodeNotFound
// for the contact.
func (m *simulator) read(r *db.Reader, in *SimulationInput, walk *automation.WalkInput) error {
	a, err := r.Automation(m.teamID, walk.AutomationID)
	if err != nil {
		return err
	}
	if m.flow, err = m.s.flow(r, a.ID, a.Version); err != nil {
		return err
	}
	c := &walk.Contact
	if in.Contact == nil {
		if *c, err = r.Contact(m.teamID, in.ContactID); err != nil {
			return base.Lookup("contact", err)
		}
		if walk.Segments, err = r.SegmentsOf(m.teamID, c.ID); err != nil {
			return err
		}
	}
	if walk.Types, err = r.PropertyTypes(m.teamID); err != nil {
		return err
	}
	if in.Contact != nil {
		if err := in.Contact.Properties.Fits(walk.Types); err != nil {
			return under("contact.", err)
		}
	}
	if walk.Zone, err = r.TeamTimeZone(m.teamID); err != nil {
		return err
	}
	switch suppression, err := r.SuppressionByAddress(m.teamID, c.Hash); {
	case err == nil:
		suppression.Key = app.KeyOf(c.Email)
		walk.Suppression = &suppression
	case !errors.Is(err, db.ErrNotFound):
		return err
	}
	walk.Topics = map[string]app.AddressSubscription{}
	for _, step := range m.flow.Steps {
		if err := m.readStep(r, step, walk, in.Contact == nil); err != nil {
			return err
		}
	}
	return nil
}

// readStep reads what a step needs to know of the contact, and notes if what it names was deleted.
func (m *simulator) readStep(r *db.Reader, step *automation.Step, walk *automation.WalkInput, stored bool) (err error) {
	reason := app.RunReason("")
	switch c := step.Config.(type) {
	case *automation.SendEmailConfig:
		reason, err = app.ReasonTopicMissing, m.readTopic(r, c.Topic(m.flow), walk)
	case *automation.SetTopicConfig:
		reason, err = app.ReasonTopicMissing, m.readTopic(r, c.TopicID, walk)
	case *automation.SegmentConfig:
		reason = app.ReasonSegmentMissing
		_, err = r.Segment(m.teamID, c.SegmentID)
	case *automation.WebhookConfig:
		reason = app.ReasonWebhookMissing
		_, err = r.Webhook(m.teamID, c.WebhookID)
	case *automation.GoalConfig:
		if c.SegmentID == "" || !stored {
			return nil
		}
		in, err := r.ContactInSegment(m.teamID, c.SegmentID, walk.Contact.ID)
		if in {
			walk.Segments = append(walk.Segments, c.SegmentID)
		}
		return base.IgnoreNotFound(err)
	}
	if errors.Is(err, db.ErrNotFound) {
		m.missing[step.Key], err = reason, nil
	}
	return err
}

// readTopic reads the subscription of the contact to a topic; none for an empty id.
func (m *simulator) readTopic(r *db.Reader, id string, walk *automation.WalkInput) error {
	if id == "" {
		return nil
	}
	t, err := r.TopicFor(m.teamID, id, walk.Contact.Hash)
	if err == nil {
		walk.Topics[id] = app.AddressSubscription{Topic: t.Name, Subscription: t.Subscription, Explicit: t.Explicit}
	}
	return err
}

// send makes the mail of a step.
func (m *simulator) send(step *automation.Step, _ time.Time, v *automation.Values) (jsontext.Value, error) {
	if m.err != nil {
		return nil, m.err
	}
	c := step.Config.(*automation.SendEmailConfig)
	automated := app.AutomatedMarketing
	if c.Transactional {
		automated = app.AutomatedTransactional
	}
	in := mailOf(c, m.flow, v.Contact, &app.RunContext{Event: v.Event, Received: v.Received})
	email, err := m.s.mail.PreviewStep(m.ctx, m.teamID, in, automated)
	if err != nil {
		return nil, m.failure(in, err)
	}
	n := int64(len(email.HTML) + len(email.Text))
	if m.size += n; m.size > app.MaxRendered {
		m.err = app.Errorf(app.CodePayloadTooLarge, "The mails of a simulation may come to %d bytes together", app.MaxRendered)
		return nil, m.err
	}
	if m.err = membudget.Reserve(m.ctx, 3*n); m.err != nil { // the mail, and its JSON
		return nil, m.err
	}
	m.emails[step.Key] = email
	return nil, nil
}

// failure returns why the mail of a step can't be made, as the step of a run would fail.
func (m *simulator) failure(in *app.EmailInput, err error) error {
	refusal := (*app.Error)(nil)
	if !errors.As(err, &refusal) || isTemporary(refusal.Code) || refusal.Code == app.CodePayloadTooLarge {
		m.err = err
		return err
	}
	failure := error(refusal)
	missing, err := m.s.missing(m.ctx, m.teamID, in)
	if err != nil {
		m.err = err
		return err
	}
	if missing != nil {
		failure = missing
	}
	reason, message := reasonOf(failure, refusal)
	return &automation.StepFailure{Reason: reason, Message: message}
}
