package web

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/db"
)

// readCSV asks for a list as CSV and returns its records, the names first.
func (r *real) readCSV(key, target string) [][]string {
	r.t.Helper()
	w := r.as(key, "GET", target, "", "Accept: text/csv")
	wantStatus(r.t, w, http.StatusOK)
	records, err := csv.NewReader(w.Body).ReadAll()
	if err != nil {
		r.t.Fatalf("%s: %v", target, err)
	}
	return records
}

// TestEveryListAnswersWithCSV: its columns are the members that the document has for its
// rows, its rows are those of the pages, and none is another team's.
func TestEveryListAnswersWithCSV(t *testing.T) {
	m := newIsolation(t, app.CompatStrict)
	var doc map[string]any
	if err := json.Unmarshal(m.bench.document(), &doc); err != nil {
		t.Fatal(err)
	}
	lists := 0
	for _, path := range slices.Sorted(maps.Keys(doc["paths"].(map[string]any))) {
		get, ok := dig(doc, "paths", path, "get").(map[string]any)
		if !ok || dig(get, "responses", "200", "content", "application/json") == nil {
			continue
		}
		row := rowSchema(doc, get)
		said, _ := get["description"].(string)
		if offered := strings.Contains(said, "text/csv"); offered != (row != nil) {
			t.Errorf("GET %s: CSV is offered: %v; rows of a list: %v", path, offered, row != nil)
			continue
		}
		if row == nil {
			continue
		}
		target := m.anyPath(path)
		if m.as(m.ours.full, "GET", target, "").Code == http.StatusForbidden {
			continue // an operator's
		}
		lists++
		want := schemaColumns(doc, row, "")
		rows := m.pagesOf(target)
		records := m.readCSV(m.ours.full, target)
		if got := slices.Sorted(slices.Values(records[0])); !slices.Equal(got, want) {
			t.Errorf("GET %s:\n has  %q,\n want %q", path, got, want)
		}
		if len(records)-1 != rows {
			t.Errorf("GET %s: %d rows as CSV, %d as JSON", path, len(records)-1, rows)
		}
		if strings.Contains(fmt.Sprint(records), m.theirs.name) {
			t.Errorf("GET %s shows another team's: %q", path, records)
		}
	}
	if lists < 20 {
		t.Errorf("%d lists were found", lists)
	}
	m.wantExportsNoted(lists)
}

// wantExportsNoted checks what the audit log says of exports.
func (m *isolation) wantExportsNoted(lists int) {
	m.t.Helper()
	entries, err := m.server.Teams.AuditLog(m.t.Context(), m.ours.team.ID, time.Time{}, 1000)
	if err != nil {
		m.t.Fatal(err)
	}
	exports := 0
	for _, e := range entries {
		if e.Action == "export" {
			exports++
			if e.Target == "" || e.Actor.Type != app.ActorKey {
				m.t.Errorf("the audit log says %+v", e)
			}
		}
	}
	if exports != lists {
		m.t.Errorf("the audit log has %d exports of %d", exports, lists)
	}
}

