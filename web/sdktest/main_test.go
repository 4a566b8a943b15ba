package sdktest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var killRounds = flag.Int("kills", 0, "how often the kill test kills the server; 0: 5, or 1 in the short form")

var powerCuts = flag.Int("cuts", 0, "how often the power cut test cuts the power, over all file systems; 0: 2 each, or 1 in the short form")

var queuedEmails = flag.Int("queued", 0, "how many emails the test of a long queue has; 0: 10000")

var soak = flag.Duration("soak", 0, "how long the soak takes; 0: 6 s")

var restarts = flag.Int("restarts", 0, "how many lives of a server the restart storm has; 0: 15")

var takeovers = flag.Int("takeovers", 0, "how often one of two servers on PostgreSQL is killed; 0: 2 or 3, or 1 in the short form")

var pgFaults = flag.Int("pg-faults", 0, "how often one of two servers is stopped, and cut off from PostgreSQL, each; 0: twice")

var pgKills = flag.Int("pg-kills", 0, "how often PostgreSQL is killed; 0: twice")

var pgCommits = flag.Int("pg-commits", 0, "how many answers of PostgreSQL to a COMMIT are lost; 0: 20")

var pgFailovers = flag.Int("pg-failovers", 0, "how often a standby of PostgreSQL takes over; 0: once")

var everyCall = flag.Bool("every-call", false, "kill the server at each of its calls on the database's files, not at some")

var manyRows = flag.Int("rows", 0, "how many emails and contacts the pages of the dashboard are timed with; 0: 20000")

var handedIn = flag.Int("handed-in", 0, "how many generated messages are handed in by SMTP before each relay; 0: 60")

// binary is the program under test, or why there is none. TestMain sets it once;
// the tests of the harness itself do without.
var binary struct {
	path string
	err  error
}

func TestMain(m *testing.M) {
	flag.Parse()
	if *showParts {
		printParts()
	}
	if err := errors.Join(checkFlags(), waitTogether()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(runAll(m))
}

// waitTogether runs more tests in parallel than there are processors, unless the caller set a
// number: they mostly wait for retries. Tests that judge time run alone.
func waitTogether() error {
	parallel, most := flag.Lookup("test.parallel"), "8"
	switch {
	case *perf:
		most = "1"
	case parallel.Value.String() != parallel.DefValue:
		return nil
	}
	if err := flag.Set("test.parallel", most); err != nil {
		return fmt.Errorf("set -parallel: %w", err)
	}
	return nil
}

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sdktest-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary.path, binary.err = buildBinary(dir)
	status := m.Run()
	if status != 0 || !everythingRan() {
		return status
	}
	for _, problem := range coverageProblems() {
		fmt.Fprintln(os.Stderr, problem)
		status = 1
	}
	return status
}

// buildBinary builds the service from the repository's root into dir, unless
// MAILER_BIN names one.
func buildBinary(dir string) (string, error) {
	if path := os.Getenv("MAILER_BIN"); path != "" {
		return filepath.Abs(path)
	}
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "main.go")); err != nil {
		return "", errors.New("the repository's root has no main.go to build")
	}
	path := filepath.Join(dir, "mailer")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// need skips the test when the machine lacks something, and fails it in CI,
// where a silent gap would pass for a success.
func need(t *testing.T, there bool, what string) {
	t.Helper()
	if there {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("needed and missing: %s", what)
	}
	calls.leaveOut()
	t.Skipf("missing: %s", what)
}

// eventually calls probe every 50 ms until it succeeds; after timeout the test fails with probe's
// last text.
func eventually(t *testing.T, timeout time.Duration, what string, probe func() (bool, string)) {
	t.Helper()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, state := probe()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%s: not within %s; last seen: %s", what, timeout, state)
		}
	}
}
