package main

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const tidy = "// Package rooms is for tests.\npackage rooms\n\n// Size returns it.\nfunc Size() int { return 1 }\n"

func write(dir, name, text string) fstest.MapFS {
	return fstest.MapFS{dir + "/tidy.go": {Data: []byte(tidy)}, name: {Data: []byte(text)}}
}

func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func crowd(dir string, files int) fstest.MapFS {
	src := fstest.MapFS{}
	for i := range files {
		src[fmt.Sprintf("%s/f%d.go", dir, i)] = &fstest.MapFile{Data: []byte("package rooms\n")}
	}
	return src
}

func TestWhatOutgrewItsMeasureIsAFault(t *testing.T) {
	methods := "package rooms\n\ntype hall[T any] struct{}\n\n" + repeated(66, "func (h *hall[T]) m%d() {}\n")
	long := "package rooms\n\nfunc long() {\n" + strings.Repeat("\tprintln()\n", 59) + "}\n"
	lines := func(n int) string { return "package rooms\n" + strings.Repeat("\n", n-1) }
	library := fstest.MapFS{"db/tx.go": {Data: []byte("package db\n\ntype hall struct{}\n\n" + repeated(66, "func (hall) m%d() {}\n"))}}
	store := fstest.MapFS{"db/tx.go": {Data: []byte(strings.ReplaceAll("package db\n\n// Tx is it.\ntype Tx struct{}\n\n"+repeated(66, "func (Tx) m%d() {}\n"), "hall", "Tx"))}}
	book := fstest.MapFS{}
	for i := range 14 {
		book[fmt.Sprintf("a/f%d.go", i)] = &fstest.MapFile{Data: []byte(lines(500))}
	}
	for name, c := range map[string]struct {
		src  fs.FS
		want []string
	}{
		"nothing":                {write("a", "a/b.go", tidy), nil},
		"66 methods":             {write("a", "a/b.go", methods), []string{"a: hall has 66 methods of at most 65"}},
		"66 methods in db":       {library, []string{"db: hall has 66 methods of at most 65"}},
		"66 statements":          {store, nil},
		"41 files":               {crowd("a", 41), []string{"a: 41 files of at most 40"}},
		"41 files of db":         {crowd("db", 41), nil},
		"41 files for tests":     {crowd("app/testing/testserver", 41), nil},
		"7,000 lines":            {book, []string{"a: 7000 lines of at most 6500"}},
		"61 lines of a function": {write("a", "a/b.go", long), []string{"a: long has 61 lines of at most 60"}},
		"61 lines of a test":     {write("a", "a/b_test.go", long), nil},
		"501 lines of a file":    {write("a", "a/b.go", lines(501)), []string{"a: b.go has 501 lines of at most 500"}},
		"501 lines of a test":    {write("a", "a/b_test.go", lines(501)), nil},
	} {
		check(t, name, c.src, c.want)
	}
}

func TestACommentThatLeavesItsReaderAloneIsAFault(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"no doc of a function":   {"a/b.go", "package rooms\n\nfunc F() {}\n", []string{"a/b.go:3:1: F has no doc comment"}},
		"no doc of a method":     {"a/b.go", "package rooms\n\n// T is it.\ntype T int\n\nfunc (*T) F() {}\n", []string{"a/b.go:6:1: T.F has no doc comment"}},
		"no doc of a type":       {"a/b.go", "package rooms\n\ntype T int\n", []string{"a/b.go:3:6: T has no doc comment"}},
		"no doc of a constant":   {"a/b.go", "package rooms\n\nconst C, d = 1, 2\n", []string{"a/b.go:3:7: C has no doc comment"}},
		"one doc of a group":     {"a/b.go", "package rooms\n\n// What there is.\nconst (\n\tC = 1\n\tD = 2\n)\n", nil},
		"a doc behind":           {"a/b.go", "package rooms\n\nconst (\n\tC = 1 // it\n\tD = 2\n)\n", []string{"a/b.go:5:2: D has no doc comment"}},
		"hidden":                 {"a/b.go", "package rooms\n\ntype t int\n\nfunc (t) F() {}\n\nfunc f() {}\n", nil},
		"a test's":               {"a/b_test.go", "package rooms\n\nfunc F() {}\n", nil},
		"gives":                  {"a/b.go", "package rooms\n\n// f gives it.\nfunc f() {}\n", []string{"a/b.go:3:1: the comment of f says gives, not returns"}},
		"gives way":              {"a/b.go", "package rooms\n\n// f waits and gives way.\nfunc f() {}\n", nil},
		"a page that is not":     {"a/b.go", "package rooms\n\nfunc f() {\n\t// as in rules.md 4\n}\n", []string{"a/b.go:4: a comment cites rules.md, which is not here"}},
		"in a test":              {"a/b_test.go", "package rooms\n\n// (rules.md)\n", []string{"a/b_test.go:3: a comment cites rules.md, which is not here"}},
		"in a script":            {"a/run.sh", "# see rules.md\ncat other.md\n", []string{"a/run.sh:1: a comment cites rules.md, which is not here"}},
		"a page that is":         {"a/README.md", "", nil},
		"a page of other people": {"a/b.go", "package rooms\n\n// https://example.com/rules.md\n", nil},
	} {
		check(t, name, write("a", c.file, c.text), c.want)
	}
	here := write("a", "a/b.go", "package rooms\n\n// README.md and testdata/rules.md tell it.\n")
	here["README.md"], here["a/testdata/rules.md"] = &fstest.MapFile{}, &fstest.MapFile{}
	check(t, "pages that are here", here, nil)
}

