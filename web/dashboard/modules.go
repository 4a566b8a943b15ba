package dashboard

import (
	"path"
	"regexp"
	"strings"
)

// importOf finds a module's static imports, each at the beginning of a line or a statement. Otherwise
// browsers would find them one round trip after another: the HTML page names all modules of its
// route, so that they load together.
var importOf = regexp.MustCompile(`(?m)(?:^|[;}])(?:import|export)\s*(?:[\w*{},\s$]+\s?from\s*)?['"](\.{1,2}/[^'"]+)['"]`)

// entry is the module that the HTML page runs.
const entry = "app.js"

// route is a route of the browser's router.
type route struct {
	pattern string
	module  string
	open    bool // needs no sign-in
}

// routesFile is the generated list of the routes: pattern, module, and "open" for those that need
// no sign-in.
const routesFile = "routes"

// routesOf parses routesFile. The first route that matches a path is shown.
func routesOf(lines string) (all []route) {
	for line := range strings.Lines(lines) {
		if f := strings.Fields(line); len(f) >= 2 {
			all = append(all, route{f[0], f[1], len(f) > 2})
		}
	}
	return all
}

// matches reports whether a path matches the route, as router.js does.
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

// modules maps modules to their imports.
type modules map[string][]string

// add adds a module and its imports.
func (m modules) add(name, source string) {
	m[name] = nil
	for _, found := range importOf.FindAllStringSubmatch(source, -1) {
		m[name] = append(m[name], path.Join(path.Dir(name), found[1]))
	}
}

// needed adds a module, and everything that it imports, to those already listed.
func (m modules) needed(loaded []string, name string) []string {
	for _, have := range loaded {
		if have == name {
			return loaded
		}
	}
	loaded = append(loaded, name)
	for _, next := range m[name] {
		loaded = m.needed(loaded, next)
	}
	return loaded
}
