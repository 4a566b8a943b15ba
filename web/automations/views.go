package automations

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/automation"
	"mailer/app/sending/automations"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

type simulateRequest struct {
	ContactID string            `json:"contact_id,omitempty" format:"uuid" doc:"An existing contact; or contact"`
	Contact   *simulatedContact `json:"contact,omitempty" doc:"A contact that is made up"`
	At        string            `json:"at,omitempty" format:"date-time" doc:"When the run starts; default: now"`
	Payload   rawObject         `json:"payload,omitempty" doc:"Of the event that starts the run"`
	Events    []simulatedEvent  `json:"events,omitempty" maxItems:"100" doc:"Events of the contact that arrive later"`
}

type simulatedContact struct {
	Email        string              `json:"email" doc:"An address without a display name. Its suppression and its choices for topics count"`
	FirstName    string              `json:"first_name,omitempty" maxLength:"255"`
	LastName     string              `json:"last_name,omitempty" maxLength:"255"`
	Unsubscribed bool                `json:"unsubscribed,omitempty"`
	Properties   simulatedProperties `json:"properties,omitempty"`
}

type simulatedEvent struct {
	Event   string    `json:"event" maxLength:"100" doc:"The name of the event"`
	At      string    `json:"at" format:"date-time"`
	Payload rawObject `json:"payload,omitempty"`
}

// simulatedProperties are the properties of a contact that is made up.
type simulatedProperties map[string]*shapes.PropertyValue

// Schema implements openapi.SchemaProvider.
func (simulatedProperties) Schema(r *openapi.Registry) *openapi.Schema {
	most := app.MaxProperties
	return &openapi.Schema{Type: openapi.TypeObject, MaxProperties: &most, AdditionalProperties: r.Inline(reflect.TypeFor[shapes.PropertyValue]())}
}

func (p simulatedProperties) changes() app.PropertyChanges {
	if len(p) == 0 {
		return nil
	}
	out := make(app.PropertyChanges, len(p))
	for key, v := range p {
		out[key] = (*app.PropertyValue)(v)
	}
	return out
}

type simulation struct {
	Object string          `json:"object" enum:"automation_simulation"`
	Status app.RunStatus   `json:"status" enum:"running,completed,failed,cancelled" doc:"running: the last step waits for an event that was not given"`
	Reason *string         `json:"reason" doc:"Why the run ends, as a sentence; null: it reaches its end, or is running"`
	Steps  []simulatedStep `json:"steps" doc:"The steps that the run reaches, in their order"`
}

type simulatedStep struct {
	Key         string          `json:"key"`
	Type        app.StepType    `json:"type" enum:"trigger,send_email,delay,wait_for_event,condition,contact_update,contact_delete,add_to_segment,remove_from_segment,set_topic,webhook,split,wait_until,goal"`
	Status      app.StepStatus  `json:"status" enum:"pending,running,completed,failed,skipped,waiting"`
	StartedAt   string          `json:"started_at" format:"date-time"`
	CompletedAt *string         `json:"completed_at" format:"date-time"`
	Output      rawObject       `json:"output" doc:"What the step does, or why it is skipped; null: nothing"`
	Error       rawObject       `json:"error" doc:"Why it fails: code and message; null: it does not"`
	Email       *simulatedEmail `json:"email,omitempty" doc:"The mail of a step that sends one, as it would look now"`
}

type simulatedEmail struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Subject string `json:"subject"`
	HTML    string `json:"html"`
	Text    string `json:"text"`
	shapes.MailFrame
}

type automationReport struct {
	Object       string           `json:"object" enum:"automation_report"`
	AutomationID string           `json:"automation_id" format:"uuid"`
	Started      int64            `json:"started" doc:"Runs since the automation was created, as the next five"`
	Running      int64            `json:"running"`
	Completed    int64            `json:"completed" doc:"With those that met a goal"`
	Failed       int64            `json:"failed"`
	Cancelled    int64            `json:"cancelled"`
	Goal         int64            `json:"goal" doc:"Runs that met a goal"`
	NotStarted   notStarted       `json:"not_started"`
	Steps        []stepReportItem `json:"steps" doc:"Of the current version, in the order of the graph"`
}

type notStarted struct {
	Loop   int64 `json:"loop" doc:"Starts that would have been a loop"`
	Full   int64 `json:"full" doc:"Starts beyond the number of open runs that the team or the server may have"`
	NoDate int64 `json:"no_date" doc:"Dates and time zones of contacts that can't be read"`
}

