package health

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// unsynchronised is STA_UNSYNC of adjtimex(2).
const unsynchronised = 0x40

// synchronised reports whether the system synchronises its clock, by NTP.
func synchronised() bool {
	var t syscall.Timex
	_, err := syscall.Adjtimex(&t)
	return err == nil && t.Status&unsynchronised == 0
}

// limitOf returns the maximum number of open files of a process; 0: unknown.
func limitOf(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Max open files"); ok {
			fields := strings.Fields(rest)
			if len(fields) < 2 {
				return 0
			}
			n, _ := strconv.ParseUint(fields[1], 10, 64) // the hard limit, to which Go raises the soft one; "unlimited" is 0
			return n
		}
	}
	return 0
}
