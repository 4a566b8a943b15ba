package mail

import (
	"testing"

	"mailer/app"
)

// A tag filter can be written as in the API, and as lists show it.
func TestSearchTagSyntaxes(t *testing.T) {
	for text, want := range map[string]app.Tag{
		"kind": {Name: "kind"}, "kind:invoice": {Name: "kind", Value: "invoice"}, "kind=invoice": {Name: "kind", Value: "invoice"}, "kind=": {Name: "kind"},
	} {
		f, err := (&SearchQuery{Tag: text}).filter()
		if err != nil || f.Tag != want || f.TagName != (text == "kind") {
			t.Errorf("%s: %+v, by name %v: %v", text, f.Tag, f.TagName, err)
		}
	}
	for _, text := range []string{":invoice", "=invoice", ":", "="} {
		if _, err := (&SearchQuery{Tag: text}).filter(); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
