package contactfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"mailer/app"
)

// readAll reads a file to its end or an error.
func readAll(r io.Reader) (headings []string, rows []Row, err error) {
	reader, headings, err := Read(r)
	for err == nil {
		var row Row
		if row, err = reader.Next(); err == nil {
			row.Cells = slices.Clone(row.Cells)
			rows = append(rows, row)
		}
	}
	return headings, rows, err
}

func TestRows(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"plain", "a,b\n1,2\n", "a|b 2:1|2 EOF"},
		{"no last line break", "a,b\n1,2", "a|b 2:1|2 EOF"},
		{"CRLF", "a,b\r\n1,2\r\n", "a|b 2:1|2 EOF"},
		{"BOM", "\ufeffa,b\n1,2\n", "a|b 2:1|2 EOF"},
		{"BOM and quote", "\ufeff\"a\",b\n", "a|b EOF"},
		{"semicolons", "a;b,c\n1;2,3\n", "a;b|c 2:1;2|3 EOF"},
		{"more semicolons", "a;b;c,d\n1;2;3\n", "a|b|c,d 2:1|2|3 EOF"},
		{"a line that names the separator", "sep=;\r\na,b;c\r\n1;2\r\n", "a,b|c 3:1|2 EOF"},
		{"a line that names a bar", "\ufeffSEP=|\na|b\n1|2\n", "a|b 3:1|2 EOF"},
		{"a line that names no separator", "sep=x\n1\n", "sep=x 2:1 EOF"},
		{"tabs", "a\tb\n\t2\n", "a|b 2:|2 EOF"},
		{"separators in quotes", `"a;b;c",d` + "\n1,2\n", "a;b;c|d 2:1|2 EOF"},
		{"one column", "a\n1\n\n \n2\n", "a 2:1 5:2 EOF"},
		{"empty lines", "\n\na,b\n\n,\n  , \n1,2\n", "a|b 7:1|2 EOF"},
		{"quotes", "a,b\n\"x\n\"\"y\"\"\",2\n3,4\n", "a|b 2:x\n\"y\"|2 4:3|4 EOF"},
		{"a blank before a quote", "a, \"b\"\n1, \"2,3\"\n", "a|b 2:1|2,3 EOF"},
		{"ragged", "a,b\n1\n1,2,3\n", "a|b 2:1 3:1|2|3 EOF"},
		{"a quote inside", "a,b\n1,2\"\n3,4\n", "a|b 2:The row has a double quote inside a value that is not in double quotes 3:3|4 EOF"},
		{"an open quote", "a,b\n1,2\n\"3,4\n5,6\n", "a|b 2:1|2 Line 3: a value in double quotes has no proper end"},
		{"text after a quote", "a,b\n\"1\"x,2\n3,4\n", "a|b Line 2: a value in double quotes has no proper end"},
		{"a row without end", "a\n1\n\n\"" + strings.Repeat("x\n", MaxRecord), "a 2:1 Line 3: a row is longer than 1048576 bytes, or a quote is never closed"},
		{"nothing", "", "EOF"},
		{"blanks", "\ufeff\n ,\n", "EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			headings, rows, err := readAll(strings.NewReader(tt.file))
			var got []string
			if len(headings) > 0 {
				got = append(got, strings.Join(headings, "|"))
			}
			for _, row := range rows {
				got = append(got, fmt.Sprintf("%d:%s%s", row.Line, strings.Join(row.Cells, "|"), row.Problem))
			}
			if s := strings.Join(append(got, err.Error()), " "); s != tt.want {
				t.Errorf("got  %q\nwant %q", s, tt.want)
			}
		})
	}
}

