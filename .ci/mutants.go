// Command mutants tests the tests. It chooses places in the program at random, by a seed:
// a condition that it negates, a number that it raises by one, a call that it leaves out.
// Each change is a mutant, and a test should notice it. All mutants are compiled together
// into the tests, each behind a switch in the environment (go build -overlay: the tree stays
// as it is). Every test is then run alone to see which mutants it reaches, and for each
// mutant the tests that reach it are run until one fails.
//
// It prints a line a mutant: status, key, what was there, the tests that caught it. A mutant
// survives if all tests of its own package that reach it pass, and those of other packages
// as far as -budget goes.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run() error {
	seed := flag.Uint64("seed", 1, "seed of the choice")
	n := flag.Int("n", 150, "how many mutants")
	tree := flag.String("tree", ".", "root of the tree")
	only := flag.String("only", "", "a file that -out wrote: try its mutants instead of new ones, or, with -status, some of them")
	status := flag.String("status", "", "with -only: survived, unreached or caught")
	out := flag.String("out", "", "file for the lines, besides standard output")
	budget := flag.Duration("budget", time.Minute, "how long tests of other packages may take for one mutant")
	packages := flag.String("packages", strings.Join(mutated, ","), "where mutants are made")
	workers := flag.Int("workers", 2, "how many tests run at the same time")
	flag.Parse()
	mutated = strings.Split(*packages, ",")
	root, err := filepath.Abs(*tree)
	if err != nil {
		return err
	}
	sources, sites, module, err := find(root)
	if err != nil {
		return err
	}
	chosen, absent, err := choose(sites, *seed, *n, *only, *status)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	chosen, overlay, err := prepare(sources, chosen, work)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d of %d sites chosen\n", len(chosen), len(sites))
	s := &suite{tree: root, work: work, workers: *workers, budget: *budget}
	began := time.Now()
	if err := s.compile(overlay, module); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "compiled after %.0f s\n", time.Since(began).Seconds())
	if err := s.trace(); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d tests traced after %.0f s\n", len(s.tests), time.Since(began).Seconds())
	return report(s, sources, chosen, absent, *out)
}

// find returns the sites of all mutated packages and the path of the module.
func find(root string) (map[string]*source, []*site, string, error) {
	c, err := newChecker(root)
	if err != nil {
		return nil, nil, "", err
	}
	packages, err := list(root, patterns()...)
	if err != nil {
		return nil, nil, "", err
	}
	sources, module := map[string]*source{}, ""
	var sites []*site
	for _, p := range packages {
		dir, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return nil, nil, "", err
		}
		module = strings.TrimSuffix(p.ImportPath, "/"+dir)
		s, err := c.load(p, dir)
		if err != nil {
			return nil, nil, "", err
		}
		sources[dir] = s
		sites = append(sites, c.compiling(s)...)
	}
	return sources, sites, module, nil
}

// compiling returns the sites of a package without those that would not compile.
func (c *checker) compiling(s *source) []*site {
	sites := s.sites()
	for i, site := range sites {
		site.id = i + 1
	}
	fset := token.NewFileSet()
	var files []*ast.File
	parse := func(name string, text []byte) {
		if f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution); err == nil {
			files = append(files, f)
		}
	}
	for _, name := range s.GoFiles {
		parse(name, rewrite(s.files[name], in(sites, name)))
	}
	parse("mutants.go", fmt.Appendf(nil, helpers, s.trees[s.GoFiles[0]].Name.Name, len(sites)+1))
	_, bad := c.check(s.ImportPath, fset, files)
	return slices.DeleteFunc(sites, func(m *site) bool {
		m.id = 0
		return bad[m.file+":"+strconv.Itoa(m.line)]
	})
}

func in(sites []*site, file string) (some []*site) {
	for _, s := range sites {
		if s.file == file {
			some = append(some, s)
		}
	}
	return some
}

// choose picks n sites by a seed, or those that a file names. It returns the keys that are
// named and are not there.
func choose(sites []*site, seed uint64, n int, only, status string) (chosen []*site, absent []string, err error) {
	if only == "" {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, i := range r.Perm(len(sites))[:min(n, len(sites))] {
			chosen = append(chosen, sites[i])
		}
		return chosen, nil, nil
	}
	byKey := map[string]*site{}
	for _, s := range sites {
		byKey[s.key] = s
	}
	text, err := os.ReadFile(only)
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) < 2 {
			return nil, nil, fmt.Errorf("%s: %q is not a line of -out", only, line)
		}
		switch s := byKey[fields[1]]; {
		case status != "" && fields[0] != status:
		case s == nil:
			absent = append(absent, fields[1])
		default:
			chosen = append(chosen, s)
		}
	}
	return chosen, absent, nil
}

// prepare numbers the chosen sites and writes the files of the overlay into work.
func prepare(sources map[string]*source, chosen []*site, work string) ([]*site, string, error) {
	if len(chosen) == 0 {
		return nil, "", errors.New("no mutant is chosen")
	}
	slices.SortFunc(chosen, func(a, b *site) int { return strings.Compare(a.key, b.key) })
	for i, s := range chosen {
		s.id = i + 1
	}
	replace := map[string]string{}
	write := func(target string, text []byte) error {
		path := filepath.Join(work, fmt.Sprintf("overlay%d.go", len(replace)))
		replace[target] = path
		return os.WriteFile(path, text, 0o666)
	}
	for _, s := range sources {
		for name, text := range s.files {
			of := slices.DeleteFunc(in(chosen, name), func(m *site) bool { return m.pkg != s.dir })
			if len(of) == 0 {
				continue
			}
			if err := write(filepath.Join(s.Dir, name), rewrite(text, of)); err != nil {
				return nil, "", err
			}
		}
		if err := write(filepath.Join(s.Dir, "mutants.go"), fmt.Appendf(nil, helpers, s.trees[s.GoFiles[0]].Name.Name, len(chosen)+1)); err != nil {
			return nil, "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, "", err
	}
	overlay := filepath.Join(work, "overlay.json")
	return chosen, overlay, os.WriteFile(overlay, text, 0o666)
}

// report judges all mutants and prints a line for each as soon as it is known.
func report(s *suite, sources map[string]*source, chosen []*site, absent []string, out string) error {
	counts := map[string]int{"absent": len(absent)}
	lines := make([]string, len(chosen))
	began := time.Now()
	each(s.workers, chosen, func(i int, m *site) {
		v := s.judge(m)
		text := string(sources[m.pkg].files[m.file][m.start:m.end])
		what, _, _ := strings.Cut(text, "\n")
		lines[i] = fmt.Sprintf("%s\t%s\tline %d: %s\t%d of %d tests\t%s\n", v.status, m.key, m.line, what, v.ran, v.reach, v.by)
		fmt.Print(lines[i])
	})
	for _, key := range absent {
		lines = append(lines, fmt.Sprintf("absent\t%s\t\t\t\n", key))
	}
	for _, line := range lines[:len(chosen)] {
		status, _, _ := strings.Cut(line, "\t")
		counts[status]++
	}
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		fmt.Printf("%s: %d\n", status, counts[status])
	}
	fmt.Fprintf(os.Stderr, "judged in %.0f s\n", time.Since(began).Seconds())
	if out == "" {
		return nil
	}
	return os.WriteFile(out, []byte(strings.Join(lines, "")), 0o666)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
