//go:build perf

package bench

import (
	"bufio"
	"os/exec"
	"testing"
	"time"
)

// TestPerfProcessorTimeIncludesEndedProcesses: Postfix's child processes come and go, and sampling
// the living ones would miss them.
func TestPerfProcessorTimeIncludesEndedProcesses(t *testing.T) {
	const burn = `i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done`
	for name, g := range map[string]*group{"as found": newGroup(t), "by /proc": {tb: t}} {
		// The inner shell uses the processor and ends; the outer one stays until its input is
		// closed.
		cmd := exec.Command("/bin/sh", "-c", `/bin/sh -c '`+burn+`'; echo done; read -r _`)
		g.enter(cmd)
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err := cmd.StdoutPipe()
		must(t, err)
		before := g.cpu()
		must(t, cmd.Start())
		g.started(cmd)
		_, err = bufio.NewReader(out).ReadString('\n')
		must(t, err)
		got := g.cpu() - before
		in.Close()
		_ = cmd.Wait()
		want := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if want < 100*time.Millisecond {
			t.Fatalf("%s: the shell burnt %v only, which proves nothing", name, want)
		}
		if off := (got - want).Abs(); off > want/10+2*tick {
			t.Errorf("%s: %v by %s, %v by wait4", name, got, g.method(), want)
		}
	}
}
