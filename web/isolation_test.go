package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
	"mailer/app/testing/testserver"
)

// twinTeam is one of two teams that have the same.
type twinTeam struct {
	name string // contained in everything of the team
	team app.Team
	full string
}

// isolation requests one team's resources with another team's keys.
type isolation struct {
	*testAPI
	doc          apiDocument
	ours, theirs twinTeam
	keys         map[string]string  // of the first team, by kind
	rows         map[string][]found // results of find since the last change; nil: not kept
}

// found is a row of a list, and the ids in the path that led to it.
type found struct {
	params map[string]string
	row    map[string]any
}

// find returns the rows of the first list at a path that has any: for /emails/{id}/attachments
// those of the first email with attachments.
func (m *isolation) find(of twinTeam, list string) (rows []found) {
	m.t.Helper()
	name := of.name + list
	if rows, ok := m.rows[name]; ok {
		return rows
	}
	rows = m.read(of, list)
	if m.rows != nil {
		m.rows[name] = rows
	}
	return rows
}

func (m *isolation) read(of twinTeam, list string) (rows []found) {
	parents := []found{{params: map[string]string{}}}
	if outer := listBefore(list); outer != "" {
		parents = m.find(of, outer)
	}
	name := ""
	if names := pathParameter.FindAllStringSubmatch(list, -1); names != nil {
		name = names[len(names)-1][1]
	}
	for _, parent := range parents {
		params := maps.Clone(parent.params)
		if name != "" {
			params[name] = parent.row["id"].(string)
		}
		w := m.as(of.full, "GET", fillPath(list, params), "")
		if w.Code != http.StatusOK {
			continue
		}
		answer := decoded[struct{ Data, Issues []map[string]any }](m.t, w) // Issues: of an archive
		for _, row := range slices.Concat(answer.Data, answer.Issues) {
			rows = append(rows, found{params, row})
		}
		if rows != nil {
			return rows
		}
	}
	return nil
}

func fillPath(path string, params map[string]string) string {
	return pathParameter.ReplaceAllStringFunc(path, func(name string) string { return url.PathEscape(params[name[1:len(name)-1]]) })
}

// trial is one request in three variants: with an own id, a foreign id, and an unknown id.
type trial struct {
	own              []request // one per own resource, until one succeeds
	foreign, missing request
}

type request struct {
	target, body, media string
	given               []string // ids in the request, which are removed from the answer
}

// trials makes the requests for one position: by the id and by every other name it accepts.
func (m *isolation) trials(op *apiOperation, s site) (out []trial) {
	m.t.Helper()
	own, foreign := m.find(m.ours, s.list), m.find(m.theirs, s.list)
	if len(own) == 0 || len(foreign) == 0 {
		m.t.Errorf("%s: %s: the twins have nothing at GET %s: give them some", op, s, s.list)
		return nil
	}
	names := []string{"id"}
	if s.plain {
		names = append(names, "email", "alias")
	}
	for _, name := range names {
		at := func(f found) bool { text, _ := f.row[name].(string); return text != "" }
		i, j := slices.IndexFunc(own, at), slices.IndexFunc(foreign, at)
		if i < 0 || j < 0 {
			continue
		}
		a, b := own[i], foreign[j]
		their := b.row[name].(string)
		c := found{maps.Clone(b.params), map[string]any{name: unknownNameFor(their)}}
		for k, v := range c.params {
			c.params[k] = unknownNameFor(v)
		}
		try := trial{
			foreign: m.request(op, s, a, b, their),
			missing: m.request(op, s, a, c, c.row[name].(string)),
		}
		for _, f := range own {
			if text, ok := f.row[name].(string); ok && text != "" {
				try.own = append(try.own, m.request(op, s, f, f, text))
			}
		}
		out = append(out, try)
	}
	return out
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// unknownNameFor is a name of the same form that nothing has.
func unknownNameFor(name string) string {
	if anyID.MatchString(name) {
		return anyID.ReplaceAllString(name, app.NewID())
	}
	if _, domain, ok := strings.Cut(name, "@"); ok {
		return "nobody@" + domain
	}
	return "nothing-" + name
}

// request fills an operation: own ids everywhere, and the value in one position.
func (m *isolation) request(op *apiOperation, s site, own, other found, value string) request {
	r := request{given: []string{value}}
	params, query := m.pathOf(op, s, own), url.Values{}
	if list, ok := requiredQueries[op.path]; ok {
		query.Set(list.name, m.find(m.ours, list.list)[0].row["id"].(string))
	}
	switch {
	case s.in == "path" && s.name != "":
		params[s.name] = value
	case s.in == "path": // each of the path
		for name := range params {
			if v, ok := other.params[name]; ok {
				params[name] = v
				r.given = append(r.given, v)
			}
		}
		params[lastParameter(op.path)] = value
	case s.in == "query", s.in == "cursor":
		query.Set(s.name, value)
	}
	r.target = fillPath(op.path, params)
	if len(query) > 0 {
		r.target += "?" + query.Encode()
	}
	r.body, r.media = m.body(op, s, value)
	return r
}

// requiredQueries are parameters of queries that routes require, and the lists of their ids.
var requiredQueries = map[string]struct{ name, list string }{
	"/automations/{id}/explain": {"contact_id", "/contacts"},
}

func lastParameter(path string) string {
	names := pathParameter.FindAllStringSubmatch(path, -1)
	return names[len(names)-1][1]
}

// pathOf returns own ids for the path of an operation, which belong together.
func (m *isolation) pathOf(op *apiOperation, s site, own found) map[string]string {
	if s.in == "cursor" {
		return maps.Clone(own.params)
	}
	if !strings.Contains(op.path, "{") {
		return map[string]string{}
	}
	last := lastParameter(op.path)
	rows := m.find(m.ours, op.path[:strings.Index(op.path, "/{"+last+"}")])
	if len(rows) == 0 {
		m.t.Fatalf("%s: the twins have nothing for {%s}: give them some", op, last)
	}
	params := maps.Clone(rows[0].params)
	params[last] = rows[0].row["id"].(string)
	return params
}

func (m *isolation) body(op *apiOperation, s site, value string) (body, media string) {
	media, schema := op.body()
	if schema == nil {
		return "", ""
	}
	steps := s.steps
	if s.in != "body" {
		value = ""
	}
	raw, ok := bases[op.String()+"#"+strings.Join(steps, ".")]
	if !ok {
		raw, ok = bases[op.String()]
	}
	if ok && raw == "" {
		return "", media
	}
	raw = anIDOf.ReplaceAllStringFunc(raw, func(mark string) string { return m.find(m.ours, mark[1:len(mark)-1])[0].row["id"].(string) })
	var base any
	if ok {
		if err := json.Unmarshal([]byte(raw), &base); err != nil {
			m.t.Fatal(err)
		}
	}
	built := m.doc.build(schema, base, steps, value)
	if strings.HasPrefix(media, "multipart/") {
		return m.form(built.(map[string]any))
	}
	text, err := json.Marshal(built)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text), media
}

