package automations

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/automations"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// AutomationRunItem is a run in a list.
type AutomationRunItem struct {
	ID          string        `json:"id" format:"uuid"`
	Status      app.RunStatus `json:"status" enum:"running,completed,failed,cancelled"`
	ContactID   string        `json:"contact_id" format:"uuid"`
	Version     int64         `json:"version" doc:"Of the automation's flow"`
	Step        string        `json:"step" doc:"The key of the step at which the run is, or ended"`
	DueAt       *string       `json:"due_at" format:"date-time" doc:"When that step is executed or its wait ends; null: the run ended, or waits for an event without a timeout"`
	Reason      *string       `json:"reason" doc:"Why the run ended, as a sentence; null: it reached its end, or is running"`
	Held        *string       `json:"held" doc:"restored: the run waits for mailer queue release --restored; null: it is not held"`
	StartedAt   *string       `json:"started_at" format:"date-time"`
	CompletedAt *string       `json:"completed_at" format:"date-time"`
	CreatedAt   string        `json:"created_at" format:"date-time" doc:"When the event arrived that started the run"`
}

// automationRunDetail is the answer to GET of a run.
type automationRunDetail struct {
	Object string `json:"object" enum:"automation_run"`
	AutomationRunItem
	AutomationID string              `json:"automation_id" format:"uuid"`
	Steps        []automationRunStep `json:"steps" doc:"The steps that the run reached, in their order"`
}

type automationRunStep struct {
	Key         string         `json:"key"`
	Type        app.StepType   `json:"type" enum:"trigger,send_email,delay,wait_for_event,condition,contact_update,contact_delete,add_to_segment,remove_from_segment,set_topic,webhook,split,wait_until,goal"`
	Status      app.StepStatus `json:"status" enum:"pending,running,completed,failed,skipped,waiting"`
	StartedAt   *string        `json:"started_at" format:"date-time"`
	CompletedAt *string        `json:"completed_at" format:"date-time"`
	Output      rawObject      `json:"output" doc:"What the step did; null: nothing yet"`
	Error       rawObject      `json:"error" doc:"Why it failed or was skipped: code and message; null: it was not"`
	CreatedAt   string         `json:"created_at" format:"date-time"`
}

// RunPath are the path parameters of one run.
type RunPath struct {
	AutomationID string `path:"id" doc:"The id of the automation" format:"uuid"`
	ID           string `path:"run_id" doc:"The id of the run" format:"uuid"`
}

// Check implements rest.Checker.
func (p *RunPath) Check() error {
	if err := rest.CheckID("automation", &p.AutomationID); err != nil {
		return err
	}
	return rest.CheckID("automation run", &p.ID)
}

type runListInput struct {
	AutomationPath
	Status string `query:"status" doc:"Only runs with these statuses: running, completed, failed or cancelled, separated by commas"`
	rest.PageParams
}

// addRuns adds the routes of runs.
func (r Routes) addRuns(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-automation-runs", Method: http.MethodGet, Path: "/automations/{id}/runs",
		Summary: "List the runs of an automation, newest first", Tags: automationTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listRuns)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-automation-run", Method: http.MethodGet, Path: "/automations/{id}/runs/{run_id}",
		Summary: "Get a run with the steps that it reached", Tags: automationTags,
		Errors: []int{http.StatusNotFound},
	}, r.getRun)
}

func (r Routes) listRuns(ctx context.Context, key *app.Key, in *runListInput) (*rest.ListOutput[AutomationRunItem], error) {
	statuses, err := runStatuses(in.Status)
	if err != nil {
		return nil, err
	}
	return rest.ListOf[*runListInput](func(ctx context.Context, key *app.Key, id string, page app.Page) ([]app.Run, bool, error) {
		return r.Service.ListRuns(ctx, key, id, statuses, page)
	}, newAutomationRunItem)(ctx, key, in)
}

// runStatuses returns the statuses of a text, each once. Errors: CodeValidation.
func runStatuses(text string) (out []app.RunStatus, err error) {
	if text == "" {
		return nil, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		status := app.RunStatus(strings.TrimSpace(name))
		if !slices.Contains(app.RunStatuses, status) {
			return nil, app.Invalid("status", "must be running, completed, failed or cancelled, or several with commas between")
		}
		if !slices.Contains(out, status) {
			out = append(out, status)
		}
	}
	return out, nil
}

func (r Routes) getRun(ctx context.Context, key *app.Key, in *RunPath) (*rest.Output[automationRunDetail], error) {
	return rest.Answer(newRunDetail)(r.Service.GetRun(ctx, key, in.AutomationID, in.ID))
}

func newAutomationRunItem(r *app.Run) AutomationRunItem {
	return AutomationRunItem{ID: r.ID, Status: r.Status, ContactID: r.ContactID, Version: r.Version, Step: r.StepKey, DueAt: app.FormatTimePtr(r.DueAt),
		Reason: base.TextOrNull(r.Reason.Sentence()), Held: base.TextOrNull(string(r.Held)),
		StartedAt: app.FormatTimePtr(r.StartedAt), CompletedAt: app.FormatTimePtr(r.CompletedAt), CreatedAt: app.FormatTime(r.CreatedAt)}
}

func newRunDetail(r *automations.RunDetail) automationRunDetail {
	out := automationRunDetail{Object: "automation_run", AutomationRunItem: newAutomationRunItem(&r.Run), AutomationID: r.AutomationID, Steps: make([]automationRunStep, len(r.Steps))}
	for i := range r.Steps {
		s := &r.Steps[i]
		out.Steps[i] = automationRunStep{Key: s.Key, Type: s.Type, Status: s.Status, StartedAt: app.FormatTimePtr(s.StartedAt), CompletedAt: app.FormatTimePtr(s.CompletedAt),
			Output: rawObject(s.Output), Error: rawObject(s.Error), CreatedAt: app.FormatTime(s.StartedAt)}
	}
	return out
}
