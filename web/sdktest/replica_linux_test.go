package sdktest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// newReplicas returns the disks of n machines, of which the first is mounted. Their images are on
// XFS, which copies a file atomically while it is written: like a synchronous replica when its
// machine dies.
func newReplicas(t *testing.T, n int) []*disk {
	t.Helper()
	below := newDisk(t, "xfs")
	disks := make([]*disk, n)
	for i := range disks {
		d := &disk{image: filepath.Join(below.mount, fmt.Sprint("image-", i)), mount: filepath.Join(t.TempDir(), fmt.Sprint("machine-", i))}
		must(t, os.Mkdir(d.mount, 0o700))
		disks[i] = d
	}
	disks[0].format(t, "ext4")
	disks[0].power(t)
	t.Cleanup(func() {
		for _, d := range disks {
			if mounted(t, d) {
				d.unmount(t)
			}
		}
	})
	return disks
}

// mounted reports whether a disk is mounted.
func mounted(t *testing.T, d *disk) bool {
	t.Helper()
	here, err := os.Stat(d.mount)
	must(t, err)
	above, err := os.Stat(filepath.Dir(d.mount))
	must(t, err)
	return here.Sys().(*syscall.Stat_t).Dev != above.Sys().(*syscall.Stat_t).Dev
}

// copyTo has the disk of another machine hold what this one's holds at this moment.
func (d *disk) copyTo(t *testing.T, other *disk) {
	t.Helper()
	shell(t, "cp", "--reflink=always", d.image, other.image)
}

// moveTo has the server start on another machine's disk, at the address that clients know.
func (in *instance) moveTo(t *testing.T, from, to *disk) {
	t.Helper()
	in.kill(t)
	from.unmount(t)
	to.power(t)
	in.db = filepath.Join(to.mount, "mailer.db")
	in.serve(t)
}

// TestReplicatedDevice: a machine dies at random moments under a mix of mail, and another one
// mounts the replica of its disk and starts the server. The file system was not unmounted.
func TestReplicatedDevice(t *testing.T) {
	part(t, "power")
	t.Parallel()
	rounds := cutCount()
	disks := newReplicas(t, rounds+1)
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{dotDelay: 15 * time.Millisecond})
	in := newInstanceOn(t, disks[0], killArgs(relay)...)
	in.serve(t)
	in.addDomain(t, "example.test")
	l := newLoad(client{in.url, in.newKey(t)})
	stop := l.start(t)
	for i := range rounds {
		l.waitAccepted(t, killGap())
		afterRandom(80 * time.Millisecond)
		freeze(t, in.cmd.Process.Pid)
		disks[i].copyTo(t, disks[i+1])
		in.moveTo(t, disks[i], disks[i+1])
	}
	l.waitAccepted(t, 20)
	stop()
	t.Logf("%d machines died", rounds)
	e := l.ledger.gather(t, in, l.api, relay, 2*time.Minute, killLimit(rounds))
	e.signed = dkimVerifier(t, in, "example.test")
	l.ledger.wantNoProblems(t, e)
	in.checkFiles(t)
}

// TestControlOfReplicatedDevice copies the disk before the last mail is accepted, like an
// asynchronous replica.
func TestControlOfReplicatedDevice(t *testing.T) {
	part(t, "power")
	t.Parallel()
	disks := newReplicas(t, 2)
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{dotDelay: 2 * time.Second}) // so that nothing is sent twice
	in := newInstanceOn(t, disks[0], killArgs(relay)...)
	in.serve(t)
	in.addDomain(t, "example.test")
	l := newLoad(client{in.url, in.newKey(t)})
	disks[0].copyTo(t, disks[1])
	stop := l.start(t)
	l.waitAccepted(t, 60)
	stop()
	in.moveTo(t, disks[0], disks[1])
	e := l.ledger.gather(t, in, l.api, relay, time.Minute, killConnections)
	l.ledger.wantProblem(t, e, lost, miscounted)
	in.stop(t)
}
