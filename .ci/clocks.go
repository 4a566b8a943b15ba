package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// machineTime are files that may pass on a moment of this machine's clock, with what they
// measure with it. No other server reads these moments.
var machineTime = map[string]string{
	"app/tenants/audience/import_worker.go": "how long until an import is polled",
	"app/tenants/audience/previews.go":      "how long a preview may take",
	"app/kit/cache/cache.go":                "how long a cached value is valid",
	"app/kit/fair/connections.go":           "how long a connection is stalled",
	"app/cli/import_spool.go":               "the age of local files",
	"app/sending/delivery/deliver.go":       "how long a transaction took",
	"app/sending/delivery/result_log.go":    "how long a transaction took",
	"app/tenants/accounts/guess_limiter.go": "how long a wrong guess counts in this process",
	"app/sending/queue/summary_cache.go":    "how long a slow count is cached",
	"app/operate/retention/delete.go":       "how long a piece of work takes",
	"app/server/follower.go":                "how often other servers are polled",
	"db/filters.go":                         "how long a filter may run",
	"db/engine/outage.go":                   "how long writes have failed",
	"db/engine/nodes.go":                    "when the database clock was read",
	"db/engine/postgres_locks.go":           "how often a lock is polled",
	"db/engine/postgres_outage.go":          "how often a database without writes is polled",
	"db/engine/shared_clock.go":             "the error of this machine's clock",
	"db/engine/shrink.go":                   "how long a piece of work takes",
	"db/engine/sync.go":                     "how long a commit took",
	"db/engine/write.go":                    "how long a commit took",
	"web/rest/body.go":                      "the rate of a body",
	"web/rest/connections.go":               "how long a connection is stalled",
	"web/rest/follow.go":                    "how long a stream was silent",
	"web/rest/stream.go":                    "the rate of a body",
	"web/smtp/conn/conn.go":                 "how long a line may take",
	"web/smtp/receiver/intake.go":           "the rate of mail",
}

// moments are the names in a package that hold only values of time.Now. The difference of two
// of them is a duration, which every machine measures alike. The time of day comes from
// app/kit/clock, which all servers on one database share.
type moments struct {
	fields, locals map[string]bool // false: the name holds other values too
	strict         bool            // also learn which names hold other values
	faults         map[token.Pos]string
}

// clocks reports code of app, db and web that uses time.Now for more than a duration: several
// servers must agree on the time.
func (r *report) clocks(p *pkg) {
	top, _, _ := strings.Cut(p.dir, "/")
	if !slices.Contains([]string{"app", "db", "web"}, top) || p.dir == "app/kit/clock" {
		return
	}
	needed := map[string]bool{}
	for pos, fault := range machineClocks(p.source) {
		at := r.fset.Position(pos)
		needed[at.Filename] = true
		if machineTime[at.Filename] == "" {
			r.fault(fmt.Sprintf("%s:%d", at.Filename, at.Line), "%s", fault)
		}
	}
	for _, f := range p.source {
		if name := r.fset.Position(f.Pos()).Filename; machineTime[name] != "" && !needed[name] {
			r.fault(name, "uses this machine's clock for durations only: remove the file from machineTime")
		}
	}
}

// machineClocks returns the faults in the files of a package by position.
func machineClocks(files []*ast.File) map[token.Pos]string {
	m := &moments{fields: map[string]bool{}, faults: map[token.Pos]string{}}
	var decls []ast.Decl
	for _, f := range files {
		decls = append(decls, f.Decls...)
	}
	for pass := range 4 { // a name that takes the value of another is learned one pass later
		m.strict = pass > 1
		for _, d := range decls {
			m.learn(d)
		}
	}
	for _, d := range decls {
		m.learn(d)
		m.check(d)
	}
	return m.faults
}

// learn records the names that hold moments in a declaration.
func (m *moments) learn(d ast.Decl) {
	m.locals = map[string]bool{}
	strict := m.strict
	for pass := range 3 {
		m.strict = strict && pass > 1
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, name := range n.Lhs {
					m.assign(name, n.Rhs[min(i, len(n.Rhs)-1)])
				}
			case *ast.ValueSpec:
				for i := range n.Values {
					m.assign(n.Names[i], n.Values[i])
				}
			case *ast.RangeStmt:
				m.assign(n.Value, n.X)
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok {
					m.note(m.fields, key.Name, n.Value)
				}
			}
			return true
		})
	}
	m.strict = strict
}

