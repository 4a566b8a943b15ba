package liquid

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
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
	d.scope.Names = map[string]app.PropertyType{"footer": app.HTMLVariable}
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
			if err == nil || err.Error() != *c.Error {
				t.Errorf("%s, %s: %s: %q %v, want the fault %q", c.Group, c.Name, c.Template, got, err, *c.Error)
			}
		case err != nil || got != *want:
			t.Errorf("%s, %s: %s: %q %v, want %q", c.Group, c.Name, c.Template, got, err, *want)
		}
	}
}

var update = flag.Bool("update", false, "write the manual's page of cases anew")

// casesPage is the page of the manual that shows the cases.
const casesPage = "../../../web/manual/liquid-cases.md"

// page returns the cases as a page of the manual.
func (f *casesFile) page() string {
	var b strings.Builder
	b.WriteString("# Liquid cases\n\nEvery row is a test of [Liquid](liquid.md) in Mailer: a document, and what it becomes. A ↵ is a line break. " +
		"Rows without values of their own use these:\n\n```json\n{\n")
	for i, name := range slices.Sorted(maps.Keys(f.Values)) {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "  %q: %s", name, bytes.ReplaceAll(f.Values[name], []byte(`}, {`), []byte("},\n    {")))
	}
	b.WriteString("\n}\n```\n\n`footer` is of the type `html`. The time is 2024-03-05 09:07:02 UTC.\n")
	group := ""
	for _, c := range f.Cases {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "\n## %s\n\n| Shows | Document | Result |\n|---|---|---|\n", group)
		}
		result := ""
		switch {
		case c.Error != nil:
			result = "refused: " + cell(*c.Error)
		case c.HTML != nil:
			result = code(*c.HTML)
		default:
			result = code(*c.Subject)
		}
		document := code(c.Template)
		for _, name := range slices.Sorted(maps.Keys(c.Values)) {
			document += " with " + code(name+" = "+string(c.Values[name]))
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(c.Name), document, result)
	}
	return b.String()
}

// cell returns text for a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", "↵", "<", "&lt;", "{", "&#123;").Replace(s)
}

// code returns code for a cell of a table.
func code(s string) string {
	return "`" + strings.NewReplacer("|", `\|`, "\n", "↵").Replace(s) + "`"
}

func TestManualShowsCases(t *testing.T) {
	page := readCases(t).page()
	if *update {
		if err := os.WriteFile(casesPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if shown, err := os.ReadFile(casesPage); err != nil || string(shown) != page {
		t.Errorf("%s is old, %v: go test ./app/rules/liquid -update", casesPage, err)
	}
}
