package main

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/feedback"
	"mailer/app/rules/pacing"
	"mailer/app/rules/plan"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/webhook"
	"mailer/app/sending/broadcasts"
	"mailer/app/testing/dnstest"
	"mailer/web"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mailer": main})
}

// layers are the directories of packages from top to bottom: a package imports packages of its own
// directory and of lower layers.
var layers = [][]string{
	{""}, // main
	{"web/listen"},
	{"web"},
	{"web/account", "web/audience", "web/automations", "web/mailroutes", "web/receiving", "web/reports", "web/broadcasts", "web/dashboard", "web/emails", "web/manual", "web/mcp", "web/operator", "web/pages", "web/smtp/receiver", "web/smtp/submission"},
	{"web/shapes"},
	{"web/rest", "web/smtp/conn", "web/smtp/spool", "app/cli"},
	{"app/server"},
	{"app/operate", "app/moving"},
	{"app/sending"},
	{"app/tenants"},
	{"app/base"},
	{"db", "smtpout", "app/net"},
	{"db/engine"},
	{"app/rules", "db/migrations"},
	{"app"},
	{"app/kit"},
}

// importers are the only directories that may import a package, whatever their layer: the store is
// for services, and main connects what talks to other machines.
var importers = map[string][]string{
	"db":         {"", "app/server", "app/operate", "app/moving", "app/sending", "app/tenants", "app/base"},
	"smtpout":    {""},
	"app/net":    {"", "app/moving"},
	"app/cli":    {""},
	"web/listen": {""},
	"web/rest":   {"", "web"},
	"web/smtp":   {"", "web"},
}

// forTests are the directories of packages that only tests import, which may import anything.
var forTests = []string{"app/testing", "app/moving/resend/resendtest", "db/dbtest", "db/pgtest"}

// pkg is a package in the output of `go list -json`, with the imports of the program, not of its
// tests.
type pkg struct {
	ImportPath string
	Imports    []string
}

// within reports whether a package is in a directory or below.
func within(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// directoryOf returns the longest directory of layers that contains a package, and its layer; -1 if
// there is none. app and web stand for the package itself.
func directoryOf(name string) (dir string, layer int) {
	layer = -1
	for i, dirs := range layers {
		for _, d := range dirs {
			if name == d || d != "" && d != "app" && d != "web" && strings.HasPrefix(name, d+"/") && len(d) > len(dir) {
				dir, layer = d, i
			}
		}
	}
	return dir, layer
}

func forbiddenImports(packages []pkg) []string {
	var bad []string
	for _, p := range packages {
		from := shortName(p.ImportPath)
		if isForTests(from) {
			continue
		}
		if _, layer := directoryOf(from); layer < 0 {
			bad = append(bad, p.ImportPath+" stands in no layer")
		}
		for _, imported := range p.Imports {
			if imported != "mailer" && !strings.HasPrefix(imported, "mailer/") {
				continue
			}
			if to := shortName(imported); isForTests(to) || !mayImport(from, to) {
				bad = append(bad, p.ImportPath+" -> "+imported)
			}
		}
	}
	return bad
}

func isForTests(name string) bool {
	return slices.ContainsFunc(forTests, func(dir string) bool { return within(name, dir) })
}

func mayImport(from, to string) bool {
	dir, layer := directoryOf(from)
	target, below := directoryOf(to)
	for kept, allowed := range importers {
		if within(to, kept) && !within(from, kept) && !slices.ContainsFunc(allowed, func(d string) bool { return d == from || d != "" && within(from, d) }) {
			return false
		}
	}
	return below > layer || below == layer && dir == target && layer >= 0
}

func shortName(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, "mailer"), "/")
}

// allPackages returns the packages of the program.
var allPackages = sync.OnceValues(func() (packages []pkg, err error) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
})

func TestImportsGoDown(t *testing.T) {
	packages, err := allPackages()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, p := range packages {
		dir, _ := directoryOf(shortName(p.ImportPath))
		used[dir] = true
	}
	for _, bad := range forbiddenImports(packages) {
		t.Error(bad)
	}
	for _, dir := range slices.Concat(layers...) {
		if !used[dir] {
			t.Errorf("no package stands in %s", dir)
		}
	}
}

func TestForbiddenImportsAreFound(t *testing.T) {
	for from, to := range map[string]string{
		"mailer/app": "mailer/db", "mailer/db": "mailer/smtpout", "mailer/web": "mailer/db", "mailer/smtpout": "mailer/web",
		"mailer/app/sending/delivery": "mailer/smtpout", "mailer/app/cli": "mailer/db", "mailer/contacts": "mailer/app",
		"mailer/app/tenants/webhooks": "mailer/app/sending/mail", "mailer/app/operate/health": "mailer/app/moving/transfer",
		"mailer/app/rules/feedback": "mailer/db", "mailer/app/kit/schedule": "mailer/app", "mailer/app/base": "mailer/app/net/resolver",
		"mailer/web/rest": "mailer/web/pages", "mailer/app/operate/jobs": "mailer/app/testing/testserver", "mailer/app/server": "mailer",
		"mailer/web/pages": "mailer/web/mcp", "mailer/app/new": "fmt", "mailer/app/rules/plan": "mailer/app/net/outbound",
	} {
		if got := forbiddenImports([]pkg{{ImportPath: from, Imports: []string{"fmt", to}}}); len(got) == 0 {
			t.Errorf("%s -> %s is allowed", from, to)
		}
	}
	if got := forbiddenImports([]pkg{{ImportPath: "mailer/db", Imports: []string{"mailerx/web", "mailer/app"}}}); len(got) > 0 {
		t.Errorf("refused: %q", got)
	}
}

