package automations

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/automations"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// AutomationItem is an automation in a list.
type AutomationItem struct {
	ID        string               `json:"id" format:"uuid"`
	Name      string               `json:"name"`
	Status    app.AutomationStatus `json:"status" enum:"enabled,disabled" doc:"disabled starts no runs; open runs continue"`
	Version   int64                `json:"version" doc:"Counts the changes of the flow. A run stays on its version"`
	Held      *string              `json:"held" doc:"imported or restored: starts by date and schedule wait until the automation is enabled again; null: they do not"`
	CreatedAt string               `json:"created_at" format:"date-time"`
	UpdatedAt string               `json:"updated_at" format:"date-time"`
}

// automationDetail is the answer to GET of an automation.
type automationDetail struct {
	Object string `json:"object" enum:"automation"`
	AutomationItem
	Steps        []automationStep       `json:"steps"`
	Connections  []automationConnection `json:"connections"`
	ReEntry      reEntry                `json:"re_entry"`
	TopicID      *string                `json:"topic_id" format:"uuid"`
	ExitOnOptOut bool                   `json:"exit_on_opt_out"`
}

type automationStep struct {
	Key    string       `json:"key" minLength:"1" maxLength:"100" doc:"Unique in the automation. Runs are moved to a new version by it"`
	Type   app.StepType `json:"type" enum:"trigger,send_email,delay,wait_for_event,condition,contact_update,contact_delete,add_to_segment,remove_from_segment,set_topic,webhook,split,wait_until,goal"`
	Config stepConfig   `json:"config"`
}

type automationConnection struct {
	From string             `json:"from" doc:"The key of a step"`
	To   string             `json:"to" doc:"The key of the step that follows"`
	Type app.ConnectionType `json:"type" enum:"default,condition_met,condition_not_met,timeout,event_received"`
}

// automationConnectionInput is a connection in a body.
type automationConnectionInput struct {
	From string             `json:"from" doc:"The key of a step"`
	To   string             `json:"to" doc:"The key of the step that follows"`
	Type app.ConnectionType `json:"type,omitempty" enum:"default,condition_met,condition_not_met,timeout,event_received" default:"default"`
}

type reEntry struct {
	Mode  app.ReEntryMode `json:"mode" enum:"once,once_per_event_key,after_days,always" doc:"When the automation starts again for a contact"`
	Field string          `json:"field,omitempty" doc:"With once_per_event_key: the member of the event's payload"`
	Days  int             `json:"days,omitempty" minimum:"1" maximum:"365" doc:"With after_days"`
}

type automationRef struct {
	Object string `json:"object" enum:"automation"`
	ID     string `json:"id" format:"uuid"`
}

// changedAutomation is the answer to PATCH of an automation.
type changedAutomation struct {
	automationRef
	Moved    *int64        `json:"moved,omitempty" doc:"With move_runs: how many open runs continue on the new version"`
	NotMoved *[]unmovedRun `json:"not_moved,omitempty" doc:"With move_runs: runs that stay on their version, because their step does not exist in the new one; at most 100 are listed"`
}

type unmovedRun struct {
	RunID string `json:"run_id" format:"uuid"`
	Step  string `json:"step" doc:"The key of the step at which the run is"`
}

type stoppedAutomation struct {
	automationRef
	Status app.AutomationStatus `json:"status" enum:"disabled"`
}

type removedAutomation struct {
	automationRef
	Deleted bool `json:"deleted" enum:"true"`
}

type createAutomationRequest struct {
	Name         string                      `json:"name" minLength:"1" maxLength:"200"`
	Status       app.AutomationStatus        `json:"status,omitempty" enum:"enabled,disabled" default:"disabled" doc:"enabled is for owners and admins"`
	Steps        []automationStep            `json:"steps" minItems:"1" maxItems:"150" doc:"One of them is the trigger"`
	Connections  []automationConnectionInput `json:"connections"`
	ReEntry      *reEntry                    `json:"re_entry,omitempty" doc:"Default: once"`
	TopicID      string                      `json:"topic_id,omitempty" format:"uuid" doc:"The topic of all steps that name none"`
	ExitOnOptOut bool                        `json:"exit_on_opt_out,omitempty" doc:"A mail that is skipped because of an opt-out ends the run"`
}

