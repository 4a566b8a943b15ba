package dashboard

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"mailer/app/testing/apptest"
)

// TestModuleImports: what a module needs before it runs, and nothing that it may load.
func TestModuleImports(t *testing.T) {
	m := modules{}
	m.add("ui/x.js", `// import './comment.js';
import { a, b as c } from './a.js';
import * as d from "../d.js";
import def, {
	e,
} from '../lib/e.js';
import './effect.js';
export { f } from './f.js';
export * from './g.js';
import bare from 'bare';
export const text = "import './string.js'";
const late = () => import('./late.js');
export default function h() { return import('./later.js'); }
`)
	want := []string{"ui/a.js", "d.js", "lib/e.js", "ui/effect.js", "ui/f.js", "ui/g.js"}
	if !slices.Equal(m["ui/x.js"], want) {
		t.Errorf("%q, want %q", m["ui/x.js"], want)
	}
	m.add("ui/a.js", "import './x.js';\nimport '../d.js';\n") // a circle
	if got := m.needed(nil, "ui/a.js"); !slices.Equal(got, []string{"ui/a.js", "ui/x.js", "d.js", "lib/e.js", "ui/effect.js", "ui/f.js", "ui/g.js"}) {
		t.Errorf("%q are needed", got)
	}
}

// TestModuleGraph: each import of a module is a file, no import hides where it is not
// looked for, and no module in a folder asks for its own address, which in a bundle is another.
func TestModuleGraph(t *testing.T) {
	apptest.Serial(t)
	b := newBundler(t)
	graph := modules{}
	for name, source := range b.sources {
		graph.add(name, source)
	}
	for name, needs := range graph {
		source := b.sources[name]
		if strings.HasPrefix(name, "lib/") {
			continue
		}
		if n := strings.Count(source, " from '.") + strings.Count(source, "\nimport '."); n != len(needs) {
			t.Errorf("%s: %d imports are found of %d", name, len(needs), n)
		}
		for _, need := range needs {
			if b.sources[need] == "" && !slices.Contains(vendored, need) {
				t.Errorf("%s imports %s, which is not there", name, need)
			}
		}
		if strings.Contains(name, "/") && strings.Contains(source, "import.meta") {
			t.Errorf("%s asks for its own address: fileAt of paths.js has that of a file", name)
		}
	}
}

// TestModulesAreBundledOnce: a module that were in two would have its state twice.
func TestModulesAreBundledOnce(t *testing.T) {
	apptest.Serial(t)
	in := map[string][]string{}
	marker := regexp.MustCompile(`(?m)^// module:(\S+)$`)
	spaced, _ := bundled(t)
	for bundle, content := range spaced {
		for _, m := range marker.FindAllSubmatch(content, -1) {
			if bundle != frameEntry { // a separate document
				in[string(m[1])] = append(in[string(m[1])], bundle)
			}
		}
	}
	for name := range newBundler(t).sources {
		if n := len(slices.Compact(in[name])); n > 1 || n == 0 && name != frameEntry && !strings.HasPrefix(name, "visual-") {
			t.Errorf("%s is in %q", name, in[name])
		}
	}
}

// TestShellPreloads: the page names all modules of its route, and few others.
func TestShellPreloads(t *testing.T) {
	s := &site{}
	s.once.Do(s.prepare)
	if source := string(read(t, routesSource)); len(s.routes) != strings.Count(source, "', () => import('./") {
		t.Fatalf("%d routes are found", len(s.routes))
	}
	for at, want := range map[string]struct{ module, names, lacks string }{
		"":                      {"overview.js", "overview.js", "shared.js"},
		"/":                     {"overview.js", "overview.js", "composer.js"},
		"/emails/":              {"emails.js", "emails.js", "shared.js"},
		"/emails/some-id":       {"email.js", "email.js", "composer.js"},
		"/broadcasts/x/report":  {"report.js", "report.js shared.js", "lib/editor.js"},
		"/broadcasts/x":         {"composer.js", "composer.js shared.js", "ui/editor-setup.js"},
		"/sign-in":              {"sign-in.js", "sign-in.js", "shared.js"},
		"/operator/relays":      {"relays.js", "relays.js shared.js", "overview.js"},
		"/nowhere":              {"", "", "shared.js"},
		"/emails/some-id/other": {"", "", "email.js"},
	} {
		shell, module := s.page(at)
		named := func(name string) bool { return strings.Contains(shell, "/"+s.sum+"/"+name+`">`) }
		for name := range strings.FieldsSeq(want.names) {
			if !named(name) {
				t.Errorf("%s: %s is not named", at, name)
			}
		}
		if module != want.module || named(want.lacks) || strings.Contains(shell, "$") || strings.Contains(shell, "data-open") != (at == "/sign-in") {
			t.Errorf("%s: %q: %s", at, module, shell)
		}
		if n := strings.Count(shell, "modulepreload"); n > 3 {
			t.Errorf("%s needs %d bundles beside the entry", at, n)
		}
	}
	for _, r := range s.routes {
		if _, ok := s.modules[r.module]; !ok || !r.matches(strings.ReplaceAll(r.pattern, ":id", "x")) {
			t.Errorf("%+v leads nowhere", r)
		}
	}
}