// anIDOf stands for an own id of a list.
var anIDOf = regexp.MustCompile(`\{/[a-z-]+\}`)

// form encodes a body as a form; values that are no strings are JSON.
func (m *isolation) form(members map[string]any) (body, media string) {
	var fields []field
	for name, v := range members {
		text, ok := v.(string)
		if !ok {
			raw, err := json.Marshal(v)
			if err != nil {
				m.t.Fatal(err)
			}
			text = string(raw)
		}
		fields = append(fields, field{name, text})
	}
	body, header := form(m.t, fields...)
	return body, strings.TrimPrefix(header, "Content-Type: ")
}

// ask makes a request and returns what a caller sees, without the ids in the request and what
// differs each time.
func (m *isolation) ask(key, method string, r request) (seen string, w *httptest.ResponseRecorder) {
	m.t.Helper()
	w = m.as(key, method, r.target, r.body, "Content-Type: "+r.media)
	if method != http.MethodGet && w.Code < 300 {
		clear(m.rows)
	}
	head := w.Header().Clone()
	for _, name := range []string{"X-Request-Id", "Ratelimit-Remaining"} {
		head.Del(name)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(head)) {
		lines = append(lines, name+": "+strings.Join(head[name], ", "))
	}
	body := changing.ReplaceAllString(w.Body.String(), "")
	for _, id := range r.given {
		body = strings.ReplaceAll(body, id, "GIVEN")
	}
	return fmt.Sprintf("%d\n%s\n%s", w.Code, strings.Join(lines, "\n"), body), w
}

// TestForeignIDsAnswerLikeMissing walks the document: every route and method, every position that
// takes an id, every kind of key. Requests and the source of ids are derived from openapi.json, so
// that new routes are covered.
func TestForeignIDsAnswerLikeMissing(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	t.Run("strict", func(t *testing.T) { newIsolation(t, app.CompatStrict).checkEverySite() })
	t.Run("resend", func(t *testing.T) {
		m := newIsolation(t, app.CompatResend)
		m.keys = map[string]string{"owner": m.ours.full} // the mode changes what bodies may contain, not what keys may do
		m.checkEverySite()
	})
}

