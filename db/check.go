package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mailer/app"
	"mailer/db/engine"
)

// Finding is the result of one check of a database file.
type Finding struct {
	Name  string
	OK    bool
	Found string
	Fix   string // empty: nothing to do
}

const (
	// maxFindings limits the findings of one check.
	maxFindings = 100
	// checkedAtOnce is the number of emails read in one snapshot.
	checkedAtOnce = 200

	fixFile  = "restore a backup; without one: stop the server, and sqlite3 FILE .recover | sqlite3 NEW keeps what can be read"
	fixEmail = "it leaves no more: send it anew and cancel this one (POST /emails/{id}/cancel), or restore a backup"
)

// checker is a running check of a database file.
type checker struct {
	file  *engine.File
	found []Finding
}

// Check looks for damage in the database file at path without changing it, with or without
// a running server: pages, indexes, foreign keys, and the checksums of emails and
// broadcasts. Errors: those of Open for a missing file or one that is not a database.
func Check(ctx context.Context, path string) ([]Finding, error) {
	file, err := engine.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c := &checker{file: file}
	for _, check := range []func(context.Context) error{c.pages, c.foreignKeys, c.emails, c.broadcasts} {
		if err := check(ctx); err != nil {
			return nil, fmt.Errorf("check %s: %w", path, err)
		}
	}
	return c.found, nil
}

// add adds the result of a check; without findings it is the text well.
func (c *checker) add(name, well, fix string, found []string) {
	f := Finding{Name: name, OK: len(found) == 0, Found: well}
	if !f.OK {
		f.Found, f.Fix = strings.Join(found, "; "), fix
	}
	c.found = append(c.found, f)
}

// read runs fn in one snapshot.
func (c *checker) read(ctx context.Context, fn func(*Reader) error) error {
	return c.file.Read(ctx, reading(fn))
}

// treeNumber matches a root page, by which SQLite names a table or index in
// integrity_check.
var treeNumber = regexp.MustCompile(`Tree (\d+)`)

// pages runs SQLite's integrity check over the whole file.
func (c *checker) pages(ctx context.Context) error {
	var found []string
	err := c.read(ctx, func(r *Reader) error {
		roots := rootPages(r)
		lines, err := list(r, scanText, fmt.Sprintf(`PRAGMA integrity_check(%d)`, maxFindings))
		for _, line := range lines {
			if line == "ok" {
				continue
			}
			if m := treeNumber.FindStringSubmatch(line); m != nil && roots[m[1]] != "" {
				line = roots[m[1]] + ": " + line
			}
			found = append(found, strings.ReplaceAll(line, "\n", ", "))
		}
		return err
	})
	if engine.IsStorage(err) {
		found, err = append(found, err.Error()), nil
	}
	c.add("pages and indexes", "sound", fixFile, found)
	return err
}

// rootPages returns the names of tables and indexes by root page, as far as they can be
// read.
func rootPages(r *Reader) map[string]string {
	roots := map[string]string{}
	_, _ = list(r, func(s scanner) (struct{}, error) {
		var name, table string
		var root int64
		err := s.Scan(&name, &table, &root)
		if name != table {
			name = "index " + name + " of " + table
		}
		roots[strconv.FormatInt(root, 10)] = name
		return struct{}{}, err
	}, `SELECT name, tbl_name, rootpage FROM sqlite_schema WHERE rootpage > 0`)
	return roots
}

func (c *checker) foreignKeys(ctx context.Context) error {
	var found []string
	err := c.read(ctx, func(r *Reader) (err error) {
		rows := map[string]int{}
		_, err = list(r, func(s scanner) (struct{}, error) {
			var table, parent string
			var row, key sql.NullInt64
			err := s.Scan(&table, &row, &parent, &key)
			rows[table+" without their "+parent]++
			return struct{}{}, err
		}, `PRAGMA foreign_key_check`)
		for what, n := range rows {
			found = append(found, fmt.Sprintf("%d rows of %s", n, what))
		}
		return err
	})
	if engine.IsStorage(err) {
		found, err = append(found, err.Error()), nil
	}
	c.add("foreign keys", "each row has its parent", fixFile, found)
	return err
}

// emailKey names an email.
type emailKey struct{ id, team string }

func scanEmailKey(s scanner) (k emailKey, err error) { return k, s.Scan(&k.id, &k.team) }

