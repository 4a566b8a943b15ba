package sdktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"
)

var importKills = flag.Int("import-kills", 0, "how often each import is killed; 0: 3")

var importPeople = flag.Int("import-people", 0, "how many people each killed import has; 0: 800")

var importRows = flag.Int("import-rows", 0, "how many rows the import beside sending clients has; 0: 20000")

// imported is what `mailer import --json` says.
type imported struct {
	Source   string `json:"source"`
	Applied  bool   `json:"applied"`
	Contacts struct {
		New      int `json:"new"`
		Existing int `json:"existing"`
		Refused  int `json:"refused"`
	} `json:"contacts"`
	OptedOut     int              `json:"opted_out"`
	TopicChoices int              `json:"topic_choices"`
	Suppressions map[string]int   `json:"suppressions"`
	Properties   []importedThing  `json:"properties"`
	Segments     []importedThing  `json:"segments"`
	Topics       []importedThing  `json:"topics"`
	Blocks       []importedThing  `json:"blocks"`
	Templates    []importedThing  `json:"templates"`
	Broadcasts   []importedThing  `json:"broadcasts"`
	Domains      []importedThing  `json:"domains"`
	Webhooks     []importedThing  `json:"webhooks"`
	Keys         []importedThing  `json:"keys"`
	Cannot       []map[string]any `json:"cannot"`
	Refused      []map[string]any `json:"refused"`

	text []byte // as it was printed
}

// importedThing is one of what there are few of.
type importedThing struct {
	Name string `json:"name"`
	New  bool   `json:"new"`
}

// things returns the lists of a report, by name.
func (i *imported) things() map[string][]importedThing {
	return map[string][]importedThing{"properties": i.Properties, "segments": i.Segments, "topics": i.Topics, "blocks": i.Blocks, "templates": i.Templates,
		"broadcasts": i.Broadcasts, "domains": i.Domains, "webhooks": i.Webhooks, "keys": i.Keys}
}

// importCommand is `mailer import` with its output.
func (in *instance) importCommand(args ...string) (cmd *exec.Cmd, out, errs *bytes.Buffer) {
	cmd = exec.Command(binary.path, slices.Concat([]string{"import"}, args, []string{"--json", "--db", in.db})...)
	cmd.Dir, cmd.Env = in.dir, cleanEnv(in.dir)
	cmd.SysProcAttr = endWithParent()
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, errs
	return cmd, out, errs
}

// importAll runs an import to its end, and returns its report.
func (in *instance) importAll(t *testing.T, args ...string) *imported {
	t.Helper()
	cmd, out, errs := in.importCommand(args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("mailer import %s: %v\n%s%s", strings.Join(args, " "), err, tail(out.Bytes(), 2000), tail(errs.Bytes(), 2000))
	}
	r := &imported{text: bytes.Clone(out.Bytes())}
	if err := json.Unmarshal(r.text, r); err != nil {
		t.Fatalf("mailer import %s: %v\n%s", strings.Join(args, " "), err, tail(r.text, 2000))
	}
	return r
}

// importKilled starts an import and kills it once it is time. Ended: it was over before.
func (in *instance) importKilled(t *testing.T, now func(since time.Duration) bool, args ...string) (ended bool) {
	t.Helper()
	cmd, out, errs := in.importCommand(args...)
	began := time.Now()
	must(t, cmd.Start())
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !now(time.Since(began)) {
		select {
		case err := <-over:
			if err != nil {
				t.Fatalf("mailer import %s, before it was killed: %v\n%s%s", strings.Join(args, " "), err, tail(out.Bytes(), 2000), tail(errs.Bytes(), 2000))
			}
			return true
		case <-tick.C:
		}
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("kill: %v", err)
	}
	<-over
	return cmd.ProcessState.Success()
}

// newTeam makes a team with a key.
func (in *instance) newTeam(t *testing.T, name string) client {
	t.Helper()
	in.run(t, "teams", "create", name)
	return client{in.url, in.newKey(t, "--team", name)}
}

// pages reads all of a list, as the API answers each item.
func (c client) pages(t *testing.T, path string) (all []json.RawMessage) {
	t.Helper()
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	for after := ""; ; {
		var page struct {
			More bool              `json:"has_more"`
			To   string            `json:"searched_to"`
			Data []json.RawMessage `json:"data"`
		}
		c.get(t, path+mark+"limit=100"+after, &page)
		all = append(all, page.Data...)
		if !page.More {
			return all
		}
		if page.To == "" {
			page.To = idOf(t, page.Data[len(page.Data)-1])
		}
		after = "&after=" + page.To
	}
}

func idOf(t *testing.T, item []byte) string {
	t.Helper()
	var v struct{ ID string }
	if err := json.Unmarshal(item, &v); err != nil || v.ID == "" {
		t.Fatalf("no id: %v\n%s", err, item)
	}
	return v.ID
}