// topLevel are the files that the repository's root may contain besides dot-files.
var topLevel = []string{"main.go", "main_test.go", "app", "db", "smtpout", "web", "schema.sql", "go.mod", "go.sum", "README.md", "LICENSE"}

// unexpectedFiles returns other files in the root; ignored ones are allowed.
func unexpectedFiles(names, ignored []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return strings.HasPrefix(name, ".") || slices.Contains(topLevel, name) || slices.ContainsFunc(ignored, func(pattern string) bool {
			match, err := filepath.Match(strings.Trim(pattern, "/"), name)
			return err == nil && match
		})
	})
}

func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	ignore, err := os.ReadFile(".gitignore")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	ignored := strings.Fields(string(ignore))
	if got := unexpectedFiles(names, ignored); len(got) > 0 {
		t.Errorf("not allowed at the top: %q", got)
	}
	if got := unexpectedFiles([]string{"internal", "mailer.db", ".ci", "db", "tools.go"}, ignored); !slices.Equal(got, []string{"internal", "tools.go"}) {
		t.Errorf("of the made-up names, %q are refused", got)
	}
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 ".testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values[serversKey{}] = map[string]*process{}
			env.Values[zonesKey{}] = map[string]*dnstest.Zone{}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"serve": cmdServe, "end": cmdEnd, "http": cmdHTTP, "until": cmdUntil, "sees": cmdSees, "take": cmdTake, "sql": cmdSQL, "exits": cmdExits,
			"signal": cmdSignal, "deaf": cmdBlackhole, "dns": cmdDNS, "zone": cmdZone, "publish": cmdPublish, "replace": cmdReplace,
		},
	})
}

type serversKey struct{}

// process is a mailer serve that a script started.
type process struct {
	cmd  *exec.Cmd
	done chan error
	log  string // file of its standard error
	pipe io.Closer
}

func servers(ts *testscript.TestScript) map[string]*process {
	return ts.Value(serversKey{}).(map[string]*process)
}

func mailer(ts *testscript.TestScript, args ...string) *exec.Cmd {
	dir, _, _ := strings.Cut(ts.Getenv("PATH"), string(filepath.ListSeparator))
	cmd := exec.Command(filepath.Join(dir, "mailer"), args...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"))
	for _, name := range strings.Fields(ts.Getenv("PASS")) {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

var listening = regexp.MustCompile(`msg=listening .*base_url=(\S+)`)

// cmdServe: `serve NAME [flags]` starts a server on a free port, waits until it listens, and sets
// $NAME to its address. Its output is in NAME.out and NAME.err. $PASS names the variables that it
// gets.
func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: serve NAME [flags]")
	}
	name := args[0]
	cmd := mailer(ts, append([]string{"serve", "--listen", "127.0.0.1:0"}, args[1:]...)...)
	out, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	defer out.Close()
	log, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	cmd.Stdout = out
	pipe, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	s := &process{cmd: cmd, done: make(chan error, 1), log: log.Name(), pipe: pipe}
	servers(ts)[name] = s
	ts.Defer(func() { _ = cmd.Process.Kill() })
	address := make(chan string, 1)
	go func() {
		defer log.Close()
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			fmt.Fprintln(log, lines.Text())
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
		s.done <- cmd.Wait()
	}()
	select {
	case url := <-address:
		ts.Setenv(name, url)
	case err := <-s.done:
		ts.Fatalf("serve ended: %v\n%s", err, ts.ReadFile(name+".err"))
	case <-time.After(patience):
		ts.Fatalf("serve does not listen\n%s", ts.ReadFile(name+".err"))
	}
}

// cmdEnd: `end NAME SIGNAL CODE` signals a server and waits for its exit code;
// -1 is an end by the signal.
func cmdEnd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: end NAME SIGNAL CODE")
	}
	signals := map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}
	s := servers(ts)[args[0]]
	ts.Check(s.cmd.Process.Signal(signals[args[1]]))
	select {
	case <-s.done:
	case <-time.After(patience):
		ts.Fatalf("%s does not end", args[0])
	}
	if got := strconv.Itoa(s.cmd.ProcessState.ExitCode()); got != args[2] {
		ts.Fatalf("exit code %s, want %s\n%s", got, args[2], ts.ReadFile(args[0]+".err"))
	}
}

// cmdSignal: `signal NAME SIGNAL` signals a server, which keeps running.
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signal NAME SIGNAL")
	}
	signals := map[string]os.Signal{"HUP": syscall.SIGHUP, "PIPE": syscall.SIGPIPE}
	ts.Check(servers(ts)[args[0]].cmd.Process.Signal(signals[args[1]]))
}

// cmdBlackhole: `deaf NAME` ends the reader of a server's log.
func cmdBlackhole(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: deaf NAME")
	}
	ts.Check(servers(ts)[args[0]].pipe.Close())
}

