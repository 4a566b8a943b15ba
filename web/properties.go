package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/web/rest"
)

// propertyValue is a string or a number in a body.
type propertyValue app.PropertyValue

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (v *propertyValue) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		*v = propertyValue{Type: app.StringProperty, Text: token.String()}
		return nil
	case '0':
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		n, err := strconv.ParseFloat(token.String(), 64)
		if err != nil {
			return rest.NewShapeError(d.StackPointer(), "must be a number that a 64-bit float holds")
		}
		*v = propertyValue{Type: app.NumberProperty, Number: n}
		return nil
	}
	return rest.WrongShape(d, "a string or a number")
}

// plain returns the value alone, for answers.
func (v propertyValue) plain() any {
	if v.Type == app.NumberProperty {
		return v.Number
	}
	return v.Text
}

// Schema implements huma.SchemaProvider.
func (propertyValue) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeString}, {Type: huma.TypeNumber}}}
}

// fallbackValue is a fallback in an answer: a string, a number, or null for
// none.
type fallbackValue struct{ value *app.PropertyValue }

// MarshalJSON implements json.Marshaler.
func (f fallbackValue) MarshalJSON() ([]byte, error) {
	if f.value == nil {
		return []byte("null"), nil
	}
	return json.Marshal(propertyValue(*f.value).plain())
}

// Schema implements huma.SchemaProvider.
func (fallbackValue) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeString, Nullable: true}, {Type: huma.TypeNumber}},
		Description: "What a placeholder becomes for contacts without a value"}
}

// fallbackInput is a fallback in a body.
type fallbackInput struct{ rest.Change[propertyValue] }

// Schema implements huma.SchemaProvider.
func (fallbackInput) Schema(r huma.Registry) *huma.Schema {
	s := fallbackValue{}.Schema(r)
	s.Description += "; it must be of the property's type. null: none"
	return s
}

type propertyRecord struct {
	Object    string           `json:"object" enum:"contact_property"`
	ID        string           `json:"id" format:"uuid"`
	Key       string           `json:"key"`
	Type      app.PropertyType `json:"type" enum:"string,number"`
	Fallback  fallbackValue    `json:"fallback_value"`
	CreatedAt string           `json:"created_at" format:"date-time"`
}

