package broadcasts

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// TemplateItem is a template in a list.
type TemplateItem struct {
	ID          string             `json:"id" format:"uuid"`
	Name        string             `json:"name"`
	Alias       *string            `json:"alias"`
	Status      app.TemplateStatus `json:"status" enum:"draft,published"`
	PublishedAt *string            `json:"published_at" format:"date-time"`
	CreatedAt   string             `json:"created_at" format:"date-time"`
	UpdatedAt   string             `json:"updated_at" format:"date-time"`
}

// templateHead is the answer to changes, without the content, which can be megabytes.
type templateHead struct {
	Object string `json:"object" enum:"template"`
	TemplateItem
	CurrentVersionID string `json:"current_version_id" format:"uuid" doc:"The version that is read and edited"`
	Unpublished      bool   `json:"has_unpublished_versions" doc:"Whether the current version is not the one that is sent"`
}

type templateRecord struct {
	Object string `json:"object" enum:"template"`
	TemplateItem
	CurrentVersionID string             `json:"current_version_id" format:"uuid" doc:"The version that is read and edited"`
	Unpublished      bool               `json:"has_unpublished_versions" doc:"Whether the current version is not the one that is sent"`
	From             *string            `json:"from"`
	Subject          *string            `json:"subject"`
	ReplyTo          []string           `json:"reply_to" nullable:"true"`
	HTML             string             `json:"html"`
	Text             *string            `json:"text" doc:"null: made of html when it is sent; an empty string: none"`
	Design           *string            `json:"design" doc:"JSON text that the visual editor made html of; null: nothing did"`
	Variables        []templateVariable `json:"variables"`
	Syntax           string             `json:"syntax" enum:"plain,liquid"`
	Variants         shapes.Variants    `json:"variants" doc:"The template in other languages, by language"`
}

type templateVariable struct {
	ID        string                  `json:"id" format:"uuid"`
	Key       string                  `json:"key"`
	Type      app.PropertyType        `json:"type" enum:"string,number,boolean,list,object,html"`
	Fallback  shapes.VariableFallback `json:"fallback_value"`
	CreatedAt string                  `json:"created_at" format:"date-time"`
	UpdatedAt string                  `json:"updated_at" format:"date-time"`
}

type removedTemplate struct {
	Object  string `json:"object" enum:"template"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

// variableRequest is a variable in a body. One client uses the name fallbackValue.
type variableRequest struct {
	Key       string                       `json:"key" minLength:"1" maxLength:"50" pattern:"^[A-Za-z0-9_]+$"`
	Type      app.PropertyType             `json:"type" enum:"string,number,boolean,list,object,html"`
	Fallback  shapes.VariableFallbackInput `json:"fallback_value,omitempty"`
	Fallback2 shapes.VariableFallbackInput `json:"fallbackValue,omitempty" hidden:"true"`
}

// variableList is an array of bounded length.
type variableList []variableRequest

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *variableList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]variableRequest)(l), app.MaxTemplateVariables, "an array")
}

func (l variableList) variables() []app.TemplateVariable {
	out := make([]app.TemplateVariable, len(l))
	for i, v := range l {
		out[i] = app.TemplateVariable{Key: v.Key, Type: v.Type}
		for _, f := range []shapes.VariableFallbackInput{v.Fallback, v.Fallback2} {
			if f.Set && !f.Null && out[i].Fallback == nil {
				value := app.PropertyValue(f.Value)
				out[i].Fallback = &value
			}
		}
	}
	return out
}

type createTemplateRequest struct {
	Name      string                `json:"name" minLength:"1" maxLength:"255"`
	HTML      string                `json:"html" minLength:"1" doc:"With placeholders {{{KEY}}} and {{{KEY|fallback}}}; every KEY must be declared in variables or be a reserved one"`
	Alias     string                `json:"alias,omitempty" maxLength:"100" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" doc:"Another name for the template, usable instead of its id"`
	From      string                `json:"from,omitempty" doc:"Default sender of sends"`
	Subject   string                `json:"subject,omitempty" maxLength:"2000" doc:"Default subject of sends; may contain placeholders"`
	ReplyTo   shapes.AddressList    `json:"reply_to,omitempty" doc:"Default sender of sends"`
	Text      *string               `json:"text,omitempty" doc:"Plain text body; default: made from html. An empty string sends none"`
	Design    string                `json:"design,omitempty" maxLength:"262144" doc:"JSON of a visual editor, kept for html"`
	Variables variableList          `json:"variables,omitempty" maxItems:"50"`
	Syntax    string                `json:"syntax,omitempty" enum:"plain,liquid" doc:"liquid: subject, html and text are Liquid; default: plain"`
	Variants  shapes.VariantChanges `json:"variants,omitempty"`
}