// patience is how long a test waits for a program before it counts as hanging.
const patience = 2 * time.Minute

// cmdExits: `exits CODE ARGS…` runs mailer to its end and wants that exit code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARGS…")
	}
	cmd := mailer(ts, args[1:]...)
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	if err := cmd.Start(); err != nil {
		ts.Fatalf("run mailer: %v", err)
	}
	stop := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // the exit code tells more
	stop.Stop()
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// cmdHTTP: `http METHOD URL KEY [BODYFILE]` prints status and body; the key "-"
// is none.
func cmdHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: http METHOD URL KEY [BODYFILE]")
	}
	status, body := call(ts, args)
	fmt.Fprintf(ts.Stdout(), "%d\n%s", status, body)
}

func call(ts *testscript.TestScript, args []string) (int, []byte) {
	var body io.Reader
	if len(args) > 3 {
		body = strings.NewReader(ts.ReadFile(args[3]))
	}
	r, err := http.NewRequest(args[0], args[1], body)
	ts.Check(err)
	if args[2] != "-" {
		r.Header.Set("Authorization", "Bearer "+args[2])
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	ts.Check(err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	ts.Check(err)
	return res.StatusCode, answer
}

// cmdUntil: `until PATTERN METHOD URL KEY [BODYFILE]` repeats a call until
// status and body match; after 3 seconds it fails.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: until PATTERN METHOD URL KEY [BODYFILE]")
	}
	answer := await(ts, args[0], func() string {
		status, body := call(ts, args[1:])
		return fmt.Sprintf("%d\n%s", status, body)
	})
	fmt.Fprint(ts.Stdout(), answer)
}

// cmdSees: `sees FILE PATTERN` waits up to 3 seconds for a line in a server's output.
func cmdSees(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sees FILE PATTERN")
	}
	await(ts, args[1], func() string { return ts.ReadFile(args[0]) })
}

// await asks again and again until the answer matches.
func await(ts *testscript.TestScript, pattern string, ask func() string) string {
	re, err := regexp.Compile("(?m)" + pattern)
	ts.Check(err)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		answer := ask()
		if re.MatchString(answer) {
			return answer
		}
		select {
		case <-tick.C:
		case <-end:
			ts.Fatalf("no %q in %s", pattern, answer)
		}
	}
}

// cmdTake: `take NAME FILE PATTERN` sets $NAME to the first group of the pattern's first match in a
// file or stdout.
func cmdTake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: take NAME FILE PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[2])
	ts.Check(err)
	m := pattern.FindStringSubmatch(ts.ReadFile(args[1]))
	if m == nil {
		ts.Fatalf("no match in %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// cmdReplace: `replace NAME VALUE FILE` replaces @NAME@ in a file.
func cmdReplace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace NAME VALUE FILE")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[2]), "@"+args[0]+"@", args[1])
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(text), 0o600))
}

// cmdSQL: `sql FILE STATEMENT` runs a statement on a database.
func cmdSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql FILE STATEMENT")
	}
	pool, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0])+"?_busy_timeout=5000")
	ts.Check(err)
	defer pool.Close()
	_, err = pool.Exec(args[1])
	ts.Check(err)
}

type zonesKey struct{}

// cmdZone: `zone NAME APEX FILE` starts a name server that takes updates, with the records of the
// file, and sets $NAME to its address; `zone NAME` writes its records to standard output.
func cmdZone(ts *testscript.TestScript, neg bool, args []string) {
	zones := ts.Value(zonesKey{}).(map[string]*dnstest.Zone)
	switch {
	case neg || len(args) != 1 && len(args) != 3:
		ts.Fatalf("usage: zone NAME [APEX FILE]")
	case len(args) == 1:
		fmt.Fprintln(ts.Stdout(), strings.Join(zones[args[0]].Records(), "\n"))
	default:
		z := dnstest.NewZone(args[1], strings.Split(strings.TrimSpace(ts.ReadFile(args[2])), "\n")...)
		address, stop, err := z.Listen()
		ts.Check(err)
		ts.Defer(stop)
		zones[args[0]] = z
		ts.Setenv(args[0], address)
	}
}

// cmdDNS: `dns NAME ZONEFILE` starts a DNS server on loopback and sets $NAME to its address. It
// reads the file for each query; all names exist.
func cmdDNS(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: dns NAME ZONEFILE")
	}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	ts.Check(err)
	file := ts.MkAbs(args[1])
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) { answerDNS(w, q, file) })}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.ActivateAndServe() }()
	ts.Defer(func() { conn.Close(); <-done })
	ts.Setenv(args[0], conn.LocalAddr().String())
}

func answerDNS(w dns.ResponseWriter, q *dns.Msg, file string) {
	m := new(dns.Msg).SetReply(q)
	m.Authoritative = true
	zone, err := os.Open(file)
	if err != nil {
		m.Rcode = dns.RcodeServerFailure
	} else {
		defer zone.Close()
		parser := dns.NewZoneParser(zone, ".", file)
		for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
			if strings.EqualFold(rr.Header().Name, q.Question[0].Name) && rr.Header().Rrtype == q.Question[0].Qtype {
				m.Answer = append(m.Answer, rr)
			}
		}
	}
	_ = w.WriteMsg(m)
}

