// Package platform has the calls of the operating system that differ between Unix and Windows.
// Mailer is made for Linux; on macOS and Windows it can be tried.
package platform

import (
	"errors"
	"syscall"
)

// ErrLocked is the error of Lock if another process holds the lock.
var ErrLocked = errors.New("the file is locked by another process")

// IsFull reports whether err means that a disk or a quota has no space left.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || isFull(err)
}
