package resendtest_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app/moving/resend/resendtest"
)

// ask returns the status and body of an answer.
func ask(t *testing.T, s *resendtest.Server, key, path string) (*httptest.ResponseRecorder, map[string]any) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%s: %v in %s", path, err, w.Body)
	}
	return w, answer
}

// readShapes reads testdata/shapes.txt, an extract of Resend's API document 1.5.0: for each path
// the members of its answer and their types. An enumeration begins with =.
func readShapes(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/shapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if out[f[0]] == nil {
			out[f[0]] = map[string]string{}
		}
		out[f[0]][f[1]] = f[2]
	}
	return out
}

// omitted are members that the fake leaves out: deprecated, or absent for some accounts.
var omitted = []string{"audience_id", "filter", "priority", "attachments", "html", "text"}

// more are members of recorded answers that the document lacks.
var more = map[string]string{"/broadcasts/{id} object": "string", "/contacts has_more": "boolean", "/emails/receiving data.*.has_more": "boolean"}

// members lists the members of an answer; for lists those of all items.
func members(at string, v any, out map[string][]any) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	for name, value := range object {
		out[at+name] = append(out[at+name], value)
		members(at+name+".", value, out)
		if list, ok := value.([]any); ok {
			for _, item := range list {
				members(at+name+".*.", item, out)
			}
		}
	}
}

// matches reports whether a value has a type of the document. Recorded answers have null for
// absent values.
func matches(v any, kind string) bool {
	if values, ok := strings.CutPrefix(kind, "="); ok {
		return slices.Contains(strings.Split(values, ","), fmt.Sprint(v))
	}
	got := map[string]bool{}
	switch v.(type) {
	case nil:
		return true
	case string:
		got["string"] = true
	case float64:
		got["number"], got["integer"] = true, true
	case bool:
		got["boolean"] = true
	case []any:
		got["array"] = true
	case map[string]any:
		got["object"] = true
	}
	return slices.ContainsFunc(strings.Split(kind, "|"), func(k string) bool { return got[k] })
}

// TestAnswersMatchPublishedShapes compares each answer with the document.
func TestAnswersMatchPublishedShapes(t *testing.T) {
	a := resendtest.Sample(12)
	s := &resendtest.Server{Account: a}
	for path, shape := range readShapes(t) {
		top, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		ids := map[string]string{"contact-properties": a.Properties[0].ID, "segments": a.Segments[0].ID, "audiences": a.Audiences[0].ID, "topics": a.Topics[0].ID, "contacts": a.Contacts[0].ID,
			"templates": a.Templates[0].ID, "broadcasts": a.Broadcasts[0].ID, "domains": a.Domains[0].ID, "webhooks": a.Webhooks[0].ID, "suppressions": a.Suppressions[0].ID}
		real := path
		if begin, end := strings.IndexByte(path, '{'), strings.IndexByte(path, '}'); begin >= 0 {
			real = path[:begin] + ids[top] + path[end+1:]
		}
		w, answer := ask(t, s, resendtest.FullKey, real)
		if w.Code != 200 {
			t.Errorf("%s: %d %s", real, w.Code, w.Body)
			continue
		}
		got := map[string][]any{}
		members("", answer, got)
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if rest != "" && strings.HasPrefix(name, "properties.") || strings.Contains(name, ".schema.") { // of any name
				continue
			}
			kind, ok := shape[name]
			if !ok {
				kind, ok = more[path+" "+name]
			}
			for _, v := range got[name] {
				if !ok || !matches(v, kind) {
					t.Errorf("%s: %s is %v, not %s", path, name, v, kind)
				}
			}
		}
		for name := range shape {
			last := name[strings.LastIndexByte(name, '.')+1:]
			if got[name] == nil && !slices.Contains(omitted, last) && !strings.Contains(name, "attachments.") {
				t.Errorf("%s lacks %s", path, name)
			}
		}
	}
}

// TestPages: newest first; after and before exclude their item; both together or an invalid limit
// are refused.
func TestPages(t *testing.T) {
	s := &resendtest.Server{Account: resendtest.Sample(45)}
	ids := func(query string) (out []string, hasMore bool) {
		w, answer := ask(t, s, resendtest.FullKey, "/contacts?"+query)
		if w.Code != 200 {
			t.Fatal(query, w.Body)
		}
		for _, item := range answer["data"].([]any) {
			out = append(out, item.(map[string]any)["id"].(string))
		}
		return out, answer["has_more"].(bool)
	}
	whole, more := ids("limit=100")
	if len(whole) != 45 || more {
		t.Fatal(len(whole), more)
	}
	for query, want := range map[string]struct {
		from, to int
		more     bool
	}{
		"": {0, 20, true}, "limit=45": {0, 45, false}, "limit=44": {0, 44, true}, "limit=3&after=" + whole[9]: {10, 13, true}, "limit=3&after=" + whole[41]: {42, 45, false},
		"after=" + whole[44]: {45, 45, false}, "limit=3&before=" + whole[9]: {6, 9, false},
	} {
		if got, more := ids(query); !slices.Equal(got, whole[want.from:want.to]) || more != want.more {
			t.Errorf("%s: %q %v", query, got, more)
		}
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "after=1&before=2", "after=unknown"} {
		if w, answer := ask(t, s, resendtest.FullKey, "/contacts?"+query); w.Code != 422 || answer["name"] != "validation_error" || answer["statusCode"] != 422.0 {
			t.Errorf("%s: %s", query, w.Body)
		}
	}
}

// TestRefusals: each error has a status, a name and a message.
func TestRefusals(t *testing.T) {
	s := &resendtest.Server{Account: resendtest.Sample(1)}
	for _, test := range []struct {
		key, path string
		status    int
		name      string
	}{
		{"", "/domains", 401, "missing_api_key"}, {resendtest.SendingKey, "/domains", 401, "restricted_api_key"}, {"re_x", "/domains", 403, "validation_error"},
		{resendtest.FullKey, "/nothing", 404, "not_found"}, {resendtest.FullKey, "/contacts/nobody@example.net", 404, "not_found"}, {resendtest.FullKey, "/contacts/x/topics", 404, "not_found"},
	} {
		w, answer := ask(t, s, test.key, test.path)
		if w.Code != test.status || answer["name"] != test.name || answer["statusCode"] != float64(test.status) || answer["message"] == "" || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%+v: %d %s", test, w.Code, w.Body)
		}
	}
}

// TestRateLimit: requests beyond the rate get 429, and each answer contains the remaining number.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &resendtest.Server{Account: resendtest.Sample(1), Rate: 2}
		for i, want := range []int{200, 200, 429, 200} {
			if i == 3 {
				time.Sleep(time.Second)
			}
			w, answer := ask(t, s, resendtest.FullKey, "/domains")
			if w.Code != want || w.Header().Get("Ratelimit-Limit") != "2" || w.Header().Get("Ratelimit-Policy") != "2;w=1" || w.Header().Get("Ratelimit-Reset") != "1" {
				t.Errorf("request %d: %d %v", i, w.Code, w.Header())
			}
			if want == 429 && (w.Header().Get("Retry-After") != "1" || answer["name"] != "rate_limit_exceeded") {
				t.Errorf("%v %s", w.Header(), w.Body)
			}
		}
		if got := s.Requests(); len(got) != 4 || got[2].Status != 429 || got[0].Path != "/domains" {
			t.Errorf("%+v", got)
		}
	})
}
