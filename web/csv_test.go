package web

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// readCSV asks for a list as CSV and returns its records, the names first.
func (r *testAPI) readCSV(key, target string) [][]string {
	r.t.Helper()
	w := r.as(key, "GET", target, "", "Accept: text/csv")
	wantStatus(r.t, w, http.StatusOK)
	records, err := csv.NewReader(w.Body).ReadAll()
	if err != nil {
		r.t.Fatalf("%s: %v", target, err)
	}
	return records
}

// TestEveryListAsCSV: columns are the documented members of the rows, rows are those of the pages,
// and none belongs to another team.
func TestEveryListAsCSV(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	m := newIsolation(t, app.CompatStrict)
	var doc map[string]any
	if err := json.Unmarshal(document(), &doc); err != nil {
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
		if strings.HasPrefix(path, "/relays/") {
			continue // an operator's
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
		if got := len(records) - 1; got != rows {
			// The request log grows by the requests of this test.
			if grown := m.pagesOf(target); got < rows || got > grown {
				t.Errorf("GET %s: %d rows as CSV, %d and %d as JSON", path, got, rows, grown)
			}
		}
		if strings.Contains(fmt.Sprint(records), m.theirs.name) {
			t.Errorf("GET %s shows another team's: %q", path, records)
		}
	}
	if lists < 20 {
		t.Errorf("%d lists were found", lists)
	}
	m.wantExportsAudited(lists)
}

// wantExportsAudited checks what the audit log says of exports.
func (m *isolation) wantExportsAudited(lists int) {
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

// rowSchema returns the schema of a list's rows; nil if the operation is no list.
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

// anyPath returns a path of a list of the team that has rows, if any.
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

// TestCSVOfEmailsHasReason: the columns of the reason are filled without an include, and empty for
// mail without a reason.
func TestCSVOfEmailsHasReason(t *testing.T) {
	t.Parallel()
	r := newAudienceAPI(t)
	id := r.mailTo(r.full, "one", `["ann@example.org","bounced@simulator.mailer.test"]`)
	rows := r.readCSV(r.full, "/emails")
	at := func(name string) string { return rows[1][slices.Index(rows[0], name)] }
	if at("id") != id || at("state") != "bounced" || at("reason.type") != "bounced" || !strings.Contains(at("reason.detail.message"), "bounced") {
		t.Errorf("%q", rows)
	}
}
