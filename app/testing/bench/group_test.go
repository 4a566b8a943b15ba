package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// group is the processes of one peer with all their children: a cgroup v2 whose processor time
// includes ended processes. Without permission for one it is the process tree in /proc: times of
// living processes and of children that were waited for.
type group struct {
	tb    testing.TB
	dir   string // of the cgroup; empty: /proc is used
	fd    *os.File
	roots []int
}

func newGroup(tb testing.TB) *group {
	tb.Helper()
	g := &group{tb: tb}
	if err := g.makeCgroup(); err != nil {
		g.dir = ""
	}
	return g
}

// makeCgroup creates a cgroup and starts a process in it as a test.
func (g *group) makeCgroup() error {
	parent, err := ownCgroup()
	if err != nil {
		return err
	}
	if g.dir, err = os.MkdirTemp(parent, "mailer-bench-"); err != nil {
		return err
	}
	dir := g.dir
	g.tb.Cleanup(func() { _ = os.Remove(dir) }) // fails if a process remains, which stop reports
	if g.fd, err = os.Open(dir); err != nil {
		return err
	}
	g.tb.Cleanup(func() { g.fd.Close() })
	trial := exec.Command("true")
	g.enter(trial)
	if err := trial.Run(); err != nil {
		return err
	}
	_, err = g.cgroupCPU()
	return err
}

// ownCgroup returns the directory of the cgroup v2 of this process.
func ownCgroup() (string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if fields[2] != "cgroup2" {
			continue
		}
		for entry := range strings.Lines(string(own)) {
			if path, ok := strings.CutPrefix(strings.TrimSpace(entry), "0::"); ok {
				return filepath.Join(fields[1], path), nil
			}
		}
	}
	return "", errors.New("no cgroup v2")
}

// method describes how processor time is read.
func (g *group) method() string {
	if g.dir == "" {
		return "/proc/PID/stat of the process tree, with children that ended"
	}
	return "cpu.stat of a cgroup v2 for each peer"
}

// enter makes a command start in the group, and in its own process group, so that Ctrl-C does not
// reach it.
func (g *group) enter(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if g.dir != "" {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(g.fd.Fd())
	}
}

// started adds a started process to the group.
func (g *group) started(cmd *exec.Cmd) { g.roots = append(g.roots, cmd.Process.Pid) }

// cpu returns the processor time of all processes so far.
func (g *group) cpu() time.Duration {
	g.tb.Helper()
	if g.dir == "" {
		var sum time.Duration
		for _, pid := range g.pids() {
			sum += processTime(pid)
		}
		return sum
	}
	used, err := g.cgroupCPU()
	must(g.tb, err)
	return used
}

func (g *group) cgroupCPU() (time.Duration, error) {
	stat, err := os.ReadFile(filepath.Join(g.dir, "cpu.stat"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(stat)) {
		if text, ok := strings.CutPrefix(line, "usage_usec "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			return time.Duration(n) * time.Microsecond, err
		}
	}
	return 0, errors.New("no usage_usec in cpu.stat")
}

// pids returns the living processes.
func (g *group) pids() []int {
	if g.dir == "" {
		return descendants(g.roots)
	}
	text, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	must(g.tb, err)
	var out []int
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		must(g.tb, err)
		out = append(out, pid)
	}
	return out
}

// descendants returns roots and all their descendants, by parent ids.
func descendants(roots []int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	children := map[int][]int{}
	for _, path := range stats {
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		if fields := statFields(pid); fields != nil {
			parent, _ := strconv.Atoi(fields[1])
			children[parent] = append(children[parent], pid)
		}
	}
	out := append([]int(nil), roots...)
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i]]...)
	}
	return out
}

// statFields returns the fields of /proc/PID/stat after the name, from the state on (proc(5));
// none for an ended process.
func statFields(pid int) []string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+2:]))
}

// tick is the unit of times in /proc/PID/stat.
const tick = time.Second / 100

// processTime returns the processor time of a process and its ended children.
func processTime(pid int) (sum time.Duration) {
	fields := statFields(pid)
	if fields == nil {
		return 0
	}
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		n, _ := strconv.ParseInt(f, 10, 64) // the kernel writes numbers
		sum += time.Duration(n) * tick
	}
	return sum
}

// programs returns the processor times of living processes by program.
func (g *group) programs() map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, pid := range g.pids() {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
			out[strings.TrimSpace(string(name))] += processTime(pid)
		}
	}
	return out
}

// settle waits until the peer has nothing left to do for the received messages, at most 10 s: work
// after the last reply counts too.
func (g *group) settle() {
	g.tb.Helper()
	const span, idle = 150 * time.Millisecond, 4 * time.Millisecond
	ticker := time.NewTicker(span)
	defer ticker.Stop()
	used := g.cpu()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		<-ticker.C
		now := g.cpu()
		if now-used < idle {
			return
		}
		used = now
	}
	g.tb.Log("a peer still works 10 s after the last message")
}

// memory returns the memory of all processes in MB, shared pages counted once (PSS).
func (g *group) memory() (mb float64) {
	for _, pid := range g.pids() {
		rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue // ended
		}
		for line := range strings.Lines(string(rollup)) {
			if text, ok := strings.CutPrefix(line, "Pss:"); ok {
				kb, _ := strconv.ParseFloat(strings.Fields(text)[0], 64)
				mb += kb / 1024
			}
		}
	}
	return mb
}

// watchMemory samples memory until stop, which returns the maximum. It samples rarely, since
// sampling costs processor time too.
func (g *group) watchMemory() (stop func() float64) {
	const every = 500 * time.Millisecond
	var wg sync.WaitGroup
	done := make(chan struct{})
	highest := g.memory()
	wg.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				highest = max(highest, g.memory())
			case <-done:
				return
			}
		}
	})
	return func() float64 {
		close(done)
		wg.Wait()
		return max(highest, g.memory())
	}
}

// starter stops a process when it is told to, or when the test's process dies: a shell waits for
// the end of its standard input.
type starter struct {
	shell *exec.Cmd
	pipe  io.Closer
}

func newStarter(tb testing.TB, cmd *exec.Cmd) *starter {
	tb.Helper()
	shell := exec.Command("/bin/sh", "-c", `read -r _; kill -TERM "$0"`, strconv.Itoa(cmd.Process.Pid))
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	hand, err := shell.StdinPipe()
	must(tb, err)
	must(tb, shell.Start())
	return &starter{shell: shell, pipe: hand}
}

// start sends SIGTERM and waits for the shell.
func (l *starter) start() {
	l.pipe.Close()
	_ = l.shell.Wait() // kill fails if the process has ended already
}

// end stops a process and waits for it, at most 20 s.
func end(tb testing.TB, cmd *exec.Cmd, l *starter) {
	tb.Helper()
	l.start()
	late := time.AfterFunc(20*time.Second, func() {
		tb.Errorf("%s does not stop in 20 s", cmd.Path)
		_ = cmd.Process.Kill()
	})
	_ = cmd.Wait() // SIGTERM is not a success
	late.Stop()
}
