package dashboard

import (
	"path"
	"regexp"
	"strings"
)

// importOf finds what a module needs before it runs. Each import is on a line of its own. A
// browser learns what modules import one round trip after another: the shell names all
// modules that its page needs, so that they are loaded together.
var importOf = regexp.MustCompile(`(?m)^(?:import|export)\s+(?:[\w*{},\s$]+\sfrom\s+)?['"](\.{1,2}/[^'"]+)['"]`)

// entry is the module that the shell runs.
const entry = "app.js"

// route is a page of the browser's.
type route struct {
	pattern string
	module  string
	open    bool // it needs nobody signed in
}

// routesFile lists the pages of app.js: pattern, module, and "open" for those that need nobody
// signed in.
const routesFile = "routes"

// routesOf reads routesFile. The first route that fits an address is shown.
func routesOf(lines string) (all []route) {
	for line := range strings.Lines(lines) {
		if f := strings.Fields(line); len(f) >= 2 {
			all = append(all, route{f[0], f[1], len(f) > 2})
		}
	}
	return all
}

// matches reports whether a path is one of the route's, as router.js says it.
func (r route) matches(p string) bool {
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