type stepReportItem struct {
	Key       string       `json:"key"`
	Type      app.StepType `json:"type" enum:"trigger,send_email,delay,wait_for_event,condition,contact_update,contact_delete,add_to_segment,remove_from_segment,set_topic,webhook,split,wait_until,goal"`
	Waiting   int64        `json:"waiting" doc:"Runs that are at the step now"`
	Completed int64        `json:"completed"`
	Failed    int64        `json:"failed"`
	Skipped   int64        `json:"skipped"`
	Cancelled int64        `json:"cancelled" doc:"Runs that were cancelled at the step"`
	Sent      *int64       `json:"sent,omitempty" doc:"Of a step that sends a mail: mails that were accepted"`
	Opened    *int64       `json:"opened,omitempty" doc:"Of these, each once; prefetches do not count"`
	Clicked   *int64       `json:"clicked,omitempty"`
	Goal      *int64       `json:"goal,omitempty" doc:"Of a goal: runs that it ended"`
}

type automationExplanation struct {
	Object   string        `json:"object" enum:"automation_explanation"`
	Sentence string        `json:"sentence" doc:"For people. Times are in the time zone of the contact, else of the team"`
	RunID    string        `json:"run_id,omitempty" format:"uuid" doc:"The newest run of the contact; absent: it has none"`
	Status   app.RunStatus `json:"status,omitempty" enum:"running,completed,failed,cancelled"`
}

// ContactAutomationItem is a run of a contact in a list.
type ContactAutomationItem struct {
	ID             string        `json:"id" format:"uuid" doc:"The same as run_id"`
	AutomationID   string        `json:"automation_id" format:"uuid"`
	AutomationName string        `json:"automation_name"`
	RunID          string        `json:"run_id" format:"uuid"`
	Status         app.RunStatus `json:"status" enum:"running,completed,failed,cancelled"`
	Step           string        `json:"step" doc:"The key of the step at which the run is, or ended"`
	Since          string        `json:"since" format:"date-time" doc:"When the run started"`
	DueAt          *string       `json:"due_at" format:"date-time" doc:"When that step is executed or its wait ends; null: the run ended, or waits for an event without a timeout"`
	Sentence       string        `json:"sentence" doc:"Like: In Welcome since Monday, next mail tomorrow, with the hour and the time zone"`
}

type (
	explainInput struct {
		AutomationPath
		ContactID string `query:"contact_id" required:"true" doc:"The id of the contact, or its email address"`
		Step      string `query:"step" doc:"The key of a step; without it: where the contact is"`
	}
	contactAutomationsInput struct {
		rest.PageParams
		ID string `path:"id" doc:"The id of the contact, or its email address, percent-encoded"`
	}
)

// Resource implements rest.ResourcePath.
func (in *contactAutomationsInput) Resource() (kind string, id *string) { return "", &in.ID }

// ViewRoutes are the routes that show what automations do: simulations, reports and explanations.
type ViewRoutes struct {
	Service       *automations.Service
	EmailPreviews *mail.Previews
	BaseURL       string // of the server; preview URLs begin with it
}

// Add adds the routes to a handler.
func (r ViewRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{ReadOnly: true}, openapi.Operation{
		OperationID: "simulate-automation", Method: http.MethodPost, Path: "/automations/{id}/simulate",
		Summary: "Show the path of a contact through an automation by a made-up clock, with its mails. Nothing is stored or sent", Tags: automationTags,
		Errors: []int{http.StatusNotFound},
	}, r.simulate)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-automation-report", Method: http.MethodGet, Path: "/automations/{id}/report",
		Summary: "Get the numbers of an automation and of its steps", Tags: automationTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Get[*AutomationPath](r.Service.Report, newAutomationReport))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "explain-automation", Method: http.MethodGet, Path: "/automations/{id}/explain",
		Summary: "Explain in a sentence where a contact is in an automation, or why it did not get the mail of a step", Tags: automationTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.explain)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-contact-automations", Method: http.MethodGet, Path: "/contacts/{id}/automations",
		Summary: "List the runs of automations of a contact, newest first", Tags: automationTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, rest.ListOf[*contactAutomationsInput](r.Service.ListContactRuns, newContactAutomationItem))
}