// addresses returns the addresses in a list.
func (c client) addresses(t *testing.T, path string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, item := range c.pages(t, path) {
		var v struct{ Email string }
		if err := json.Unmarshal(item, &v); err != nil {
			t.Fatal(err)
		}
		out[v.Email] = true
	}
	return out
}

// topicID finds a topic by its name; empty: there is none.
func (c client) topicID(t *testing.T, name string) string {
	t.Helper()
	for _, item := range c.pages(t, "/topics") {
		var v struct{ ID, Name string }
		if err := json.Unmarshal(item, &v); err != nil {
			t.Fatal(err)
		}
		if v.Name == name {
			return v.ID
		}
	}
	return ""
}

// teamLists are the lists of a team. Items with more data than their list shows are read one by
// one.
var teamLists = []struct {
	path string
	each []string // requests for each item, %s being its id
}{
	{"/contact-properties", []string{"/contact-properties/%s"}},
	{"/segments", []string{"/segments/%s", "/segments/%s/contacts"}},
	{"/topics", []string{"/topics/%s"}},
	{"/contacts?include=properties,topics", nil},
	{"/contacts?state=subscribed", nil},
	{"/suppressions", nil},
	{"/templates", []string{"/templates/%s"}},
	{"/broadcasts", []string{"/broadcasts/%s"}},
	{"/domains", []string{"/domains/%s"}},
	{"/webhooks", []string{"/webhooks/%s"}},
}

// lists returns all lists of a team through the API, item by item; more are requests for each
// contact, for a team with few.
func (c client) lists(t *testing.T, more ...string) map[string][]json.RawMessage {
	t.Helper()
	out := map[string][]json.RawMessage{}
	for _, list := range teamLists {
		each := list.each
		if list.path == "/contacts?include=properties,topics" {
			each = more
		}
		items := c.pages(t, list.path)
		out[list.path] = items
		for _, item := range items {
			for _, path := range each {
				path = fmt.Sprintf(path, idOf(t, item))
				if strings.HasPrefix(path, "/contacts/") && strings.Count(path, "/") > 2 || strings.HasSuffix(path, "/contacts") {
					out[path] = c.pages(t, path)
					continue
				}
				status, b := c.do(t, http.MethodGet, path, nil)
				if status != http.StatusOK {
					t.Fatalf("GET %s: %d %s", path, status, b)
				}
				out[path] = []json.RawMessage{b}
			}
		}
	}
	return out
}

// sameLists fails the test for each line in which two teams differ.
func sameLists(t *testing.T, what string, got, want map[string][]json.RawMessage) {
	t.Helper()
	paths := map[string]bool{}
	for path := range got {
		paths[path] = true
	}
	for path := range want {
		paths[path] = true
	}
	for path := range paths {
		a, b := got[path], want[path]
		if len(a) != len(b) {
			t.Errorf("%s: GET %s has %d items, want %d\ngot  %s\nwant %s", what, path, len(a), len(b), firstOf(a), firstOf(b))
			continue
		}
		for i := range a {
			if !bytes.Equal(a[i], b[i]) {
				t.Errorf("%s: GET %s, item %d:\ngot  %s\nwant %s", what, path, i, a[i], b[i])
				break
			}
		}
	}
}

func firstOf(all []json.RawMessage) string {
	text := ""
	for _, item := range all[:min(3, len(all))] {
		text += string(item) + "\n"
	}
	return text
}

// differences returns lists without what each import creates anew: ids become names, and times are
// dropped. Items are sorted by text.
func differences(t *testing.T, lists map[string][]json.RawMessage) map[string][]json.RawMessage {
	t.Helper()
	names := map[string]string{}
	for path, items := range lists {
		for _, item := range items {
			var v struct{ ID, Name, Email, Key, Endpoint string }
			if err := json.Unmarshal(item, &v); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			names[v.ID] = "id of " + v.Name + v.Email + v.Key + v.Endpoint
		}
	}
	out := map[string][]json.RawMessage{}
	for path, items := range lists {
		var plain []json.RawMessage
		for _, item := range items {
			var v any
			if err := json.Unmarshal(item, &v); err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(without(v, names))
			must(t, err)
			plain = append(plain, b)
		}
		slices.SortFunc(plain, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
		for id, name := range names {
			if id != "" {
				path = strings.ReplaceAll(path, id, name)
			}
		}
		out[path] = append(out[path], plain...)
	}
	return out
}

func without(v any, names map[string]string) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if strings.HasSuffix(key, "_at") || key == "revision" || key == "current_version_id" {
				delete(v, key)
				continue
			}
			v[key] = without(value, names)
		}
	case []any:
		for i := range v {
			v[i] = without(v[i], names)
		}
		sort.Slice(v, func(i, j int) bool { return fmt.Sprint(v[i]) < fmt.Sprint(v[j]) })
	case string:
		if name, there := names[v]; there && v != "" {
			return name
		}
	}
	return v
}
