package shapes

import (
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/web/rest"
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

// Schema implements huma.SchemaProvider.
func (AddressList) Schema(huma.Registry) *huma.Schema {
	most := app.MaxRecipients
	text := &huma.Schema{Type: huma.TypeString}
	return &huma.Schema{AnyOf: []*huma.Schema{
		text, {Type: huma.TypeArray, Items: text, MaxItems: &most},
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
