package sdktest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// listed is a line of testdata/operations.tsv or routes.tsv.
type listed struct {
	method, path string
	source       string
	answer       string // "served", or status and name of the refusal
}

func (l listed) String() string { return l.method + " " + l.path }

// key is the same for one operation however its parameters are called.
func (l listed) key() string { return l.method + " " + parameters.ReplaceAllString(l.path, "{}") }

var parameters = regexp.MustCompile(`\{[^}]*\}`)

// readTable returns the lines of a file of testdata with fields parted by tabs.
func readTable(name string, fields int) ([][]string, error) {
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		return nil, err
	}
	var out [][]string
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != fields {
			return nil, fmt.Errorf("%s: %q has not %d fields", name, line, fields)
		}
		out = append(out, columns)
	}
	return out, nil
}

// readOperations returns what Resend's API has.
func readOperations() ([]listed, error) {
	rows, err := readTable("operations.tsv", 4)
	var out []listed
	for _, r := range rows {
		out = append(out, listed{r[0], r[1], r[2], r[3]})
	}
	return out, err
}

// readRoutes returns what this service is to have.
func readRoutes() ([]listed, error) {
	rows, err := readTable("routes.tsv", 3)
	var out []listed
	for _, r := range rows {
		out = append(out, listed{r[0], r[1], r[2], "served"})
	}
	return out, err
}

// someID is an id that belongs to nothing.
const someID = "019e0000-0000-7000-8000-000000000000"

// TestEveryResendOperationIsAnswered holds the lists against the
// document of the running server, and asks for all that it does not serve.
func TestEveryResendOperationIsAnswered(t *testing.T) {
	part(t, "clients")
	t.Parallel()
	operations, err := readOperations()
	must(t, err)
	routes, err := readRoutes()
	must(t, err)
	in := start(t)
	key := in.newKey(t)
	raw, err := fetch(in.url + "/openapi.json")
	must(t, err)
	doc, err := loadDocument(raw)
	must(t, err)
	unlisted := map[string]bool{}
	for _, op := range doc.ops {
		unlisted[listed{method: op.method, path: op.path}.key()] = true
	}
	served := 0
	seen := map[string]bool{}
	for i, l := range append(operations, routes...) {
		if i < len(operations) && seen[l.key()] {
			t.Errorf("%s is listed twice", l)
		}
		seen[l.key()] = true
		_, there := doc.operation(l)
		if there != (l.answer == "served") {
			t.Errorf("%s: %s in the list; in openapi.json: %v", l, l.answer, there)
		}
		if l.answer != "served" {
			checkRefusal(t, client{in.url, key}, l)
			continue
		}
		served++
		delete(unlisted, l.key())
	}
	for key := range unlisted {
		t.Errorf("%s is served and in neither list of testdata", key)
	}
	if served < 150 {
		t.Errorf("the lists are cut short: %d lines are served", served)
	}
}

func (d *document) operation(l listed) (*documented, bool) {
	for i := range d.ops {
		if (listed{method: d.ops[i].method, path: d.ops[i].path}).key() == l.key() {
			return &d.ops[i], true
		}
	}
	return nil, false
}

// checkRefusal requests an unsupported route.
func checkRefusal(t *testing.T, api client, l listed) {
	t.Helper()
	var body any
	if l.method != http.MethodGet {
		body = map[string]any{}
	}
	status, answer := api.do(t, l.method, parameters.ReplaceAllString(l.path, someID), body)
	var e apiError
	if err := json.Unmarshal(answer, &e); err != nil {
		t.Errorf("%s: %d %s", l, status, answer)
		return
	}
	if got := fmt.Sprintf("%d %s", e.StatusCode, e.Name); status != e.StatusCode || got != l.answer {
		t.Errorf("%s: answered %d, %+v, want %s", l, status, e, l.answer)
	}
	if !absent(e) {
		t.Errorf("%s: %q does not say that the service has no such thing", l, e.Message)
	}
}

// absent reports whether an error says that the operation is not supported.
func absent(e apiError) bool {
	return strings.HasPrefix(e.Message, "This service has no ") && strings.Contains(e.Message, "Resend's API")
}
