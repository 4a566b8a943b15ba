package engine

import (
	"os"
	"syscall"
)

// syncData has what was written to a file be on disk, with its size but not its times.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return err
		}
	}
}