// cmdPublish: `publish ZONEFILE JSON [KIND…]` adds a domain's records, from --json or the API, to
// a zone; all records, or those of the given kinds.
func cmdPublish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: publish ZONEFILE JSON [KIND…]")
	}
	var domain struct {
		Records []struct{ Record, Name, Type, Value string }
	}
	text := ts.ReadFile(args[1])
	ts.Check(json.Unmarshal([]byte(text[strings.IndexByte(text, '{'):]), &domain))
	zone, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer zone.Close()
	for _, r := range domain.Records {
		value := r.Value + "."
		if r.Type == "TXT" { // a string holds at most 255 bytes
			n := min(200, len(r.Value))
			value = fmt.Sprintf("%q %q", r.Value[:n], r.Value[n:])
		}
		if len(args) == 2 || slices.Contains(args[2:], r.Record) {
			fmt.Fprintf(zone, "%s. 60 IN %s %s\n", r.Name, r.Type, value)
		}
	}
}

func TestFlagsHaveVariables(t *testing.T) {
	root := newRoot()
	serve, _, err := root.Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"MAILER_LISTEN": "127.0.0.1:1", "MAILER_RATE_LIMIT": "7", "MAILER_DOUBT_DELAY": "3s", "MAILER_DEV": "true", "MAILER_RESOLVER": "127.0.0.1:53"}
	for name, value := range want {
		t.Setenv(name, value)
	}
	if err := serve.ParseFlags([]string{"--rate-limit", "9"}); err != nil {
		t.Fatal(err)
	}
	if err := root.PersistentPreRunE(serve, nil); err != nil {
		t.Fatal(err)
	}
	want["MAILER_RATE_LIMIT"] = "9" // the flag wins
	for _, name := range slices.Sorted(maps.Keys(want)) {
		flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "MAILER_"), "_", "-"))
		if got := serve.Flags().Lookup(flag).Value.String(); got != want[name] {
			t.Errorf("--%s is %q, want %q", flag, got, want[name])
		}
	}
}

func TestInvalidWebhooksPerTeam(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, n := range []string{"0", "-1", "501", "many"} {
		root := newRoot()
		root.SetArgs([]string{"serve", "--webhooks-per-team", n})
		root.SetErr(io.Discard)
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "--webhooks-per-team") {
			t.Errorf("%s is refused with %v", n, err)
		}
	}
	if made, _ := os.ReadDir("."); len(made) > 0 {
		t.Errorf("it made %s", made[0].Name())
	}
}

func TestDevRefusesPublicAddress(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"--dev", "--listen", "0.0.0.0:0"}, {"--dev", "--listen", ":0"}, {"--dev", "--listen", "[::]:0"},
		{"--dev", "--listen", "192.0.2.1:0"}, {"--dev-public"},
	} {
		root := newRoot()
		root.SetArgs(append([]string{"serve"}, args...))
		root.SetErr(io.Discard)
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "--dev-public") {
			t.Errorf("%v is refused with %v", args, err)
		}
	}
	if made, _ := os.ReadDir("."); len(made) > 0 {
		t.Errorf("it made %s", made[0].Name())
	}
}

// documentedFacts is what the tables of the manual say: each command with its flags, the
// flags of serve with their defaults, the options of relays.
func documentedFacts(commands, settings, options string) (facts []string) {
	name, flag := regexp.MustCompile(`^mailer( [a-z][a-z-]*)+`), regexp.MustCompile(`--[a-z-]+`)
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)`[^|]* \\| (?:`([^`]+)`)?")
	for _, row := range rows.FindAllStringSubmatch(commands, -1) {
		if name.MatchString(row[1]) {
			facts = append(facts, strings.Join(append([]string{name.FindString(row[1])}, slices.Sorted(slices.Values(flag.FindAllString(row[1], -1)))...), " "))
		}
	}
	for _, row := range rows.FindAllStringSubmatch(settings, -1) {
		if strings.HasPrefix(row[1], "--") {
			facts = append(facts, row[1]+" "+row[2])
		}
	}
	for _, row := range rows.FindAllStringSubmatch(options, -1) {
		if option, _, found := strings.Cut(row[1], "="); found {
			facts = append(facts, option+"=")
		}
	}
	return facts
}

// section returns the part of a page below a heading.
func section(page, heading string) string {
	_, below, _ := strings.Cut(page, "\n## "+heading+"\n")
	below, _, _ = strings.Cut(below, "\n## ")
	return below
}

// documentedByCommands returns the facts in the tables of the command pages.
func documentedByCommands(commands, relays string) []string {
	return documentedFacts(section(commands, "Commands"), section(commands, "Settings"), section(relays, "Options"))
}

