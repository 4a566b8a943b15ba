package sdktest

import (
	"bytes"
	"debug/elf"
	endian "encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// clock is the wall clock of one instance's servers. It can be moved while a server runs, and the
// monotonic clock is not affected, as when NTP steps the clock or a paused machine resumes. A
// static Go program reads the time from the kernel's vDSO. Before the first instruction of the
// process, its vDSO page is overwritten with a function that adds an offset to the wall clock.
type clock struct {
	in     *instance
	mu     sync.Mutex
	offset int64 // seconds
	mem    *os.File
	at     int64 // where the running server keeps its offset
}

// movableClock gives a server that is not started yet a movable clock.
func movableClock(in *instance) *clock {
	c := &clock{in: in}
	in.begin = c.begin
	return c
}

// now returns the server's time.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(time.Duration(c.offset) * time.Second)
}

// step moves the clock immediately, for the running server and later ones.
func (c *clock) step(t *testing.T, by time.Duration) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += int64(by / time.Second)
	if c.in.cmd == nil {
		return // the next server begins with it
	}
	if err := c.write(); err != nil {
		t.Fatalf("move the clock: %v", err)
	}
}

func (c *clock) write() error {
	_, err := c.mem.WriteAt(endian.LittleEndian.AppendUint64(nil, uint64(c.offset)), c.at)
	return err
}

// begin starts a server that stops before its first instruction, puts the clock in
// and lets it go.
func (c *clock) begin(cmd *exec.Cmd) error {
	runtime.LockOSThread() // ptrace needs the same thread
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		return fmt.Errorf("wait for the first instruction: %w", err)
	}
	if err := c.install(pid); err != nil {
		return fmt.Errorf("put a clock into the server: %w", err)
	}
	return syscall.PtraceDetach(pid)
}

// wallClock is clock_gettime(id, at): the system call and, for the wall clock (id 0) only, the
// addition of the seconds stored after the code.
var wallClock = []byte{
	0xb8, 0xe4, 0, 0, 0, // mov eax, 228
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0a, // jne to ret
	0x48, 0x8b, 0x15, 6, 0, 0, 0, // mov rdx, [rip+6]
	0x48, 0x01, 0x16, // add [rsi], rdx
	0xc3,       // ret
	0x90, 0x90, // up to the offset
}

func (c *clock) install(pid int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mem != nil {
		c.mem.Close()
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	c.mem = mem
	at, err := vdsoClock(pid, mem)
	if err != nil {
		return err
	}
	if _, err := mem.WriteAt(wallClock, at); err != nil {
		return err
	}
	c.at = at + int64(len(wallClock))
	return c.write()
}

// vdsoClock finds the address of clock_gettime in a process.
func vdsoClock(pid int, mem *os.File) (int64, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	var from, to int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
				return 0, err
			}
		}
	}
	page := make([]byte, to-from)
	if _, err := mem.ReadAt(page, from); err != nil {
		return 0, err
	}
	file, err := elf.NewFile(bytes.NewReader(page))
	if err != nil {
		return 0, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(wallClock)+8) {
			return from + int64(s.Value), nil
		}
	}
	return 0, fmt.Errorf("the vDSO has no __vdso_clock_gettime that is long enough")
}
