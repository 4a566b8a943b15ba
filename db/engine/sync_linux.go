package engine

import (
	"os"
	"syscall"
)

// syncData syncs the content and the size of a file, but not its times.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return err
		}
	}
}
