package sdktest

import (
	"encoding/json"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestExportImportRoundTrip exports a team that has one of everything, and imports it into empty
// servers: as a directory and as the database itself.
func TestExportImportRoundTrip(t *testing.T) {
	part(t, "imports")
	t.Parallel()
	from, s := relayed(t)
	api, further := everything(t, from, s)
	want := settled(api.lists(t, ofEachContact...))
	keys := slices.Clone(api.pages(t, "/api-keys"))
	secrets := signingSecrets(t, api)
	dir := filepath.Join(from.dir, "export")
	from.run(t, "export", dir)
	from.stop(t)
	for name, args := range map[string][]string{"directory": {"mailer", dir, "--trust"}, "database": {"mailer", from.db, "--trust"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to, relay := relayed(t)
			plan := to.importAll(t, append(args, "--plan")...)
			done := to.importAll(t, append(args, "--apply")...)
			samePlan(t, plan, done)
			for _, lack := range done.Cannot {
				t.Logf("said: %v: %v", lack["what"], lack["why"])
			}
			now := client{to.url, api.key} // the key of there
			sameLists(t, name, settled(now.lists(t, ofEachContact...)), want)
			sameKeys(t, now.pages(t, "/api-keys"), keys)
			if got := signingSecrets(t, now); !maps.Equal(got, secrets) || len(got) != 2 {
				t.Errorf("signing secrets %v, want %v", got, secrets)
			}
			status, b := client{to.url, further}.do(t, http.MethodPost, "/emails", map[string]any{"from": "ann@example.test", "to": "x@people.example", "subject": "Still here", "text": "x"})
			if status != http.StatusOK {
				t.Errorf("the old sending key: %d %s", status, b)
			}
			relay.wait(t, 1, stopTimeout, subjectIs("Still here"))
			if status, b := (client{to.url, further}).do(t, http.MethodGet, "/contacts", nil); status == http.StatusOK {
				t.Errorf("the old sending key reads contacts: %s", b)
			}
			nothingNew(t, to.importAll(t, append(args, "--apply")...))
			again := settled(now.lists(t, ofEachContact...))
			sameLists(t, name+" again", again, want)
		})
	}
}

// version matches what no export contains: the id of a template's current version.
var version = regexp.MustCompile(`"current_version_id":"[-0-9a-f]+"`)

// settled are lists without versions.
func settled(lists map[string][]json.RawMessage) map[string][]json.RawMessage {
	for _, items := range lists {
		for i := range items {
			items[i] = version.ReplaceAll(items[i], []byte(`"current_version_id":""`))
		}
	}
	return lists
}

// sameKeys compares keys but for when they were used last.
func sameKeys(t *testing.T, got, want []json.RawMessage) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d keys, want %d", len(got), len(want))
	}
	for i := range got {
		var a, b map[string]any
		must(t, json.Unmarshal(got[i], &a))
		must(t, json.Unmarshal(want[i], &b))
		delete(a, "last_used_at")
		delete(b, "last_used_at")
		if !maps.EqualFunc(a, b, func(x, y any) bool { return jsonOf(t, x) == jsonOf(t, y) }) {
			t.Errorf("key %d: %s\nwant %s", i, got[i], want[i])
		}
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// signingSecrets returns the secrets of webhooks, by endpoint.
func signingSecrets(t *testing.T, api client) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, item := range api.pages(t, "/webhooks") {
		var w struct {
			Endpoint string
			Secret   string `json:"signing_secret"`
		}
		api.get(t, "/webhooks/"+idOf(t, item), &w)
		if !strings.HasPrefix(w.Secret, "whsec_") {
			t.Errorf("%s has no secret", w.Endpoint)
		}
		out[w.Endpoint] = w.Secret
	}
	return out
}
