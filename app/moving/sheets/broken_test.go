package sheets

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mailer/app/rules/archive"
)

// TestEveryRowIsAccepted reads files with errors: each row is written or reported.
func TestEveryRowIsAccepted(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"half a line", "email,name,x\na@example.org,A,1\nb@exam", `
			contact a@example.org   name=A x=1 [] f.csv:2
			refused f.csv:3 The row has 1 columns, the first row of the file has 3`},
		{"half a line that opts out", "email,unsubscribed,x\na@example.org,yes\nb@example.org,no\nc@example.org,yes,1,2\nnobody,yes\n", `
			contact a@example.org   OUT  [] f.csv:2
			contact c@example.org   OUT  [] f.csv:4
			refused f.csv:2 The row has 2 columns, the first row of the file has 3
			refused f.csv:3 The row has 2 columns, the first row of the file has 3
			refused f.csv:4 The row has 4 columns, the first row of the file has 3
			refused f.csv:5 The row has 2 columns, the first row of the file has 3`},
		{"a value that is too long, of somebody who opted out", "email,unsubscribed,x\na@example.org,yes," + strings.Repeat("x", 1001) + "\n", `
			contact a@example.org   OUT  [] f.csv:2
			refused f.csv:2 Column "x" can have at most 1000 characters`},
		{"formulas", "email,first name,x\n=cmd@example.org,=1+1,@SUM(A1)\n-b@example.org,+x,-1\n", `
			contact =cmd@example.org =1+1  x=@SUM(A1) [] f.csv:2
			contact -b@example.org +x  x=-1 [] f.csv:3`},
		{"a quote that is never closed", "email\na@example.org\n\"b@example.org\nc@example.org\n", `
			contact a@example.org    [] f.csv:2
			refused f.csv:3 a value in double quotes has no proper end`},
		{"NUL", "email,first name,x\na@example.org,A\x00,\nb@example.org,B,\x00\nc\x00@example.org,,\nd@example.org,D,\n", `
			contact d@example.org D   [] f.csv:5
			refused f.csv:2 Column "first name" must not contain line breaks or other control characters
			refused f.csv:3 Column "x" must be valid UTF-8 without the character NUL
			refused f.csv:4 Column "email" must not contain line breaks or other control characters`},
		{"another encoding within", "email,name\na@example.org,ä\nb@example.org,\xe4\n", `
			contact a@example.org   name=ä [] f.csv:2
			refused f.csv:3 Column "name" is not valid UTF-8`},
		{"Windows-1252", "email;first name\r\na@example.org;Zo\xeb\r\n", "contact a@example.org Zoë   [] f.csv:2"},
		{"twice", "email,first name\na@example.org,A\nA@example.org,B\n", `
			contact a@example.org A   [] f.csv:2
			contact A@example.org B   [] f.csv:3`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(t, "", file(t, "f.csv", tt.text))
			for strings.HasPrefix(got, "property") {
				_, got, _ = strings.Cut(got, "\n")
			}
			same(t, got, err, tt.want)
		})
	}
}

func TestDuplicateHeadingsGetNumbers(t *testing.T) {
	got, err := read(t, "brevo", file(t, "f.csv", "EMAIL,Email,CITY,City,city,EMAIL_BLACKLISTED\na@example.org,b@example.org,1,2,3,no\n"))
	same(t, got, err, `
		property city string
		property city_2 string
		property city_3 string
		contact a@example.org   city=1 city_2=2 city_3=3 [] f.csv:2
		lack columns "Email" of f.csv: `+ignoredReason)
	if _, err := read(t, "", file(t, "f.csv", "email,a b,a-b\na@example.org,1,2\n")); err == nil || !strings.Contains(err.Error(), "f.csv: has more than one column that can be a_b") {
		t.Error(err)
	}
}

func TestUnreadableFileIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		"": "it is empty", "\n ,\n": "it is empty", "name\nx\n": "has no column for the email address", "\"email": "Line 1", "PK\x03\x04": "damaged", "\x1f\x8b\x08": "gzip",
	} {
		if got, err := read(t, "", file(t, "f.csv", text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "f.csv") {
			t.Errorf("%q: %v %s", text, err, got)
		}
	}
	if _, err := read(t, "", t.TempDir()); err == nil {
		t.Error("a directory is read")
	}
	if _, err := read(t, "", filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read")
	}
	if _, err := read(t, "odd", file(t, "f.csv", "email\n")); err == nil || !strings.Contains(err.Error(), "odd") {
		t.Error(err)
	}
}

func TestSegmentLimit(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("Email Address,TAGS,LEID,EUID\n")
	for i := range maxSegments + 1 {
		fmt.Fprintf(&text, "a%d@example.org,t%d,,\n", i, i)
	}
	got, err := read(t, "mailchimp", file(t, "f.csv", text.String()))
	if err != nil || strings.Count(got, "segment ") != maxSegments || !strings.Contains(got, fmt.Sprintf("refused f.csv:%d The files name more than", maxSegments+2)) {
		t.Errorf("%v %d", err, strings.Count(got, "segment "))
	}
}

// readRows reads rows, one in a thousand of them broken, and calls before immediately before.
func readRows(t *testing.T, rows int, before func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "subscribed_x.csv")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	b := bufio.NewWriter(f)
	fmt.Fprintln(b, "Email Address,First Name,Last Name,CITY,MEMBER_RATING,OPTIN_TIME,LEID,EUID,TAGS")
	for i := range rows {
		if i%1000 == 999 {
			fmt.Fprintln(b, "half a line")
			continue
		}
		fmt.Fprintf(b, "person%d@example.org,First%d,\"Last, %d\",Città,2,2020-02-03 04:05:06,%d,x,\"\"\"A\"\",\"\"B\"\"\"\n", i, i, i, i)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	w, err := archive.Create(filepath.Join(t.TempDir(), "archive"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	before()
	if _, err := Read(w, []string{path}, "", ""); err != nil {
		t.Fatal(err)
	}
	broken := rows / 1000
	if w.Count(archive.Contacts) != rows-broken || w.Count(archive.Refusals) != broken || w.Count(archive.Segments) != 2 {
		t.Errorf("%d contacts, %d refused", w.Count(archive.Contacts), w.Count(archive.Refusals))
	}
}

func TestManyRows(t *testing.T) {
	readRows(t, 3000, func() {})
}
