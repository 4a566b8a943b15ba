package sdktest

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	resendv2 "github.com/resend/resend-go/v2"
	resendv3 "github.com/resend/resend-go/v3"
)

// The official clients, as testdata/methods.tsv names them.
const (
	nodeClient = "node"
	goV2Client = "go-v2"
	goV3Client = "go-v3"
	cliClient  = "cli"
	mcpClient  = "mcp"
	wire       = "wire" // operations that a server answered well, by any client
)

// States of a method in testdata/methods.tsv.
const (
	exercised = "exercised" // called by the suites, with a check of the result
	notServed = "absent"    // called by the suites, and refused with an explanation
	internal  = "internal"  // not meant to be called, or it asks no server
)

// method is a method of a client, a command or a tool.
type method struct{ client, name string }

// coverage notes what the suites really call.
type coverage struct {
	mu      sync.Mutex
	seen    map[method]bool
	partial bool // a test was left out
}

// calls is the coverage of a run; it is safe for concurrent use.
var calls = &coverage{seen: map[method]bool{}}

func (c *coverage) note(client string, names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		c.seen[method{client, name}] = true
	}
}

// readMethods returns the state of every method in the list.
func readMethods() (map[method]string, error) {
	rows, err := readTable("methods.tsv", 3)
	if err != nil {
		return nil, err
	}
	out := map[method]string{}
	for _, r := range rows {
		m := method{r[0], r[1]}
		if out[m] != "" || !slices.Contains([]string{exercised, notServed, internal}, r[2]) {
			return nil, fmt.Errorf("methods.tsv: %v: state %q, before %q", m, r[2], out[m])
		}
		out[m] = r[2]
	}
	return out, nil
}

// missing returns the lines of the list that no test made true, sorted.
func (c *coverage) missing(list map[method]string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for m, state := range list {
		if state != internal && !c.seen[m] {
			out = append(out, fmt.Sprintf("%s %s is listed as %s and was not called", m.client, m.name, state))
		}
	}
	slices.Sort(out)
	return out
}

// leaveOut notes that the machine lacks what some test needs.
func (c *coverage) leaveOut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.partial = true
}

// everythingRan reports whether all tests ran; only then the lists are compared with the calls.
func everythingRan() bool {
	if calls.partial || !*full || *perf || *only != "" {
		return false
	}
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return true
}

// coverageProblems is what TestMain asks at the end of a run.
func coverageProblems() []string {
	list, err := readMethods()
	if err != nil {
		return []string{err.Error()}
	}
	return append(calls.missing(list), calls.idle()...)
}

// notByTests are operations that can't succeed here: messages signed by SNS, and authenticators,
// which need a host name; tests of package web cover both.
var notByTests = []string{
	"POST /ingest/ses", "POST /auth/passkey", "POST /auth/passkey/options",
	"POST /users/me/passkeys", "POST /users/me/passkeys/options", "DELETE /users/me/passkeys/{id}",
}

// idle returns the operations that are listed as served and that no test had
// answered well.
func (c *coverage) idle() []string {
	operations, err := readOperations()
	if err != nil {
		return []string{err.Error()}
	}
	routes, err := readRoutes()
	if err != nil {
		return []string{err.Error()}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, l := range append(operations, routes...) {
		if l.answer == "served" && !slices.Contains(notByTests, l.String()) && !c.seen[method{wire, l.key()}] {
			out = append(out, fmt.Sprintf("%s is listed as served, and the suites never got it", l))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// goMethod returns the name in methods.tsv of a function of resend-go, like
// "github.com/resend/resend-go/v3.(*EmailsSvcImpl).Send".
func goMethod(function string) (m method, ok bool) {
	for prefix, client := range map[string]string{"github.com/resend/resend-go/v2.(*": goV2Client, "github.com/resend/resend-go/v3.(*": goV3Client} {
		rest, found := strings.CutPrefix(function, prefix)
		if !found {
			continue
		}
		part, name, _ := strings.Cut(rest, ").")
		return method{client, strings.TrimSuffix(part, "SvcImpl") + "." + name}, !strings.Contains(name, ".")
	}
	return method{}, false
}

// noteGoMethods records the methods of resend-go on the stack: the called one and those it uses.
func noteGoMethods(c *coverage) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if m, ok := goMethod(frame.Function); ok {
			c.note(m.client, m.name)
		}
		if !more {
			return
		}
	}
}

// goMethods lists the methods of all parts of a client of resend-go.
func goMethods(client any) (out []string) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return
		}
		for i := range v.NumMethod() {
			out = append(out, strings.TrimSuffix(v.Elem().Type().Name(), "SvcImpl")+"."+v.Type().Method(i).Name)
		}
		for i := range v.Elem().NumField() {
			if f := v.Elem().Type().Field(i); f.IsExported() && f.Name != "BaseURL" {
				walk(v.Elem().Field(i))
			}
		}
	}
	walk(reflect.ValueOf(client))
	slices.Sort(out)
	return slices.Compact(out) // one implementation may have two callers
}

