package shapes

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/base"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// Variant is a document in another language in an answer.
type Variant struct {
	Subject     *string `json:"subject" doc:"null: that of the document"`
	PreviewText *string `json:"preview_text" doc:"null: that of the document; of broadcasts alone"`
	HTML        *string `json:"html" doc:"null: that of the document"`
	Text        *string `json:"text" doc:"null: made from the html of the variant, or else that of the document; an empty string: none"`
	Design      *string `json:"design" doc:"JSON text that the visual editor made html of; null: nothing did"`
}

// Variants are variants by language in an answer.
type Variants map[string]Variant

// NewVariants converts variants.
func NewVariants(variants app.Variants) Variants {
	out := Variants{}
	for lang, v := range variants {
		out[lang] = Variant{Subject: base.TextOrNull(v.Subject), PreviewText: base.TextOrNull(v.Preview), HTML: base.TextOrNull(v.HTML), Text: v.Text, Design: base.TextOrNull(v.Design)}
	}
	return out
}

// variantRequest is a variant in a body.
type variantRequest struct {
	Subject     rest.Change[string] `json:"subject,omitempty" doc:"null: that of the document"`
	PreviewText rest.Change[string] `json:"preview_text,omitempty" doc:"null: that of the document; of broadcasts alone"`
	HTML        rest.Change[string] `json:"html,omitempty" doc:"null: that of the document"`
	Text        rest.Change[string] `json:"text,omitempty" doc:"null: made from the html of the variant, or else that of the document; an empty string sends none"`
	Design      rest.Change[string] `json:"design,omitempty" doc:"JSON of a visual editor, kept for html"`
}

// VariantChanges are variants by language in a body, of bounded number.
type VariantChanges map[string]rest.Change[variantRequest]

// maxVariantChanges allows to replace all variants by others.
const maxVariantChanges = 2 * app.MaxVariants

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (m *VariantChanges) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*m = nil
	open, err := rest.BeginObject(d, "an object")
	if !open {
		return err
	}
	out := VariantChanges{}
	for d.PeekKind() != '}' {
		if len(out) == maxVariantChanges {
			return rest.NewShapeError(d.StackPointer().Parent(), fmt.Sprintf("can hold at most %d languages", app.MaxVariants))
		}
		var lang string
		if err := json.UnmarshalDecode(d, &lang); err != nil {
			return err
		}
		var change rest.Change[variantRequest]
		if err := json.UnmarshalDecode(d, &change, json.RejectUnknownMembers(true)); err != nil {
			return err
		}
		out[lang] = change
	}
	*m = out
	_, err = d.ReadToken()
	return err
}

// Schema implements openapi.SchemaProvider.
func (VariantChanges) Schema(r *openapi.Registry) *openapi.Schema {
	most := maxVariantChanges
	one := *r.Schema(reflect.TypeFor[variantRequest]())
	return &openapi.Schema{Type: openapi.TypeObject, AdditionalProperties: &openapi.Schema{AnyOf: []*openapi.Schema{&one, {Type: "null"}}}, MaxProperties: &most,
		Description: "The document in other languages, by language tag like de or pt-BR; recipients get the one of their language, or else the document. null removes one; an absent part of one stays"}
}

// Changes converts the request for the service.
func (m VariantChanges) Changes() app.VariantChanges {
	if m == nil {
		return nil
	}
	out := app.VariantChanges{}
	for lang, c := range m {
		v := &c.Value
		out[lang] = app.Change[app.VariantPatch]{Set: true, Null: c.Null, Value: app.VariantPatch{Subject: app.Change[string](v.Subject), Preview: app.Change[string](v.PreviewText),
			HTML: app.Change[string](v.HTML), Text: app.Change[string](v.Text), Design: app.Change[string](v.Design)}}
	}
	return out
}

// VariantChange converts the member of a PATCH request for the service.
func VariantChange(c rest.Change[VariantChanges]) app.Change[app.VariantChanges] {
	return app.Change[app.VariantChanges]{Set: c.Set, Null: c.Null, Value: c.Value.Changes()}
}
