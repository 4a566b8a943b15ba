package shapes

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// AddressList is a string or an array of strings. Null, "" and [] mean absent.
type AddressList []string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *AddressList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*l = nil
	if d.PeekKind() != '"' {
		return rest.DecodeList(d, (*[]string)(l), app.MaxRecipients, "a string or an array of strings")
	}
	var one string
	if err := json.UnmarshalDecode(d, &one); err != nil {
		return err
	}
	if one != "" {
		*l = AddressList{one}
	}
	return nil
}

// Schema implements openapi.SchemaProvider.
func (AddressList) Schema(*openapi.Registry) *openapi.Schema {
	most := app.MaxRecipients
	text := &openapi.Schema{Type: openapi.TypeString}
	return &openapi.Schema{AnyOf: []*openapi.Schema{
		text, {Type: openapi.TypeArray, Items: text, MaxItems: &most},
	}}
}

// FormatAddresses formats addresses for answers.
func FormatAddresses(list []app.Address) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.String()
	}
	return out
}
