package dashboard

import (
	"slices"
	"strings"
	"testing"
)

// TestImportsOfAModule: what a module needs before it runs, and nothing that it may load.
func TestImportsOfAModule(t *testing.T) {
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

// TestModulesKnowEachOther: each import of a module is a file, and no import hides where it
// is not looked for.
func TestModulesKnowEachOther(t *testing.T) {
	s := &site{}
	s.made.Do(s.prepare)
	for name, needs := range s.modules {
		source := read(t, name)
		if n := strings.Count(string(source), " from '.") + strings.Count(string(source), "\nimport '."); n != len(needs) {
			t.Errorf("%s: %d imports are found of %d", name, len(needs), n)
		}
		for _, need := range needs {
			if s.packed[need] == nil {
				t.Errorf("%s imports %s, which is not there", name, need)
			}
		}
	}
}

// TestTheShellNamesWhatItsPageNeeds: and nothing of the others.
func TestTheShellNamesWhatItsPageNeeds(t *testing.T) {
	s := &site{}
	s.made.Do(s.prepare)
	if app := string(read(t, entry)); len(s.routes) != strings.Count(app, "', () => import('./") {
		t.Fatalf("%d routes are found", len(s.routes))
	}
	for at, want := range map[string]struct{ module, has, lacks string }{
		"":                      {"overview.js", "ui/chart.js", "composer.js"},
		"/":                     {"overview.js", "ui/chart.js", "composer.js"},
		"/emails/":              {"emails.js", "emails-query.js", "email-tabs.js"},
		"/emails/some-id":       {"email.js", "email-tabs.js", "composer.js"},
		"/broadcasts/x/report":  {"report.js", "report-people.js", "lib/editor.js"},
		"/broadcasts/x":         {"composer.js", "ui/code-editor.js", "ui/editor-setup.js"},
		"/sign-in":              {"sign-in.js", "gate.js", "ui/list.js"},
		"/operator/relays":      {"relays.js", "relays-add.js", "ui/list.js"},
		"/nowhere":              {"", "ui/base.js", "ui/list.js"},
		"/emails/some-id/other": {"", "api.js", "emails.js"},
	} {
		shell, module := s.page(at)
		named := func(name string) bool { return strings.Contains(shell, "/"+s.sum+"/"+name+`">`) }
		if module != want.module || !named(want.has) || named(want.lacks) || module != "" && !named(module) || strings.Contains(shell, "$") || strings.Contains(shell, "data-open") != (at == "/sign-in") {
			t.Errorf("%s: %q: %s", at, module, shell)
		}
		if n := strings.Count(shell, "modulepreload"); n > 35 {
			t.Errorf("%s needs %d modules at once", at, n)
		}
	}
	for _, r := range s.routes {
		if _, ok := s.modules[r.module]; !ok || !r.fits(strings.ReplaceAll(r.pattern, ":id", "x")) {
			t.Errorf("%+v leads nowhere", r)
		}
	}
}
