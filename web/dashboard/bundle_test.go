package dashboard

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"mailer/app/testing/apptest"
)

// A page of the dashboard has about thirty modules, and a distant browser needs a round trip for
// each six of them. So they are served in bundles, which this test makes from the sources:
//
//  - app.js: the entry and its imports, modules that five pages need, and modules that the first page and another one need
//  - shared.js: all other modules that two pages need
//  - a bundle for each page or dialog that is loaded on demand, with the modules that only it needs; it holds only re-exports if the page is in one of the bundles above
//  - visual-frame.js: the visual editor's document, which shares nothing with the page
//
// Comments, white space and imports that nothing uses are removed: stack traces keep the names of
// functions.

// vendored are bundles that are served as they are.
var vendored = []string{"lib/editor.js", "lib/mjml.js", "lib/visual.js"}

// frameEntry is the module that the visual editor's document runs.
const frameEntry = "visual-frame.js"

// bundler makes bundles of modules.
type bundler struct {
	t       *testing.T
	sources map[string]string   // of modules, by name
	exports map[string][]string // what each exports
	dynamic map[string]bool     // modules that are loaded when they are needed
	shared  map[string]string   // the bundle of each module that several need: entry or sharedBundle
}

// sharedBundle has the modules that two pages need and the entry does not.
const sharedBundle = "shared.js"

// firstPage is the page that a reader begins with.
const firstPage = "overview.js"

var dynamicImport = regexp.MustCompile(`\bimport\('(\.{1,2}/[^']+)'\)`)

func newBundler(t *testing.T) *bundler {
	t.Helper()
	b := &bundler{t: t, sources: map[string]string{}, exports: map[string][]string{}, dynamic: map[string]bool{}, shared: map[string]string{}}
	graph := modules{}
	for _, name := range sourceFiles(t) {
		if path.Ext(name) == ".js" && name != "early.js" {
			b.sources[name] = string(read(t, name))
		}
	}
	for _, name := range []string{"lib/core.js", "lib/clients.js"} {
		b.sources[name] = string(read(t, name))
	}
	for name, source := range b.sources {
		graph.add(name, source)
		for _, found := range dynamicImport.FindAllStringSubmatch(source, -1) {
			if wanted := path.Join(path.Dir(name), found[1]); !slices.Contains(vendored, wanted) {
				b.dynamic[wanted] = true
			}
		}
	}
	b.share(graph)
	for name := range b.shared {
		b.exports[name] = b.exported(name)
	}
	return b
}

// share finds the bundle of each module that several pages need.
func (b *bundler) share(graph modules) {
	users := map[string]int{}
	for name := range b.dynamic {
		for _, needed := range graph.needed(nil, name) {
			users[needed]++
		}
	}
	needed, first := graph.needed(nil, entry), graph.needed(nil, firstPage)
	for name, n := range users {
		if n > 1 && slices.Contains(first, name) {
			needed = append(needed, name)
		}
	}
	for name, n := range users {
		switch {
		case slices.Contains(vendored, name):
		case n >= 5 || slices.Contains(needed, name):
			b.shared[name] = entry
		case n > 1:
			b.shared[name] = sharedBundle
		}
	}
	for _, name := range graph.needed(nil, entry) {
		b.shared[name] = entry
	}
}

// build makes a bundle with what all bundles have in common.
func (b *bundler) build(options api.BuildOptions, plugin api.Plugin) (bundle []byte) {
	b.t.Helper()
	options.Bundle = true
	options.Format = api.FormatESModule
	options.Target = api.ES2022
	options.Charset = api.CharsetUTF8
	options.LegalComments = api.LegalCommentsNone
	options.MinifySyntax = true
	options.Outfile = "bundle"
	options.Plugins = []api.Plugin{plugin}
	result := api.Build(options)
	for _, m := range slices.Concat(result.Errors, result.Warnings) {
		b.t.Errorf("%+v: %s", m.Location, m.Text)
	}
	if len(result.OutputFiles) != 1 {
		b.t.Fatalf("%d files are made", len(result.OutputFiles))
	}
	return result.OutputFiles[0].Contents
}

