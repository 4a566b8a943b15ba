package audience

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/tenants/audience"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

type propertyRecord struct {
	Object    string               `json:"object" enum:"contact_property"`
	ID        string               `json:"id" format:"uuid"`
	Key       string               `json:"key"`
	Type      app.PropertyType     `json:"type" enum:"string,number"`
	Fallback  shapes.FallbackValue `json:"fallback_value"`
	CreatedAt string               `json:"created_at" format:"date-time"`
}

type removedProperty struct {
	Object  string `json:"object" enum:"contact_property"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type createPropertyRequest struct {
	Key      string               `json:"key" minLength:"1" maxLength:"200" pattern:"^[A-Za-z0-9_]+$" doc:"Never changes"`
	Type     app.PropertyType     `json:"type" enum:"string,number" doc:"Of all values that are written from now on; never changes"`
	Fallback shapes.FallbackInput `json:"fallback_value,omitempty"`
}

// updatePropertyRequest is the body of PATCH /contact-properties/{id}.
type updatePropertyRequest struct {
	Fallback shapes.FallbackInput `json:"fallback_value,omitempty"`
	Key      string               `json:"key,omitempty" hidden:"true"`
	Type     app.PropertyType     `json:"type,omitempty" hidden:"true"`
}

// PropertyPath is the path parameter of one contact property.
type PropertyPath struct {
	ID string `path:"id" doc:"The id of the contact property" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *PropertyPath) Resource() (kind string, id *string) { return "contact property", &p.ID }

type (
	propertyOutput = rest.Output[propertyRecord]
)

var propertyTags = []string{"Contact properties"}

// PropertyRoutes are the routes of contact properties.
type PropertyRoutes struct{ Service *audience.Properties }

// Add adds the routes to a handler.
func (r PropertyRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-contact-property", Method: http.MethodPost, Path: "/contact-properties", DefaultStatus: http.StatusCreated,
		Summary: "Declare a custom property of contacts. Existing values stay unchanged", Tags: propertyTags,
		Errors: []int{http.StatusConflict},
	}, r.createProperty)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-contact-properties", Method: http.MethodGet, Path: "/contact-properties",
		Summary: "List the custom properties of contacts, newest first", Tags: propertyTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.Service.ListProperties, newPropertyRecord))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-contact-property", Method: http.MethodGet, Path: "/contact-properties/{id}",
		Summary: "Get a custom property of contacts", Tags: propertyTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Get[*PropertyPath](r.Service.GetProperty, newPropertyRecord))
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "update-contact-property", Method: http.MethodPatch, Path: "/contact-properties/{id}",
		Summary: "Change the fallback value of a custom property of contacts", Tags: propertyTags,
		Errors: []int{http.StatusNotFound},
	}, r.updateProperty)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-contact-property", Method: http.MethodDelete, Path: "/contact-properties/{id}",
		Summary: "Delete a custom property of contacts. Contacts keep their values", Tags: propertyTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Do[*PropertyPath](r.Service.DeleteProperty, func(id string) removedProperty {
		return removedProperty{Object: "contact_property", ID: id, Deleted: true}
	}))
}

func (r PropertyRoutes) createProperty(ctx context.Context, key *app.Key, _ *struct{}, request *createPropertyRequest) (*propertyOutput, error) {
	in := app.PropertyInput{Key: request.Key, Type: request.Type}
	if request.Fallback.Set && !request.Fallback.Null {
		in.Fallback = (*app.PropertyValue)(&request.Fallback.Value)
	}
	return rest.Answer(newPropertyRecord)(r.Service.CreateProperty(ctx, key, in))
}

func (r PropertyRoutes) updateProperty(ctx context.Context, key *app.Key, in *PropertyPath, request *updatePropertyRequest) (*propertyOutput, error) {
	f := request.Fallback
	return rest.Answer(newPropertyRecord)(r.Service.UpdateProperty(ctx, key, in.ID, app.PropertyPatch{
		Key: request.Key, Type: request.Type,
		Fallback: app.Change[app.PropertyValue]{Set: f.Set, Null: f.Null, Value: app.PropertyValue(f.Value)},
	}))
}

func newPropertyRecord(p *app.Property) propertyRecord {
	return propertyRecord{Object: "contact_property", ID: p.ID, Key: p.Key, Type: p.Type, Fallback: shapes.FallbackValue{Value: p.Fallback}, CreatedAt: app.FormatTime(p.CreatedAt)}
}
