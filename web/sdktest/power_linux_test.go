package sdktest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// disk is a file system in a file that can lose its power.
type disk struct {
	image, mount string
	options      []string // of mount
}

// fileSystems are those that support shutdown, with their smallest size.
var fileSystems = map[string]int64{"ext4": 128 << 20, "xfs": 320 << 20}

// needPower skips the test if no file system can be mounted, also in CI: the machine lacks that,
// not a package.
func needPower(t *testing.T, kind string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("no power is cut here: only root can mount a file system")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("no power is cut here: the machine has no loop devices")
	}
	_, err := exec.LookPath("mkfs." + kind)
	need(t, err == nil, "mkfs."+kind)
}

// newDisk creates and mounts a file system.
func newDisk(t *testing.T, kind string, options ...string) *disk {
	t.Helper()
	dir := t.TempDir()
	d := &disk{image: filepath.Join(dir, "image"), mount: filepath.Join(dir, "mount"), options: options}
	must(t, os.Mkdir(d.mount, 0o700))
	d.format(t, kind)
	d.power(t)
	t.Cleanup(func() { d.unmount(t) })
	return d
}

// format makes the file system.
func (d *disk) format(t *testing.T, kind string) {
	t.Helper()
	needPower(t, kind)
	must(t, os.WriteFile(d.image, nil, 0o600))
	must(t, os.Truncate(d.image, fileSystems[kind]))
	shell(t, "mkfs."+kind, "-q", d.image)
}

func shell(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// power mounts the file system, which replays its journal.
func (d *disk) power(t *testing.T) {
	t.Helper()
	shell(t, "mount", "-o", strings.Join(append([]string{"loop"}, d.options...), ","), d.image, d.mount)
}

func (d *disk) unmount(t *testing.T) {
	t.Helper()
	eventually(t, time.Minute, "unmount", func() (bool, string) {
		out, err := exec.Command("umount", d.mount).CombinedOutput()
		return err == nil, string(out)
	})
}

// cut ends all writing to the file system, including its journal: what was not synced is lost. It
// uses the ioctl FS_IOC_SHUTDOWN with the flag NOLOGFLUSH.
func (d *disk) cut(t *testing.T) {
	t.Helper()
	const shutdown, noLogFlush = 0x8004587d, uint32(2)
	dir, err := os.Open(d.mount)
	must(t, err)
	defer dir.Close()
	flags := noLogFlush
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, dir.Fd(), shutdown, uintptr(unsafe.Pointer(&flags))); errno != 0 {
		t.Fatalf("shut the file system down: %v", errno)
	}
}

// restart remounts a disk after a power cut.
func (d *disk) restart(t *testing.T) {
	t.Helper()
	d.unmount(t)
	d.power(t)
}

// newInstanceOn is newInstance with the database on a disk.
func newInstanceOn(t *testing.T, d *disk, args ...string) *instance {
	t.Helper()
	in := newInstance(t, args...)
	in.db = filepath.Join(d.mount, "mailer.db")
	return in
}

func cutCount() int {
	switch {
	case *powerCuts > 0:
		return (*powerCuts + len(fileSystems) - 1) / len(fileSystems)
	case !long():
		return 1
	default:
		return 2
	}
}

// freeze stops a process, and returns when none of its threads can run: a file system that is shut
// down may answer a sync with success, and a machine without power would report nothing.
func freeze(t *testing.T, pid int) {
	t.Helper()
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	deadline, tick := time.After(time.Minute), time.NewTicker(100*time.Microsecond) // a sync may be hit in its midst
	defer tick.Stop()
	for running(t, pid) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the server is not frozen by SIGSTOP")
		}
	}
}

// running reports whether a thread of the process can still run: it is neither stopped nor in a
// disk call, after which it stops.
func running(t *testing.T, pid int) bool {
	t.Helper()
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	must(t, err)
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		if _, rest, _ := strings.Cut(string(b), ") "); rest == "" || !strings.Contains("TtD", rest[:1]) {
			return true
		}
	}
	return false
}

// TestPowerCut cuts the power of the database's file system and the server at random moments under
// a mix of mail, and starts the server on what the journal recovers.
func TestPowerCut(t *testing.T) {
	part(t, "power", shortForm)
	t.Parallel()
	for kind := range fileSystems {
		if kind != "ext4" && !long() {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cutPower(t, kind, cutCount())
		})
	}
}

func cutPower(t *testing.T, kind string, rounds int) {
	d := newDisk(t, kind)
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{dotDelay: 15 * time.Millisecond})
	in := newInstanceOn(t, d, killArgs(relay)...)
	in.serve(t)
	in.addDomain(t, "example.test")
	l := newLoad(client{in.url, in.newKey(t)})
	stop := l.start(t)
	for range rounds {
		l.waitAccepted(t, killGap())
		afterRandom(80 * time.Millisecond)
		freeze(t, in.cmd.Process.Pid)
		d.cut(t)
		in.kill(t)
		d.restart(t)
		in.serve(t)
	}
	l.waitAccepted(t, 20)
	stop()
	t.Logf("%d power cuts on %s", rounds, kind)
	e := l.ledger.gather(t, in, l.api, relay, 2*time.Minute, killLimit(rounds))
	e.signed = dkimVerifier(t, in, "example.test")
	l.ledger.wantNoProblems(t, e)
	in.checkFiles(t)
}

// TestControlOfPowerCut makes strace skip every sync: accepted mail is lost after the cut, and the
// judge reports it.
func TestControlOfPowerCut(t *testing.T) {
	part(t, "power", shortForm)
	t.Parallel()
	needStrace(t)
	d := newDisk(t, "ext4", "commit=300") // the journal does not save what the server did not
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{dotDelay: 2 * time.Second})
	in := newInstanceOn(t, d, killArgs(relay)...)
	in.addDomain(t, "example.test")
	key := in.newKey(t)
	d.restart(t) // so much is safe
	in.wrap = in.strace("fsync,fdatasync", "retval=0", os.DevNull)
	in.serve(t)
	l := newLoad(client{in.url, key})
	stop := l.start(t)
	l.waitAccepted(t, 60)
	stop()
	d.cut(t)
	in.kill(t)
	d.restart(t)
	in.wrap = nil
	in.serve(t)
	e := l.ledger.gather(t, in, l.api, relay, time.Minute, killConnections)
	l.ledger.wantProblem(t, e, lost, miscounted)
	in.stop(t)
}
