package audience

import (
	"context"
	"net/http"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/signup"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// FormItem is a form in a list.
type FormItem struct {
	ID                   string           `json:"id" format:"uuid"`
	Name                 string           `json:"name"`
	Version              int64            `json:"version" doc:"Counts the changes. Consent records name it"`
	Confirm              app.Confirmation `json:"confirm" enum:"double,single"`
	From                 string           `json:"from"`
	ReplyTo              *string          `json:"reply_to"`
	Topics               []formTopic      `json:"topics"`
	Segments             []string         `json:"segments" format:"uuid"`
	Fields               []formField      `json:"fields"`
	ConfirmationTemplate *string          `json:"confirmation_template" format:"uuid" doc:"null: the built-in mail"`
	WelcomeTemplate      *string          `json:"welcome_template" format:"uuid" doc:"null: no mail"`
	Language             *string          `json:"language" doc:"null: that of the visitor's browser"`
	RedirectURL          *string          `json:"redirect_url"`
	AllowedOrigins       []string         `json:"allowed_origins"`
	RejectDisposable     bool             `json:"reject_disposable"`
	MaxPerDay            int              `json:"max_confirmations_per_day"`
	URL                  *string          `json:"url" doc:"The page of the form; null: no host of this server serves it"`
	Requested            int64            `json:"requested" doc:"Opt-ins that were asked for"`
	Confirmed            int64            `json:"confirmed"`
	Refused              int64            `json:"refused" doc:"By the person"`
	Stopped              int64            `json:"stopped" doc:"Submissions that went no further"`
	CreatedAt            string           `json:"created_at" format:"date-time"`
	UpdatedAt            string           `json:"updated_at" format:"date-time"`
}

type formRecord struct {
	Object string `json:"object" enum:"form"`
	FormItem
}

// formDetail is the answer to GET of a form.
type formDetail struct {
	formRecord
	Embed *formEmbed `json:"embed" doc:"HTML for other sites; null: no host of this server serves the form"`
}

type formEmbed struct {
	_      struct{} `nullable:"true"`
	HTML   string   `json:"html" doc:"A form that works without a script"`
	Script string   `json:"script" doc:"The same with a script that submits it without leaving the page, for allowed_origins"`
}

type formTopic struct {
	ID          string `json:"id" format:"uuid"`
	Preselected bool   `json:"preselected,omitzero"`
}

type formField struct {
	Property string `json:"property" doc:"The key of a contact property, first_name or last_name"`
	Label    string `json:"label,omitempty" maxLength:"100" doc:"The property where it is absent"`
	Required bool   `json:"required,omitzero"`
}

type removedForm struct {
	Object  string `json:"object" enum:"form"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

// createFormRequest is the body of POST /forms.
type createFormRequest struct {
	Name                 string           `json:"name" minLength:"1" maxLength:"100"`
	Confirm              app.Confirmation `json:"confirm,omitempty" enum:"double,single" default:"double" doc:"single: without a confirmation by mail; for owners and admins"`
	From                 string           `json:"from" doc:"The sender of the mails, on a verified domain of the team"`
	ReplyTo              string           `json:"reply_to,omitempty"`
	Topics               []formTopic      `json:"topics,omitempty" maxItems:"20" doc:"Topics that the visitor can choose"`
	Segments             []string         `json:"segments,omitempty" format:"uuid" maxItems:"20" doc:"Segments that the contact joins"`
	Fields               []formField      `json:"fields,omitempty" maxItems:"10" doc:"What the form asks for besides the address"`
	ConfirmationTemplate string           `json:"confirmation_template,omitempty" format:"uuid" doc:"A published template with CONFIRM_URL and REFUSE_URL"`
	WelcomeTemplate      string           `json:"welcome_template,omitempty" format:"uuid" doc:"A published template that is sent after the confirmation"`
	Language             string           `json:"language,omitempty" doc:"en, de, fr, es, pt, it, nl, pl, ja or zh"`
	RedirectURL          string           `json:"redirect_url,omitempty" maxLength:"2000" doc:"A link on the last page: https, on a host of allowed_origins or below a verified domain"`
	AllowedOrigins       []string         `json:"allowed_origins,omitempty" maxItems:"20" doc:"Sites whose scripts may submit the form, like https://www.example.com"`
	RejectDisposable     bool             `json:"reject_disposable,omitempty" doc:"Send nothing to domains of the operator's list of disposable addresses"`
	MaxPerDay            int              `json:"max_confirmations_per_day,omitempty" doc:"500 where it is absent; for owners and admins"`
}

// updateFormRequest is the body of PATCH /forms/{id}.
type updateFormRequest struct {
	Name                 *string             `json:"name,omitempty" minLength:"1" maxLength:"100"`
	Confirm              *app.Confirmation   `json:"confirm,omitempty" enum:"double,single"`
	From                 *string             `json:"from,omitempty"`
	ReplyTo              rest.Change[string] `json:"reply_to,omitempty" doc:"null clears"`
	Topics               *[]formTopic        `json:"topics,omitempty" maxItems:"20" doc:"Replaces all"`
	Segments             *[]string           `json:"segments,omitempty" format:"uuid" maxItems:"20" doc:"Replaces all"`
	Fields               *[]formField        `json:"fields,omitempty" maxItems:"10" doc:"Replaces all"`
	ConfirmationTemplate rest.Change[string] `json:"confirmation_template,omitempty" format:"uuid" doc:"null: the built-in mail"`
	WelcomeTemplate      rest.Change[string] `json:"welcome_template,omitempty" format:"uuid" doc:"null: no mail"`
	Language             rest.Change[string] `json:"language,omitempty" doc:"null: that of the visitor's browser"`
	RedirectURL          rest.Change[string] `json:"redirect_url,omitempty" maxLength:"2000" doc:"null clears"`
	AllowedOrigins       *[]string           `json:"allowed_origins,omitempty" maxItems:"20" doc:"Replaces all"`
	RejectDisposable     *bool               `json:"reject_disposable,omitempty"`
	MaxPerDay            rest.Change[int]    `json:"max_confirmations_per_day,omitempty" doc:"null: the default"`
}

// FormPath is the path parameter of one form.
type FormPath struct {
	ID string `path:"id" doc:"The id of the form" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *FormPath) Resource() (kind string, id *string) { return "form", &p.ID }

type formOutput = rest.Output[formRecord]

var formTags = []string{"Forms"}

// FormRoutes are the routes of sign-up forms.
type FormRoutes struct {
	Service *signup.Service
	// Snippet returns the HTML of a form for other sites, with or without the script.
	Snippet func(view *signup.FormView, url string, script bool) string
}

// Add adds the routes to a handler.
func (r FormRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-form", Method: http.MethodPost, Path: "/forms", DefaultStatus: http.StatusCreated,
		Summary: "Create a sign-up form", Tags: formTags,
		Errors: []int{http.StatusNotFound},
	}, r.createForm)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-forms", Method: http.MethodGet, Path: "/forms",
		Summary: "List sign-up forms, newest first", Tags: formTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, r.listForms)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-form", Method: http.MethodGet, Path: "/forms/{id}",
		Summary: "Get a sign-up form, with HTML to embed it", Tags: formTags,
		Errors: []int{http.StatusNotFound},
	}, r.getForm)
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "update-form", Method: http.MethodPatch, Path: "/forms/{id}",
		Summary: "Change a sign-up form", Tags: formTags,
		Errors: []int{http.StatusNotFound},
	}, r.updateForm)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-form", Method: http.MethodDelete, Path: "/forms/{id}",
		Summary: "Delete a sign-up form. Its opt-ins and consents stay", Tags: formTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Do[*FormPath](r.Service.DeleteForm, func(id string) removedForm { return removedForm{Object: "form", ID: id, Deleted: true} }))
}