type updateAutomationRequest struct {
	Name         string                       `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Status       app.AutomationStatus         `json:"status,omitempty" enum:"enabled,disabled"`
	Steps        []automationStep             `json:"steps,omitempty" minItems:"1" maxItems:"150" doc:"Replaces all; only with connections"`
	Connections  *[]automationConnectionInput `json:"connections,omitempty" doc:"Replaces all; only with steps"`
	ReEntry      *reEntry                     `json:"re_entry,omitempty"`
	TopicID      rest.Change[string]          `json:"topic_id,omitempty" format:"uuid" doc:"null: none"`
	ExitOnOptOut *bool                        `json:"exit_on_opt_out,omitempty"`
	MoveRuns     bool                         `json:"move_runs,omitempty" doc:"Move open runs to the new version, by the key of the step at which they are"`
}

// AutomationPath is the path parameter of one automation.
type AutomationPath struct {
	ID string `path:"id" doc:"The id of the automation" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *AutomationPath) Resource() (kind string, id *string) { return "automation", &p.ID }

type automationListInput struct {
	Status app.AutomationStatus `query:"status" enum:"enabled,disabled" doc:"Only automations with this status"`
	rest.PageParams
}

var automationTags = []string{"Automations"}

// Routes are the routes of automations and their runs.
type Routes struct{ Service *automations.Service }

// Add adds the routes to a handler.
func (r Routes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{MaxBody: maxBody}, openapi.Operation{
		OperationID: "create-automation", Method: http.MethodPost, Path: "/automations", DefaultStatus: http.StatusCreated,
		Summary: "Create an automation", Tags: automationTags,
	}, r.create)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-automations", Method: http.MethodGet, Path: "/automations",
		Summary: "List automations, newest first", Tags: automationTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, r.list)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-automation", Method: http.MethodGet, Path: "/automations/{id}",
		Summary: "Get an automation with its steps", Tags: automationTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Get[*AutomationPath](r.Service.Get, newAutomationDetail))
	rest.RegisterBody(h, rest.Route{MaxBody: maxBody}, openapi.Operation{
		OperationID: "update-automation", Method: http.MethodPatch, Path: "/automations/{id}",
		Summary: "Change, enable or disable an automation. Open runs stay on the version of their start", Tags: automationTags,
		Errors: []int{http.StatusNotFound},
	}, r.update)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-automation", Method: http.MethodDelete, Path: "/automations/{id}",
		Summary: "Delete an automation and its runs", Tags: automationTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Do[*AutomationPath](r.Service.Delete, func(id string) removedAutomation {
		return removedAutomation{automationRef{"automation", id}, true}
	}))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "duplicate-automation", Method: http.MethodPost, Path: "/automations/{id}/duplicate", DefaultStatus: http.StatusCreated,
		Summary: "Copy an automation. The copy is disabled", Tags: automationTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, rest.Get[*AutomationPath](r.Service.Duplicate, newAutomationRef))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "stop-automation", Method: http.MethodPost, Path: "/automations/{id}/stop",
		Summary: "Disable an automation and cancel its open runs", Tags: automationTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Get[*AutomationPath](r.Service.Stop, func(a *app.Automation) stoppedAutomation { return stoppedAutomation{newAutomationRef(a), a.Status} }))
	r.addRuns(h)
}

// maxBody bounds the body of an automation in bytes: its steps, with the space between their members.
const maxBody = 2 * app.MaxAutomationSize

func (r Routes) create(ctx context.Context, key *app.Key, _ *struct{}, b *createAutomationRequest) (*rest.Output[automationRef], error) {
	in := automations.Input{Name: b.Name, Status: b.Status, Flow: app.AutomationFlow{Steps: r.stepsOf(b.Steps), Connections: connectionsOf(b.Connections),
		AutomationSettings: app.AutomationSettings{TopicID: b.TopicID, ExitOnOptOut: b.ExitOnOptOut}}}
	if b.Connections == nil {
		return nil, app.Invalid("connections", "is required")
	}
	if b.ReEntry != nil {
		in.Flow.ReEntry = app.ReEntry(*b.ReEntry)
	}
	return rest.Answer(newAutomationRef)(r.Service.Create(ctx, key, in))
}

