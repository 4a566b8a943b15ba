package footprint

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// releaseProgramPages drops the pages of the program from this process's memory. Most of them are
// needed only at the start, and the system maps the neighbours of each page that is touched, so
// that nearly all of the program counts as resident.
func releaseProgramPages() {
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range cleanMappings(maps) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
	}
}

// mapping is an address range.
type mapping struct{ from, to uintptr }

// cleanMappings returns the mappings in a /proc/PID/smaps that are parts of files, read-only, and
// without a modified page: nothing is lost by dropping them.
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
