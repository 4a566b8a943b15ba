package db

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/db/dbtest"
	"mailer/db/engine"
)

// stored creates a store whose emails fill some pages of its file, closes it and returns
// its path.
func stored(t *testing.T, emails ...*app.Email) string {
	t.Helper()
	path := NewFile(t)
	d, err := Open(t.Context(), Options{Path: path, Schema: schemaText(t), Lazy: true, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Write(t.Context(), func(tx *Tx) error {
		for _, e := range emails {
			if err := tx.InsertTeam(app.Team{ID: e.TeamID, Name: e.TeamID, CreatedAt: tx.Now}); err != nil && !errors.Is(err, ErrConflict) {
				return err
			}
			if err := tx.InsertEmail(e, []string{"bob@example.net"}); err != nil {
				return err
			}
			if err := tx.InsertUnit(app.Unit{EmailID: e.ID, TeamID: e.TeamID, Relay: "r", Domain: "example.com", NextAt: tx.Now}); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// long returns an email of a team whose content fills some pages with one repeated letter.
func long(team string, fill byte) *app.Email {
	id := app.NewID()
	return &app.Email{ID: id, TeamID: team, Relay: "r", MessageID: app.EmailMessageID(id, "example.com"), CreatedAt: time.Now(), LastEvent: app.Queued,
		Mail: app.Mail{From: app.Address{Local: "ann", Domain: "example.com"}, To: []app.Address{{Local: "bob", Domain: "example.net"}}, Subject: "Hi",
			HTML: strings.Repeat(string(fill), 20_000), Attachments: []app.Attachment{{ID: app.NewID(), Filename: "a.bin", ContentType: "text/plain", Size: 20_000,
				Content: bytes.Repeat([]byte{fill, '#'}, 10_000)}}}}
}

// corruptions are ways to damage a page.
var corruptions = map[string]func(page []byte){
	"one bit":  func(page []byte) { page[2048] ^= 1 },
	"zeros":    func(page []byte) { clear(page) },
	"garbage":  func(page []byte) { copy(page, bytes.Repeat([]byte{0xa5, 0x5a, 0x13}, 2000)) },
	"its tail": func(page []byte) { copy(page[3000:], bytes.Repeat([]byte{0xff}, 2000)) },
}

// pageOf returns the file offset of a table's first leaf page with rows.
func pageOf(t *testing.T, path, table string) int64 {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var offset int64
	err = pool.QueryRowContext(t.Context(), `SELECT pgoffset FROM dbstat WHERE name = ? AND pagetype = 'leaf' AND ncell > 0 LIMIT 1`, table).Scan(&offset)
	if err != nil {
		t.Fatal(err)
	}
	return offset
}

// withLog opens a store and returns its log.
func withLog(t *testing.T, path string) (*DB, *dbtest.Log) {
	t.Helper()
	var log dbtest.Log
	d, err := Open(t.Context(), Options{Path: path, Schema: schemaText(t), Lazy: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, &log
}

func outgoing(t *testing.T, d *DB, e *app.Email) error {
	t.Helper()
	return d.Read(t.Context(), func(r *Reader) error {
		got, open, err := r.Outgoing(e.TeamID, e.ID)
		if err == nil && (got.HTML != e.HTML || !bytes.Equal(got.Attachments[0].Content, e.Attachments[0].Content) || len(open) != 1) {
			t.Errorf("%s reads other content than was written, without an error", e.ID)
		}
		return err
	})
}

func TestDamagedPageAffectsOneEmail(t *testing.T) {
	t.Parallel()
	for name, change := range corruptions {
		for _, table := range []string{"contents", "attachment_pieces"} {
			t.Run(name+" in "+table, func(t *testing.T) {
				first, other := long("a", 'x'), long("b", 'y')
				path := stored(t, first, other)
				what := bytes.Repeat([]byte{'x'}, 3000)
				if table == "attachment_pieces" {
					what = bytes.Repeat([]byte("x#"), 1500)
				}
				dbtest.Corrupt(t, path, what, change)
				d, log := withLog(t, path)
				for range 3 {
					err := outgoing(t, d, first)
					var damage *engine.Damage
					if !errors.As(err, &damage) || !errors.Is(err, ErrDamaged) || damage.ID != first.ID || damage.TeamID != "a" || damage.Table != table {
						t.Fatalf("the damaged one: %v", err)
					}
				}
				if err := outgoing(t, d, other); err != nil {
					t.Errorf("the other: %v", err)
				}
				if err := d.Err(); err != nil {
					t.Errorf("the store stopped: %v", err)
				}
				if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), first.ID) || !strings.Contains(log.String(), "team=a") {
					t.Errorf("%d errors are logged:\n%s", n, log.String())
				}
				err := d.Write(t.Context(), func(tx *Tx) error {
					if _, err := tx.Exec(`UPDATE units SET state = 'begun', attempts = 1 WHERE email_id = ?`, first.ID); err != nil {
						return err
					}
					return tx.HoldUnit(app.Unit{EmailID: first.ID, Attempts: 1}, app.HoldDamaged)
				})
				if err != nil {
					t.Errorf("hold it: %v", err)
				}
				if got := ask(t, path, fmt.Sprintf("SELECT state || held || attempts FROM units WHERE email_id = '%s'", first.ID)); got != "helddamaged0" {
					t.Errorf("its unit is %s", got)
				}
			})
		}
	}
}

// A leaf page of contents has rows of several emails.
func TestDamagedContentPageDoesNotStopServer(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"contents", "emails", "recipients", "attachment_pieces", "sqlite_autoindex_contents_1"} {
		for _, name := range []string{"zeros", "garbage"} {
			t.Run(name+" in "+table, func(t *testing.T) {
				first := long("a", 'x')
				path := stored(t, first)
				at := pageOf(t, path, table)
				file, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				corruptions[name](file[at:][:4096])
				if err := os.WriteFile(path, file, 0o600); err != nil {
					t.Fatal(err)
				}
				d, _ := withLog(t, path)
				if err := outgoing(t, d, first); !errors.Is(err, ErrDamaged) {
					t.Errorf("reading it: %v", err)
				}
				err = d.Write(t.Context(), func(tx *Tx) error { return tx.DeleteEmail("a", first.ID) })
				if !errors.Is(err, ErrDamaged) && table != "recipients" {
					t.Errorf("deleting it: %v", err)
				}
				if table != "recipients" && d.Err() != nil {
					t.Errorf("the store stopped: %v", d.Err())
				}
			})
		}
	}
}

func TestDamagedSystemPageStopsServer(t *testing.T) {
	t.Parallel()
	path := stored(t, long("a", 'x'))
	at := pageOf(t, path, "units")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(file[at:][:4096])
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := withLog(t, path)
	err = d.Read(t.Context(), func(r *Reader) error { _, err := r.DueUnits("r", false, "a", "example.com", 9, 10); return err })
	if !errors.Is(err, ErrFailed) {
		t.Errorf("reading the queue: %v", err)
	}
	<-d.Failed()
}

func TestContentTablesAreInSchema(t *testing.T) {
	t.Parallel()
	var tables []string
	for _, m := range regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`).FindAllStringSubmatch(schemaText(t), -1) {
		tables = append(tables, m[1])
	}
	for _, table := range engine.ContentTables {
		if !slices.Contains(tables, table) {
			t.Errorf("no table %s", table)
		}
	}
	for _, table := range []string{"settings", "teams", "keys", "domains", "dkim_keys", "units", "broadcasts", "webhooks"} {
		if slices.Contains(engine.ContentTables, table) {
			t.Errorf("%s belongs to the system", table)
		}
	}
}
