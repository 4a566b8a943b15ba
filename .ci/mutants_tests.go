package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// hang is how long a batch of tests may take beyond ten times its usual duration. A mutant
// that makes the tests hang is caught.
const hang = time.Minute

// test is one test of one package, with the mutants that it reaches.
type test struct {
	pkg, name string
	took      time.Duration
	reaches   map[int]bool
}

// binary is the compiled test of a package.
type binary struct {
	dir, path string
}

// suite runs the tests of a tree in which all chosen mutants are compiled.
type suite struct {
	tree, work string
	workers    int
	budget     time.Duration
	binaries   map[string]binary // by directory of the package below the tree
	tests      []*test
}

// compile makes a test binary of each package that depends on a mutated one.
func (s *suite) compile(overlay, module string) error {
	all, err := list(s.tree, "-test", "./...")
	if err != nil {
		return err
	}
	s.binaries = map[string]binary{}
	for _, p := range all {
		name, ok := strings.CutSuffix(p.ImportPath, ".test")
		if !ok || !dependsOnMutated(p.Deps, module) {
			continue
		}
		dir := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(name, module), "/"), ".")
		path := filepath.Join(s.work, strings.ReplaceAll(dir, "/", "_")+".test")
		cmd := exec.Command("go", "test", "-overlay", overlay, "-vet=off", "-c", "-o", path, "./"+dir)
		cmd.Dir = s.tree
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("compile the tests of %s: %w\n%s", dir, err, out)
		}
		s.binaries[dir] = binary{filepath.Join(s.tree, dir), path}
	}
	return nil
}

func dependsOnMutated(deps []string, module string) bool {
	return slices.ContainsFunc(deps, func(dep string) bool {
		dep, _, _ = strings.Cut(dep, " ")
		return slices.Contains(mutated, strings.TrimPrefix(dep, module+"/"))
	})
}

// run starts one test binary and reports whether it ended well.
func (s *suite) run(b binary, limit time.Duration, env []string, args ...string) (bool, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.path, append(args, "-test.timeout", limit.String())...)
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return err == nil, out
}

// each calls fn for all items from as many goroutines as there are workers.
func each[T any](workers int, items []T, fn func(i int, item T)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				fn(i, items[i])
			}
		})
	}
	for i := range items {
		next <- i
	}
	close(next)
	wg.Wait()
}

// trace runs every test alone, without a mutant, and notes its duration and the mutants
// that it reaches. A test that fails twice is an error: it would catch everything.
func (s *suite) trace() error {
	for _, dir := range sortedKeys(s.binaries) {
		ok, out := s.run(s.binaries[dir], hang, nil, "-test.list", ".")
		if !ok {
			return fmt.Errorf("list the tests of %s: %s", dir, out)
		}
		for name := range strings.Lines(string(out)) {
			name = strings.TrimSpace(name)
			if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") {
				s.tests = append(s.tests, &test{pkg: dir, name: name, reaches: map[int]bool{}})
			}
		}
	}
	var mu sync.Mutex
	var failed error
	each(s.workers, s.tests, func(i int, t *test) {
		file := filepath.Join(s.work, "trace"+strconv.Itoa(i))
		began := time.Now()
		ok, out := false, []byte(nil)
		for range 2 {
			if ok, out = s.run(s.binaries[t.pkg], 10*time.Minute, []string{"MUTANT_TRACE=" + file}, "-test.run", "^"+t.name+"$"); ok {
				break
			}
		}
		t.took = time.Since(began)
		ids, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			err = nil // it reaches no mutant
		}
		mu.Lock()
		defer mu.Unlock()
		if !ok || err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s of %s fails without a mutant: %v\n%s", t.name, t.pkg, err, tail(out)))
			return
		}
		for _, id := range bytes.Fields(ids) {
			n, err := strconv.Atoi(string(id))
			if err != nil {
				failed = errors.Join(failed, err)
			}
			t.reaches[n] = true
		}
	})
	return failed
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

// verdict is the result of a mutant.
type verdict struct {
	status string // caught, survived or unreached
	by     string // package and name of the test that failed first
	ran    int    // tests that were run
	reach  int    // tests that reach the mutant
}

// judge runs the tests that reach a mutant until one fails: first those of the mutant's own
// package, all of them, then the others, quickest first, as far as the budget goes.
func (s *suite) judge(m *site) verdict {
	var own, others []*test
	for _, t := range s.tests {
		switch {
		case !t.reaches[m.id]:
		case t.pkg == m.pkg:
			own = append(own, t)
		default:
			others = append(others, t)
		}
	}
	v := verdict{status: "survived", reach: len(own) + len(others)}
	if v.reach == 0 {
		v.status = "unreached"
		return v
	}
	spent := time.Duration(0)
	for i, batch := range append(batches(own), batches(others)...) {
		if spent > s.budget && i >= len(batches(own)) {
			break
		}
		var names []string
		var usual time.Duration
		for _, t := range batch {
			names = append(names, t.name)
			usual += t.took
		}
		spent += usual
		v.ran += len(batch)
		pattern := "^(" + strings.Join(names, "|") + ")$"
		if ok, out := s.run(s.binaries[batch[0].pkg], hang+10*usual, []string{"MUTANT=" + strconv.Itoa(m.id)}, "-test.run", pattern, "-test.failfast"); !ok {
			v.status, v.by = "caught", batch[0].pkg+" "+firstFailure(out)
			return v
		}
	}
	return v
}

// firstFailure returns the name of the first test that failed, or how the tests ended without one.
func firstFailure(out []byte) string {
	_, name, found := bytes.Cut(out, []byte("--- FAIL: "))
	if !found {
		return "(crashed or stopped)"
	}
	name, _, _ = bytes.Cut(name, []byte(" "))
	return string(name)
}

// batches groups tests of one package that take up to two seconds together, quickest first.
func batches(tests []*test) (all [][]*test) {
	slices.SortStableFunc(tests, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	open, sums := map[string]int{}, map[string]time.Duration{}
	for _, t := range tests {
		i, ok := open[t.pkg]
		if !ok || sums[t.pkg]+t.took > 2*time.Second {
			all = append(all, nil)
			i = len(all) - 1
			open[t.pkg], sums[t.pkg] = i, 0
		}
		all[i] = append(all[i], t)
		sums[t.pkg] += t.took
	}
	return all
}