// updateTemplateRequest is the body of PATCH /templates/{id}.
type updateTemplateRequest struct {
	Name      string                             `json:"name,omitempty" maxLength:"255"`
	HTML      string                             `json:"html,omitempty"`
	Alias     rest.Change[string]                `json:"alias,omitempty" doc:"null clears"`
	From      rest.Change[string]                `json:"from,omitempty" doc:"null clears"`
	Subject   rest.Change[string]                `json:"subject,omitempty" doc:"null clears"`
	ReplyTo   rest.Change[shapes.AddressList]    `json:"reply_to,omitempty" doc:"null clears"`
	Text      rest.Change[string]                `json:"text,omitempty" doc:"null: made from html again; an empty string sends none"`
	Design    rest.Change[string]                `json:"design,omitempty" doc:"JSON text that a visual editor made html of, kept for it: an object of at most 262144 bytes; another html without a design drops it. null clears"`
	Variables rest.Change[variableList]          `json:"variables,omitempty" doc:"Replaces all variables; null clears them"`
	Syntax    string                             `json:"syntax,omitempty" enum:"plain,liquid"`
	Variants  rest.Change[shapes.VariantChanges] `json:"variants,omitempty" doc:"Changes the given languages, null removes one of them; null removes all"`
	Revision  string                             `json:"revision,omitempty" doc:"The current_version_id that you read. If the template was changed since, the update is refused as a conflict"`
}

type (
	// TemplatePath is the path parameter of one template.
	TemplatePath struct {
		ID string `path:"id" doc:"The id of the template, or its alias"`
	}
	templateOutput        struct{ Body templateHead }
	removedTemplateOutput struct{ Body removedTemplate }
)

// Resource implements rest.ResourcePath.
func (p *TemplatePath) Resource() (kind string, id *string) { return "", &p.ID }

var templateTags = []string{"Templates"}

// TemplateRoutes are the routes of templates.
type TemplateRoutes struct {
	Service       *mail.Templates
	EmailPreviews *mail.Previews
	BaseURL       string // of the server; preview URLs begin with it
}

// Add adds the routes to a handler.
func (r TemplateRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-template", Method: http.MethodPost, Path: "/templates", DefaultStatus: http.StatusCreated,
		Summary: "Create a template. Sends can use it once it is published", Tags: templateTags,
		Errors: []int{http.StatusConflict},
	}, r.createTemplate)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-templates", Method: http.MethodGet, Path: "/templates",
		Summary: "List templates, newest first", Tags: templateTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.Service.ListTemplates, newTemplateItem))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-template", Method: http.MethodGet, Path: "/templates/{id}",
		Summary: "Get a template with its draft version", Tags: templateTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Get[*TemplatePath](r.Service.GetTemplate, newTemplateRecord))
	rest.RegisterBody(h, rest.Route{IDOf: r.templateID}, openapi.Operation{
		OperationID: "update-template", Method: http.MethodPatch, Path: "/templates/{id}",
		Summary: "Change the draft version of a template. Sends use the published version until the draft is published", Tags: templateTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.updateTemplate)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-template", Method: http.MethodDelete, Path: "/templates/{id}",
		Summary: "Delete a template that no form uses. Sent emails are kept", Tags: templateTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.deleteTemplate)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "publish-template", Method: http.MethodPost, Path: "/templates/{id}/publish",
		Summary: "Publish the draft version of a template, so that sends use it", Tags: templateTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, r.publishTemplate)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "duplicate-template", Method: http.MethodPost, Path: "/templates/{id}/duplicate",
		Summary: "Copy a template into a new draft without alias", Tags: templateTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, r.duplicateTemplate)
	rest.RegisterBody(h, rest.Route{ReadOnly: true, Optional: true, IDOf: r.templateID}, openapi.Operation{
		OperationID: "render-template", Method: http.MethodPost, Path: "/templates/{id}/render",
		Summary: "Render a template with values. Sends nothing", Tags: templateTags,
		Errors: []int{http.StatusNotFound},
	}, r.renderTemplate)
	r.addVersions(h)
}

// templateID implements Route.IDOf for paths that name a template.
func (r TemplateRoutes) templateID(ctx context.Context, key *app.Key, name string) (string, error) {
	t, err := r.Service.GetTemplate(ctx, key, name)
	return t.ID, err
}