// emails reads each email the way a send does, oldest first. If the list itself is
// damaged, it reads newest first too, and then the emails in between that other tables
// refer to.
func (c *checker) emails(ctx context.Context) error {
	var n, bad int
	look := func(r *Reader, k emailKey) error {
		n++
		_, _, err := r.CompleteEmail(k.team, k.id)
		if err == nil || errors.Is(err, ErrNotFound) { // deleted in the meantime
			return nil
		}
		bad++
		return c.broken(r, "email", k, err)
	}
	up, complete, err := c.walk(ctx, "", `SELECT id, team_id FROM emails WHERE id > ? ORDER BY id LIMIT ?`, look)
	if err == nil && !complete {
		var down string
		if down, _, err = c.walk(ctx, lastID, `SELECT id, team_id FROM emails WHERE id < ? ORDER BY id DESC LIMIT ?`, look); err == nil {
			err = c.between(ctx, up, down, look)
		}
	}
	if err != nil {
		return err
	}
	var found []string
	if bad > 0 || !complete {
		found = []string{fmt.Sprintf("%d of %d can't be read, or are not what was written", bad, n)}
	}
	c.add("emails", fmt.Sprintf("all %d are readable and match their checksums", n), "see each of them", found)
	return nil
}

// walk checks the emails that a query lists after an id. It returns the last one that was
// read, and whether the list is complete.
func (c *checker) walk(ctx context.Context, from, query string, look func(*Reader, emailKey) error) (last string, complete bool, err error) {
	for limit := checkedAtOnce; ; {
		n := 0
		err := c.read(ctx, func(r *Reader) error {
			keys, err := list(r, scanEmailKey, query, from, limit)
			if err != nil {
				return err
			}
			for _, k := range keys {
				if err := look(r, k); err != nil {
					return err
				}
				from, n = k.id, n+1
			}
			return nil
		})
		switch {
		case engine.IsStorage(err) && limit > 1: // come as close to the damage as possible
			limit = 1
		case engine.IsStorage(err):
			return from, false, nil
		case err != nil || n < limit:
			return from, err == nil, err
		}
	}
}

// between checks the emails between two ids, whose rows are damaged.
func (c *checker) between(ctx context.Context, after, before string, look func(*Reader, emailKey) error) error {
	err := c.read(ctx, func(r *Reader) error {
		ids, err := list(r, scanText, `SELECT DISTINCT email_id FROM recipients WHERE email_id > ? AND email_id < ? ORDER BY email_id LIMIT ?`, after, before, 10_000)
		if err != nil {
			return err
		}
		for _, id := range ids {
			k := emailKey{id: id}
			_ = r.Row(`SELECT team_id FROM units WHERE email_id = ?`, []any{id}, &k.team) // units know waiting emails
			if err := look(r, k); err != nil {
				return err
			}
		}
		return nil
	})
	if engine.IsStorage(err) {
		return nil // the page check reports the damage
	}
	return err
}

func (c *checker) broadcasts(ctx context.Context) error {
	var n, bad int
	_, complete, err := c.walk(ctx, "", `SELECT id, team_id FROM broadcasts WHERE id > ? ORDER BY id LIMIT ?`, func(r *Reader, k emailKey) error {
		n++
		_, err := r.Broadcast(k.team, k.id)
		if err == nil {
			_, err = r.BroadcastFiles(k.team, k.id)
		}
		if err == nil || errors.Is(err, ErrNotFound) {
			return nil
		}
		bad++
		return c.broken(r, "broadcast", k, err)
	})
	if err != nil {
		return err
	}
	var found []string
	if bad > 0 || !complete {
		found = []string{fmt.Sprintf("%d of %d can't be read, or are not what was written", bad, n)}
	}
	c.add("broadcasts", fmt.Sprintf("all %d are readable and match their checksums", n), "see each of them", found)
	return nil
}

// broken formats a finding about a damaged email or broadcast and its team.
func (c *checker) broken(r *Reader, what string, k emailKey, err error) error {
	if len(c.found) >= maxFindings {
		return nil
	}
	fix := fixFile
	if what == "email" {
		fix = fixEmail
	}
	team := k.team
	if found, terr := one(r, func(s scanner) (t app.Team, err error) { return t, s.Scan(&t.Name) }, `SELECT name FROM teams WHERE id = ?`, k.team); terr == nil {
		team = fmt.Sprintf("%s (%s)", found.Name, k.team)
	}
	if team == "" {
		team = "not known"
	}
	table, why := "", err
	var d *engine.Damage
	if errors.As(err, &d) {
		table, why = d.Table, d.Cause
	}
	c.found = append(c.found, Finding{Name: what + " " + k.id, Found: fmt.Sprintf("team: %s; table: %s; %v", team, table, why), Fix: fix})
	return nil
}