func TestATimeOfThisMachineThatIsNoMeasureIsAFault(t *testing.T) {
	const more, compares = "takes the time of this machine for more than a measure: clock.Now is that of all servers", "compares a time with that of this machine: clock.Since and clock.Until go by the time of all servers"
	in := func(body string) string { return "package rooms\n\nimport \"time\"\n\n" + body + "\n" }
	for name, c := range map[string]struct {
		dir, body, want string // want: what is wrong with line 5; empty: nothing
	}{
		"how long it took":       {"app", "func f() time.Duration { began := time.Now(); return time.Since(began) }", ""},
		"a deadline":             {"app", "func f(c conn) { _ = c.SetDeadline(time.Now().Add(1)) }", ""},
		"a loop":                 {"app", "func f() { for end := time.Now().Add(1); time.Now().Before(end); {} }", ""},
		"kept in a field":        {"app", "func (t *T) f() { t.at = time.Now(); if time.Since(t.at) > 1 || t.at.IsZero() { t.at = time.Time{} } }", ""},
		"kept for each":          {"app", "func (t *T) f() { t.by[1] = time.Now(); for _, at := range t.by { _ = time.Since(at) } }", ""},
		"as milliseconds":        {"app", "func f() int64 { return time.Now().UnixMilli() }", more},
		"as text":                {"db", "func f() string { now := time.Now().UTC(); return now.String() }", more},
		"a row":                  {"web", "func f() row { return row{CreatedAt: time.Now(), Name: name(time.Now())} }", more},
		"handed on":              {"app", "func f() { g(time.Now()) }", more},
		"handed back":            {"app", "func f() time.Time { now := time.Now(); return now }", more},
		"the function":           {"app", "var now = time.Now", more},
		"compared with a row":    {"app", "func f(r row) bool { now := time.Now(); return r.at.Before(now) }", more},
		"until a row's time":     {"app", "func f(r row) time.Duration { return time.Until(r.at) }", compares},
		"kept with other things": {"app", "func (t *T) f(r row) { t.at = time.Now(); t.at = r.sent }", more},
		"of the clock itself":    {"app/kit/clock", "func f() int64 { return time.Now().UnixMilli() }", ""},
		"of a relay's client":    {"smtpout", "func f() int64 { return time.Now().UnixMilli() }", ""},
	} {
		var want []string
		if c.want != "" {
			want = []string{c.dir + "/b.go:5: " + c.want}
		}
		check(t, name, write(c.dir, c.dir+"/b.go", in(c.body)), want)
	}
	check(t, "in a file that may", write("db", "db/write.go", in("func f() { g(time.Now()) }")), nil)
	check(t, "in one that need not", write("db", "db/write.go", in("func f() {}")), []string{"db/write.go: measures with this machine's clock as others do: take it off the list of those that do not"})
}

func check(t *testing.T, name string, src fs.FS, want []string) {
	t.Helper()
	h, err := measure(src)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !slices.Equal(h.faults, want) {
		t.Errorf("%s: %q, want %q", name, h.faults, want)
	}
}

func TestNoSourceIsNoHouse(t *testing.T) {
	if _, err := measure(fstest.MapFS{}); err == nil {
		t.Error("an empty folder passes")
	}
}
