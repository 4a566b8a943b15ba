// Command measures prints the size of each package and warns of what is large. It fails when
// a function, a file or a type is far too large, an exported name has no doc comment, a
// comment cites a page that the repository does not hold, an identifier uses a word of the
// deny-list, or code reads the wrong clock. It reads the source below the working directory:
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
	"unicode"
)

// limit is a measure: above warn it is shown for the reviewer, above fail it is a fault.
type limit struct{ warn, fail int }

// The limits of code that the program is made of. Tests are not measured.
var (
	methodLimit      = limit{60, 100}  // of one type, with the functions whose first parameter is the type
	functionLimit    = limit{60, 100}  // lines, from "func" to the last brace
	fileLimit        = limit{500, 900} // lines
	packageFileLimit = limit{40, 1 << 30}
	packageLineLimit = limit{6_500, 1 << 30}
)

// manyMethods are the two sides of the store, which have one method a statement, and manyFiles
// is their package, which has one file a resource.
var (
	manyMethods = []string{"db.Reader", "db.Tx"}
	manyFiles   = []string{"db"}
)

// deniedWords are words that identifiers must not contain: each had a private meaning here, or
// several. The right column of the table names the word to use instead.
var deniedWords = map[string]string{
	"apart":      "pipelined",
	"beside":     "concurrent, sidecar or follower",
	"besides":    "others",
	"bury":       "mark dead",
	"crew":       "batch or group",
	"door":       "hold reason, endpoint or listener",
	"doors":      "hold reasons, endpoints or listeners",
	"echoes":     "redundant",
	"elsewhere":  "remote or postgres",
	"foretell":   "forecast",
	"happening":  "webhook event",
	"happenings": "webhook events",
	"hindered":   "unavailable",
	"hindrance":  "unavailable",
	"historian":  "email history",
	"innocents":  "half open",
	"standing":   "status, state or subscription",
	"standings":  "statuses, states or versions",
	"stranded":   "unroutable",
	"told":       "reported, logged or events",
}

// promisedNames are identifiers with a denied word that name fields and schemas of the API.
var promisedNames = []string{"Beside", "TeamStanding", "standingRecord"}

// testPackages are packages that only tests import: their sizes are shown without limits, and
// their exported names need no comment.
var testPackages = []string{"app/testing/testserver", "app/testing/apptest", "app/testing/bench", "app/moving/resend/resendtest", "app/moving/resend/resendtest/serve", "db/dbtest", "db/pgtest", "web/sdktest"}

// pkg is one package: its directory and what was measured in it.
type pkg struct {
	dir          string
	name         string
	files        int
	lines        int
	testLines    int
	methods      map[string]int // by type
	longFunction size
	longFile     size
	undocumented int
	source       []*ast.File // without tests
}

// size is the largest of its kind.
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

// report holds the measures of the whole repository.
type report struct {
	src      fs.FS
	fset     *token.FileSet
	packages map[string]*pkg
	warnings []string
	faults   []string
}

func main() {
	r, err := measure(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "measures:", err)
		os.Exit(1)
	}
	r.print(os.Stdout)
	for _, warning := range r.warnings {
		fmt.Println("warning:", warning)
	}
	for _, fault := range r.faults {
		fmt.Println(fault)
	}
	if len(r.faults) > 0 {
		fmt.Printf("%d faults\n", len(r.faults))
		os.Exit(1)
	}
}

// measure reads all source below src.
func measure(src fs.FS) (*report, error) {
	r := &report{src: src, fset: token.NewFileSet(), packages: map[string]*pkg{}}
	err := fs.WalkDir(src, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case path.Ext(name) == ".go":
			return r.goFile(name)
		}
		return r.otherFile(name)
	})
	if err != nil {
		return nil, err
	}
	if len(r.packages) == 0 {
		return nil, errors.New("no Go source below the working directory")
	}
	r.compare()
	return r, nil
}

