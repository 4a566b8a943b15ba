package main

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const documented = "// Package sample is for tests.\npackage sample\n\n// Size returns 1.\nfunc Size() int { return 1 }\n"

func write(dir, name, text string) fstest.MapFS {
	return fstest.MapFS{dir + "/documented.go": {Data: []byte(documented)}, name: {Data: []byte(text)}}
}

func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func manyFilesOf(dir string, files int) fstest.MapFS {
	src := fstest.MapFS{}
	for i := range files {
		src[fmt.Sprintf("%s/f%d.go", dir, i)] = &fstest.MapFile{Data: []byte("package sample\n")}
	}
	return src
}

func TestLimits(t *testing.T) {
	methods := func(n int) string {
		return "package sample\n\ntype list[T any] struct{}\n\n" + repeated(n, "func (l *list[T]) m%d() {}\n")
	}
	functions := "package sample\n\n// List is one.\ntype List struct{}\n\n" + repeated(101, "func f%d(l *List) {}\n")
	long := func(n int) string {
		return "package sample\n\nfunc long() {\n" + strings.Repeat("\tprintln()\n", n-2) + "}\n"
	}
	lines := func(n int) string { return "package sample\n" + strings.Repeat("\n", n-1) }
	store := fstest.MapFS{"db/tx.go": {Data: []byte("package db\n\n// Tx is one.\ntype Tx struct{}\n\n" + repeated(101, "func (Tx) m%d() {}\n"))}}
	for name, c := range map[string]struct {
		src              fs.FS
		warnings, faults []string
	}{
		"nothing":                 {src: write("a", "a/b.go", documented)},
		"61 methods":              {src: write("a", "a/b.go", methods(61)), warnings: []string{"a: list has 61 methods, more than 60"}},
		"101 methods":             {src: write("a", "a/b.go", methods(101)), faults: []string{"a: list has 101 methods, more than 100"}},
		"101 functions of a type": {src: write("a", "a/b.go", functions), faults: []string{"a: List has 101 methods, more than 100"}},
		"101 statements":          {src: store},
		"41 files":                {src: manyFilesOf("a", 41), warnings: []string{"a: the package has 41 files, more than 40"}},
		"41 files of db":          {src: manyFilesOf("db", 41)},
		"41 files for tests":      {src: manyFilesOf("app/testing/testserver", 41)},
		"61 lines of a function":  {src: write("a", "a/b.go", long(61)), warnings: []string{"a: long has 61 lines, more than 60"}},
		"101 lines of a function": {src: write("a", "a/b.go", long(101)), faults: []string{"a: long has 101 lines, more than 100"}},
		"101 lines of a test":     {src: write("a", "a/b_test.go", long(101))},
		"501 lines of a file":     {src: write("a", "a/b.go", lines(501)), warnings: []string{"a: b.go has 501 lines, more than 500"}},
		"901 lines of a file":     {src: write("a", "a/b.go", lines(901)), faults: []string{"a: b.go has 901 lines, more than 900"}},
		"901 lines of a test":     {src: write("a", "a/b_test.go", lines(901))},
	} {
		r := check(t, name, c.src, c.faults)
		if !slices.Equal(r.warnings, c.warnings) {
			t.Errorf("%s: warnings %q, want %q", name, r.warnings, c.warnings)
		}
	}
}

func TestDeniedWords(t *testing.T) {
	for text, want := range map[string]string{
		"func retold() {}":                           "",
		"type hearsay struct{ toldAt int }":          "a/b.go:3:22: toldAt: use reported, logged or events instead of told",
		"func keep(standing int) {}":                 "a/b.go:3:11: standing: use status, state or subscription instead of standing",
		"func keep() { for _, Doors := range x {} }": "a/b.go:3:22: Doors: use hold reasons, endpoints or listeners instead of doors",
		"func testWhatIsTold() {}":                   "a/b.go:3:6: testWhatIsTold: use reported, logged or events instead of told",
	} {
		var faults []string
		if want != "" {
			faults = []string{want}
		}
		check(t, text, write("a", "a/b.go", "package sample\n\n"+text+"\n"), faults)
	}
}