func (r ViewRoutes) simulate(ctx context.Context, key *app.Key, in *AutomationPath, b *simulateRequest) (*rest.Output[simulation], error) {
	input := automations.SimulationInput{ContactID: b.ContactID, Payload: b.Payload.value(), Events: make([]automation.WalkEvent, len(b.Events))}
	if c := b.Contact; c != nil {
		input.Contact = &app.ContactInput{Email: c.Email, FirstName: c.FirstName, LastName: c.LastName, Unsubscribed: c.Unsubscribed, Properties: c.Properties.changes()}
	}
	var err error
	if input.At, err = timeOf("at", b.At); err != nil {
		return nil, err
	}
	for i, e := range b.Events {
		input.Events[i] = automation.WalkEvent{Name: e.Event, Payload: e.Payload.value()}
		if input.Events[i].At, err = timeOf(fmt.Sprintf("events[%d].at", i), e.At); err != nil {
			return nil, err
		}
	}
	s, err := r.Service.Simulate(ctx, key, in.ID, input)
	if err != nil {
		return nil, err
	}
	out := newSimulation(&s)
	for i := range out.Steps {
		e := out.Steps[i].Email
		if e == nil {
			continue
		}
		p, err := r.EmailPreviews.KeepDraft(rest.WithBudget(ctx), key, e.HTML, e.Text, nil, false)
		if err != nil {
			return nil, err
		}
		e.MailFrame = shapes.NewMailFrame(r.BaseURL, p)
	}
	return &rest.Output[simulation]{Body: out}, nil
}

// timeOf parses a time of a body; the zero time for an empty text.
func timeOf(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, app.Invalid(field, "must be a time like 2026-06-01T09:00:00Z")
	}
	return t, nil
}

func (r ViewRoutes) explain(ctx context.Context, key *app.Key, in *explainInput) (*rest.Output[automationExplanation], error) {
	return rest.Answer(func(e *automations.Explanation) automationExplanation {
		return automationExplanation{Object: "automation_explanation", Sentence: e.Sentence, RunID: e.RunID, Status: e.Status}
	})(r.Service.Explain(ctx, key, in.ID, in.ContactID, in.Step))
}

func newSimulation(s *automations.Simulation) simulation {
	out := simulation{Object: "automation_simulation", Status: s.Status, Reason: base.TextOrNull(s.Reason.Sentence()), Steps: make([]simulatedStep, len(s.Steps))}
	for i := range s.Steps {
		step := &s.Steps[i]
		out.Steps[i] = simulatedStep{Key: step.Key, Type: step.Type, Status: step.Status, StartedAt: app.FormatTime(step.StartedAt), CompletedAt: app.FormatTimePtr(step.CompletedAt),
			Output: rawObject(step.Output), Error: rawObject(step.Error)}
		if e := s.Emails[step.Key]; e != nil {
			out.Steps[i].Email = &simulatedEmail{From: e.From.String(), To: e.To[0].String(), Subject: e.Subject, HTML: e.HTML, Text: e.Text}
		}
	}
	return out
}

func newAutomationReport(r *automations.Report) automationReport {
	out := automationReport{Object: "automation_report", AutomationID: r.AutomationID, Started: r.Started, Running: r.Running, Completed: r.Completed, Failed: r.Failed, Cancelled: r.Cancelled,
		Goal: r.Goal, NotStarted: notStarted{r.Loop, r.Full, r.NoDate}, Steps: make([]stepReportItem, len(r.Steps))}
	for i := range r.Steps {
		s := &r.Steps[i]
		out.Steps[i] = stepReportItem{Key: s.Key, Type: s.Type, Waiting: s.Waiting, Completed: s.Completed, Failed: s.Failed, Skipped: s.Skipped, Cancelled: s.Cancelled}
		switch s.Type {
		case app.StepSendEmail:
			out.Steps[i].Sent, out.Steps[i].Opened, out.Steps[i].Clicked = &s.Completed, &s.Opened, &s.Clicked
		case app.StepGoal:
			out.Steps[i].Goal = &s.Goal
		}
	}
	return out
}

func newContactAutomationItem(r *automations.ContactRun) ContactAutomationItem {
	return ContactAutomationItem{ID: r.ID, AutomationID: r.AutomationID, AutomationName: r.Automation, RunID: r.ID, Status: r.Status, Step: r.StepKey, Since: app.FormatTime(r.StartedAt),
		DueAt: app.FormatTimePtr(r.DueAt), Sentence: r.Sentence}
}