var exportList = regexp.MustCompile(`export\s*\{([^{}]*)\};?\s*$`)

// exported are the names that a module exports.
func (b *bundler) exported(name string) (names []string) {
	b.t.Helper()
	out := b.build(api.BuildOptions{EntryPoints: []string{name}, TreeShaking: api.TreeShakingFalse}, api.Plugin{Name: "alone", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			if args.Kind == api.ResolveEntryPoint {
				return api.OnResolveResult{Path: name, Namespace: "module"}, nil
			}
			return api.OnResolveResult{Path: args.Path, External: true}, nil
		})
		b.load(build, "module", func(name string) string { return b.sources[name] })
	}})
	list := exportList.FindSubmatch(out)
	if list == nil {
		return nil
	}
	for item := range strings.SplitSeq(string(list[1]), ",") {
		fields := strings.Fields(item)
		names = append(names, fields[len(fields)-1])
	}
	return names
}

func (b *bundler) load(build api.PluginBuild, namespace string, source func(name string) string) {
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespace}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
		text := source(args.Path)
		return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
	})
}

var noLetter = regexp.MustCompile(`\W`)

// sharedName returns the name of a module's export in the shared bundle.
func sharedName(module, export string) string {
	return noLetter.ReplaceAllString(strings.TrimSuffix(module, ".js"), "_") + "$" + export
}

// reexports is a module that exports under other names what another has.
func (b *bundler) reexports(module, from string, name func(export string) string) string {
	var names []string
	for _, export := range b.exports[module] {
		names = append(names, name(export))
	}
	return "export { " + strings.Join(names, ", ") + " } from '" + from + "';\n"
}

// above is the folder of the bundles as a bundle says it.
func above(name string) string {
	if n := strings.Count(name, "/"); n > 0 {
		return strings.Repeat("../", n)
	}
	return "./"
}

// bundle makes the bundle of a module that is served under its name, with all modules that it
// needs and no other bundle has. It keeps white space, and names its modules in comments. alone: it
// shares nothing with others.
func (b *bundler) bundle(name string, alone bool) []byte {
	b.t.Helper()
	up := above(name)
	all := name == entry || name == sharedBundle
	return b.build(api.BuildOptions{EntryPoints: []string{name}}, api.Plugin{Name: "bundle", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			if args.Kind == api.ResolveEntryPoint {
				if all {
					return api.OnResolveResult{Path: name, Namespace: "all"}, nil
				}
				if b.shared[name] != "" {
					return api.OnResolveResult{Path: name, Namespace: "shared"}, nil
				}
				return api.OnResolveResult{Path: name, Namespace: "module"}, nil
			}
			wanted := path.Join(path.Dir(args.Importer), args.Path)
			at := b.shared[wanted]
			switch {
			case args.Namespace == "shared":
				return api.OnResolveResult{Path: up + b.shared[args.Importer], External: true}, nil
			case slices.Contains(vendored, wanted), args.Kind == api.ResolveJSDynamicImport:
				return api.OnResolveResult{Path: up + wanted, External: true}, nil
			case at != "" && at != name && !alone:
				return api.OnResolveResult{Path: wanted, Namespace: "shared"}, nil
			}
			return api.OnResolveResult{Path: wanted, Namespace: "module"}, nil
		})
		b.load(build, "module", func(name string) string { return b.sources[name] })
		b.load(build, "shared", func(wanted string) string {
			return b.reexports(wanted, wanted, func(export string) string { return sharedName(wanted, export) + " as " + export })
		})
		b.load(build, "all", b.members)
	}})
}

// squeezed is a bundle without white space, and without imports that nothing uses: it has all names
// of each module in another bundle. Only the loader of TypeScript drops such imports.
func (b *bundler) squeezed(bundle []byte) []byte {
	b.t.Helper()
	result := api.Transform(string(bundle), api.TransformOptions{Loader: api.LoaderTS, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, LegalComments: api.LegalCommentsNone})
	for _, m := range slices.Concat(result.Errors, result.Warnings) {
		b.t.Errorf("%+v: %s", m.Location, m.Text)
	}
	return result.Code
}

