//go:build !linux

package health

// synchronised reports whether the system synchronises its clock. It is unknown on this system.
func synchronised() bool { return false }

// limitOf returns the maximum number of open files of a process; 0: unknown.
func limitOf(int) uint64 { return 0 }