func (m *isolation) checkEverySite() {
	t := m.t
	m.rows = map[string][]found{}
	before := m.snapshot(m.theirs)
	count, owned := 0, 0
	for _, op := range m.doc.operations() {
		for _, s := range m.doc.sites(t, op) {
			for _, try := range m.trials(op, s) {
				count++
				m.compare(op, s, try)
			}
		}
	}
	after := m.snapshot(m.theirs)
	for target, answer := range before {
		if after[target] != answer {
			t.Errorf("GET %s of the other team was changed:\n%s\n%s", target, answer, after[target])
		}
	}
	// The same requests with ids of one's own are answered otherwise; else they
	// would be refused for something else, and prove nothing.
	for _, op := range m.doc.operations() {
		for _, s := range m.doc.sites(t, op) {
			for _, try := range m.trials(op, s) {
				owned++
				m.wantDifferent(op, s, try)
			}
		}
	}
	if count < 150 || owned != count {
		t.Errorf("asked for %d foreign ids and %d own ones", count, owned)
	}
}

func (m *isolation) compare(op *apiOperation, s site, try trial) {
	m.t.Helper()
	for kind, key := range m.keys {
		missing, w := m.ask(key, op.method, try.missing)
		foreign, answer := m.ask(key, op.method, try.foreign)
		if foreign != missing {
			m.t.Errorf("%s with the key %s: %s of another team\n%s %s\n%s\nof nobody\n%s", op, kind, s, try.foreign.target, try.foreign.body, foreign, missing)
		}
		given := append([]string{"", ""}, try.foreign.given...)
		if text := strings.NewReplacer(doubled(given[2:])...).Replace(answer.Body.String()); strings.Contains(text, m.theirs.name) {
			m.t.Errorf("%s with the key %s: %s shows %s", op, kind, s, text)
		}
		if kind == "owner" && s.in == "path" && w.Code != http.StatusNotFound {
			m.t.Errorf("%s: %s of nobody: %s", op, s, missing)
		}
	}
}

// doubled pairs each with nothing.
func doubled(list []string) (out []string) {
	for _, s := range list {
		out = append(out, s, "")
	}
	return out
}

func (m *isolation) wantDifferent(op *apiOperation, s site, try trial) {
	m.t.Helper()
	missing, _ := m.ask(m.ours.full, op.method, try.missing)
	var own string
	for _, r := range try.own {
		answer, w := m.ask(m.ours.full, op.method, r)
		if answer != missing && w.Code != http.StatusUnprocessableEntity {
			return
		}
		own = r.target + " " + r.body + "\n" + answer
	}
	m.t.Errorf("%s: %s of one's own is answered like that of nobody, or the body is not right: add to `bases` or `values`\n%s", op, s, own)
}

var changing = regexp.MustCompile(`"(download_url|expires_at|last_used_at|finishes_at|start_date|end_date)":("[^"]*"|null)`)

// snapshot is all that a team can read.
func (m *isolation) snapshot(of twinTeam) map[string]string {
	m.t.Helper()
	out := map[string]string{}
	for _, op := range m.doc.operations() {
		if op.method != "GET" || strings.HasPrefix(op.path, "/logs") { // each question adds to the log
			continue
		}
		for _, params := range m.allPaths(of, op.path) {
			target := fillPath(op.path, params)
			w := m.as(of.full, "GET", target, "")
			out[target] = changing.ReplaceAllString(fmt.Sprint(w.Code, " ", w.Body), "")
		}
	}
	return out
}

// allPaths returns the ids of all that a path can lead to.
func (m *isolation) allPaths(of twinTeam, path string) (out []map[string]string) {
	list := listBefore(path)
	if list == "" {
		return []map[string]string{{}}
	}
	last := lastParameter(path)
	for _, params := range m.allPaths(of, list) {
		w := m.as(of.full, "GET", fillPath(list, params), "")
		if w.Code != http.StatusOK {
			continue
		}
		for _, row := range decoded[struct{ Data []map[string]any }](m.t, w).Data {
			more := maps.Clone(params)
			more[last] = row["id"].(string)
			out = append(out, more)
		}
	}
	return out
}

// TestListsHoldOwnRowsOnly reads all that each kind of key can read.
func TestListsHoldOwnRowsOnly(t *testing.T) {
	testserver.BothEngines(t)
	apptest.Serial(t)
	t.Parallel()
	m := newIsolation(t, app.CompatStrict)
	foreign := map[string]bool{}
	for target, answer := range m.snapshot(m.theirs) {
		for _, id := range anyID.FindAllString(target+answer, -1) {
			foreign[id] = true
		}
	}
	if len(foreign) < 30 {
		t.Fatalf("the other team has only %d ids", len(foreign))
	}
	for kind, key := range m.keys {
		as := m.ours
		as.full = key
		seen := 0
		for target, answer := range m.snapshot(as) {
			seen += len(answer)
			if strings.Contains(answer, m.theirs.name) {
				t.Errorf("GET %s with the key %s: %s", target, kind, answer)
			}
			for _, id := range anyID.FindAllString(answer, -1) {
				if foreign[id] {
					t.Errorf("GET %s with the key %s shows %s of the other team", target, kind, id)
				}
			}
		}
		if kind == "owner" && seen < 5000 {
			t.Errorf("only %d bytes were read", seen)
		}
	}
}
