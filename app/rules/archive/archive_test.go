package archive

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func put(t *testing.T, w *Writer, kind Kind, items ...any) {
	t.Helper()
	for _, item := range items {
		if err := w.Put(kind, item); err != nil {
			t.Fatal(err)
		}
	}
}

// emails reads the addresses of all contacts.
func emails(t *testing.T, dir string) string {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var c Contact
	if err := r.Each(Contacts, &c, func(line int) error {
		if line != len(out)+2 {
			t.Errorf("line %d of item %d", line, len(out)+1)
		}
		out = append(out, c.Email)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	w, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, w, Contacts, &Contact{Email: "a@example.org", FirstName: "A", Properties: map[string]any{"n": 1.5}}, &Contact{Email: "b@example.org"})
	if _, err := Open(dir); !errors.Is(err, ErrUnfinished) {
		t.Errorf("a directory that is not whole: %v", err)
	}
	if err := w.Finish(&Team{Source: SourceMailer, ExportedAt: time.Unix(0, 0).UTC()}); err != nil {
		t.Fatal(err)
	}
	if got := emails(t, dir); got != "a@example.org b@example.org" {
		t.Error(got)
	}
	var c Contact
	n := 0
	r, _ := Open(dir)
	if err := r.Each(Contacts, &c, func(int) error {
		if n++; n == 2 && (c.FirstName != "" || c.Properties != nil) {
			t.Errorf("the second has what the first had: %+v", c)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("on top of another: %v", err)
	}
	for _, name := range []string{"team.json", "contacts.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

// A Mailer that knows no syntax and no variants refuses an archive with them, instead of taking their
// texts for plain ones. It reads other archives.
func TestFormatOfDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		item any
		want int
	}{
		"plain": {&Template{Content: Content{HTML: "x"}, Published: &Content{}}, 1}, "no document": {&Contact{}, 1}, "published in liquid": {&Template{Published: &Content{Document: Document{Syntax: "liquid"}}}, 2},
		"with variants": {&Broadcast{Document: Document{Variants: map[string]Variant{"de": {}}}}, 2},
	} {
		dir := filepath.Join(t.TempDir(), "a")
		w, err := Create(dir)
		if err != nil {
			t.Fatal(err)
		}
		put(t, w, Templates, c.item)
		if err := w.Finish(&Team{Source: SourceMailer}); err != nil {
			t.Fatal(err)
		}
		if r, err := Open(dir); err != nil || r.Team.Format != c.want {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

func TestResumeAtLastMark(t *testing.T) {
	dir := t.TempDir()
	w, cursor, err := Resume(dir)
	if err != nil || cursor != "" {
		t.Fatal(cursor, err)
	}
	put(t, w, Contacts, &Contact{Email: "a@example.org"}, &Contact{Email: "b@example.org"})
	if err := w.Mark("page 2"); err != nil {
		t.Fatal(err)
	}
	put(t, w, Contacts, &Contact{Email: "lost@example.org"})
	put(t, w, Segments, &Segment{ID: "1", Name: "lost"})
	w.Close()
	w, cursor, err = Resume(dir)
	if err != nil || cursor != "page 2" || w.Count(Contacts) != 2 {
		t.Fatal(cursor, err)
	}
	put(t, w, Contacts, &Contact{Email: "c@example.org"})
	put(t, w, Segments, &Segment{ID: "1", Name: "found"})
	if err := w.Finish(&Team{Source: SourceResend}); err != nil {
		t.Fatal(err)
	}
	if got := emails(t, dir); got != "a@example.org b@example.org c@example.org" {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(dir, readingFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s stays: %v", readingFile, err)
	}
}

func TestBrokenFileIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, teamFile), []byte(`{"format":1,"source":"mailer"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{}`:                           "contacts.json: it does not begin with an array",
		"[\n{\"email\":\"a\"},\n{\"em": "contacts.json, item 2: the file ends",
		"[\n{\"email\":1}]":            "contacts.json, item 1",
		"":                             "contacts.json",
	} {
		if err := os.WriteFile(filepath.Join(dir, "contacts.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var c Contact
		if err := r.Each(Contacts, &c, func(int) error { return nil }); !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, teamFile), []byte(`{"format":3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "format 3") {
		t.Error(err)
	}
	// The source is used in names of topics and in the audit log.
	if err := os.WriteFile(filepath.Join(dir, teamFile), []byte(`{"format":1,"source":"`+strings.Repeat("x", 3000)+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "as its source") || len(err.Error()) > 500 {
		t.Error(err)
	}
}

func TestPicker(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("ü\n", 5000)
	for _, name := range []string{"a", long, "c"} {
		put(t, w, Contacts, &Contact{Email: name, FirstName: name})
	}
	if err := w.Finish(&Team{Source: SourceCSV}); err != nil {
		t.Fatal(err)
	}
	r, err := Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	var c Contact
	var offsets []int64
	if err := r.Each(Contacts, &c, func(int) error { offsets = append(offsets, r.Offset()); return nil }); err != nil {
		t.Fatal(err)
	}
	p, err := r.Pick(Contacts)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, i := range []int{2, 1, 0, 1} {
		if err := p.Read(offsets[i], &c); err != nil || c.Email != []string{"a", long, "c"}[i] {
			t.Errorf("item %d: %.20q %v", i, c.Email, err)
		}
	}
}