func (r *report) goFile(name string) error {
	text, err := fs.ReadFile(r.src, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(r.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			r.citations(r.fset.Position(c.Pos()).Line, name, c.Text)
		}
	}
	r.words(file)
	if !slices.Contains(testPackages, path.Dir(name)) {
		for _, decl := range file.Decls {
			r.gives(decl)
		}
	}
	if strings.HasPrefix(name, ".") { // a tool, which belongs to no package of the module
		return nil
	}
	p, lines := r.packageOf(name, file.Name.Name), strings.Count(string(text), "\n")
	if strings.HasSuffix(name, "_test.go") {
		p.testLines += lines
		return nil
	}
	p.files++
	p.lines += lines
	p.longFile.atLeast(path.Base(name), lines)
	p.source = append(p.source, file)
	for _, decl := range file.Decls {
		r.declaration(p, decl)
	}
	return nil
}

func (r *report) packageOf(file, name string) *pkg {
	dir := path.Dir(file)
	if r.packages[dir] == nil {
		r.packages[dir] = &pkg{dir: dir, name: strings.TrimSuffix(name, "_test"), methods: map[string]int{}}
	}
	return r.packages[dir]
}

func (r *report) declaration(p *pkg, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if owner := receiver(d); owner != "" {
			p.methods[owner]++
			name = owner + "." + name
		} else if owner := firstParameter(d); owner != "" {
			p.methods[owner]++
		}
		p.longFunction.atLeast(name, r.fset.Position(d.End()).Line-r.fset.Position(d.Pos()).Line+1)
		r.documented(p, d.Pos(), name, d.Doc)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			r.specDocumented(p, d, spec)
		}
	}
}

// receiver returns the name of the type that a method belongs to, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	return cmp.Or(typeName(d.Recv.List[0].Type), "?")
}

// firstParameter returns the name of the type of the package that a function takes first, ""
// where the first parameter is of another package or not a named type.
func firstParameter(d *ast.FuncDecl) string {
	if d.Recv != nil || len(d.Type.Params.List) == 0 {
		return ""
	}
	name := typeName(d.Type.Params.List[0].Type)
	if !ast.IsExported(name) { // string, int, and helpers of one file
		return ""
	}
	return name
}

func typeName(t ast.Expr) string {
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
			return ""
		}
	}
}

// specDocumented checks types, constants and variables. The comment of a group counts for all
// names in the group.
func (r *report) specDocumented(p *pkg, d *ast.GenDecl, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		r.documented(p, s.Pos(), s.Name.Name, d.Doc, s.Doc, s.Comment)
	case *ast.ValueSpec:
		for _, name := range s.Names {
			r.documented(p, name.Pos(), name.Name, d.Doc, s.Doc, s.Comment)
		}
	}
}

// documented reports an exported name, or an exported method of an exported type, for which
// all comments are empty.
func (r *report) documented(p *pkg, at token.Pos, name string, comments ...*ast.CommentGroup) {
	for part := range strings.SplitSeq(name, ".") {
		if !ast.IsExported(part) {
			return
		}
	}
	if slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c.Text() != "" }) {
		return
	}
	p.undocumented++
	if p.limited() {
		r.fault(r.fset.Position(at).String(), "%s has no doc comment", name)
	}
}

// gives reports doc comments that begin "X gives": Go's documentation says "returns".
func (r *report) gives(decl ast.Decl) {
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
			r.fault(r.fset.Position(doc.Pos()).String(), "the comment of %s says gives, not returns", name)
		}
	}
}

// words reports declared identifiers that contain a denied word.
func (r *report) words(file *ast.File) {
	check := func(names ...*ast.Ident) {
		for _, id := range names {
			for _, word := range splitWords(id.Name) {
				if use := deniedWords[word]; use != "" && !slices.Contains(promisedNames, id.Name) {
					r.fault(r.fset.Position(id.Pos()).String(), "%s: use %s instead of %s", id.Name, use, word)
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			check(n.Name)
		case *ast.TypeSpec:
			check(n.Name)
		case *ast.ValueSpec:
			check(n.Names...)
		case *ast.Field:
			check(n.Names...)
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					check(id)
				}
			}
		case *ast.RangeStmt:
			for _, x := range []ast.Expr{n.Key, n.Value} {
				if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					check(id)
				}
			}
		}
		return true
	})
}

