// Command measures prints how big the rooms of this house are, and fails when one
// has outgrown its measure, a comment leaves its reader alone, or the time comes from the
// wrong clock. It reads the source below the working directory and nothing else:
//
//	go run .ci/measures.go .ci/clocks.go
package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// The measures. They hold for code that a program is made of; of tests only the
// comments are judged.
const (
	maxMethods       = 65    // on one type
	maxPackageFiles  = 40    // without tests
	maxPackageLines  = 6_500 // without tests
	maxFunctionLines = 60    // from "func" to the last brace
	maxFileLines     = 500
)

// manyMethods are the store's two sides, one method a statement; manyFiles is where
// they stand, one file a resource.
var (
	manyMethods = []string{"db.Reader", "db.Tx"}
	manyFiles   = []string{"db"}
)

// forTests are packages that no program imports: their sizes are shown and not
// judged, and of their comments only what they cite.
var forTests = []string{"app/testing/testserver", "app/testing/apptest", "app/testing/bench", "app/moving/resend/resendtest", "app/moving/resend/resendtest/serve", "db/dbtest", "db/pgtest", "web/sdktest"}

// room is one package: its directory and what was measured there.
type room struct {
	dir       string
	name      string
	files     int
	lines     int
	testLines int
	methods   map[string]int // by type
	function  size
	file      size
	undocced  int
	source    []*ast.File // without tests
}

// size is the longest of its kind.
type size struct {
	name  string
	lines int
}

func (s *size) atLeast(name string, lines int) {
	if lines > s.lines {
		*s = size{name, lines}
	}
}

func (s size) String() string { return fmt.Sprintf("%s %d", cmp.Or(s.name, "-"), s.lines) }

// house is the whole repository.
type house struct {
	src    fs.FS
	fset   *token.FileSet
	rooms  map[string]*room
	faults []string
}

func main() {
	h, err := measure(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "measures:", err)
		os.Exit(1)
	}
	h.print(os.Stdout)
	for _, fault := range h.faults {
		fmt.Println(fault)
	}
	if len(h.faults) > 0 {
		fmt.Printf("%d faults\n", len(h.faults))
		os.Exit(1)
	}
}

// measure reads all source below src.
func measure(src fs.FS) (*house, error) {
	h := &house{src: src, fset: token.NewFileSet(), rooms: map[string]*room{}}
	err := fs.WalkDir(src, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case path.Ext(name) == ".go":
			return h.goFile(name)
		}
		return h.otherFile(name)
	})
	if err != nil {
		return nil, err
	}
	if len(h.rooms) == 0 {
		return nil, errors.New("there is no Go source here")
	}
	h.judge()
	return h, nil
}

func (h *house) goFile(name string) error {
	text, err := fs.ReadFile(h.src, name)
	if err != nil {
		return err
	}
	fset := h.fset
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			h.citations(fset.Position(c.Pos()).Line, name, c.Text)
		}
	}
	if !slices.Contains(forTests, path.Dir(name)) {
		for _, decl := range file.Decls {
			h.givers(fset, decl)
		}
	}
	if strings.HasPrefix(name, ".") { // a tool, of no package of the module
		return nil
	}
	room, lines := h.room(name, file.Name.Name), strings.Count(string(text), "\n")
	if strings.HasSuffix(name, "_test.go") {
		room.testLines += lines
		return nil
	}
	room.files++
	room.lines += lines
	room.file.atLeast(path.Base(name), lines)
	room.source = append(room.source, file)
	for _, decl := range file.Decls {
		h.declaration(room, fset, decl)
	}
	return nil
}

func (h *house) room(file, pkg string) *room {
	dir := path.Dir(file)
	if h.rooms[dir] == nil {
		h.rooms[dir] = &room{dir: dir, name: strings.TrimSuffix(pkg, "_test"), methods: map[string]int{}}
	}
	return h.rooms[dir]
}

func (h *house) declaration(r *room, fset *token.FileSet, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if owner := receiver(d); owner != "" {
			r.methods[owner]++
			name = owner + "." + name
		}
		r.function.atLeast(name, fset.Position(d.End()).Line-fset.Position(d.Pos()).Line+1)
		h.documented(r, fset, d.Pos(), name, d.Doc)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			h.specDocumented(r, fset, d, spec)
		}
	}
}

// receiver returns the name of the type that a method belongs to; "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}

// specDocumented looks at types, constants and variables. In a group with a comment
// of its own that comment speaks for all.
func (h *house) specDocumented(r *room, fset *token.FileSet, d *ast.GenDecl, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		h.documented(r, fset, s.Pos(), s.Name.Name, d.Doc, s.Doc, s.Comment)
	case *ast.ValueSpec:
		for _, name := range s.Names {
			h.documented(r, fset, name.Pos(), name.Name, d.Doc, s.Doc, s.Comment)
		}
	}
}

