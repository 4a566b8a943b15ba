package liquid

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"mailer/app"
)

// languageCase is a document with its output, or its fault. html is the output as HTML, subject as
// plain text.
type languageCase struct {
	Name, Group, Template string
	Values                map[string]json.RawMessage // besides those of the file
	HTML, Subject, Error  *string
}

// casesFile is testdata/cases.json. Cases that have the same group follow one another.
type casesFile struct {
	Values map[string]json.RawMessage
	Cases  []languageCase
}

func readCases(t *testing.T) *casesFile {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file casesFile
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err = d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	return &file
}

// document returns the document of a case.
func (f *casesFile) document(t *testing.T, c *languageCase) *document {
	t.Helper()
	all := map[string]json.RawMessage{}
	for _, values := range []map[string]json.RawMessage{f.Values, c.Values} {
		for name, v := range values {
			all[name] = v
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	d := &document{source: c.Template, html: c.Subject == nil, values: fromJSON(t, string(data))}
	d.scope.Names = map[string]app.PropertyType{"footer": htmlType}
	for i, name := range d.values.list.keys {
		if name != "footer" && name != "contact" {
			d.scope.Names[name] = []app.PropertyType{
				nilKind: "string", boolKind: "boolean", intKind: "number", floatKind: "number", stringKind: "string", listKind: "list", objectKind: "object",
			}[d.values.list.values[i].kind]
		}
	}
	return d
}

func TestCases(t *testing.T) {
	file := readCases(t)
	for i := range file.Cases {
		c := &file.Cases[i]
		got, err := file.document(t, c).render()
		want := c.HTML
		if want == nil {
			want = c.Subject
		}
		switch {
		case c.Error != nil:
			if err == nil || !strings.Contains(err.Error(), *c.Error) {
				t.Errorf("%s, %s: %s: %q %v, want the fault %q", c.Group, c.Name, c.Template, got, err, *c.Error)
			}
		case err != nil || got != *want:
			t.Errorf("%s, %s: %s: %q %v, want %q", c.Group, c.Name, c.Template, got, err, *want)
		}
	}
}