type removedProperty struct {
	Object  string `json:"object" enum:"contact_property"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type createPropertyRequest struct {
	Key      string           `json:"key" minLength:"1" maxLength:"200" pattern:"^[A-Za-z0-9_]+$" doc:"Never changes"`
	Type     app.PropertyType `json:"type" enum:"string,number" doc:"Of all values that are written from now on; never changes"`
	Fallback fallbackInput    `json:"fallback_value,omitempty"`
}

// updatePropertyRequest is the body of PATCH /contact-properties/{id}.
type updatePropertyRequest struct {
	Fallback fallbackInput    `json:"fallback_value,omitempty"`
	Key      string           `json:"key,omitempty" hidden:"true"`
	Type     app.PropertyType `json:"type,omitempty" hidden:"true"`
}

// PropertyPath is the path parameter of one contact property.
type PropertyPath struct {
	ID string `path:"id" doc:"The id of the contact property" format:"uuid"`
}

// Check implements Checker.
func (p *PropertyPath) Check() error { return rest.CheckID("contact property", &p.ID) }

type (
	propertyOutput        struct{ Body propertyRecord }
	removedPropertyOutput struct{ Body removedProperty }
)

var propertyTags = []string{"Contact properties"}

// propertyService is what the routes of contact properties need of the services.
type propertyService interface {
	CreateProperty(ctx context.Context, key *app.Key, in app.PropertyInput) (app.Property, error)
	ListProperties(ctx context.Context, key *app.Key, page app.Page) ([]app.Property, bool, error)
	GetProperty(ctx context.Context, key *app.Key, id string) (app.Property, error)
	UpdateProperty(ctx context.Context, key *app.Key, id string, patch app.PropertyPatch) (app.Property, error)
	DeleteProperty(ctx context.Context, key *app.Key, id string) error
}

// propertyRoutes are the routes of contact properties.
type propertyRoutes struct{ service propertyService }

func (r propertyRoutes) add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, huma.Operation{
		OperationID: "create-contact-property", Method: http.MethodPost, Path: "/contact-properties", DefaultStatus: http.StatusCreated,
		Summary: "Declare a property of contacts; values that contacts have already stay as they are", Tags: propertyTags,
		Errors: []int{http.StatusConflict},
	}, r.createProperty)
	rest.Register(h, rest.Route{}, huma.Operation{
		OperationID: "list-contact-properties", Method: http.MethodGet, Path: "/contact-properties",
		Summary: "List declared properties, newest first", Tags: propertyTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, r.listProperties)
	rest.Register(h, rest.Route{}, huma.Operation{
		OperationID: "get-contact-property", Method: http.MethodGet, Path: "/contact-properties/{id}",
		Summary: "Get a declared property", Tags: propertyTags,
		Errors: []int{http.StatusNotFound},
	}, r.getProperty)
	rest.RegisterBody(h, rest.Route{}, huma.Operation{
		OperationID: "update-contact-property", Method: http.MethodPatch, Path: "/contact-properties/{id}",
		Summary: "Change the fallback of a property", Tags: propertyTags,
		Errors: []int{http.StatusNotFound},
	}, r.updateProperty)
	rest.Register(h, rest.Route{}, huma.Operation{
		OperationID: "delete-contact-property", Method: http.MethodDelete, Path: "/contact-properties/{id}",
		Summary: "Take the declaration of a property back; contacts keep their values", Tags: propertyTags,
		Errors: []int{http.StatusNotFound},
	}, r.deleteProperty)
}

func (r propertyRoutes) createProperty(ctx context.Context, key *app.Key, _ *struct{}, request *createPropertyRequest) (*propertyOutput, error) {
	in := app.PropertyInput{Key: request.Key, Type: request.Type}
	if request.Fallback.Set && !request.Fallback.Null {
		in.Fallback = (*app.PropertyValue)(&request.Fallback.Value)
	}
	p, err := r.service.CreateProperty(ctx, key, in)
	if err != nil {
		return nil, err
	}
	return &propertyOutput{newPropertyRecord(&p)}, nil
}

func (r propertyRoutes) listProperties(ctx context.Context, key *app.Key, in *rest.PageParams) (*rest.ListOutput[propertyRecord], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.service.ListProperties(ctx, key, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, newPropertyRecord), nil
}

func (r propertyRoutes) getProperty(ctx context.Context, key *app.Key, in *PropertyPath) (*propertyOutput, error) {
	p, err := r.service.GetProperty(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return &propertyOutput{newPropertyRecord(&p)}, nil
}

func (r propertyRoutes) updateProperty(ctx context.Context, key *app.Key, in *PropertyPath, request *updatePropertyRequest) (*propertyOutput, error) {
	f := request.Fallback
	p, err := r.service.UpdateProperty(ctx, key, in.ID, app.PropertyPatch{
		Key: request.Key, Type: request.Type,
		Fallback: app.Change[app.PropertyValue]{Set: f.Set, Null: f.Null, Value: app.PropertyValue(f.Value)},
	})
	if err != nil {
		return nil, err
	}
	return &propertyOutput{newPropertyRecord(&p)}, nil
}

func (r propertyRoutes) deleteProperty(ctx context.Context, key *app.Key, in *PropertyPath) (*removedPropertyOutput, error) {
	if err := r.service.DeleteProperty(ctx, key, in.ID); err != nil {
		return nil, err
	}
	return &removedPropertyOutput{removedProperty{Object: "contact_property", ID: in.ID, Deleted: true}}, nil
}

func newPropertyRecord(p *app.Property) propertyRecord {
	return propertyRecord{Object: "contact_property", ID: p.ID, Key: p.Key, Type: p.Type, Fallback: fallbackValue{p.Fallback}, CreatedAt: app.FormatTime(p.CreatedAt)}
}
