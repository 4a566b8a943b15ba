// Command raced prints the packages whose tests belong under the race detector: those that
// start goroutines or use sync or sync/atomic in their own files, without tests. The packages
// with the most tests come first: go test begins them in this order, and at the end no
// processor waits for a long one.
//
//	go test -race $(go run .ci/raced.go)
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "raced:", err)
		os.Exit(1)
	}
}

func run() error {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	found := map[string]int64{} // by import path: bytes of tests
	for d := json.NewDecoder(out); ; {
		var p struct {
			ImportPath, Dir                    string
			GoFiles, TestGoFiles, XTestGoFiles []string
		}
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			for _, name := range slices.SortedFunc(maps.Keys(found), func(a, b string) int { return cmp.Or(cmp.Compare(found[b], found[a]), cmp.Compare(a, b)) }) {
				fmt.Println(name)
			}
			return cmd.Wait()
		case err != nil:
			return err
		}
		tests := append(p.TestGoFiles, p.XTestGoFiles...)
		concurrent, err := concurrent(p.Dir, p.GoFiles)
		if err != nil {
			return err
		}
		if len(tests) == 0 || !concurrent {
			continue
		}
		for _, name := range tests {
			info, err := os.Stat(filepath.Join(p.Dir, name))
			if err != nil {
				return err
			}
			found[p.ImportPath] += info.Size()
		}
	}
}

// concurrent reports whether one of the files starts a goroutine or imports sync or
// sync/atomic.
func concurrent(dir string, names []string) (found bool, err error) {
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found = true
			case *ast.ImportSpec:
				found = found || slices.Contains([]string{`"sync"`, `"sync/atomic"`}, n.Path.Value)
			}
			return !found
		})
	}
	return found, nil
}
