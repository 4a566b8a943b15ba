package audience

import (
	"context"
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/signup"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// OptInItem is an opt-in in a list.
type OptInItem struct {
	ID          string          `json:"id" format:"uuid"`
	Email       string          `json:"email"`
	Status      app.OptInStatus `json:"status" enum:"pending,confirmed,expired,refused"`
	Form        *string         `json:"form" format:"uuid" doc:"The id of the form; null: asked for by API without one"`
	Topics      []string        `json:"topics" format:"uuid"`
	Segments    []string        `json:"segments" format:"uuid"`
	FirstName   *string         `json:"first_name"`
	LastName    *string         `json:"last_name"`
	Properties  map[string]any  `json:"properties" doc:"What was asked for: strings and numbers"`
	RequestedAt string          `json:"requested_at" format:"date-time"`
	DecidedAt   *string         `json:"decided_at" format:"date-time" doc:"When it was confirmed, refused or expired; null: pending"`
	ContactID   *string         `json:"contact_id" format:"uuid" doc:"null: not confirmed, or deleted since"`
}

type optInRecord struct {
	Object string `json:"object" enum:"opt_in"`
	OptInItem
	Consent *optInConsent `json:"consent" doc:"null: not confirmed, or erased with the contact"`
}

type optInConsent struct {
	_ struct{} `nullable:"true"`
	ConsentItem
}

type startedOptIn struct {
	Object string          `json:"object" enum:"opt_in"`
	ID     string          `json:"id" format:"uuid"`
	Status app.OptInStatus `json:"status" enum:"pending" doc:"Also where a limit of the address stops the mail"`
}

// ConsentItem is the record of what a contact agreed to.
type ConsentItem struct {
	ID           string         `json:"id" format:"uuid"`
	ContactID    string         `json:"contact_id" format:"uuid"`
	OptInID      *string        `json:"opt_in_id" format:"uuid" doc:"null: by a form without confirmation"`
	FormID       *string        `json:"form_id" format:"uuid" doc:"null: by API"`
	Email        string         `json:"email"`
	Form         *string        `json:"form" doc:"The name of the form at that time"`
	FormVersion  *int64         `json:"form_version"`
	Topics       []consentTopic `json:"topics"`
	Text         *string        `json:"text" doc:"The text that was shown when it was asked for"`
	ConfirmText  *string        `json:"confirm_text" doc:"The text that was shown when it was confirmed"`
	Language     *string        `json:"language" doc:"Of the texts"`
	RequestedAt  string         `json:"requested_at" format:"date-time"`
	RequestedBy  consentVisitor `json:"requested_by"`
	ConfirmedAt  *string        `json:"confirmed_at" format:"date-time"`
	ConfirmedBy  consentVisitor `json:"confirmed_by"`
	Resubscribed bool           `json:"resubscribed" doc:"The person asked to receive mail again after an unsubscribe"`
	CreatedAt    string         `json:"created_at" format:"date-time"`
}

type consentTopic struct {
	ID   string `json:"id" format:"uuid"`
	Name string `json:"name" doc:"At that time"`
}

type consentVisitor struct {
	IP        *string `json:"ip"`
	UserAgent *string `json:"user_agent"`
}

// startOptInRequest is the body of POST /contacts/opt-in.
type startOptInRequest struct {
	Email      string      `json:"email" doc:"An address without a display name"`
	FirstName  string      `json:"first_name,omitempty" maxLength:"255"`
	LastName   string      `json:"last_name,omitempty" maxLength:"255"`
	Properties propertyMap `json:"properties,omitempty"`
	Topics     topicRefs   `json:"topics,omitempty" maxItems:"1000" doc:"Topics that the person is asked to confirm"`
	Segments   segmentRefs `json:"segments,omitempty" maxItems:"1000" doc:"Segments that the contact joins"`
	Form       string      `json:"form,omitempty" format:"uuid" doc:"The form whose sender, templates and language are used; absent: a verified domain of the team, and the built-in mail"`
}

// topicRef is a topic: its id, or an object with its id.
type topicRef struct {
	ID string `json:"id" format:"uuid"`
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *topicRef) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type object topicRef
	switch d.PeekKind() {
	case '"':
		if err := json.UnmarshalDecode(d, &t.ID); err != nil {
			return err
		}
	case '{':
		if err := json.UnmarshalDecode(d, (*object)(t)); err != nil {
			return err
		}
	default:
		return rest.WrongShape(d, "the id of a topic, or an object with it")
	}
	if _, ok := app.ParseID(t.ID); !ok {
		return rest.NewShapeError(d.StackPointer(), "must be the id of a topic")
	}
	return nil
}

// Schema implements openapi.SchemaProvider.
func (topicRef) Schema(r *openapi.Registry) *openapi.Schema {
	type object topicRef
	return &openapi.Schema{OneOf: []*openapi.Schema{r.Inline(reflect.TypeFor[object]()), {Type: openapi.TypeString, Format: "uuid"}}}
}

// topicRefs is an array whose length is checked while it is decoded.
type topicRefs []topicRef

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *topicRefs) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]topicRef)(l), app.MaxContactLinks, "an array of ids or of objects with them")
}