// dig follows names through objects; nil: one is missing.
func dig(v any, names ...string) any {
	for _, name := range names {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// resolved follows a reference within the document, and what may be null.
func resolved(doc map[string]any, schema any) map[string]any {
	m, _ := schema.(map[string]any)
	if ref, ok := m["$ref"].(string); ok {
		return resolved(doc, dig(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...))
	}
	return m
}

// rowSchema is that of the rows of a list; nil: the operation answers no list.
func rowSchema(doc, op map[string]any) map[string]any {
	body := resolved(doc, dig(op, "responses", "200", "content", "application/json", "schema"))
	data := resolved(doc, dig(body, "properties", "data"))
	if data["type"] != "array" || dig(body, "properties", "object") == nil {
		return nil
	}
	return resolved(doc, data["items"])
}

// schemaColumns are the names that the members of a row have as columns, sorted.
func schemaColumns(doc, schema map[string]any, prefix string) (names []string) {
	for name, inner := range schema["properties"].(map[string]any) {
		member := resolved(doc, inner)
		if _, object := member["properties"]; object {
			names = append(names, schemaColumns(doc, member, prefix+name+".")...)
		} else {
			names = append(names, prefix+name)
		}
	}
	slices.Sort(names)
	return names
}

// anyPath is an address of a list of ours that has rows, if any has.
func (m *isolation) anyPath(list string) string {
	m.t.Helper()
	if rows := m.find(m.ours, list); len(rows) > 0 {
		return fillPath(list, rows[0].params)
	}
	if strings.Contains(list, "{") {
		m.t.Fatalf("GET %s: the twins have none: give them some", list)
	}
	return list
}

// pagesOf counts the rows of a list by its pages.
func (m *isolation) pagesOf(target string) (rows int) {
	m.t.Helper()
	for after := ""; ; {
		p := m.page(m.ours.full, target+"?limit=100"+after)
		rows += len(p.Data)
		if !p.HasMore {
			return rows
		}
		after = "&after=" + p.ids()[len(p.Data)-1]
	}
}

func TestHostileTextsStayTextsInCSV(t *testing.T) {
	r := newReal(t, captured())
	w := r.as(r.full, "POST", "/contacts", `{"email":"o'brien+x@example.com","first_name":"=HYPERLINK(\"https://example.com\")","last_name":"-1+1"}`)
	wantStatus(t, w, http.StatusCreated)
	r.send(r.full, `{"from":"a@example.com","subject":"@cmd, \"quoted\"","text":"x","to":["\"Doe, \\\"J\\\"\" <jane@example.org>","b@example.org"]}`)
	contact := r.readCSV(r.full, "/contacts")[1]
	if want := []string{"o'brien+x@example.com", `'=HYPERLINK("https://example.com")`, "'-1+1"}; !slices.Equal(contact[1:4], want) {
		t.Errorf("%q, want %q", contact[1:4], want)
	}
	emails := r.readCSV(r.full, "/emails")
	if to := emails[1][slices.Index(emails[0], "to")]; to != `"Doe, \"J\"" <jane@example.org>; b@example.org` {
		t.Errorf("the recipients are %q", to)
	}
	if subject := emails[1][slices.Index(emails[0], "subject")]; subject != `'@cmd, "quoted"` {
		t.Errorf("the subject is %q", subject)
	}
}

var manyRows = flag.Int("csv-rows", 8000, "how many contacts TestACSVOfManyRowsTakesConstantMemory exports; 1000000 proves it")

// counting counts what it is handed, and looks at the memory in use now and then.
type counting struct {
	header http.Header
	bytes  int
	lines  int
	looked int
	most   uint64 // bytes alive
}

func (c *counting) Header() http.Header { return c.header }

func (c *counting) WriteHeader(int) {}

func (c *counting) Write(b []byte) (int, error) {
	c.bytes += len(b)
	c.lines += strings.Count(string(b), "\r\n")
	if c.bytes-c.looked > 1<<18 {
		c.looked, c.most = c.bytes, max(c.most, alive())
	}
	return len(b), nil
}

// alive is how many bytes the program holds.
func alive() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestACSVOfManyRowsTakesConstantMemory(t *testing.T) {
	r := newReal(t, captured())
	r.manyContacts(*manyRows)
	request := httptest.NewRequest("GET", "/contacts", nil)
	request.Header.Set("Authorization", "Bearer "+r.full)
	request.Header.Set("Accept", "text/csv")
	before, start := alive(), time.Now()
	c := &counting{header: http.Header{}}
	r.handler.ServeHTTP(c, request)
	took := time.Since(start)
	if c.lines != *manyRows+1 {
		t.Errorf("%d lines, want %d", c.lines, *manyRows+1)
	}
	const most = 4 << 20
	if c.most > before+most {
		t.Errorf("%d KB alive in the midst of %d KB, %d before it", c.most>>10, c.bytes>>10, before>>10)
	}
	t.Logf("%d rows, %d MB in %v: %.0f a second; %d KB alive before, at most %d KB", *manyRows, c.bytes>>20, took, float64(*manyRows)/took.Seconds(), before>>10, c.most>>10)
}

// manyContacts puts so many contacts into the database.
func (r *real) manyContacts(n int) {
	r.t.Helper()
	for first := 0; first < n; first += 1000 {
		err := r.store.Write(context.Background(), func(tx *db.Tx) error {
			for i := first; i < min(first+1000, n); i++ {
				c := app.Contact{ID: app.NewID(), TeamID: r.team.ID, Email: fmt.Sprintf("somebody-%d@example.org", i), FirstName: "Some", LastName: "Body",
					Hash: app.AddressHash{byte(i >> 16), byte(i >> 8), byte(i)}, CreatedAt: time.Now(), UpdatedAt: time.Now()}
				if err := tx.InsertContact(&c); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
}