func TestComments(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"no doc of a function": {"a/b.go", "package sample\n\nfunc F() {}\n", []string{"a/b.go:3:1: F has no doc comment"}},
		"no doc of a method":   {"a/b.go", "package sample\n\n// T is one.\ntype T int\n\nfunc (*T) F() {}\n", []string{"a/b.go:6:1: T.F has no doc comment"}},
		"no doc of a type":     {"a/b.go", "package sample\n\ntype T int\n", []string{"a/b.go:3:6: T has no doc comment"}},
		"no doc of a constant": {"a/b.go", "package sample\n\nconst C, d = 1, 2\n", []string{"a/b.go:3:7: C has no doc comment"}},
		"one doc of a group":   {"a/b.go", "package sample\n\n// The constants.\nconst (\n\tC = 1\n\tD = 2\n)\n", nil},
		"a doc at the line":    {"a/b.go", "package sample\n\nconst (\n\tC = 1 // one\n\tD = 2\n)\n", []string{"a/b.go:5:2: D has no doc comment"}},
		"unexported":           {"a/b.go", "package sample\n\ntype t int\n\nfunc (t) F() {}\n\nfunc f() {}\n", nil},
		"a test's":             {"a/b_test.go", "package sample\n\nfunc F() {}\n", nil},
		"gives":                {"a/b.go", "package sample\n\n// f gives 1.\nfunc f() {}\n", []string{"a/b.go:3:1: the comment of f says gives, not returns"}},
		"gives way":            {"a/b.go", "package sample\n\n// f waits and gives way.\nfunc f() {}\n", nil},
		"an unknown page":      {"a/b.go", "package sample\n\nfunc f() {\n\t// as in rules.md 4\n}\n", []string{"a/b.go:4: a comment cites rules.md, which is not in the repository"}},
		"in a test":            {"a/b_test.go", "package sample\n\n// (rules.md)\n", []string{"a/b_test.go:3: a comment cites rules.md, which is not in the repository"}},
		"in a script":          {"a/run.sh", "# see rules.md\ncat other.md\n", []string{"a/run.sh:1: a comment cites rules.md, which is not in the repository"}},
		"a page":               {"a/README.md", "", nil},
		"a page of others":     {"a/b.go", "package sample\n\n// https://example.com/rules.md\n", nil},
	} {
		check(t, name, write("a", c.file, c.text), c.want)
	}
	known := write("a", "a/b.go", "package sample\n\n// README.md and testdata/rules.md have the rules.\n")
	known["README.md"], known["a/testdata/rules.md"] = &fstest.MapFile{}, &fstest.MapFile{}
	check(t, "known pages", known, nil)
}

func TestMachineTime(t *testing.T) {
	const more, compares = "uses this machine's clock for more than a duration: use clock.Now", "compares a time with this machine's clock: use clock.Since or clock.Until"
	source := func(body string) string { return "package sample\n\nimport \"time\"\n\n" + body + "\n" }
	for name, c := range map[string]struct {
		dir, body, want string // want: the fault of line 5; empty: none
	}{
		"a duration":             {"app", "func f() time.Duration { began := time.Now(); return time.Since(began) }", ""},
		"a deadline":             {"app", "func f(c conn) { _ = c.SetDeadline(time.Now().Add(1)) }", ""},
		"a loop":                 {"app", "func f() { for end := time.Now().Add(1); time.Now().Before(end); {} }", ""},
		"in a field":             {"app", "func (t *T) f() { t.at = time.Now(); if time.Since(t.at) > 1 || t.at.IsZero() { t.at = time.Time{} } }", ""},
		"in a map":               {"app", "func (t *T) f() { t.by[1] = time.Now(); for _, at := range t.by { _ = time.Since(at) } }", ""},
		"as milliseconds":        {"app", "func f() int64 { return time.Now().UnixMilli() }", more},
		"as text":                {"db", "func f() string { now := time.Now().UTC(); return now.String() }", more},
		"a row":                  {"web", "func f() row { return row{CreatedAt: time.Now(), Name: name(time.Now())} }", more},
		"an argument":            {"app", "func f() { g(time.Now()) }", more},
		"a result":               {"app", "func f() time.Time { now := time.Now(); return now }", more},
		"the function":           {"app", "var now = time.Now", more},
		"compared with a row":    {"app", "func f(r row) bool { now := time.Now(); return r.at.Before(now) }", more},
		"until a row's time":     {"app", "func f(r row) time.Duration { return time.Until(r.at) }", compares},
		"mixed with other times": {"app", "func (t *T) f(r row) { t.at = time.Now(); t.at = r.sent }", more},
		"in the clock package":   {"app/kit/clock", "func f() int64 { return time.Now().UnixMilli() }", ""},
		"in a relay's client":    {"smtpout", "func f() int64 { return time.Now().UnixMilli() }", ""},
	} {
		var want []string
		if c.want != "" {
			want = []string{c.dir + "/b.go:5: " + c.want}
		}
		check(t, name, write(c.dir, c.dir+"/b.go", source(c.body)), want)
	}
	check(t, "in a listed file", write("app/kit/cache", "app/kit/cache/cache.go", source("func f() { g(time.Now()) }")), nil)
	check(t, "in a file listed needlessly", write("app/kit/cache", "app/kit/cache/cache.go", source("func f() {}")), []string{"app/kit/cache/cache.go: uses this machine's clock for durations only: remove the file from machineTime"})
}

func check(t *testing.T, name string, src fs.FS, want []string) *report {
	t.Helper()
	r, err := measure(src)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !slices.Equal(r.faults, want) {
		t.Errorf("%s: %q, want %q", name, r.faults, want)
	}
	return r
}

func TestEmptyDirectoryIsAnError(t *testing.T) {
	if _, err := measure(fstest.MapFS{}); err == nil {
		t.Error("an empty directory passes")
	}
}
