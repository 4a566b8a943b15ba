package dashboard

import (
	"path"
	"regexp"
	"strings"
)

// What the modules say of each other, which a browser learns one round after another: the
// shell names all that its page needs, so that it comes in one.
var (
	// importOf finds what a module needs before it runs. Each stands on a line of its own.
	importOf = regexp.MustCompile(`(?m)^(?:import|export)\s+(?:[\w*{},\s$]+\sfrom\s+)?['"](\.{1,2}/[^'"]+)['"]`)
	// routeOf finds the pages in app.js: pattern and module.
	routeOf = regexp.MustCompile(`(?m)^\t\['(/[^']*)', \(\) => import\('\./([^']+)'\)\],$`)
)

// entry is the module that the shell runs.
const entry = "app.js"

// route is a page of the browser's.
type route struct {
	pattern string
	module  string
	open    bool // it needs nobody signed in
}

// routesOf are the pages that app.js has, in its order: the first that fits is shown.
func routesOf(app string) (all []route) {
	inside := strings.Index(app, "\nconst inside = [")
	for _, m := range routeOf.FindAllStringSubmatchIndex(app, -1) {
		all = append(all, route{app[m[2]:m[3]], app[m[4]:m[5]], m[0] < inside})
	}
	return all
}

// fits reports whether a path is one of the route's, as router.js says it.
func (r route) fits(p string) bool {
	want, have := strings.Split(r.pattern, "/"), strings.Split(p, "/")
	if len(want) != len(have) {
		return false
	}
	for i, part := range want {
		if part != have[i] && !strings.HasPrefix(part, ":") {
			return false
		}
	}
	return true
}

// modules are those of the dashboard, by what they need.
type modules map[string][]string

// add reads what a module needs.
func (m modules) add(name, source string) {
	m[name] = nil
	for _, found := range importOf.FindAllStringSubmatch(source, -1) {
		m[name] = append(m[name], path.Join(path.Dir(name), found[1]))
	}
}

// needed adds a module and all that it needs to those that are there.
func (m modules) needed(there []string, name string) []string {
	for _, have := range there {
		if have == name {
			return there
		}
	}
	there = append(there, name)
	for _, next := range m[name] {
		there = m.needed(there, next)
	}
	return there
}