func (r Routes) update(ctx context.Context, key *app.Key, in *AutomationPath, b *updateAutomationRequest) (*rest.Output[changedAutomation], error) {
	patch := automations.Patch{MoveRuns: b.MoveRuns}
	switch {
	case b.Steps != nil && b.Connections == nil:
		return nil, app.Invalid("connections", "is required with steps")
	case b.Steps == nil && b.Connections != nil:
		return nil, app.Invalid("steps", "is required with connections")
	}
	if b.Name != "" {
		patch.Name = &b.Name
	}
	if b.Status != "" {
		patch.Status = &b.Status
	}
	if b.Steps != nil {
		patch.Steps, patch.Connections = r.stepsOf(b.Steps), connectionsOf(*b.Connections)
	}
	if b.ReEntry != nil || b.TopicID.Set || b.ExitOnOptOut != nil {
		patch.Settings = &automations.SettingsPatch{ReEntry: (*app.ReEntry)(b.ReEntry), ExitOnOptOut: b.ExitOnOptOut}
		if b.TopicID.Set {
			patch.Settings.TopicID = &b.TopicID.Value
		}
	}
	u, err := r.Service.Update(ctx, key, in.ID, patch)
	if err != nil {
		return nil, err
	}
	out := changedAutomation{automationRef: newAutomationRef(&u.Automation)}
	if b.MoveRuns {
		stay := make([]unmovedRun, len(u.NotMoved))
		for i, run := range u.NotMoved {
			stay[i] = unmovedRun{run.RunID, run.StepKey}
		}
		out.Moved, out.NotMoved = &u.Moved, &stay
	}
	return &rest.Output[changedAutomation]{Body: out}, nil
}

func (r Routes) list(ctx context.Context, key *app.Key, in *automationListInput) (*rest.ListOutput[AutomationItem], error) {
	switch in.Status {
	case "", app.AutomationEnabled, app.AutomationDisabled:
	default:
		return nil, app.Invalid("status", "must be enabled or disabled")
	}
	return rest.List(func(ctx context.Context, key *app.Key, page app.Page) ([]app.Automation, bool, error) {
		return r.Service.List(ctx, key, in.Status, page)
	}, newAutomationItem)(ctx, key, &in.PageParams)
}

// stepsOf converts the steps of a body; not nil.
func (r Routes) stepsOf(steps []automationStep) []app.AutomationStep {
	out := make([]app.AutomationStep, len(steps))
	for i := range steps {
		out[i] = app.AutomationStep{Key: steps[i].Key, Type: steps[i].Type, Config: steps[i].Config.value()}
		if r.Service.Compat() == app.CompatResend {
			out[i].Config = withOwnEvent(out[i].Type, out[i].Config)
		}
	}
	return out
}

// resendEvents are the events of mail by the names that Resend gives them.
var resendEvents = map[string]string{"resend:email.opened": app.TriggerEmailOpened, "resend:email.clicked": app.TriggerEmailClicked}

// withOwnEvent returns the configuration of a step with the name that this service has for an event of
// Resend. Another configuration is returned as it is.
func withOwnEvent(kind app.StepType, config jsontext.Value) jsontext.Value {
	var members map[string]jsontext.Value
	var name string
	if kind != app.StepTrigger && kind != app.StepWaitForEvent || json.Unmarshal(config, &members) != nil || json.Unmarshal(members["event_name"], &name) != nil || resendEvents[name] == "" {
		return config
	}
	members["event_name"] = jsontext.Value(`"` + resendEvents[name] + `"`)
	changed, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return config // not possible for what was decoded
	}
	return changed
}

func connectionsOf(connections []automationConnectionInput) []app.AutomationConnection {
	out := make([]app.AutomationConnection, len(connections))
	for i, c := range connections {
		out[i] = app.AutomationConnection(c)
	}
	return out
}

func newAutomationItem(a *app.Automation) AutomationItem {
	return AutomationItem{ID: a.ID, Name: a.Name, Status: a.Status, Version: a.Version, Held: base.TextOrNull(a.Held),
		CreatedAt: app.FormatTime(a.CreatedAt), UpdatedAt: app.FormatTime(a.UpdatedAt)}
}

func newAutomationRef(a *app.Automation) automationRef { return automationRef{"automation", a.ID} }

func newAutomationDetail(a *app.Automation) automationDetail {
	out := automationDetail{Object: "automation", AutomationItem: newAutomationItem(a), Steps: make([]automationStep, len(a.Flow.Steps)), Connections: make([]automationConnection, len(a.Flow.Connections)),
		ReEntry: reEntry(a.Flow.ReEntry), TopicID: base.TextOrNull(a.Flow.TopicID), ExitOnOptOut: a.Flow.ExitOnOptOut}
	for i, s := range a.Flow.Steps {
		config := rawObject(s.Config)
		if config == nil {
			config = rawObject("{}")
		}
		out.Steps[i] = automationStep{Key: s.Key, Type: s.Type, Config: stepConfig{config}}
	}
	for i, c := range a.Flow.Connections {
		if c.Type == "" {
			c.Type = app.ConnectDefault
		}
		out.Connections[i] = automationConnection(c)
	}
	if out.ReEntry.Mode == "" {
		out.ReEntry.Mode = app.ReEnterOnce
	}
	return out
}
