package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// machineTime are files that hand a moment of this machine on to where nobody follows it, and
// what it measures there.
var machineTime = map[string]string{
	"app/tenants/audience/import_worker.go": "how long until an import is looked at",
	"app/tenants/audience/previews.go":      "how long a preview may look",
	"app/kit/cache/cache.go":                "how long what was read is believed",
	"app/cli/import_spool.go":               "how old files of this machine are",
	"app/sending/delivery/deliver.go":       "how long a transaction took",
	"app/sending/delivery/result_log.go":    "how long a transaction took, in the log",
	"app/tenants/accounts/guesses.go":       "how long a wrong guess counts in this process",
	"app/sending/queue/summary_cache.go":    "how long the result of a slow count is kept",
	"app/net/resolver/zones.go":             "how long an answer of the DNS is believed",
	"app/operate/retention/delete.go":       "how long a piece of work takes",
	"app/server/answering.go":               "how often another server is asked after",
	"db/filters.go":                         "how long a filter may look",
	"db/engine/outage.go":                   "how long nothing could be written",
	"db/engine/nodes.go":                    "when the database was asked for its time",
	"db/engine/postgres_locks.go":           "how often the database is asked whether a lock is gone",
	"db/engine/postgres_outage.go":          "how often the database is asked whether it takes writes again",
	"db/engine/shared_clock.go":             "by what this machine's clock is wrong",
	"db/engine/shrink.go":                   "how long a piece of work takes",
	"db/engine/sync.go":                     "how long a commit took",
	"db/engine/write.go":                    "how long a commit took",
	"web/rest/body.go":                      "how fast a body comes",
	"web/rest/connections.go":               "how long a connection is stalled",
	"web/rest/follow.go":                    "how long nothing was told to who follows",
	"web/rest/stream.go":                    "how fast a body comes",
	"web/smtp/conn/conn.go":                 "how long a line may take",
	"web/smtp/submission/line_conn.go":      "how fast a message comes",
}

// moments are the names in a package that hold moments of this machine and nothing else. Two
// of them tell how long something took, or whether it took too long. What time it is says
// app/kit/clock, by which all servers on one database go.
type moments struct {
	fields, locals map[string]bool // false: it holds other things too
	wary           bool            // other things are learned too
	faults         map[token.Pos]string
}

// clocks looks for moments of this machine that are more than a measure, where several servers
// must agree on the time.
func (h *house) clocks(r *room) {
	top, _, _ := strings.Cut(r.dir, "/")
	if !slices.Contains([]string{"app", "db", "web"}, top) || r.dir == "app/kit/clock" {
		return
	}
	listed := map[string]bool{}
	for at, fault := range machineClocks(r.source) {
		place := h.fset.Position(at)
		listed[place.Filename] = true
		if machineTime[place.Filename] == "" {
			h.fault(fmt.Sprintf("%s:%d", place.Filename, place.Line), "%s", fault)
		}
	}
	for _, f := range r.source {
		if name := h.fset.Position(f.Pos()).Filename; machineTime[name] != "" && !listed[name] {
			h.fault(name, "measures with this machine's clock as others do: take it off the list of those that do not")
		}
	}
}

// machineClocks finds them in the files of a package.
func machineClocks(files []*ast.File) map[token.Pos]string {
	m := &moments{fields: map[string]bool{}, faults: map[token.Pos]string{}}
	var decls []ast.Decl
	for _, f := range files {
		decls = append(decls, f.Decls...)
	}
	for pass := range 4 { // what holds what another name holds is learned after that
		m.wary = pass > 1
		for _, d := range decls {
			m.learn(d)
		}
	}
	for _, d := range decls {
		m.learn(d)
		m.judge(d)
	}
	return m.faults
}

// learn finds the names of a declaration that hold moments.
func (m *moments) learn(d ast.Decl) {
	m.locals = map[string]bool{}
	wary := m.wary
	for pass := range 3 {
		m.wary = wary && pass > 1
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, name := range n.Lhs {
					m.hold(name, n.Rhs[min(i, len(n.Rhs)-1)])
				}
			case *ast.ValueSpec:
				for i := range n.Values {
					m.hold(n.Names[i], n.Values[i])
				}
			case *ast.RangeStmt:
				m.hold(n.Value, n.X)
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok {
					m.note(m.fields, key.Name, n.Value)
				}
			}
			return true
		})
	}
	m.wary = wary
}

func (m *moments) hold(name, value ast.Expr) {
	switch x := name.(type) {
	case *ast.Ident:
		m.note(m.locals, x.Name, value)
	case *ast.SelectorExpr:
		m.note(m.fields, x.Sel.Name, value)
	case *ast.IndexExpr:
		m.hold(x.X, value)
	}
}

func (m *moments) note(names map[string]bool, name string, value ast.Expr) {
	if c, ok := value.(*ast.CompositeLit); ok && len(c.Elts) == 0 || name == "_" {
		return
	}
	if _, known := names[name]; m.is(value) && !known {
		names[name] = true
	} else if !m.is(value) && m.wary {
		names[name] = false
	}
}

// is reports whether an expression is a moment of this machine, or a time some way from one.
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
	of, ok := s.X.(*ast.Ident)
	return ok && of.Name == "time"
}

// judge finds the moments of a declaration that go elsewhere.
func (m *moments) judge(d ast.Decl) {
	var above []ast.Node
	ast.Inspect(d, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		above = append(above, n)
		x, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		c, called := x.(*ast.CallExpr)
		within, _ := above[max(0, len(above)-2)].(*ast.CallExpr)
		switch {
		case called && isOfTime(c.Fun, "Since", "Until") && !m.is(c.Args[0]):
			m.faults[x.Pos()] = "compares a time with that of this machine: clock.Since and clock.Until go by the time of all servers"
		case isOfTime(x, "Now") && (within == nil || within.Fun != x), m.is(x) && !m.measures(above):
			m.faults[x.Pos()] = "takes the time of this machine for more than a measure: clock.Now is that of all servers"
		}
		return true
	})
}

// measures reports whether the last of some nodes, a moment, is only compared with others
// there, or kept in a name that holds nothing else.
func (m *moments) measures(above []ast.Node) bool {
	x := above[len(above)-1].(ast.Expr)
	switch p := above[len(above)-2].(type) {
	case *ast.AssignStmt:
		i := slices.Index(p.Rhs, x)
		return i < 0 || len(p.Lhs) == len(p.Rhs) && m.is(p.Lhs[i])
	case *ast.KeyValueExpr:
		key, ok := p.Key.(*ast.Ident)
		return p.Key == x || ok && m.fields[key.Name]
	case *ast.SelectorExpr:
		within, ok := above[len(above)-3].(*ast.CallExpr)
		return p.X != x || !ok || slices.Contains([]string{"Add", "IsZero"}, p.Sel.Name) || isComparison(p) && m.is(within.Args[0])
	case *ast.CallExpr:
		s, ok := p.Fun.(*ast.SelectorExpr)
		return p.Fun == x || isOfTime(p.Fun, "Since", "Until") || isDeadline(p.Fun) || ok && isComparison(s) && m.is(s.X)
	case *ast.ValueSpec, *ast.RangeStmt, *ast.IndexExpr, *ast.ParenExpr: // learn has taken it in
		return true
	}
	return false
}

func isComparison(s *ast.SelectorExpr) bool {
	return slices.Contains([]string{"After", "Before", "Compare", "Equal", "Sub"}, s.Sel.Name)
}

// isDeadline reports whether a function bounds how long a connection waits.
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
