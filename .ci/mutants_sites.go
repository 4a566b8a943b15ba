package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutated are the packages in which mutants are made.
var mutated = []string{"db", "db/engine", "app/sending/delivery", "app/sending/mail", "app/tenants/audience", "app/sending/broadcasts", "app/tenants/webhooks", "smtpout", "web/rest"}

// site is a place in the source at which the program can be changed. Its key names the
// place by file, function, kind and position among the sites of that kind in the function,
// so that the same mutant can be found in another version of the tree.
type site struct {
	key        string
	pkg        string // directory of the package
	file       string
	line       int
	start, end int    // byte offsets in the file
	before     string // text inserted at start; %d is the number of the mutant
	after      string // text inserted at end
	id         int    // number of the mutant, from 1; 0 if the site was not chosen
}

// listed is the output of go list about a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Deps                    []string
	TestGoFiles             []string
	XTestGoFiles            []string
	TestImports             []string
	XTestImports            []string
}

// list runs go list in tree with flags and patterns.
func list(tree string, args ...string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	cmd.Dir, cmd.Stderr = tree, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %v: %w", args, err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read the output of go list: %w", err)
		}
		all = append(all, p)
	}
}

// source is one package in which mutants are made.
type source struct {
	listed
	dir   string // below the tree
	files map[string][]byte
	fset  *token.FileSet
	trees map[string]*ast.File
	info  *types.Info
}

// checker type-checks packages of a tree against the compiled packages that they import.
type checker struct {
	exports map[string]string
}

func newChecker(tree string) (*checker, error) {
	all, err := list(tree, append([]string{"-export", "-deps"}, patterns()...)...)
	if err != nil {
		return nil, err
	}
	c := &checker{exports: map[string]string{}}
	for _, p := range all {
		c.exports[p.ImportPath] = p.Export
	}
	return c, nil
}

func patterns() (all []string) {
	for _, dir := range mutated {
		all = append(all, "./"+dir)
	}
	return all
}

// check type-checks files and returns the lines, as "file:line", at which there are errors.
func (c *checker) check(path string, fset *token.FileSet, files []*ast.File) (*types.Info, map[string]bool) {
	bad := map[string]bool{}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{
		Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(c.exports[path]) }),
		Error: func(err error) {
			var e types.Error
			if errors.As(err, &e) {
				at := fset.Position(e.Pos)
				bad[filepath.Base(at.Filename)+":"+strconv.Itoa(at.Line)] = true
			}
		},
	}
	conf.Check(path, fset, files, info) //nolint:errcheck // conf.Error has collected the errors
	return info, bad
}

// load reads and type-checks one package.
func (c *checker) load(p listed, dir string) (*source, error) {
	s := &source{listed: p, dir: dir, files: map[string][]byte{}, fset: token.NewFileSet(), trees: map[string]*ast.File{}}
	var files []*ast.File
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(s.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files[name], s.trees[name] = text, tree
		files = append(files, tree)
	}
	info, bad := c.check(p.ImportPath, s.fset, files)
	if len(bad) > 0 {
		return nil, fmt.Errorf("%s does not type-check: %v", p.ImportPath, bad)
	}
	s.info = info
	return s, nil
}

// sites returns every site of the package, in the order of its files.
func (s *source) sites() (all []*site) {
	for _, name := range s.GoFiles {
		f := &finder{source: s, name: name, counts: map[string]int{}, headers: map[ast.Stmt]bool{}}
		for _, d := range s.trees[name].Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				f.function = fn.Name.Name
				if fn.Recv != nil {
					f.function = types.ExprString(fn.Recv.List[0].Type) + "." + f.function
				}
				ast.Walk(f, fn.Body)
			}
		}
		all = append(all, f.found...)
	}
	return all
}

// finder collects the sites of a file.
type finder struct {
	*source
	name, function string
	counts         map[string]int
	headers        map[ast.Stmt]bool // before the brace of an if, switch or for: no if statement can stand there
	found          []*site
}

