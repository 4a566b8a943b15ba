package footprint

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// releaseProgramPages takes the pages of the program out of this process. A start runs much
// that never runs again, and for each page that is touched the system maps those around
// it too, so that nearly all of the program counts as memory of ours.
func releaseProgramPages() {
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range cleanMappings(maps) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// cleanMappings are the mappings in a /proc/PID/smaps that are parts of files, can't be
// written to, and have no page that differs from the file: none is lost by taking them
// out.
func cleanMappings(smaps []byte) (found []mapping) {
	var at mapping
	ofFile := false
	for line := range bytes.Lines(smaps) {
		var m mapping
		var mode, offset, device string
		var inode, kib uint64
		if n, _ := fmt.Sscanf(string(line), "%x-%x %s %s %s %d", &m.from, &m.to, &mode, &offset, &device, &inode); n == 6 {
			at, ofFile = m, inode != 0 && mode[0] == 'r' && mode[1] == '-' && mode[3] == 'p'
		} else if n, _ := fmt.Sscanf(string(line), "Anonymous: %d kB", &kib); n == 1 && kib == 0 && ofFile {
			found = append(found, at)
		}
	}
	return found
}