// TestMethodListIsComplete asks the clients themselves what they
// have.
func TestMethodListIsComplete(t *testing.T) {
	part(t, "clients")
	t.Parallel()
	needMCP(t)
	list, err := readMethods()
	must(t, err)
	node, err := runJS(t, nil, filepath.Join("node", "methods.mjs"))
	must(t, err)
	tools := mcpRoute{command: []string{"node", resendMCP, "--key", "re_none"}, env: map[string]string{"HOME": t.TempDir()}}
	for client, names := range map[string][]string{
		goV2Client: goMethods(resendv2.NewClient("")),
		goV3Client: goMethods(resendv3.NewClient("")),
		nodeClient: strings.Fields(string(node)),
		cliClient:  commandTree(t),
		mcpClient:  tools.call(t, "v1").Tools,
	} {
		if len(names) < 60 {
			t.Errorf("%s: only %d methods found", client, len(names))
		}
		for _, name := range names {
			if list[method{client, name}] == "" {
				t.Errorf("%s\t%s is not in methods.tsv", client, name)
			}
		}
		for m := range list {
			if m.client == client && !slices.Contains(names, m.name) {
				t.Errorf("%s %s is in methods.tsv, and the client has no such thing", m.client, m.name)
			}
		}
	}
}

// cliCommand is a node of what `resend commands` prints.
type cliCommand struct {
	Name        string
	Subcommands []cliCommand
}

func (c cliCommand) leaves(path string) (out []string) {
	if len(c.Subcommands) == 0 {
		return []string{strings.TrimSpace(path)}
	}
	for _, sub := range c.Subcommands {
		out = append(out, sub.leaves(path+" "+sub.Name)...)
	}
	return out
}

// commandTree lists the commands of Resend's command line.
func commandTree(t *testing.T) []string {
	t.Helper()
	out, err := runJS(t, []string{"CI=true", "XDG_CONFIG_HOME=" + t.TempDir()}, resendCLI, "commands")
	must(t, err)
	var root cliCommand
	out.into(t, &root)
	return root.leaves("")
}

// noteCommand notes the command that args begin with.
func noteCommand(args []string) {
	for n := range min(len(args), 3) {
		calls.note(cliClient, strings.Join(args[:n+1], " "))
	}
}

// noteScript notes what a script says that it called.
func noteScript(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	calls.note(nodeClient, strings.Fields(string(raw))...)
}

// TestHarnessCoverage checks that missing calls are found.
func TestHarnessCoverage(t *testing.T) {
	part(t, "harness")
	list := map[method]string{{nodeClient, "emails.send"}: exercised, {nodeClient, "logs.list"}: notServed, {nodeClient, "logError"}: internal, {cliClient, "emails send"}: exercised}
	c := &coverage{seen: map[method]bool{}}
	c.note(nodeClient, "emails.send", "emails.get")
	if got := c.missing(list); !slices.Equal(got, []string{"cli emails send is listed as exercised and was not called", "node logs.list is listed as absent and was not called"}) {
		t.Errorf("%q", got)
	}
	idle := len(c.idle())
	c.note(wire, "POST /emails")
	if got := len(c.idle()); idle < 100 || got != idle-1 {
		t.Errorf("%d operations without a call, then %d", idle, got)
	}
	r := &recorder{calls: &coverage{seen: map[method]bool{}}}
	v3 := resendv3.NewCustomClient(&http.Client{Transport: r}, "re_stub")
	v3.BaseURL = parseURL(t, stubAPI(t))
	if _, err := v3.Broadcasts.ClickedLinks("x"); err == nil {
		t.Error("a stub answered")
	}
	if r.calls.seen[method{goV3Client, "Broadcasts.Recipients"}] || !r.calls.seen[method{goV3Client, "Broadcasts.ClickedLinks"}] {
		t.Errorf("noted %v", r.calls.seen)
	}
}