func readManual(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("web", "manual", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pagesOfCommands are the pages with the tables of commands, flags and settings.
var pagesOfCommands = []string{"commands.md", "commands-queue.md", "commands-relays.md", "commands-data.md", "command-flags.md", "settings.md"}

// commandPages returns the sections of these pages, each heading once.
func commandPages(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, heading := range []string{"Commands", "Flags of commands", "Settings"} {
		all.WriteString("\n## " + heading + "\n")
		for _, name := range pagesOfCommands {
			all.WriteString(section(readManual(t, name), heading))
		}
	}
	return all.String()
}

// commandFacts is the same as the program has it.
func commandFacts(cmd *cobra.Command) (facts []string) {
	for _, sub := range cmd.Commands() {
		facts = append(facts, commandFacts(sub)...)
	}
	fields := []string{cmd.CommandPath()}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden { // the old name of another flag
			return
		}
		if cmd.Name() == "serve" {
			facts = append(facts, "--"+f.Name+" "+strings.Trim(strings.TrimSuffix(f.DefValue, "false"), "[]"))
		} else if !slices.Contains([]string{"db", "master-key-file", "json"}, f.Name) {
			fields = append(fields, "--"+f.Name)
		}
	})
	if cmd.Runnable() && (!cmd.HasSubCommands() || cmd.Flags().HasFlags()) { // a group does nothing itself
		facts = append(facts, strings.Join(fields, " "))
	}
	return facts
}

// differences lists what only one of two lists has.
func differences(documented, has []string) (out []string) {
	out = slices.DeleteFunc(slices.Clone(documented), func(s string) bool { return slices.Contains(has, s) })
	return append(out, slices.DeleteFunc(slices.Clone(has), func(s string) bool { return slices.Contains(documented, s) })...)
}

func TestManualMatchesCommands(t *testing.T) {
	commands, ofRelays, want := commandPages(t), readManual(t, "relays.md"), commandFacts(newRoot())
	_, err := relayurl.ParseOne("smtp://host?none=1")
	_, options, _ := strings.Cut(err.Error(), "there are ")
	for _, option := range strings.Split(options, ", ") {
		want = append(want, option+"=")
	}
	for _, fact := range differences(documentedByCommands(commands, ofRelays), want) {
		t.Errorf("only the manual or only the program has: %s", fact)
	}
	for _, change := range [][2]string{{"| `--rate-limit` | `100`", "| `--rate-limit` | `99`"}, {"| `mailer doubts` |", "| doubts |"}, {"[--trust]", "[--trusted]"}, {"| `ca=FILE`", "| `cafile=FILE`"}} {
		r := strings.NewReplacer(change[0], change[1])
		if got := differences(documentedByCommands(r.Replace(commands), r.Replace(ofRelays)), want); len(got) == 0 {
			t.Errorf("with %q for %q the manual is still true", change[1], change[0])
		}
	}
	lines := 0
	for _, page := range manualPages(t) {
		lines += len(typed(page))
		for _, fault := range slices.Concat(unknownVariables(page.text, want), unknownFlags(page.text, want), unknownCommands(page)) {
			t.Errorf("%s: %s", page.name, fault)
		}
	}
	if lines < 100 {
		t.Errorf("%d command lines are found", lines)
	}
	bad := manualPage{name: "web/manual/bad.md", text: "`mailer keys make`, `mailer queue show ID --color`\n```sh\n./mailer serve --backup-keep x    # no number\nMAILER_DB=x mailer doubts all | cat\n```\n"}
	if got := unknownCommands(bad); len(got) != 4 {
		t.Errorf("of 4 commands that are none it finds %q", got)
	}
	if got := unknownFlags("`--nothing x`, `serve --none`, `--tls-cert F --tls-keys F` of `other --none`", want); len(got) != 3 {
		t.Errorf("of 3 flags that are none it finds %q", got)
	}
	if got := unknownVariables("MAILER_NOTHING", want); len(got) != 1 {
		t.Errorf("it finds %q", got)
	}
}

var (
	linkInCell  = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
	marksInCell = regexp.MustCompile("`|\\\\")
	oneCell     = regexp.MustCompile(`(?:[^|\\]|\\.)+`)
	codeInCell  = regexp.MustCompile("`([a-z/. -]+)`")
	ofDefault   = regexp.MustCompile(` \(default:? [^)]*\)`)
)

// plainCell returns a table cell without links, code marks and escapes.
func plainCell(cell string) string {
	return strings.TrimSpace(marksInCell.ReplaceAllString(linkInCell.ReplaceAllString(cell, "$1"), ""))
}

// cells returns the rows of a table whose first cell is code.
func cells(table string) (rows [][]string) {
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, oneCell.FindAllString(strings.Trim(line, "|\n"), -1))
		}
	}
	return rows
}

// cellSays reports whether a cell begins with a help text. A default in brackets may be in its own
// column.
func cellSays(cell, help string) bool {
	text := plainCell(cell)
	return strings.HasPrefix(text, help) || strings.HasPrefix(text, ofDefault.ReplaceAllString(help, ""))
}

// members are the commands of a cell: `queue list`, `hold` are two of queue.
func members(cell string) (out []string) {
	group := ""
	for _, m := range codeInCell.FindAllStringSubmatch(cell, -1) {
		if parent, _, found := strings.Cut(m[1], " "); found || group == "" {
			group = parent
			out = append(out, m[1])
			continue
		}
		out = append(out, group+" "+m[1])
	}
	return out
}

// helpPage is the manual's page of commands: the rows of its tables.
type helpPage struct{ commands, flags, settings [][]string }

