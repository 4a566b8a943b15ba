package sdktest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fileCalls are the system calls by which a server makes, changes and secures
// its files.
const fileCalls = "pwrite64,write,fsync,fdatasync,ftruncate,fallocate,open,openat,unlink,unlinkat,rename,renameat,renameat2,link,linkat"

// heldFor is how long each such call waits before it is made: time enough to
// kill the server before the next one.
func heldFor() string {
	if *everyCall {
		return "20000" // microseconds
	}
	return "5000"
}

func needStrace(t *testing.T) {
	t.Helper()
	err := exec.Command("strace", "-o", os.DevNull, "true").Run()
	need(t, err == nil, fmt.Sprint("strace that may trace: ", err))
}

// strace returns the command line that runs the server under strace, which traces calls on the
// database's files only and applies the option inject. The server stays this process's child (-D),
// so that it can be killed as usual.
func (in *instance) strace(calls, inject, output string) []string {
	args := []string{"strace", "-D", "-f", "--seccomp-bpf", "-y", "-s", "0", "-e", "quiet=all", "-e", "signal=none",
		"-e", "trace=" + calls, "-e", "inject=" + calls + ":" + inject, "-o", output}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", ".key", ".lock", ".reserve"} {
		args = append(args, "-P", in.db+suffix)
	}
	return args
}

// tracedRun is one life of a server: from its start over one email to its end.
type tracedRun struct {
	in    *instance
	relay *sink
	calls []string // made on the database's files, in order
}

// live runs the server until it has made n calls and kills it; if it makes fewer, it sends the
// email and stops with SIGTERM. sent is closed once the email is sent.
func (lf *tracedRun) live(t *testing.T, n int, sent <-chan struct{}) {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	in := lf.in
	in.wrap, in.extra = in.strace(fileCalls, "delay_enter="+heldFor(), "/dev/fd/3"), []*os.File{w}
	in.launch(t)
	must(t, w.Close())
	in.wrap, in.extra = nil, nil
	over := make(chan struct{})
	go func() { // stopping makes calls too, and may be killed
		select {
		case <-sent:
			_ = in.cmd.Process.Signal(os.Interrupt)
		case <-over:
		}
	}()
	for lines := bufio.NewScanner(r); lines.Scan(); { // until server and strace have ended
		if strings.HasSuffix(lines.Text(), " = ?") {
			continue // delayed when the kill came, and never made
		}
		if lf.calls = append(lf.calls, lines.Text()); len(lf.calls) == n {
			_ = in.cmd.Process.Kill() // it may have exited
		}
	}
	close(over)
	<-in.done
	in.cmd = nil
}

// lastCall is the last call of a life.
func (lf *tracedRun) lastCall() string {
	if len(lf.calls) == 0 {
		return "nothing"
	}
	_, call, _ := strings.Cut(lf.calls[len(lf.calls)-1], " ")
	return strings.ReplaceAll(strings.TrimSuffix(call, " (DELAYED)"), lf.in.dir+"/", "")
}

// TestKillAtFileCalls kills the server after its n-th call that writes, syncs, creates or removes
// something, for n spread over a run that starts, sends one email and stops (-every-call: each n).
// Then it is started again, and the client repeats what was not answered.
func TestKillAtFileCalls(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	needStrace(t)
	seed := newSeed(t)
	whole := seed.kill(t, 1<<30)
	t.Logf("a life has %d calls on the database's files", len(whole.calls))
	if len(whole.calls) < 40 || !slices.ContainsFunc(whole.calls, func(c string) bool { return strings.Contains(c, "sync(") }) {
		t.Fatalf("strace saw only these:\n%s", strings.Join(whole.calls, "\n"))
	}
	killAtEach(t, spread(len(whole.calls), 12), seed.kill)
}

// killAtEach runs kill for each n in parallel, and logs the calls at which servers died: on a busy
// machine a kill may be a call late.
func killAtEach(t *testing.T, calls []int, kill func(t *testing.T, n int) *tracedRun) {
	t.Helper()
	var mu sync.Mutex
	died := map[int]bool{}
	t.Cleanup(func() { t.Logf("servers died after %d different calls of %d", len(died), len(calls)) })
	for _, n := range calls {
		t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
			t.Parallel()
			lf := kill(t, n)
			t.Logf("killed after %d calls, the last: %s", len(lf.calls), lf.lastCall())
			mu.Lock()
			defer mu.Unlock()
			died[len(lf.calls)] = true
		})
	}
}