// OptInPath is the path parameter of one opt-in.
type OptInPath struct {
	ID string `path:"id" doc:"The id of the opt-in" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *OptInPath) Resource() (kind string, id *string) { return "opt-in", &p.ID }

type optInPageInput struct {
	rest.PageParams
	Status string `query:"status" enum:"pending,confirmed,expired,refused" doc:"Only opt-ins of this state"`
}

// OptInRoutes are the routes of opt-ins and consents.
type OptInRoutes struct{ Service *signup.Service }

// Add adds the routes to a handler.
func (r OptInRoutes) Add(h *rest.Handler) {
	tags := []string{"Opt-ins"}
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-opt-in", Method: http.MethodPost, Path: "/contacts/opt-in", DefaultStatus: http.StatusCreated,
		Summary: "Start a confirmed opt-in: the address is asked by mail, and is a contact once it confirms", Tags: tags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.startOptIn)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-opt-ins", Method: http.MethodGet, Path: "/opt-ins",
		Summary: "List opt-ins, newest first", Tags: tags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, r.listOptIns)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-opt-in", Method: http.MethodGet, Path: "/opt-ins/{id}",
		Summary: "Get an opt-in with its consent record", Tags: tags,
		Errors: []int{http.StatusNotFound},
	}, r.getOptIn)
	rest.Register(h, rest.Route{FreshExport: true}, openapi.Operation{
		OperationID: "list-contact-consents", Method: http.MethodGet, Path: "/contacts/{id}/consents",
		Summary: "List the consent records of a contact, newest first", Tags: tags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, rest.ListOf[*contactTopicsPageInput](r.Service.ListConsents, newConsentItem))
}

func (r OptInRoutes) startOptIn(ctx context.Context, key *app.Key, _ *struct{}, request *startOptInRequest) (*rest.Output[startedOptIn], error) {
	in := app.SignUpInput{Email: request.Email, FirstName: request.FirstName, LastName: request.LastName, Properties: request.Properties.changes()}
	for _, t := range request.Topics {
		in.Topics = append(in.Topics, t.ID)
	}
	for _, s := range request.Segments {
		in.Segments = append(in.Segments, s.ID)
	}
	if request.Form != "" {
		id, ok := app.ParseID(request.Form)
		if !ok {
			return nil, app.Invalid("form", "must be the id of a form")
		}
		in.FormID = id
	}
	started, err := r.Service.StartOptIn(ctx, key, in)
	if err != nil {
		return nil, err
	}
	return &rest.Output[startedOptIn]{Body: startedOptIn{Object: "opt_in", ID: started.ID, Status: started.Status}}, nil
}

func (r OptInRoutes) listOptIns(ctx context.Context, key *app.Key, in *optInPageInput) (*rest.ListOutput[OptInItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	status, err := app.ParseOptInStatus(in.Status)
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.ListOptIns(ctx, key, status, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, newOptInItem), nil
}

func (r OptInRoutes) getOptIn(ctx context.Context, key *app.Key, in *OptInPath) (*rest.Output[optInRecord], error) {
	row, consent, err := r.Service.GetOptIn(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	out := optInRecord{Object: "opt_in", OptInItem: newOptInItem(&row)}
	if consent != nil {
		out.Consent = &optInConsent{ConsentItem: newConsentItem(consent)}
	}
	return &rest.Output[optInRecord]{Body: out}, nil
}

func newOptInItem(s *app.SignUp) OptInItem {
	out := OptInItem{
		ID: s.ID, Email: s.Email, Status: s.Status, Form: base.TextOrNull(s.FormID),
		Topics: append([]string{}, s.Request.Topics...), Segments: append([]string{}, s.Request.Segments...),
		FirstName: base.TextOrNull(s.Request.FirstName), LastName: base.TextOrNull(s.Request.LastName), Properties: map[string]any{},
		RequestedAt: app.FormatTime(s.RequestedAt), DecidedAt: app.FormatTimePtr(s.DecidedAt), ContactID: base.TextOrNull(s.ContactID),
	}
	for key, v := range s.Request.Properties {
		out.Properties[key] = v.Plain()
	}
	return out
}

func newConsentItem(c *app.Consent) ConsentItem {
	r := &c.Record
	out := ConsentItem{
		ID: c.ID, ContactID: c.ContactID, OptInID: base.TextOrNull(c.OptInID), FormID: base.TextOrNull(c.FormID), Email: r.Email,
		Form: base.TextOrNull(r.Form), Topics: make([]consentTopic, len(r.Topics)), Text: base.TextOrNull(r.Text), ConfirmText: base.TextOrNull(r.ConfirmText),
		Language: base.TextOrNull(r.Language), RequestedAt: app.FormatTime(r.RequestedAt), RequestedBy: newConsentVisitor(r.RequestedBy),
		ConfirmedAt: app.FormatTimePtr(r.ConfirmedAt), ConfirmedBy: newConsentVisitor(r.ConfirmedBy), Resubscribed: r.Resubscribed,
		CreatedAt: app.FormatTime(c.CreatedAt),
	}
	if r.FormVersion > 0 {
		out.FormVersion = &r.FormVersion
	}
	for i, t := range r.Topics {
		out.Topics[i] = consentTopic(t)
	}
	return out
}

func newConsentVisitor(v app.Visitor) consentVisitor {
	return consentVisitor{IP: base.TextOrNull(v.IP), UserAgent: base.TextOrNull(v.UserAgent)}
}