// undocumented are the help texts of a command and those below it that the page does not have.
func (p helpPage) undocumented(cmd *cobra.Command) (out []string) {
	for _, sub := range cmd.Commands() {
		out = append(out, p.undocumented(sub)...)
	}
	name := strings.TrimPrefix(cmd.CommandPath(), "mailer ")
	own := func(row []string) bool {
		rest, found := strings.CutPrefix(plainCell(row[0]), "mailer "+name)
		beyond := strings.TrimLeft(rest, " ")
		return found && (beyond == "" || rest != beyond && !('a' <= beyond[0] && beyond[0] <= 'z')) && cellSays(row[1], cmd.Short)
	}
	if cmd.Runnable() && (!cmd.HasSubCommands() || cmd.Flags().HasFlags()) && !slices.ContainsFunc(p.commands, own) {
		out = append(out, "mailer "+name+": "+cmd.Short)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		rows, mine := p.flags, func(cell string) bool { return !strings.Contains(cell, "`") || slices.Contains(members(cell), name) }
		if name == "serve" {
			rows, mine = p.settings, func(string) bool { return true }
		}
		if !slices.ContainsFunc(rows, func(row []string) bool {
			return plainCell(row[0]) == "--"+f.Name && mine(row[1]) && cellSays(row[2], f.Usage)
		}) {
			out = append(out, "mailer "+name+" --"+f.Name+": "+f.Usage)
		}
	})
	return out
}

// undocumented are the help texts that the page of commands does not have.
func undocumented(page string) []string {
	return helpPage{cells(section(page, "Commands")), cells(section(page, "Flags of commands")), cells(section(page, "Settings"))}.undocumented(newRoot())
}

func TestManualMatchesHelp(t *testing.T) {
	page := commandPages(t)
	for _, text := range undocumented(page) {
		t.Errorf("no page of commands has the help text of %s", text)
	}
	for _, change := range [][2]string{{"| Create a team;", "| Creates a team;"}, {"| print JSON |", "| JSON |"}, {"`audit list` | maximum", "`audit` | maximum"}, {"| requests per second and API key;", "| requests;"}} {
		if got := undocumented(strings.Replace(page, change[0], change[1], 1)); len(got) == 0 {
			t.Errorf("with %q for %q the page still says it all", change[1], change[0])
		}
	}
}

// manualPage is README.md, a page of the manual, or one for contributors.
type manualPage struct{ name, text string }

func manualPages(t *testing.T) (pages []manualPage) {
	t.Helper()
	names, err := filepath.Glob("web/manual/*.md")
	if err != nil || len(names) < 25 {
		t.Fatalf("%d pages, %v", len(names), err)
	}
	for _, name := range append(names, "README.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md", ".github/ISSUE_TEMPLATE/bug.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, manualPage{name, string(text)})
	}
	return pages
}

// dialectWords matches the phrases that what people read must not have: they are no plain English.
var dialectWords = regexp.MustCompile(`(?i)say how everything is|needs? a person|who has it|has it that|has it,|what waits|at once|\b(?:` +
	`for ever|as ever|by (?:it|them|him)sel(?:f|ves)|stands?|standing|(?:is|are|was|were|be) told|go(?:es)? on|by then|likewise|mend(?:s|ed|ing)?|` +
	`somebody|nobody|everybody|whoever|puts? off|is no more|words of (?:the|a) (?:relay|authority|server)|relay's words|` +
	`what (?:becomes|became|comes) of|(?:become|became|becomes|comes) of (?:it|them)|in the (?:midst|place) of|(?:tells?|hears?) of|` +
	`br(?:ing|ings|ought) along|for want of|to be rid of|reckon(?:s|ed|ing)?|heed(?:s|ed)?|(?:is|are|was|were) written down|the way back|` +
	`(?:is|are) through|vouch(?:es|ed)?|none of ours|lets? (?:it|them) be|all else|(?:it|which|that) takes? for|the very (?:code|same)|` +
	`(?:finds?|found) no room|gives? its place|to the letter)\b`)

// codeOfPage matches blocks and spans of code: literal output of programs.
var codeOfPage = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")

// helpTexts collects the help texts of a command and its subcommands.
func helpTexts(cmd *cobra.Command, texts map[string]string) {
	texts[cmd.CommandPath()] = cmd.Short + "\n" + cmd.Long + "\n" + cmd.Example
	cmd.Flags().VisitAll(func(f *pflag.Flag) { texts[cmd.CommandPath()+" --"+f.Name] = f.Usage })
	for _, sub := range cmd.Commands() {
		helpTexts(sub, texts)
	}
}

