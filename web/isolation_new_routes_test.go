package web

import (
	"fmt"
	"slices"
	"testing"
)

// recordedErrors keeps what a helper would fail a test for.
type recordedErrors struct {
	testing.TB
	said []string
}

func (c *recordedErrors) Helper() {}

func (c *recordedErrors) Errorf(format string, args ...any) {
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

// madeUp is a document with fictitious routes: one that names ids in every way, and one whose ids
// have no list.
const madeUp = `{"paths": {
	"/drawers": {
		"get": {"security": [{"bearer": []}], "parameters": [{"name": "after", "in": "query", "schema": {"type": "string"}}]},
		"post": {"security": [{"bearer": []}], "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Drawer"}}}}}
	},
	"/drawers/{id}": {"get": {"security": [{"bearer": []}], "parameters": [{"name": "id", "in": "path", "schema": {"type": "string", "format": "uuid"}}]}},
	"/drawers/{id}/lids/{lid_id}": {"delete": {"security": [{"bearer": []}], "parameters": [
		{"name": "id", "in": "path", "schema": {"type": "string", "format": "uuid"}},
		{"name": "lid_id", "in": "path", "schema": {"type": "string", "format": "uuid"}}]}},
	"/public/{id}": {"get": {"security": []}}
}, "components": {"schemas": {"Drawer": {"type": "object", "properties": {
	"name": {"type": "string"},
	"drawer_id": {"type": "string", "format": "uuid"},
	"ids": {"type": "array", "items": {"type": "string", "format": "uuid"}},
	"drawers": {"type": "array", "items": {"oneOf": [
		{"type": "object", "properties": {"id": {"type": "string"}}},
		{"type": "string", "format": "uuid"}]}}
}}}}}`

// TestSitesOfNewRouteAreFound checks that the walk misses no id, and fails for ids that it can't
// test.
func TestSitesOfNewRouteAreFound(t *testing.T) {
	t.Parallel()
	doc := readDocument(t, []byte(madeUp))
	errs := &recordedErrors{TB: t}
	var got []string
	for _, op := range doc.operations() {
		for _, s := range doc.sites(errs, op) {
			got = append(got, fmt.Sprintf("%s: %s of %s", op, s, s.list))
		}
	}
	slices.Sort(got)
	want := []string{
		"DELETE /drawers/{id}/lids/{lid_id}: path  of /drawers/{id}/lids",
		"DELETE /drawers/{id}/lids/{lid_id}: path id of /drawers",
		"DELETE /drawers/{id}/lids/{lid_id}: path lid_id of /drawers/{id}/lids",
		"GET /drawers/{id}: path id of /drawers",
		"GET /drawers: cursor after of /drawers",
		"POST /drawers: body drawer_id of /drawers",
		"POST /drawers: body drawers.[].|0.id of /drawers",
		"POST /drawers: body drawers.[].|1 of /drawers",
		"POST /drawers: body ids of /drawers",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q\nwant  %q", got, want)
	}
	if len(errs.said) != 2 { // the lids of a drawer, which no list shows: the one and both
		t.Errorf("complained of %q", errs.said)
	}
}
