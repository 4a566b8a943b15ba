package audience

import (
	"context"
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// ContactTopicItem is a topic with a contact's subscription.
type ContactTopicItem struct {
	ID           string           `json:"id" format:"uuid" doc:"Of the topic"`
	Name         string           `json:"name"`
	Description  *string          `json:"description"`
	Subscription app.Subscription `json:"subscription" enum:"opt_in,opt_out" doc:"What the contact chose, else the topic's default"`
	Explicit     bool             `json:"explicit" doc:"Whether it was chosen"`
	Visibility   app.Visibility   `json:"visibility" enum:"public,private"`
	CreatedAt    string           `json:"created_at" format:"date-time" doc:"Of the topic"`
}

// topicChoices is an array whose length is checked while it is decoded.
type topicChoices []app.TopicChoice

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *topicChoices) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]app.TopicChoice)(l), app.MaxContactLinks, "an array of choices")
}

type namedTopicChoices struct {
	Topics topicChoices `json:"topics" minItems:"1" maxItems:"1000"`
}

// setTopicsRequest is the body of PATCH /contacts/{id}/topics: an array, as every official client
// sends it, or an object with the array, as Resend documents it.
type setTopicsRequest namedTopicChoices

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (r *setTopicsRequest) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '[' {
		return r.Topics.UnmarshalJSONFrom(d)
	}
	return json.UnmarshalDecode(d, (*namedTopicChoices)(r))
}

// Schema implements openapi.SchemaProvider.
func (setTopicsRequest) Schema(r *openapi.Registry) *openapi.Schema {
	object := r.Inline(reflect.TypeFor[namedTopicChoices]())
	alone := *object.Properties["topics"]
	return &openapi.Schema{OneOf: []*openapi.Schema{&alone, object}}
}

type contactTopicsRecord struct {
	Object    string             `json:"object" enum:"contact_topics"`
	ID        string             `json:"id" format:"uuid" doc:"Of the contact"`
	ContactID string             `json:"contact_id" format:"uuid" doc:"The same"`
	Topics    []ContactTopicItem `json:"topics" doc:"The topics that the request named, each once, as they are now"`
}

type preferencesLink struct {
	Object  string `json:"object" enum:"preferences_link"`
	Contact string `json:"contact" format:"uuid" doc:"The id of the contact"`
	URL     string `json:"url" format:"uri" doc:"The page where the contact chooses topics; anyone with the link can use it"`
}

type (
	contactTopicsPath struct {
		ID string `path:"id" doc:"The id of the contact, or its email address, percent-encoded"`
	}
	contactTopicsPageInput struct {
		rest.PageParams
		ID string `path:"id" doc:"The id of the contact, or its email address, percent-encoded"`
	}
	contactTopicsOutput   struct{ Body contactTopicsRecord }
	preferencesLinkOutput struct{ Body preferencesLink }
)

// Resource implements rest.ResourcePath.
func (in *contactTopicsPageInput) Resource() (kind string, id *string) { return "", &in.ID }

// ContactTopicRoutes are the routes of contacts' subscriptions.
type ContactTopicRoutes struct{ Service *audience.Service }

// Add adds the routes to a handler.
func (r ContactTopicRoutes) Add(h *rest.Handler) {
	tags := []string{"Contacts"}
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-contact-topics", Method: http.MethodGet, Path: "/contacts/{id}/topics",
		Summary: "List all topics with the choice of a contact for each: opt_in or opt_out", Tags: tags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, rest.ListOf[*contactTopicsPageInput](r.Service.ListContactTopics, newContactTopicItem))
	rest.RegisterBody(h, rest.Route{IDOf: contactID(r.Service)}, openapi.Operation{
		OperationID: "set-contact-topics", Method: http.MethodPatch, Path: "/contacts/{id}/topics",
		Summary: "Set the choices of a contact for topics. If one is refused, none is stored", Tags: tags,
		Errors: []int{http.StatusNotFound},
	}, r.setContactTopics)
	rest.Register(h, rest.Route{ReadOnly: true}, openapi.Operation{
		OperationID: "get-preferences-link", Method: http.MethodPost, Path: "/contacts/{id}/preferences-link",
		Summary: "Get the link to the preferences page of a contact", Tags: tags,
		Errors: []int{http.StatusNotFound},
	}, r.preferencesLink)
}

func (r ContactTopicRoutes) setContactTopics(ctx context.Context, key *app.Key, in *contactTopicsPath, request *setTopicsRequest) (*contactTopicsOutput, error) {
	id, rows, err := r.Service.SetContactTopics(ctx, key, in.ID, request.Topics)
	if err != nil {
		return nil, err
	}
	out := contactTopicsRecord{Object: "contact_topics", ID: id, ContactID: id, Topics: make([]ContactTopicItem, len(rows))}
	for i := range rows {
		out.Topics[i] = newContactTopicItem(&rows[i])
	}
	return &contactTopicsOutput{out}, nil
}

func (r ContactTopicRoutes) preferencesLink(ctx context.Context, key *app.Key, in *contactTopicsPath) (*preferencesLinkOutput, error) {
	id, url, err := r.Service.PreferencesLink(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return &preferencesLinkOutput{preferencesLink{Object: "preferences_link", Contact: id, URL: url}}, nil
}

func newContactTopicItem(t *app.ContactTopic) ContactTopicItem {
	return ContactTopicItem{
		ID: t.ID, Name: t.Name, Description: base.TextOrNull(t.Description),
		Subscription: t.Subscription, Explicit: t.Explicit, Visibility: t.Visibility, CreatedAt: app.FormatTime(t.CreatedAt),
	}
}
