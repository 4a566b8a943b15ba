package emails

import (
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// templateUse is the template of a send. Null, "", [] and an object without an id mean absent.
type templateUse struct{ use *app.TemplateUse }

// templateUseRequest is templateUse as a named schema.
type templateUseRequest struct {
	ID        string                `json:"id" doc:"The id of a published template, or its alias"`
	Language  string                `json:"language,omitempty" doc:"Of the recipient, like pt-BR: chooses the variant"`
	Variables shapes.VariableValues `json:"variables,omitempty"`
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *templateUse) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	t.use = nil
	if d.PeekKind() != '{' {
		return rest.EmptyOnly(d, "must be an object")
	}
	var request templateUseRequest
	if err := json.UnmarshalDecode(d, &request, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	if request.ID != "" || len(request.Variables) > 0 {
		t.use = &app.TemplateUse{ID: request.ID, Language: request.Language, Variables: request.Variables}
	}
	return nil
}

// Schema implements openapi.SchemaProvider.
func (templateUse) Schema(r *openapi.Registry) *openapi.Schema {
	return r.Schema(reflect.TypeFor[templateUseRequest]())
}