// Visit implements ast.Visitor.
func (f *finder) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.headers[n.Init] = true
		f.add("condition", n.Cond, "mutantNot(%d, ", ")")
	case *ast.SwitchStmt:
		f.headers[n.Init] = true
	case *ast.ForStmt:
		f.headers[n.Init], f.headers[n.Post] = true, true
		if n.Cond != nil {
			f.add("condition", n.Cond, "mutantNot(%d, ", ")")
		}
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && droppable(call) && !f.headers[n] {
			f.add("call", n, "if !mutantOn(%d) { ", " }")
		}
	case *ast.GenDecl, *ast.ArrayType:
		return nil // a constant has to stay one there
	case *ast.CaseClause:
		for _, stmt := range n.Body {
			ast.Walk(f, stmt)
		}
		return nil
	case *ast.KeyValueExpr:
		ast.Walk(f, n.Value)
		return nil
	case ast.Expr:
		if f.info.Types[n].Value != nil {
			f.constant(n)
			return nil
		}
	}
	return f
}

// droppable reports whether a program without the call may be wrong in a way that a test
// should see: log lines and locks are left alone.
func droppable(call *ast.CallExpr) bool {
	name := types.ExprString(call.Fun)
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		name = name[at+1:]
	}
	return !slices.Contains([]string{"panic", "Debug", "Info", "Warn", "Error", "Lock", "Unlock", "RLock", "RUnlock", "Helper"}, name)
}

// constant adds a site for a constant expression with a number in it: the number grows by one.
func (f *finder) constant(n ast.Expr) {
	var number *ast.BasicLit
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.INT && number == nil {
			number = lit
		}
		return number == nil
	})
	basic, ok := f.info.Types[n].Type.(*types.Basic)
	kind := types.TypeString(f.info.Types[n].Type, types.RelativeTo(types.NewPackage(f.ImportPath, "")))
	if number == nil || (ok && basic.Info()&types.IsUntyped != 0) || (!ok && kind != "time.Duration") {
		return
	}
	value, err := strconv.ParseInt(number.Value, 0, 64)
	if err != nil {
		return
	}
	text := f.files[f.name]
	from, to := f.offset(n.Pos()), f.offset(n.End())
	at := f.offset(number.Pos())
	changed := string(text[from:at]) + strconv.FormatInt(value+1, 10) + string(text[f.offset(number.End()):to])
	f.add("constant", n, "mutantPick["+kind+"](%d, ", ", "+changed+")")
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) add(kind string, n ast.Node, before, after string) {
	group := f.function + " " + kind
	f.counts[group]++
	f.found = append(f.found, &site{
		key: fmt.Sprintf("%s/%s %s %d", f.dir, f.name, group, f.counts[group]),
		pkg: f.dir, file: f.name, line: f.fset.Position(n.Pos()).Line,
		start: f.offset(n.Pos()), end: f.offset(n.End()), before: before, after: after,
	})
}

// helpers is the file that each mutated package gets: a mutant is switched on by the
// environment, so that all of them are compiled once.
const helpers = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantActive, _ = strconv.Atoi(os.Getenv("MUTANT"))
	mutantTrace     = mutantOpen(os.Getenv("MUTANT_TRACE"))
	mutantSeen      [%d]atomic.Bool
)

// mutantOpen opens the file at the start: a test may leave none to be opened.
func mutantOpen(name string) *os.File {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		panic(err)
	}
	return f
}

func mutantOn(id int) bool {
	if mutantTrace != nil && !mutantSeen[id].Swap(true) {
		if _, err := mutantTrace.WriteString(strconv.Itoa(id) + "\n"); err != nil {
			panic(err)
		}
	}
	return id == mutantActive
}

func mutantNot(id int, cond bool) bool { return cond != mutantOn(id) }

func mutantPick[T any](id int, value, changed T) T {
	if mutantOn(id) {
		return changed
	}
	return value
}

var _, _ = mutantNot, mutantPick[int]
`

// rewrite returns the file's text with its chosen sites made switchable.
func rewrite(text []byte, chosen []*site) []byte {
	type insertion struct {
		at, length int
		ends       bool
		text       string
	}
	var all []insertion
	for _, s := range chosen {
		all = append(all,
			insertion{s.start, s.end - s.start, false, fmt.Sprintf(s.before, s.id)},
			insertion{s.end, s.end - s.start, true, s.after})
	}
	slices.SortStableFunc(all, func(a, b insertion) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.ends != b.ends:
			return map[bool]int{true: -1, false: 1}[a.ends]
		case a.ends:
			return cmp.Compare(a.length, b.length) // the inner one ends first
		}
		return cmp.Compare(b.length, a.length) // the outer one begins first
	})
	var out bytes.Buffer
	done := 0
	for _, i := range all {
		out.Write(text[done:i.at])
		out.WriteString(i.text)
		done = i.at
	}
	out.Write(text[done:])
	return out.Bytes()
}