func (r TemplateRoutes) createTemplate(ctx context.Context, key *app.Key, _ *struct{}, request *createTemplateRequest) (*templateOutput, error) {
	syntax, err := app.ParseSyntax(request.Syntax)
	if err != nil {
		return nil, err
	}
	t, err := r.Service.CreateTemplate(ctx, key, app.TemplateInput{
		Name: request.Name, Alias: request.Alias, Languages: request.Variants.Changes(),
		TemplateContent: app.TemplateContent{
			Syntax: syntax,
			From:   request.From, Subject: request.Subject, ReplyTo: request.ReplyTo,
			HTML: request.HTML, Text: request.Text, Design: request.Design, Variables: request.Variables.variables(),
		},
	})
	return newTemplateOutput(t, err)
}

func (r TemplateRoutes) updateTemplate(ctx context.Context, key *app.Key, in *TemplatePath, request *updateTemplateRequest) (*templateOutput, error) {
	replyTo, variables := request.ReplyTo, request.Variables
	t, err := r.Service.UpdateTemplate(ctx, key, in.ID, app.TemplatePatch{
		Name: request.Name, HTML: request.HTML, Alias: app.Change[string](request.Alias), From: app.Change[string](request.From),
		Subject: app.Change[string](request.Subject), Text: app.Change[string](request.Text), Design: app.Change[string](request.Design),
		ReplyTo:   app.Change[[]string]{Set: replyTo.Set, Null: replyTo.Null, Value: replyTo.Value},
		Variables: app.Change[[]app.TemplateVariable]{Set: variables.Set, Null: variables.Null, Value: variables.Value.variables()},
		Syntax:    request.Syntax, Variants: shapes.VariantChange(request.Variants), CurrentID: request.Revision,
	})
	return newTemplateOutput(t, err)
}

func (r TemplateRoutes) deleteTemplate(ctx context.Context, key *app.Key, in *TemplatePath) (*removedTemplateOutput, error) {
	id, err := r.Service.DeleteTemplate(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return &removedTemplateOutput{removedTemplate{Object: "template", ID: id, Deleted: true}}, nil
}

func (r TemplateRoutes) publishTemplate(ctx context.Context, key *app.Key, in *TemplatePath) (*templateOutput, error) {
	return newTemplateOutput(r.Service.PublishTemplate(ctx, key, in.ID))
}

func (r TemplateRoutes) duplicateTemplate(ctx context.Context, key *app.Key, in *TemplatePath) (*templateOutput, error) {
	return newTemplateOutput(r.Service.DuplicateTemplate(ctx, key, in.ID))
}

func newTemplateOutput(t app.Template, err error) (*templateOutput, error) {
	if err != nil {
		return nil, err
	}
	return &templateOutput{templateHead{Object: "template", TemplateItem: newTemplateItem(&t), CurrentVersionID: t.CurrentID, Unpublished: t.Edited()}}, nil
}

func newTemplateItem(t *app.Template) TemplateItem {
	return TemplateItem{
		ID: t.ID, Name: t.Name, Alias: base.TextOrNull(t.Alias), Status: t.Status(), PublishedAt: app.FormatTimePtr(t.PublishedAt),
		CreatedAt: app.FormatTime(t.CreatedAt), UpdatedAt: app.FormatTime(t.UpdatedAt),
	}
}

func newTemplateRecord(t *app.Template) templateRecord {
	r := templateRecord{
		Object: "template", TemplateItem: newTemplateItem(t), CurrentVersionID: t.CurrentID, Unpublished: t.Edited(),
		From: base.TextOrNull(t.From), Subject: base.TextOrNull(t.Subject), ReplyTo: append([]string{}, t.ReplyTo...),
		HTML: t.HTML, Text: t.Text, Design: base.TextOrNull(t.Design), Variables: make([]templateVariable, len(t.Variables)),
		Syntax: t.Syntax.String(), Variants: shapes.NewVariants(t.Variants),
	}
	for i, v := range t.Variables {
		r.Variables[i] = templateVariable{
			ID: v.ID, Key: v.Key, Type: v.Type, Fallback: shapes.VariableFallback{FallbackValue: shapes.FallbackValue{Value: v.Fallback}},
			CreatedAt: app.FormatTime(v.CreatedAt), UpdatedAt: app.FormatTime(v.UpdatedAt),
		}
	}
	return r
}