// documented counts an exported name, or a method of that name on an exported type,
// that has none of the comments.
func (h *house) documented(r *room, fset *token.FileSet, at token.Pos, name string, comments ...*ast.CommentGroup) {
	for part := range strings.SplitSeq(name, ".") {
		if !ast.IsExported(part) {
			return
		}
	}
	if slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c.Text() != "" }) {
		return
	}
	r.undocced++
	if r.judged() {
		h.fault(fset.Position(at).String(), "%s has no doc comment", name)
	}
}

// givers are doc comments that begin "X gives": in Go it returns.
func (h *house) givers(fset *token.FileSet, decl ast.Decl) {
	docs := map[string]*ast.CommentGroup{}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		docs[d.Name.Name] = d.Doc
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok {
				docs[t.Name.Name] = cmp.Or(t.Doc, d.Doc)
			}
		}
	}
	for name, doc := range docs {
		if strings.HasPrefix(doc.Text(), name+" gives") {
			h.fault(fset.Position(doc.Pos()).String(), "the comment of %s says gives, not returns", name)
		}
	}
}

var page = regexp.MustCompile(`[^\s()"'` + "`" + `]+\.md\b`)

// citations looks for pages that a comment refers to and that are not here. Those of
// other people, with an address, are theirs to keep.
func (h *house) citations(line int, file, comment string) {
	for _, cited := range page.FindAllString(comment, -1) {
		if strings.Contains(cited, "://") || h.exists(cited) || h.exists(path.Join(path.Dir(file), cited)) {
			continue
		}
		h.fault(fmt.Sprintf("%s:%d", file, line), "a comment cites %s, which is not here", cited)
	}
}

func (h *house) exists(name string) bool {
	_, err := fs.Stat(h.src, path.Clean(name))
	return err == nil
}

// otherFile looks at the comments of scripts, SQL and tables.
func (h *house) otherFile(name string) error {
	if !slices.Contains([]string{".sql", ".sh", ".txt", ".tsv", ""}, path.Ext(name)) {
		return nil
	}
	text, err := fs.ReadFile(h.src, name)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") || strings.HasPrefix(line, "--") {
			h.citations(i+1, name, line)
		}
	}
	return nil
}

func (r *room) judged() bool { return !slices.Contains(forTests, r.dir) }

// judge compares all packages with the measures.
func (h *house) judge() {
	for _, r := range h.sorted() {
		if !r.judged() {
			continue
		}
		for owner, n := range r.methods {
			if n > maxMethods && !slices.Contains(manyMethods, r.name+"."+owner) {
				h.fault(r.dir, "%s has %d methods of at most %d", owner, n, maxMethods)
			}
		}
		if r.files > maxPackageFiles && !slices.Contains(manyFiles, r.dir) {
			h.fault(r.dir, "%d files of at most %d", r.files, maxPackageFiles)
		}
		if r.lines > maxPackageLines && !slices.Contains(manyFiles, r.dir) {
			h.fault(r.dir, "%d lines of at most %d", r.lines, maxPackageLines)
		}
		if r.function.lines > maxFunctionLines {
			h.fault(r.dir, "%s has %d lines of at most %d", r.function.name, r.function.lines, maxFunctionLines)
		}
		if r.file.lines > maxFileLines {
			h.fault(r.dir, "%s has %d lines of at most %d", r.file.name, r.file.lines, maxFileLines)
		}
		h.clocks(r)
	}
	slices.Sort(h.faults)
	h.faults = slices.Compact(h.faults)
}

func (h *house) fault(where, format string, args ...any) {
	h.faults = append(h.faults, where+": "+fmt.Sprintf(format, args...))
}

func (h *house) sorted() []*room {
	rooms := make([]*room, 0, len(h.rooms))
	for _, r := range h.rooms {
		rooms = append(rooms, r)
	}
	slices.SortFunc(rooms, func(a, b *room) int { return cmp.Compare(a.dir, b.dir) })
	return rooms
}

// print writes one line a package. A star marks those that are shown alone.
func (h *house) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "package\tfiles\tlines\ttest lines\tmost methods\tlongest function\tlongest file\tno doc")
	for _, r := range h.sorted() {
		dir := r.dir
		if !r.judged() {
			dir += " *"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%v\t%v\t%v\t%d\n", dir, r.files, r.lines, r.testLines, r.mostMethods(), r.function, r.file, r.undocced)
	}
	t.Flush()
	fmt.Fprintln(w, "* for tests: shown, not judged")
}

// mostMethods is the type with the most methods; of several the first by name.
func (r *room) mostMethods() (most size) {
	for owner, n := range r.methods {
		if n > most.lines || n == most.lines && owner < most.name {
			most = size{owner, n}
		}
	}
	return most
}