func (r FormRoutes) createForm(ctx context.Context, key *app.Key, _ *struct{}, request *createFormRequest) (*formOutput, error) {
	return r.answer(ctx)(r.Service.CreateForm(ctx, key, app.FormInput{Name: request.Name, FormDefinition: app.FormDefinition{
		Confirm: request.Confirm, From: request.From, ReplyTo: request.ReplyTo, Topics: topicsOfForm(request.Topics), Segments: request.Segments,
		Fields: fieldsOfForm(request.Fields), ConfirmationTemplate: request.ConfirmationTemplate, WelcomeTemplate: request.WelcomeTemplate,
		Language: request.Language, RedirectURL: request.RedirectURL, AllowedOrigins: request.AllowedOrigins,
		RejectDisposable: request.RejectDisposable, MaxPerDay: request.MaxPerDay,
	}}))
}

func (r FormRoutes) updateForm(ctx context.Context, key *app.Key, in *FormPath, request *updateFormRequest) (*formOutput, error) {
	patch := app.FormPatch{
		Name: request.Name, Confirm: request.Confirm, From: request.From, ReplyTo: app.Change[string](request.ReplyTo), Segments: request.Segments,
		ConfirmationTemplate: app.Change[string](request.ConfirmationTemplate), WelcomeTemplate: app.Change[string](request.WelcomeTemplate),
		Language: app.Change[string](request.Language), RedirectURL: app.Change[string](request.RedirectURL), AllowedOrigins: request.AllowedOrigins,
		RejectDisposable: request.RejectDisposable, MaxPerDay: app.Change[int](request.MaxPerDay),
	}
	if request.Topics != nil {
		topics := topicsOfForm(*request.Topics)
		patch.Topics = &topics
	}
	if request.Fields != nil {
		fields := fieldsOfForm(*request.Fields)
		patch.Fields = &fields
	}
	return r.answer(ctx)(r.Service.UpdateForm(ctx, key, in.ID, patch))
}

