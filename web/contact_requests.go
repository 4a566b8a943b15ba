package web

import (
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/web/rest"
)

// createContactRequest is the body of POST /contacts and an item of a batch.
type createContactRequest struct {
	Email        string       `json:"email" doc:"An address without a display name"`
	FirstName    string       `json:"first_name,omitempty" maxLength:"255"`
	LastName     string       `json:"last_name,omitempty" maxLength:"255"`
	Unsubscribed bool         `json:"unsubscribed,omitempty" doc:"Opts out of everything that is marketing; false never subscribes again"`
	Properties   propertyMap  `json:"properties,omitempty"`
	Segments     segmentRefs  `json:"segments,omitempty" maxItems:"1000" doc:"Segments to add the contact to"`
	Topics       topicChoices `json:"topics,omitempty" maxItems:"1000" doc:"Choices about topics"`

	AudienceID string `json:"audience_id,omitempty" hidden:"true"` // repeats the path
}

// input is the request in the words of the service. audienceID is that of the
// path, if it has one.
func (r *createContactRequest) input(audienceID string) (*app.ContactInput, error) {
	if err := audienceEcho(audienceID, r.AudienceID); err != nil {
		return nil, err
	}
	return &app.ContactInput{
		Email: r.Email, FirstName: r.FirstName, LastName: r.LastName, Unsubscribed: r.Unsubscribed,
		Properties: r.Properties.changes(), Segments: r.Segments, Topics: r.Topics,
	}, nil
}

// updateContactRequest is the body of PATCH /contacts/{id}. Some clients repeat
// there whom the path means.
type updateContactRequest struct {
	FirstName    rest.Change[string] `json:"first_name" required:"false" maxLength:"255" doc:"null clears it"`
	LastName     rest.Change[string] `json:"last_name" required:"false" maxLength:"255" doc:"null clears it"`
	Unsubscribed *bool               `json:"unsubscribed,omitempty" doc:"false subscribes again who unsubscribed"`
	Properties   propertyMap         `json:"properties,omitempty" doc:"Values to set; null removes one, and what is not named stays"`

	ID         string `json:"id,omitempty" hidden:"true"`
	Email      string `json:"email,omitempty" hidden:"true"`
	AudienceID string `json:"audience_id,omitempty" hidden:"true"`
}

// patch is the request in the words of the service.
func (r *updateContactRequest) patch(audienceID string) (*app.ContactPatch, error) {
	if err := audienceEcho(audienceID, r.AudienceID); err != nil {
		return nil, err
	}
	return &app.ContactPatch{
		ID: r.ID, Email: r.Email, FirstName: app.Change[string](r.FirstName), LastName: app.Change[string](r.LastName),
		Unsubscribed: r.Unsubscribed, Properties: r.Properties.changes(),
	}, nil
}

// audienceEcho lets an audience_id pass that repeats the path, and refuses one
// that would be dropped silently.
func audienceEcho(path, given string) error {
	if id, _ := app.ParseID(given); given == "" || path != "" && id == path {
		return nil
	}
	if path == "" {
		return app.Invalid("audience_id", "can only repeat the audience of the path: use `segments`")
	}
	return app.Invalid("audience_id", "is another than the audience of the path")
}

// segmentRefs is an array that stops at the limit while it is read.
type segmentRefs []app.SegmentRef

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *segmentRefs) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]app.SegmentRef)(l), app.MaxContactLinks, "an array of objects")
}

// propertyMap is an object of strings, numbers and nulls, of bounded size. Null
// is absent.
type propertyMap map[string]*propertyValue

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (m *propertyMap) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*m = nil
	switch d.PeekKind() {
	case 'n':
		return d.SkipValue()
	case '{':
	default:
		return rest.WrongShape(d, "an object of strings and numbers")
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	at := d.StackPointer()
	out := propertyMap{}
	for d.PeekKind() != '}' {
		if len(out) == app.MaxProperties {
			return rest.NewShapeError(at, fmt.Sprintf("can hold at most %d keys", app.MaxProperties))
		}
		var key string
		var value *propertyValue
		if err := json.UnmarshalDecode(d, &key); err != nil {
			return err
		}
		if err := json.UnmarshalDecode(d, &value); err != nil {
			return err
		}
		out[key] = value
	}
	*m = out
	_, err := d.ReadToken()
	return err
}

// Schema implements huma.SchemaProvider.
func (propertyMap) Schema(r huma.Registry) *huma.Schema {
	most := app.MaxProperties
	value := *huma.SchemaFromType(r, reflect.TypeFor[propertyValue]())
	value.OneOf = append(value.OneOf, &huma.Schema{Type: "null"})
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: &value, MaxProperties: &most}
}

func (m propertyMap) changes() app.PropertyChanges {
	out := make(app.PropertyChanges, len(m))
	for key, v := range m {
		out[key] = (*app.PropertyValue)(v)
	}
	return out
}