// splitWords returns the words of a camelCase identifier in lower case.
func splitWords(name string) (words []string) {
	start := 0
	for i, c := range name {
		if i > start && (unicode.IsUpper(c) || c == '_') {
			words = append(words, strings.ToLower(strings.Trim(name[start:i], "_")))
			start = i
		}
	}
	return append(words, strings.ToLower(strings.Trim(name[start:], "_")))
}

var page = regexp.MustCompile(`[^\s()"'*` + "`" + `]+\.md\b`)

// citations reports pages that a comment cites and the repository does not hold. Pages with an
// address belong to others, and patterns are no pages: both are not checked.
func (r *report) citations(line int, file, comment string) {
	for _, cited := range page.FindAllString(comment, -1) {
		if strings.Contains(cited, "://") || r.exists(cited) || r.exists(path.Join(path.Dir(file), cited)) {
			continue
		}
		r.fault(fmt.Sprintf("%s:%d", file, line), "a comment cites %s, which is not in the repository", cited)
	}
}

func (r *report) exists(name string) bool {
	_, err := fs.Stat(r.src, path.Clean(name))
	return err == nil
}

// otherFile checks the comments of scripts, SQL and tables.
func (r *report) otherFile(name string) error {
	if !slices.Contains([]string{".sql", ".sh", ".txt", ".tsv", ""}, path.Ext(name)) {
		return nil
	}
	text, err := fs.ReadFile(r.src, name)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") || strings.HasPrefix(line, "--") {
			r.citations(i+1, name, line)
		}
	}
	return nil
}

func (p *pkg) limited() bool { return !slices.Contains(testPackages, p.dir) }

// compare compares all packages with the limits.
func (r *report) compare() {
	for _, p := range r.sorted() {
		if !p.limited() {
			continue
		}
		for owner, n := range p.methods {
			if !slices.Contains(manyMethods, p.name+"."+owner) {
				r.exceeds(p, methodLimit, n, "%s has %d methods, more than %d", owner)
			}
		}
		r.exceeds(p, functionLimit, p.longFunction.lines, "%s has %d lines, more than %d", p.longFunction.name)
		r.exceeds(p, fileLimit, p.longFile.lines, "%s has %d lines, more than %d", p.longFile.name)
		if !slices.Contains(manyFiles, p.dir) {
			r.exceeds(p, packageFileLimit, p.files, "%s has %d files, more than %d", "the package")
			r.exceeds(p, packageLineLimit, p.lines, "%s has %d lines, more than %d", "the package")
		}
		r.clocks(p)
	}
	for _, list := range []*[]string{&r.warnings, &r.faults} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

func (r *report) exceeds(p *pkg, l limit, n int, format, what string) {
	switch {
	case n > l.fail:
		r.fault(p.dir, format, what, n, l.fail)
	case n > l.warn:
		r.warnings = append(r.warnings, p.dir+": "+fmt.Sprintf(format, what, n, l.warn))
	}
}

func (r *report) fault(where, format string, args ...any) {
	r.faults = append(r.faults, where+": "+fmt.Sprintf(format, args...))
}

func (r *report) sorted() []*pkg {
	all := make([]*pkg, 0, len(r.packages))
	for _, p := range r.packages {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *pkg) int { return cmp.Compare(a.dir, b.dir) })
	return all
}

// print writes one line a package. A star marks the packages without limits.
func (r *report) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "package\tfiles\tlines\ttest lines\tmost methods\tlongest function\tlongest file\tno doc")
	for _, p := range r.sorted() {
		dir := p.dir
		if !p.limited() {
			dir += " *"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%v\t%v\t%v\t%d\n", dir, p.files, p.lines, p.testLines, p.mostMethods(), p.longFunction, p.longFile, p.undocumented)
	}
	t.Flush()
	fmt.Fprintln(w, "* for tests: shown without limits")
}

// mostMethods returns the type with the most methods, of several the first by name.
func (p *pkg) mostMethods() (largest size) {
	for owner, n := range p.methods {
		if n > largest.lines || n == largest.lines && owner < largest.name {
			largest = size{owner, n}
		}
	}
	return largest
}