// members is a module that exports what the modules of a shared bundle do.
func (b *bundler) members(bundle string) string {
	var text strings.Builder
	if bundle == entry {
		text.WriteString("import './" + entry + "';\n")
	}
	for _, module := range slices.Sorted(maps.Keys(b.shared)) {
		if b.shared[module] == bundle {
			text.WriteString(b.reexports(module, "./"+module, func(export string) string { return export + " as " + sharedName(module, export) }))
		}
	}
	return text.String()
}

// sheetRules are the style sheets that are served: one for the dashboard, and two of its parts for
// other pages.
var sheetRules = map[string][]string{"sheet.css": {"tokens.css", "app.css", "more.css", "brand.css"}, "tokens.css": {"tokens.css"}, "app.css": {"app.css"}}

// sheet is style sheets in one, without comments.
func sheet(t *testing.T, parts []string) []byte {
	t.Helper()
	var text bytes.Buffer
	for _, name := range parts {
		text.Write(read(t, name))
	}
	result := api.Transform(text.String(), api.TransformOptions{Loader: api.LoaderCSS, Charset: api.CharsetUTF8, MinifyWhitespace: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone})
	for _, m := range slices.Concat(result.Errors, result.Warnings) {
		t.Errorf("%v: %+v: %s", parts, m.Location, m.Text)
	}
	return result.Code
}

// routesSource is the module that lists the routes.
const routesSource = "routes.js"

// routeOf finds the pages in routes.js: pattern and module.
var routeOf = regexp.MustCompile(`(?m)^\t\['(/[^']*)', \(\) => import\('\./([^']+)'\)\],$`)

// routeLines returns the lines of routesFile, in the order of routes.js.
func routeLines(source string) []byte {
	var out bytes.Buffer
	signedIn := strings.Index(source, "\nexport const routes = [")
	for _, m := range routeOf.FindAllStringSubmatchIndex(source, -1) {
		open := map[bool]string{true: "open"}[m[0] < signedIn]
		out.WriteString(strings.TrimSpace(source[m[2]:m[3]]+" "+source[m[4]:m[5]]+" "+open) + "\n")
	}
	return out.Bytes()
}

// made holds the bundles, which all tests share.
var made struct {
	once             sync.Once
	spaced, squeezed map[string][]byte
}

// bundled returns the bundles with white space, by name, and the files of the folder of bundles.
func bundled(t *testing.T) (spaced, squeezed map[string][]byte) {
	t.Helper()
	made.once.Do(func() {
		b := newBundler(t)
		b.sources["early.js"] = string(read(t, "early.js"))
		made.spaced = map[string][]byte{frameEntry: b.bundle(frameEntry, true)}
		for _, name := range []string{entry, sharedBundle, "early.js"} {
			made.spaced[name] = b.bundle(name, name == "early.js")
		}
		for name := range b.dynamic {
			made.spaced[name] = b.bundle(name, false)
		}
		made.squeezed = map[string][]byte{routesFile: routeLines(b.sources[routesSource])}
		for name, bundle := range made.spaced {
			made.squeezed[name] = b.squeezed(bundle)
		}
		for name, parts := range sheetRules {
			made.squeezed[name] = sheet(t, parts)
		}
	})
	return made.spaced, made.squeezed
}

// TestBundlesAreCurrent: the embedded bundles are those of the sources.
func TestBundlesAreCurrent(t *testing.T) {
	apptest.Serial(t)
	_, current := bundled(t)
	want := maps.Clone(current)
	if *update {
		if err := os.RemoveAll(bundles); err != nil {
			t.Fatal(err)
		}
		for name, content := range want {
			if err := os.MkdirAll(path.Dir(bundles+name), 0o755); err != nil {
				t.Fatal(err)
			}
			keep(t, bundles+name, content)
		}
	}
	if err := filepath.WalkDir(bundles, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		bundle := strings.TrimPrefix(name, bundles)
		if !bytes.Equal(want[bundle], read(t, name)) {
			t.Errorf("%s is not what its sources make: go test ./web/dashboard -update", name)
		}
		delete(want, bundle)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for name := range want {
		t.Errorf("there is no %s: go test ./web/dashboard -update", bundles+name)
	}
}
