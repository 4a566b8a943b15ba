package db

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/erase"
)

func openFile(t testing.TB) *DB {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: NewFile(t), Schema: schemaText(t), Lazy: true, Create: true, Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func write(t testing.TB, d *DB, fn func(tx *Tx) error) {
	t.Helper()
	if err := d.Write(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func addTestTeam(t testing.TB, d *DB, name string) string {
	t.Helper()
	id := app.NewID()
	write(t, d, func(tx *Tx) error { return tx.InsertTeam(app.Team{ID: id, Name: name, CreatedAt: time.Now()}) })
	return id
}

func TestMaskPieceAcrossBoundaries(t *testing.T) {
	d := openFile(t)
	team := addTestTeam(t, d, "a")
	const id = "0198c0de-0000-7000-8000-000000000001"
	file := "email,name\neve@erase.example,Eve\nvic@erase.example,Vic\n" + strings.Repeat("x@y.example,X\n", 100) + "VIC@erase.example,V\n"
	pieces := []string{file[:40], file[40:100], file[100:]}
	write(t, d, func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO imports (id, team_id, status, options, stored, created, updated, skipped, failed, created_at) VALUES (?, ?, 'queued', '{}', 1, 0, 0, 0, 0, 1)`, id, team)
		for n, piece := range pieces {
			_, perr := tx.Exec(`INSERT INTO import_pieces (import_id, n, content) VALUES (?, ?, ?)`, id, n, []byte(piece))
			err = errors.Join(err, perr)
		}
		return err
	})
	e := erase.NewSet([]string{"vic@erase.example"})
	n, count := -1, 0
	for {
		var err error
		werr := d.Write(t.Context(), func(tx *Tx) error {
			var next int
			if next, err = tx.MaskPiece(id, n, e); err == nil {
				n, count = next, count+1
			}
			return nil
		})
		if werr != nil {
			t.Fatal(werr)
		}
		if errors.Is(err, ErrNotFound) {
			break
		}
		if err != nil || count > len(pieces) {
			t.Fatalf("piece %d: %v", n, err)
		}
	}
	var got []byte
	err := d.Read(t.Context(), func(r *Reader) error {
		ids, err := r.ImportsWithPieces(team, id)
		if len(ids) != 1 {
			t.Errorf("imports %v", ids)
		}
		parts, lerr := list(r, func(s scanner) (b []byte, err error) {
			err = s.Scan(&b)
			return b, err
		}, `SELECT content FROM import_pieces WHERE import_id = ? ORDER BY n`, id)
		got = bytes.Join(parts, nil)
		return errors.Join(err, lerr)
	})
	if err != nil {
		t.Fatal(err)
	}
	mask := strings.Repeat("x", len("vic@erase.example"))
	want := strings.NewReplacer("vic@erase.example", mask, "VIC@erase.example", mask).Replace(file)
	if string(got) != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

func TestTextColumnsAreReadAndWritten(t *testing.T) {
	seen := map[string]TextKind{}
	for kind := range TextKinds {
		c, err := kind.column()
		if err != nil || c.read == "" || c.write == "" {
			t.Errorf("column %d is read by %q and written by %q: %v", kind, c.read, c.write, err)
		}
		if other, twice := seen[c.read]; twice {
			t.Errorf("columns %d and %d are the same", other, kind)
		}
		seen[c.read] = kind
		if parameters := len(nulls(c.read)); parameters != 4 && !c.ofServer || parameters != 3 && c.ofServer {
			t.Errorf("column %d is read with %d parameters", kind, parameters)
		}
		if parameters := len(nulls(c.write)); parameters != 3 && !c.ofServer || parameters != 2 && c.ofServer {
			t.Errorf("column %d is written with %d parameters", kind, parameters)
		}
	}
	for _, kind := range []TextKind{-1, TextKinds} {
		if _, err := kind.column(); err == nil {
			t.Errorf("there is a column %d", kind)
		}
	}
}
