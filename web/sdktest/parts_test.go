package sdktest

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	shortForm = "short" // runs without any flag
	judged    = "perf"  // judges time, CPU or memory: runs under -perf only
)

// parts are the parts of this suite. Each test begins with a call of part that names its own.
var parts = map[string]string{
	shortForm:    "the short form, which runs without flags: one client of each language, Postfix, the browser, one kill, one power cut, one full disk",
	judged:       "tests that judge time, CPU or memory, one after the other: -perf runs them",
	"browser":    "every screen of the dashboard in Chromium, at two widths, light and dark, and what people do there",
	"clients":    "Resend's official clients, commands and MCP servers, other clients, recorded requests",
	"clocks":     "clocks that jump while the server runs (Linux on amd64)",
	"disk":       "full disks, and disks that fail to sync (root and loop devices)",
	"failover":   "relays that die and come back beside a reserve, killed meanwhile, routes",
	"generators": "clients made of openapi.json by generators, and linters of it",
	"harness":    "the tools of these tests: each finds what it is for",
	"image":      "the program in a container image that MAILER_IMAGE names",
	"imports":    "imports of other services' files, killed and repeated",
	"kills":      "kill -9 under load, at each call on the files, restarts, long queues",
	"languages":  "every screen of the dashboard in every language",
	"neighbours": "two teams on one relay, one of which has trouble",
	"operations": "accounts, teams, operators, metrics, the doctor, relays that come and go",
	"postgres":   "two servers on one PostgreSQL, killed, stopped, cut off, with clocks apart",
	"power":      "power cuts of ext4 and XFS, and of replicated devices (root and loop devices)",
	"relays":     "relays that fail, die or answer late, Postfix, bounces, tracked mail",
	"restore":    "backup, restore, rotation of the master key, damaged files",
	"submission": "SMTP submission by real programs, hostile clients, kills, trees of parts",
	"upgrades":   "a next version with one more migration: rolling upgrade, the version before on the migrated database, kills",
	"tls":        "certificates from files and by ACME, sockets of a service manager, low ports",
}

var (
	full      = flag.Bool("full", false, "run all parts but "+judged)
	perf      = flag.Bool("perf", false, "run the tests that judge time, CPU or memory, and no others, one at a time")
	only      = flag.String("part", "", "run the tests of these parts, separated by commas, in their long form")
	showParts = flag.Bool("parts", false, "print the parts, and what each is")
)

// long reports whether the tests run in their long form.
func long() bool { return *full || *perf || *only != "" }

// wanted says whether the flags ask for a part.
func wanted(name string) bool {
	switch {
	case *perf:
		return name == judged
	case *only != "":
		return slices.Contains(strings.Split(*only, ","), name)
	case *full:
		return name != judged
	default:
		return name == shortForm
	}
}

// part skips the test unless the flags ask for one of the parts that it is in.
func part(t *testing.T, names ...string) {
	t.Helper()
	switch {
	case slices.ContainsFunc(names, wanted):
	case *perf || *only != "":
		t.Skip("of another part: " + strings.Join(names, ", "))
	case slices.Contains(names, judged):
		t.Skip("judges the machine: -perf runs it")
	default:
		t.Skip("long form: -full runs it, or -part " + names[0])
	}
}

// tooSlow reports, if time is judged, whether something took longer than limit, and than ten times
// its time without load in the same run.
func tooSlow(took, alone, limit time.Duration) bool { return *perf && took > max(limit, 10*alone) }

// checkFlags returns an error for an unknown part.
func checkFlags() error {
	for _, name := range strings.Split(*only, ",") {
		if *only != "" && parts[name] == "" {
			return fmt.Errorf("-part %s: no such part; -parts lists them", name)
		}
	}
	return nil
}

func printParts() {
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		fmt.Printf("%-10s  %s\n", name, parts[name])
	}
}

// TestEveryTestNamesItsPart reads the source: a test without a part would run in each of them.
func TestEveryTestNamesItsPart(t *testing.T) {
	part(t, shortForm)
	files, err := filepath.Glob("*_test.go")
	must(t, err)
	tests := map[string]int{}
	for _, name := range files {
		source, err := os.ReadFile(name)
		must(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		must(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
				continue
			}
			named := partsOf(f)
			if len(named) == 0 {
				t.Errorf("%s: %s does not begin with its part", name, f.Name.Name)
			}
			for _, p := range named {
				if parts[p] == "" {
					t.Errorf("%s: %s is of the part %q, which does not exist", name, f.Name.Name, p)
				}
				tests[p]++
			}
		}
	}
	for p := range parts {
		if tests[p] == 0 {
			t.Errorf("the part %s has no test", p)
		}
	}
	t.Log("tests by part: ", tests)
}

// partsOf returns the parts that a test's first statement names.
func partsOf(f *ast.FuncDecl) (names []string) {
	if len(f.Body.List) == 0 {
		return nil
	}
	statement, ok := f.Body.List[0].(*ast.ExprStmt)
	if !ok {
		return nil
	}
	call, ok := statement.X.(*ast.CallExpr)
	if !ok {
		return nil
	}
	if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "part" {
		return nil
	}
	for _, arg := range call.Args[1:] {
		switch arg := arg.(type) {
		case *ast.BasicLit:
			text, _ := strconv.Unquote(arg.Value)
			names = append(names, text)
		case *ast.Ident:
			names = append(names, map[string]string{"shortForm": shortForm, "judged": judged}[arg.Name])
		}
	}
	return names
}