func TestReadErrorIsNotEOF(t *testing.T) {
	broken := errors.New("broken")
	for _, before := range []string{"", "a,b", "a,b\n1,2\n", "a,b\n\"1", "a,b\n1,2\n" + strings.Repeat("x,y\n", importBuffer)} {
		_, _, err := readAll(io.MultiReader(strings.NewReader(before), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("after %.20q: %v", before, err)
		}
	}
}

// describe formats a plan: index:field.key/type.
func describe(p *Plan) string {
	var out []string
	for _, c := range p.Columns {
		s := fmt.Sprintf("%d:%s", c.Index, c.Field)
		if c.Key != "" {
			s += "." + c.Key + "/" + c.Type
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestHeadingsDetermineColumns(t *testing.T) {
	declared := map[string]app.PropertyType{"age": app.NumberProperty, "plan": app.StringProperty}
	for headings, want := range map[string]string{
		"email,first_name,last_name,unsubscribed":  "0:email 1:first_name 2:last_name 3:unsubscribed",
		"E-Mail Address,GivenName,SURNAME":         "0:email 1:first_name 2:last_name",
		"E-Mail-Adresse,Vorname,Nachname":          "0:email 1:first_name 2:last_name",
		"Adresse e-mail,Prénom,Nom":                "0:email 1:first_name 2:last_name",
		"Correo electrónico,Nombre,Apellidos":      "0:email 1:first_name 2:last_name",
		" e_mail ,first-name,Family Name":          "0:email 1:first_name 2:last_name",
		"x,email,age,plan":                         "0:properties.x/string 1:email 2:properties.age/number 3:properties.plan/string",
		"email,Postal code,a.b,日本,,x@y,Ä,Ä1,_":     "0:email 1:properties.Postal_code/string 2:properties.a_b/string 7:properties._1/string",
		"email," + strings.Repeat("k", 200):        "0:email 1:properties." + strings.Repeat("k", 200) + "/string",
		"email," + strings.Repeat("k", 201):        "0:email",
		"email,Name,name":                          "0:email 1:properties.Name/string 2:properties.name/string",
		"email,mail,id,created_at,properties.x":    "0:email 1:properties.mail/string 2:properties.id/string 3:properties.created_at/string 4:properties.properties_x/string",
		"unsubscribed_at,Email,first_name_initial": "0:properties.unsubscribed_at/string 1:email 2:properties.first_name_initial/string 0:consent",
	} {
		plan, declare, err := (&Input{}).Plan(strings.Split(headings, ","), declared)
		if err != nil {
			t.Errorf("%s: %v", headings, err)
			continue
		}
		if got := describe(plan); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", headings, got, want)
		}
		for _, p := range declare {
			if err := p.Validate(); err != nil || declared[p.Key] != "" {
				t.Errorf("%s declares %+v: %v", headings, p, err)
			}
		}
		if plan.Conflict != app.ConflictSkip {
			t.Errorf("conflict %s", plan.Conflict)
		}
	}
}

func TestColumnMap(t *testing.T) {
	declared := map[string]app.PropertyType{"age": app.NumberProperty, "vip": app.StringProperty}
	headings := []string{"Mail", " Name ", "name", "Age", "Age", "VIP"}
	for _, tt := range []struct {
		m    ColumnMap
		want string // or the error message
	}{
		{ColumnMap{Email: "mail"}, "0:email"},
		{ColumnMap{Email: "Mail", FirstName: "Name", LastName: "name", Unsubscribed: "vip"}, "0:email 1:first_name 2:last_name 5:unsubscribed"},
		{ColumnMap{Email: "Mail", FirstName: "Mail"}, "0:email 0:first_name"},
		{ColumnMap{Email: "Mail", Properties: map[string]PropertyColumn{"age": {"Age", ""}, "new": {"VIP", ""}}}, "0:email 3:properties.age/number 5:properties.new/string"},
		{ColumnMap{Email: "Mail", Properties: map[string]PropertyColumn{"vip": {"VIP", "boolean"}, "n": {"Age", "number"}}}, "0:email 3:properties.n/number 5:properties.vip/boolean"},
		{ColumnMap{}, "0:email"},
		{ColumnMap{Email: "E"}, "`column_map.email`"},
		{ColumnMap{Email: "Mail", Unsubscribed: "x"}, "`column_map.unsubscribed`"},
		{ColumnMap{Email: "Mail", Properties: map[string]PropertyColumn{"age": {"Age", "string"}}}, "`column_map.properties.age.type` must be number"},
		{ColumnMap{Email: "Mail", Properties: map[string]PropertyColumn{"age": {"Age", "boolean"}}}, "`column_map.properties.age.type`"},
		{ColumnMap{Email: "Mail", Properties: map[string]PropertyColumn{"": {"Age", ""}}}, "`column_map.properties`"},
		{ColumnMap{Email: "Mail", Properties: map[string]PropertyColumn{"a": {"Wage", ""}}}, "`column_map.properties.a.column`"},
	} {
		plan, _, err := (&Input{Columns: &tt.m, OnConflict: "upsert"}).Plan(headings, declared)
		got := fmt.Sprint(err)
		if err == nil {
			got = describe(plan)
		}
		if err == nil && got != tt.want || err != nil && !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %s, want %s", tt.m, got, tt.want)
		}
	}
}

func TestCellValues(t *testing.T) {
	in := Input{Columns: &ColumnMap{Email: "e", FirstName: "f", Unsubscribed: "u",
		Properties: map[string]PropertyColumn{"s": {"s", ""}, "n": {"n", "number"}, "b": {"b", "boolean"}}}}
	plan, _, err := in.Plan([]string{"e", "f", "u", "s", "n", "b"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	contact := func(u, s, n, b string) string {
		p := plan.Contact(Row{Line: 2, Cells: []string{" a@example.org ", " F ", u, s, n, b}})
		if p.Problem != "" {
			return p.Problem
		}
		c := p.Contact
		out := fmt.Sprintf("%s %s %v", c.Contact.Email, c.Contact.FirstName, c.Contact.Unsubscribed)
		for _, key := range c.Changes.Keys() {
			out += fmt.Sprintf(" %s=%s/%s", key, c.Changes[key], c.Changes[key].Type)
		}
		return out
	}
	const plain = "a@example.org F "
	for _, tt := range []struct{ u, s, n, b, want string }{
		{"", "", "", "", plain + "false"},
		{"TRUE", " x y ", "1.50", "Yes", plain + "true b=true/string n=1.5/number s=x y/string"},
		{"no", "0", "-2e3", "0", plain + "false b=false/string n=-2000/number s=0/string"},
		{"1", "true", "+7", "1", plain + "true b=true/string n=7/number s=true/string"},
		{"2", "", "", "", `Column "u" must be true or false`},
		{"maybe", "", "", "", `Column "u" must be true or false`},
		{"", "a\x00b", "", "", `Column "s" must be valid UTF-8 without the character NUL`},
		{"", strings.Repeat("ä", 1000), "", "", plain + "false s=" + strings.Repeat("ä", 1000) + "/string"},
		{"", strings.Repeat("ä", 1001), "", "", `Column "s" can have at most 1000 characters`},
		{"", "", "1,5", "", `Column "n" must be a number`},
		{"", "", "0x10", "", `Column "n" must be a number`},
		{"", "", "1_000", "", `Column "n" must be a number`},
		{"", "", "NaN", "", `Column "n" must be a number`},
		{"", "", "Inf", "", `Column "n" must be a number`},
		{"", "", "1e999", "", `Column "n" must be a number`},
		{"", "", "", "si", `Column "b" must be true or false`},
	} {
		if got := contact(tt.u, tt.s, tt.n, tt.b); got != tt.want {
			t.Errorf("%q: %s, want %s", tt, got, tt.want)
		}
	}
}

func TestErrorsNameColumns(t *testing.T) {
	for heading, want := range map[string]string{
		"Plan": `"Plan"`, " Plan\n": `"Plan"`, "": "4", "\x00": "4", "bob@example.org": "4", "a`b\"c\u2028": `"abc"`,
		strings.Repeat("ä", 61): `"` + strings.Repeat("ä", 60) + `…"`,
	} {
		if got := columnName(heading, 3); got != want {
			t.Errorf("%q is %s, want %s", heading, got, want)
		}
	}
}

// FuzzImport checks that any file is read without panic, that each row is a contact or a one-line
// problem, that read sizes do not matter, and that reading can continue after any row.
func FuzzImport(f *testing.F) {
	f.Add([]byte("email,first name,n\na@example.org,A,1\nb@,\"x\ny\",2\n\n,,\n"))
	f.Add([]byte("\ufeffemail;x\r\n\"a@example.org\";\"\"\"\"\r\n\"open"))
	f.Add([]byte("email\tunsubscribed\na@example.org\tyes\n\"a\"b\t\n"))
	f.Add([]byte("email\n\xff@example.org\na\"b\n\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		headings, rows, end := readAll(bytes.NewReader(file))
		_, again, endAgain := readAll(iotest.HalfReader(iotest.DataErrReader(bytes.NewReader(file))))
		if end == nil || end.Error() != endAgain.Error() || len(rows) != len(again) {
			t.Fatalf("%d rows and %v, then %d and %v", len(rows), end, len(again), endAgain)
		}
		plan, _, err := (&Input{}).Plan(headings, nil)
		if err != nil {
			return
		}
		line := 0
		for i, row := range rows {
			if row.Line <= line || again[i].Line != row.Line || again[i].Problem != row.Problem || !slices.Equal(again[i].Cells, row.Cells) {
				t.Fatalf("row %d: %+v after line %d, then %+v", i, row, line, again[i])
			}
			line = row.Line
			checkContact(t, row, plan.Contact(row))
		}
	})
}

// checkContact checks that a row is a contact or has a problem without its data.
func checkContact(t *testing.T, row Row, p Contact) {
	t.Helper()
	if p.Problem == "" && p.Email == "" || p.Problem != "" && p.Contact != nil && !p.OptsOut() || strings.ContainsAny(p.Problem, "\n\x00") || repeats(p.Problem, row.Cells) {
		t.Fatalf("row %+v: %+v", row, p)
	}
	if p.Contact != nil && (p.Contact.Key.IsZero() || p.Contact.Changes.Validate() != nil) || p.Problem == "" && p.Contact == nil && p.Origin == "" && !p.Ignored {
		t.Fatalf("%+v", p)
	}
}

// repeats reports whether a text contains an address of a row.
func repeats(words string, cells []string) bool {
	return slices.ContainsFunc(cells, func(s string) bool {
		s = strings.TrimSpace(s)
		return len(s) > 1 && strings.Contains(s, "@") && strings.Contains(words, s)
	})
}

func TestUnmappedStatusOptsOut(t *testing.T) {
	headings := []string{"mail", "status"}
	plan, _, err := (&Input{Columns: &ColumnMap{Email: "mail"}}).Plan(headings, nil)
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[string]bool{"unsubscribed": true, "active": false, "": false} {
		p := plan.Contact(Row{Line: 2, Cells: []string{"a@example.org", status}})
		if p.Problem != "" || p.Contact.Contact.Unsubscribed != want || len(p.Contact.Changes) > 0 {
			t.Errorf("%q: %+v", status, p)
		}
	}
}
