// Command comment_words prints the 50 words that comments of this repository use most and that
// the comments of Go's standard library hardly use, with their counts and one place each. They
// are either terms of the field, or words that only its authors understand:
//
//	go run .ci/comment_words.go
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	printed = 50
	common  = 40 // uses in the standard library that make a word common
)

// terms are words of mail, SQL and this product that the standard library does not need.
var terms = strings.Fields(`account address audience audit backup batch bounce broadcast cancel claim commit complaint contact csv
	dashboard database deliver delivery dkim dns domain doubt email event export http https import index insert inbox key language list listener login
	mail mailbox mailer master member message migrate migration notification operator outcome owner page password pause permission plan postgres postgresql
	property provider queue quota recipient region relay reply report restore retention retry role row rows schema schedule segment select
	send sender server session setting signature smtp sql sqlite subject subscribe suppress suppression table team template test tests tls topic tracking transaction
	unit unsubscribe update upload usage user webhook write`)

type count struct {
	n  int
	at string
}

func main() {
	ours, err := words(".")
	if err == nil {
		var root []byte // build.Default.GOROOT is empty with -trimpath
		if root, err = exec.Command("go", "env", "GOROOT").Output(); err == nil {
			var theirs map[string]count
			if theirs, err = words(filepath.Join(strings.TrimSpace(string(root)), "src")); err == nil {
				show(ours, theirs)
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "comment_words:", err)
		os.Exit(1)
	}
}

func show(ours, theirs map[string]count) {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(ours)), func(w string) bool {
		return theirs[w].n >= common || theirs[strings.TrimSuffix(w, "s")].n >= common || slices.Contains(terms, w) || slices.Contains(terms, strings.TrimSuffix(w, "s"))
	})
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(ours[b].n, ours[a].n), cmp.Compare(a, b)) })
	for _, w := range names[:min(printed, len(names))] {
		fmt.Printf("%5d  %-20s %s\n", ours[w].n, w, ours[w].at)
	}
}

var word = regexp.MustCompile(`[a-z]{3,}`)

// words counts the words of all comments in Go files below a directory that are written in
// small letters.
func words(root string) (map[string]count, error) {
	found := map[string]count{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "cmd" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			add(found, fset, group)
		}
		return nil
	})
	return found, err
}

func add(found map[string]count, fset *token.FileSet, group *ast.CommentGroup) {
	at := fset.Position(group.Pos()).String()
	for _, w := range strings.FieldsFunc(group.Text(), func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789'", r)
	}) {
		if word.FindString(w) != w {
			continue
		}
		c := found[w]
		c.n++
		c.at = cmp.Or(c.at, at)
		found[w] = c
	}
}
