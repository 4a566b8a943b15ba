package db

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"testing"

	"mailer/app"
)

// changesCounts matches statements that can change a count of contacts. Members of deleted
// segments and counters cannot.
var changesCounts = regexp.MustCompile(`^\s*(INSERT INTO|UPDATE|DELETE FROM) (contacts|members)\b|^\s*UPDATE segments SET .*filter`)

func TestStatementsThatChangeCountsCallChangedCounts(t *testing.T) {
	t.Parallel()
	tells := map[string]bool{"purgeRows": true}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "ChangedCounts" {
					tells[fn.Name.Name] = true
				}
				return true
			})
		}
	}
	for kind, c := range textColumns { // ScrubText uses this table
		if changesCounts.MatchString(c.write) != c.counted {
			t.Errorf("text column %d has counted: %t", kind, c.counted)
		}
	}
	tells["textColumns"] = tells["ScrubText"]
	all := allStatements(t)
	n := 0
	for _, s := range all {
		if !changesCounts.MatchString(s.text) || s.function == "raiseActivity" || s.function == "raiseSent" { // counts of live filters are cached for seconds only
			continue
		}
		n++
		if !tells[s.function] {
			t.Errorf("%s changes segment counts and does not call ChangedCounts", s.function)
		}
	}
	if n < 6 {
		t.Errorf("only %d such statements found", n)
	}
}

func TestGenerationsFollowCommits(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 2, func(teamID string, i int) app.Contact {
		return app.Contact{ID: app.NewID(), TeamID: teamID, Hash: hashOf(string(rune('a' + i))), Email: "a@example.org", CreatedAt: filterEpoch, UpdatedAt: filterEpoch}
	})
	s := a.segment(nil)
	last := a.db.Generation(a.team.ID, s.ID)
	refuse := errors.New("no")
	for _, tt := range []struct {
		name  string
		moves bool
		fn    func(tx *Tx) error
	}{
		{"update", true, func(tx *Tx) error { return tx.UpdateContact(&a.contacts[0]) }},
		{"add", true, func(tx *Tx) error { _, err := tx.AddMember(s.ID, a.contacts[0].ID); return err }},
		{"remove", true, func(tx *Tx) error { _, err := tx.RemoveMember(s.ID, a.contacts[0].ID); return err }},
		{"filter", true, func(tx *Tx) error { return tx.UpdateSegment(s) }},
		{"delete", true, func(tx *Tx) error { return tx.DeleteContact(&a.contacts[1]) }},
		{"rolled back", false, func(tx *Tx) error { return errors.Join(tx.UpdateContact(&a.contacts[0]), refuse) }},
		{"another segment", false, func(tx *Tx) error { _, err := tx.AddMember(app.NewID(), a.contacts[0].ID); return err }},
		{"nothing of theirs", false, func(tx *Tx) error { return tx.SetSetting("x", []byte("y")) }},
	} {
		if err := a.db.Write(t.Context(), tt.fn); err != nil && !errors.Is(err, refuse) {
			t.Fatalf("%s: %v", tt.name, err)
		}
		now := a.db.Generation(a.team.ID, s.ID)
		if (now != last) != tt.moves {
			t.Errorf("%s: generation %d after %d", tt.name, now, last)
		}
		last = now
	}
}