// documentTexts returns the summaries and descriptions of the API's document.
func documentTexts(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("web/testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for i, m := range regexp.MustCompile(`"(?:summary|description)": "((?:[^"\\]|\\.)*)"`).FindAllSubmatch(raw, -1) {
		texts[fmt.Sprintf("openapi.json %d %s", i, m[1])] = string(m[1])
	}
	return texts
}

// TestPlainEnglish holds the help of all commands, the English of the dashboard with its verdicts,
// the manual, the README and the API's document against the phrases of dialect.
func TestPlainEnglish(t *testing.T) {
	texts := map[string]string{}
	helpTexts(newRoot(), texts)
	english, err := os.ReadFile("web/dashboard/i18n/en.json")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(english)) {
		if key, text, found := strings.Cut(line, `": "`); found {
			texts["en.json "+strings.Trim(key, "\t\"")+" "+text] = text
		}
	}
	for _, page := range manualPages(t) {
		texts[page.name] = codeOfPage.ReplaceAllString(page.text, "")
	}
	for where, text := range documentTexts(t) {
		texts[where] = text
	}
	if len(texts) < 3000 {
		t.Errorf("only %d texts are read", len(texts))
	}
	for name, text := range texts {
		for _, phrase := range dialectWords.FindAllString(text, -1) {
			t.Errorf("%s: %q", name, phrase)
		}
	}
	const old = "Say how everything is. 2 things need a person. It goes on by itself. Who has it, has it. What waits stands here. It is told at once."
	if got := dialectWords.FindAllString(old, -1); len(got) != 9 {
		t.Errorf("of 9 phrases it finds %q", got)
	}
	const older = "What becomes of it is the way back. The relay's words are written down in the midst of a send. A request for want of room gives its place. " +
		"Bring along what all else lacks, let it be, and be told until it is through. It tells of the very same room that it found no room for, to the letter."
	if got := dialectWords.FindAllString(older, -1); len(got) != 16 {
		t.Errorf("of 16 phrases it finds %q", got)
	}
}

// unknownVariables are those in a text that no flag of facts has.
func unknownVariables(text string, facts []string) (out []string) {
	for _, v := range regexp.MustCompile(`MAILER_[A-Z_]+`).FindAllString(text, -1) {
		flag := strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(v, "MAILER_"), "_FILE"), "_", "-"))
		known := slices.ContainsFunc(facts, func(fact string) bool { return slices.Contains(strings.Fields(fact), "--"+flag) })
		if ofTests := strings.HasPrefix(v, "MAILER_BENCH_") || strings.HasPrefix(v, "MAILER_TEST_") || v == "MAILER_BIN"; !known && !ofTests {
			out = append(out, fmt.Sprintf("no command has --%s, which %s would set", flag, v))
		}
	}
	return out
}

// unknownFlags are those named by themselves, or behind serve, that no command of facts has.
func unknownFlags(text string, facts []string) (out []string) {
	for _, code := range regexp.MustCompile("`(?:serve )?(--[^`]*)`").FindAllStringSubmatch(text, -1) {
		for _, flag := range regexp.MustCompile(`--[a-z][a-z-]*`).FindAllString(code[1], -1) {
			if !slices.Contains([]string{"--db", "--master-key-file", "--json", "--help"}, flag) &&
				!slices.ContainsFunc(facts, func(fact string) bool { return slices.Contains(strings.Fields(fact), flag) }) {
				out = append(out, "no command has "+flag)
			}
		}
	}
	return out
}

// typed returns the mailer command lines in a page's code blocks and text, except for the command
// reference, whose tables show all forms.
func typed(page manualPage) (lines []string) {
	page.text = regexp.MustCompile(`\\\n +`).ReplaceAllString(page.text, "")
	pattern := "(?m)^(?:[a-z]+\\$ |ExecStart=|[A-Z_]+=(?:'[^']*'|[^ ]*) )*(?:\\./|/usr/local/bin/)?mailer ([^\n|>#&;]*)"
	for _, block := range regexp.MustCompile("(?ms)^ *```[a-z]*\n(.*?)^ *```$").FindAllStringSubmatch(page.text, -1) {
		for _, line := range regexp.MustCompile(pattern).FindAllStringSubmatch(regexp.MustCompile(`(?m)^ +`).ReplaceAllString(block[1], ""), -1) {
			lines = append(lines, line[1])
		}
	}
	if !slices.Contains(pagesOfCommands, filepath.Base(page.name)) {
		for _, code := range regexp.MustCompile("`mailer ([^`\\\\]*)[^`]*`").FindAllStringSubmatch(page.text, -1) {
			lines = append(lines, code[1])
		}
	}
	return lines
}

// unknownCommands returns command lines of a page that the program refuses. The text may name a
// command without its arguments.
func unknownCommands(page manualPage) (out []string) {
	for _, line := range typed(page) {
		var args []string
		for _, word := range regexp.MustCompile(`(?:\$\([^)]*\)|'[^']*'|[^ ])+`).FindAllString(line, -1) {
			if word != "…" {
				args = append(args, strings.Trim(word, "'"))
			}
		}
		root := newRoot()
		root.InitDefaultHelpCmd()
		cmd, rest, err := root.Find(args)
		if err == nil && len(rest) == 0 && strings.Contains(page.text, "`mailer "+line+"`") {
			continue
		}
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if errors.Is(err, pflag.ErrHelp) {
			continue
		}
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err == nil && !cmd.Runnable() {
			err = errors.New("it does nothing")
		}
		if err != nil {
			out = append(out, fmt.Sprintf("mailer %s: %v", line, err))
		}
	}
	return out
}

// limits are rows of the manual, or parts of them, by page, as the program's constants have
// them.
func limits() map[string][]string {
	const hour, day, thousand = time.Hour, 24 * time.Hour, 1000
	return map[string][]string{"limits.md": {
		fmt.Sprintf("| an email | %d recipients; subject of %d,%03d bytes; %d tags; %d headers; %d attachments of %d MiB together", app.MaxRecipients,
			app.MaxSubject/thousand, app.MaxSubject%thousand, app.MaxTags, app.MaxHeaders, app.MaxAttachments, app.DefaultMaxAttachmentBytes>>20),
		fmt.Sprintf("| a batch | %d emails; %d,%03d contacts; %d,%03d suppressions |", app.MaxBatch,
			app.MaxContactBatch/thousand, app.MaxContactBatch%thousand, app.MaxSuppressionBatch/thousand, app.MaxSuppressionBatch%thousand),
		fmt.Sprintf("at most %d days ahead", plan.MaxScheduledDays),
		fmt.Sprintf("| attempts for an email | for %d hours (`--max-wait`)", app.DefaultMaxWait/hour),
		fmt.Sprintf("| `expires_in` | %dm to %dd |", app.MinExpiresIn/time.Minute, app.MaxExpiresIn/day),
		fmt.Sprintf("| `Idempotency-Key` | 1 to %d characters", app.MaxIdempotencyKey),
		fmt.Sprintf("| a key | %d requests a second", web.DefaultRateLimit),
		fmt.Sprintf("| a broadcast | html and text of %d MiB together; at most %d days long |", app.MaxBroadcastContent>>20, pacing.MaxPlan/day),
		fmt.Sprintf("| a template or broadcast | %d [languages](languages.md), whose html and text count together; %d [saved blocks](languages.md#saved-blocks) of %d KiB |",
			app.MaxVariants, app.MaxBlocks, app.MaxBlock>>10),
		fmt.Sprintf("| a template | %d variables", app.MaxTemplateVariables),
		fmt.Sprintf("| a contact | %d properties", app.MaxProperties),
		fmt.Sprintf("| a segment | %d conditions |", app.MaxConditions),
		fmt.Sprintf("is kept for %d days; %d a team (`--webhooks-per-team`) |", webhook.EventRetention/day, webhook.DefaultPerTeam),
		fmt.Sprintf("counts once within %d days; found by the provider's own id for %d days |", feedback.ReportRetention/day, feedback.ProviderIDRetention/day),
	}, "languages.md": {
		fmt.Sprintf("can have up to %d variants", app.MaxVariants),
		fmt.Sprintf("unique in a team, up to %d characters; html up to %d KiB", app.MaxBlockName, app.MaxBlock>>10),
		fmt.Sprintf("Up to %d blocks fit into one document, and a team can have %d", app.MaxBlocks, base.CapBlocks.Max),
		fmt.Sprintf("for its first %d,%03d recipients", broadcasts.MaxInspected/thousand, broadcasts.MaxInspected%thousand),
	}, "events.md": {
		fmt.Sprintf("for 0 to %d hours, %d by default", webhook.MaxOverlapHours, webhook.DefaultOverlapHours),
	}, "domains.md": {
		fmt.Sprintf("or, after %d hours, `failed`", app.GiveUpVerifying/hour),
	}, "api-broadcasts.md": {
		fmt.Sprintf("`{to}`, up to %d addresses", app.MaxBroadcastTests),
	}, "api-domains.md": {
		fmt.Sprintf("for 0 to %d hours, %d by default", webhook.MaxOverlapHours, webhook.DefaultOverlapHours),
	}, "broadcasts.md": {
		fmt.Sprintf("up to %d addresses", app.MaxBroadcastTests),
	}, "broadcast-sending.md": {
		fmt.Sprintf("broadcasts use at most %.0f %%", 100*pacing.DefaultBulkShare),
	}, "relays.md": {
		fmt.Sprintf("broadcasts use at most %.0f %%", 100*pacing.DefaultBulkShare),
	}}
}

func TestManualLimits(t *testing.T) {
	for page, limits := range limits() {
		text := readManual(t, page)
		for _, limit := range limits {
			if !strings.Contains(text, limit) {
				t.Errorf("%s does not say: %s", page, limit)
			}
		}
	}
}

// drawnPackages are the packages in the table of the manual: the last elements of the paths in the
// first two cells of each row.
func drawnPackages(development string) (out []string) {
	for _, row := range cells(section(development, "Code layout")) {
		for _, m := range codeInCell.FindAllStringSubmatch(row[0]+row[1], -1) {
			out = append(out, filepath.Base(m[1]))
		}
	}
	return out
}

func TestManualListsPackages(t *testing.T) {
	names := drawnPackages(readManual(t, "development.md"))
	packages, err := allPackages()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if name := shortName(p.ImportPath); name != "" && !slices.Contains(names, filepath.Base(name)) && !isForTests(name) {
			t.Errorf("the code layout in the manual lacks %s", name)
		}
	}
}

// TestPagesHostIsAHostOfItsOwn, since neither the API nor the dashboard answers there.
func TestPagesHostIsAHostOfItsOwn(t *testing.T) {
	for args, want := range map[string]string{
		"--pages-host https://x.example":                                              "--pages-host must be a host name",
		"--pages-host MAIL.example.com --base-url https://mail.example.com:8443":      "--pages-host must differ from the host of --base-url",
		"--pages-host pages.example.com --max-images many":                            "must be a number of bytes like 500MB or 1GiB",
		"--pages-host pages.example.com --base-url https://mail.example.com --mode x": "--mode must be",
	} {
		root := newRoot()
		root.SetArgs(append([]string{"serve", "--db", filepath.Join(t.TempDir(), "x.db")}, strings.Fields(args)...))
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