func (m *moments) assign(name, value ast.Expr) {
	switch x := name.(type) {
	case *ast.Ident:
		m.note(m.locals, x.Name, value)
	case *ast.SelectorExpr:
		m.note(m.fields, x.Sel.Name, value)
	case *ast.IndexExpr:
		m.assign(x.X, value)
	}
}

func (m *moments) note(names map[string]bool, name string, value ast.Expr) {
	if c, ok := value.(*ast.CompositeLit); ok && len(c.Elts) == 0 || name == "_" {
		return
	}
	if _, known := names[name]; m.is(value) && !known {
		names[name] = true
	} else if !m.is(value) && m.strict {
		names[name] = false
	}
}

// is reports whether an expression is a moment, or a moment plus a duration.
func (m *moments) is(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return m.is(x.X)
	case *ast.Ident:
		return m.locals[x.Name]
	case *ast.SelectorExpr:
		return m.fields[x.Sel.Name]
	case *ast.IndexExpr:
		return m.is(x.X)
	case *ast.CallExpr:
		s, ok := x.Fun.(*ast.SelectorExpr)
		return isOfTime(x.Fun, "Now") || ok && s.Sel.Name == "Add" && m.is(s.X)
	}
	return false
}

func isOfTime(x ast.Expr, names ...string) bool {
	s, ok := x.(*ast.SelectorExpr)
	if !ok || !slices.Contains(names, s.Sel.Name) {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "time"
}

// check finds the moments of a declaration that are used for more than a duration.
func (m *moments) check(d ast.Decl) {
	var path []ast.Node
	ast.Inspect(d, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		x, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		call, isCall := x.(*ast.CallExpr)
		parent, _ := path[max(0, len(path)-2)].(*ast.CallExpr)
		switch {
		case isCall && isOfTime(call.Fun, "Since", "Until") && !m.is(call.Args[0]):
			m.faults[x.Pos()] = "compares a time with this machine's clock: use clock.Since or clock.Until"
		case isOfTime(x, "Now") && (parent == nil || parent.Fun != x), m.is(x) && !m.measures(path):
			m.faults[x.Pos()] = "uses this machine's clock for more than a duration: use clock.Now"
		}
		return true
	})
}

// measures reports whether the last node of a path, a moment, is only compared with other
// moments or assigned to a name that holds only moments.
func (m *moments) measures(path []ast.Node) bool {
	x := path[len(path)-1].(ast.Expr)
	switch p := path[len(path)-2].(type) {
	case *ast.AssignStmt:
		i := slices.Index(p.Rhs, x)
		return i < 0 || len(p.Lhs) == len(p.Rhs) && m.is(p.Lhs[i])
	case *ast.KeyValueExpr:
		key, ok := p.Key.(*ast.Ident)
		return p.Key == x || ok && m.fields[key.Name]
	case *ast.SelectorExpr:
		parent, ok := path[len(path)-3].(*ast.CallExpr)
		return p.X != x || !ok || slices.Contains([]string{"Add", "IsZero"}, p.Sel.Name) || isComparison(p) && m.is(parent.Args[0])
	case *ast.CallExpr:
		s, ok := p.Fun.(*ast.SelectorExpr)
		return p.Fun == x || isOfTime(p.Fun, "Since", "Until") || isDeadline(p.Fun) || ok && isComparison(s) && m.is(s.X)
	case *ast.ValueSpec, *ast.RangeStmt, *ast.IndexExpr, *ast.ParenExpr: // learn handles these
		return true
	}
	return false
}

func isComparison(s *ast.SelectorExpr) bool {
	return slices.Contains([]string{"After", "Before", "Compare", "Equal", "Sub"}, s.Sel.Name)
}

// isDeadline reports whether a function sets a deadline of a connection.
func isDeadline(fun ast.Expr) bool {
	name := ""
	switch f := fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	return strings.HasSuffix(name, "Deadline") || name == "Due"
}