// answer returns a function that answers with a form, or with an error.
func (r FormRoutes) answer(ctx context.Context) func(app.Form, error) (*formOutput, error) {
	return func(form app.Form, err error) (*formOutput, error) {
		if err != nil {
			return nil, err
		}
		url, err := r.Service.FormURL(ctx, &form)
		if err != nil {
			return nil, err
		}
		return &formOutput{Body: newFormRecord(&form, url)}, nil
	}
}

func (r FormRoutes) listForms(ctx context.Context, key *app.Key, in *rest.PageParams) (*rest.ListOutput[FormItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.ListForms(ctx, key, page)
	if err != nil {
		return nil, err
	}
	base := "" // the address of all forms of the team without their ids
	if len(rows) > 0 {
		url, err := r.Service.FormURL(ctx, &rows[0])
		if err != nil {
			return nil, err
		}
		base = strings.TrimSuffix(url, rows[0].ID)
	}
	return rest.NewList(rows, more, func(f *app.Form) FormItem {
		if base == "" {
			return newFormItem(f, "")
		}
		return newFormItem(f, base+f.ID)
	}), nil
}

func (r FormRoutes) getForm(ctx context.Context, key *app.Key, in *FormPath) (*rest.Output[formDetail], error) {
	view, err := r.Service.ViewForm(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	url, err := r.Service.FormURL(ctx, &view.Form)
	if err != nil {
		return nil, err
	}
	out := formDetail{formRecord: newFormRecord(&view.Form, url)}
	if url != "" {
		out.Embed = &formEmbed{HTML: r.Snippet(view, url, false), Script: r.Snippet(view, url, true)}
	}
	return &rest.Output[formDetail]{Body: out}, nil
}

func topicsOfForm(topics []formTopic) []app.FormTopic {
	var out []app.FormTopic
	for _, t := range topics {
		out = append(out, app.FormTopic(t))
	}
	return out
}

func fieldsOfForm(fields []formField) []app.FormField {
	var out []app.FormField
	for _, f := range fields {
		out = append(out, app.FormField(f))
	}
	return out
}

// newFormItem converts a form. url is empty if no host serves it.
func newFormItem(f *app.Form, url string) FormItem {
	out := FormItem{
		ID: f.ID, Name: f.Name, Version: f.Version, Confirm: f.Confirm, From: f.From, ReplyTo: base.TextOrNull(f.ReplyTo),
		Topics: make([]formTopic, len(f.Topics)), Segments: append([]string{}, f.Segments...), Fields: make([]formField, len(f.Fields)),
		ConfirmationTemplate: base.TextOrNull(f.ConfirmationTemplate), WelcomeTemplate: base.TextOrNull(f.WelcomeTemplate),
		Language: base.TextOrNull(f.Language), RedirectURL: base.TextOrNull(f.RedirectURL), AllowedOrigins: append([]string{}, f.AllowedOrigins...),
		RejectDisposable: f.RejectDisposable, MaxPerDay: f.PerDay(), URL: base.TextOrNull(url),
		Requested: f.Requested, Confirmed: f.Confirmed, Refused: f.Refused, Stopped: f.Stopped,
		CreatedAt: app.FormatTime(f.CreatedAt), UpdatedAt: app.FormatTime(f.UpdatedAt),
	}
	for i, t := range f.Topics {
		out.Topics[i] = formTopic(t)
	}
	for i, field := range f.Fields {
		out.Fields[i] = formField(field)
	}
	return out
}

func newFormRecord(f *app.Form, url string) formRecord {
	return formRecord{Object: "form", FormItem: newFormItem(f, url)}
}
