package audience

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// createContactRequest is the body of POST /contacts and an item of a batch.
type createContactRequest struct {
	Email        string       `json:"email" doc:"An address without a display name"`
	FirstName    string       `json:"first_name,omitempty" maxLength:"255"`
	LastName     string       `json:"last_name,omitempty" maxLength:"255"`
	Unsubscribed bool         `json:"unsubscribed,omitempty" doc:"true opts the contact out of all marketing mail; false does not subscribe again"`
	Properties   propertyMap  `json:"properties,omitempty"`
	Segments     segmentRefs  `json:"segments,omitempty" maxItems:"1000" doc:"Segments to add the contact to"`
	Topics       topicChoices `json:"topics,omitempty" maxItems:"1000" doc:"The choices of the contact for topics: opt_in or opt_out"`

	SegmentID  string `json:"segment_id,omitempty" format:"uuid" doc:"Another segment to add the contact to"`
	AudienceID string `json:"audience_id,omitempty" format:"uuid" doc:"segment_id under its old name"`
}

// input converts the request for the service. audienceID is that of the path, if any; the body may
// repeat only that one.
func (r *createContactRequest) input(audienceID string) (*app.ContactInput, error) {
	segments := r.Segments.refs()
	for _, one := range []struct{ name, id string }{{"segment_id", r.SegmentID}, {"audience_id", r.AudienceID}} {
		switch {
		case one.id == "":
		case audienceID != "" && !rest.SameName(audienceID, one.id):
			return nil, app.Invalid(one.name, "is another than the audience of the path: use `segments`")
		default:
			id, ok := app.ParseID(one.id)
			if !ok {
				return nil, app.Invalid(one.name, "must be the id of a segment")
			}
			segments = append(segments, app.SegmentRef{ID: id})
		}
	}
	return &app.ContactInput{
		Email: r.Email, FirstName: r.FirstName, LastName: r.LastName, Unsubscribed: r.Unsubscribed,
		Properties: r.Properties.changes(), Segments: segments, Topics: r.Topics,
	}, nil
}

// updateContactRequest is the body of PATCH /contacts/{id}. Some clients repeat the contact's
// segments in it.
type updateContactRequest struct {
	Email        string              `json:"email,omitempty" doc:"New address of the contact. Opt-outs and suppressions of the old address apply to both"`
	FirstName    rest.Change[string] `json:"first_name" required:"false" maxLength:"255" doc:"null clears it"`
	LastName     rest.Change[string] `json:"last_name" required:"false" maxLength:"255" doc:"null clears it"`
	Unsubscribed *bool               `json:"unsubscribed,omitempty" doc:"true opts the contact out of all marketing mail; false subscribes it again"`
	Properties   propertyMap         `json:"properties,omitempty" doc:"Values to set; null removes a value; other values stay unchanged"`

	SegmentID  string      `json:"segment_id,omitempty" hidden:"true"`
	AudienceID string      `json:"audience_id,omitempty" hidden:"true"`
	Segments   segmentRefs `json:"segments,omitempty" hidden:"true"`
}

// patch converts the request for the service.
func (r *updateContactRequest) patch(audienceID string) (*app.ContactPatch, error) {
	segments := map[string]string{}
	for i, s := range r.Segments {
		segments[fmt.Sprintf("segments[%d]", i)] = s.ID
	}
	for name, id := range map[string]string{"segment_id": r.SegmentID, "audience_id": r.AudienceID} {
		if id != "" && (audienceID == "" || !rest.SameName(audienceID, id)) {
			segments[name] = id
		}
	}
	return &app.ContactPatch{
		Segments: segments, Email: r.Email, FirstName: app.Change[string](r.FirstName), LastName: app.Change[string](r.LastName),
		Unsubscribed: r.Unsubscribed, Properties: r.Properties.changes(),
	}, nil
}

// segmentRef is a segment: its id, or an object with its id.
type segmentRef app.SegmentRef

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (s *segmentRef) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		if err := json.UnmarshalDecode(d, &s.ID); err != nil {
			return err
		}
		if _, ok := app.ParseID(s.ID); !ok {
			return rest.NewShapeError(d.StackPointer(), "must be the id of a segment")
		}
		return nil
	case '{':
		return json.UnmarshalDecode(d, (*app.SegmentRef)(s))
	}
	return rest.WrongShape(d, "the id of a segment, or an object with it")
}

// Schema implements openapi.SchemaProvider.
func (segmentRef) Schema(r *openapi.Registry) *openapi.Schema {
	object := r.Inline(reflect.TypeFor[app.SegmentRef]())
	return &openapi.Schema{OneOf: []*openapi.Schema{object, {Type: openapi.TypeString, Format: "uuid"}}}
}

// segmentRefs is an array whose length is checked while it is decoded.
type segmentRefs []segmentRef

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *segmentRefs) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]segmentRef)(l), app.MaxContactLinks, "an array of ids or of objects with them")
}

func (l segmentRefs) refs() []app.SegmentRef {
	var out []app.SegmentRef
	for _, s := range l {
		out = append(out, app.SegmentRef(s))
	}
	return out
}

// propertyMap is an object of strings, numbers and nulls, with a bounded number of members. Null
// means absent.
type propertyMap map[string]*shapes.PropertyValue

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (m *propertyMap) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*m = nil
	if open, err := rest.BeginObject(d, "an object of strings and numbers"); err != nil || !open {
		return err
	}
	at := d.StackPointer()
	out := propertyMap{}
	for d.PeekKind() != '}' {
		if len(out) == app.MaxProperties {
			return rest.NewShapeError(at, fmt.Sprintf("can hold at most %d keys", app.MaxProperties))
		}
		var key string
		var value *shapes.PropertyValue
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

// Schema implements openapi.SchemaProvider.
func (propertyMap) Schema(r *openapi.Registry) *openapi.Schema {
	most := app.MaxProperties
	value := *r.Inline(reflect.TypeFor[shapes.PropertyValue]())
	value.OneOf = append(value.OneOf, &openapi.Schema{Type: "null"})
	return &openapi.Schema{Type: openapi.TypeObject, AdditionalProperties: &value, MaxProperties: &most}
}

func (m propertyMap) changes() app.PropertyChanges {
	out := make(app.PropertyChanges, len(m))
	for key, v := range m {
		out[key] = (*app.PropertyValue)(v)
	}
	return out
}