// spread returns about n numbers from 1 to last, evenly; all of them under
// -every-call.
func spread(last, n int) []int {
	if *everyCall {
		n = last
	}
	n = min(n, last)
	var out []int
	for i := range n {
		out = append(out, 1+i*(last-1)/max(1, n-1))
	}
	return out
}

func sortedOnce(lists ...[]int) []int {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// seed is a database with a domain and a key, from which runs start.
type seed struct {
	db  string
	key string
}

func newSeed(t *testing.T) *seed {
	t.Helper()
	in := newInstance(t)
	in.addDomain(t, "example.test")
	return &seed{db: in.db, key: in.newKey(t)}
}

// kill starts a server on a copy of the seed, kills it after n calls, starts it
// again, and judges.
func (s *seed) kill(t *testing.T, n int) *tracedRun {
	t.Helper()
	relay := newSink(t, sinkOptions{})
	in := newInstance(t, killArgs(relay)...)
	copyFiles(t, s.db, in.db)
	l := newLoad(client{in.url, s.key})
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		l.single(t, order{mark: "held", key: "held", to: []string{"b@example.com"}, text: "held"}, nil)
		id := l.ledger.idOf("held")
		l.repeat(t, "the end of "+id, func() bool {
			status, answer, err := l.api.try("GET", "/emails/"+id, nil)
			return id == "" || err == nil && status == 200 && strings.Contains(string(answer), `"last_event":"sent"`)
		})
	}()
	lf := &tracedRun{in: in, relay: relay}
	lf.live(t, n, sent)
	in.serve(t)
	<-sent
	l.ledger.wantNoProblems(t, l.ledger.gather(t, in, l.api, relay, time.Minute, killConnections))
	in.checkFiles(t)
	return lf
}

func removeFiles(t *testing.T, db string) {
	t.Helper()
	found, err := filepath.Glob(db + "*")
	must(t, err)
	for _, path := range found {
		must(t, os.Remove(path))
	}
}

// copyFiles copies a database that no server has open, with its key.
func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	found, err := filepath.Glob(from + "*")
	must(t, err)
	for _, path := range found {
		b, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(to+strings.TrimPrefix(path, from), b, 0o600))
	}
}

// TestKillWhileCreatingDatabase kills the first start of a server, which creates its database and
// master key. The next start must work with what it finds.
func TestKillWhileCreatingDatabase(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	needStrace(t)
	whole := killFirstStart(t, 1<<30)
	t.Logf("a first start has %d calls on the database's files", len(whole.calls))
	var key []int
	for i, call := range whole.calls {
		if strings.Contains(call, whole.in.db+".key") {
			key = append(key, i+1) // one write that nothing else guards
		}
	}
	if len(key) < 2 {
		t.Errorf("only the calls %v are on the master key's file", key)
	}
	killAtEach(t, sortedOnce(key, spread(len(whole.calls), 8)), killFirstStart)
}

// killFirstStart kills a server after n calls of its first start, at the latest when it is ready,
// and makes the next one send an email.
func killFirstStart(t *testing.T, n int) *tracedRun {
	t.Helper()
	relay := newSink(t, sinkOptions{})
	in := newInstance(t, killArgs(relay)...)
	ready := make(chan struct{})
	api := client{url: in.url}
	go func() {
		defer close(ready)
		(&load{}).repeat(t, "ready", func() bool {
			status, _, err := api.try("GET", "/readyz", nil)
			return err == nil && status == 200
		})
	}()
	lf := &tracedRun{in: in, relay: relay}
	lf.live(t, n, ready)
	in.serve(t)
	<-ready
	in.addDomain(t, "example.test")
	l := newLoad(client{in.url, in.newKey(t)})
	l.single(t, order{mark: "first", key: "first", to: []string{"b@example.com"}, text: "first"}, nil)
	e := l.ledger.gather(t, in, l.api, relay, time.Minute, 0)
	e.signed = dkimVerifier(t, in, "example.test")
	l.ledger.wantNoProblems(t, e)
	in.checkFiles(t)
	return lf
}
