//go:build !linux

package sdktest

import "syscall"

// endWithParent has no counterpart outside Linux.
func endWithParent() *syscall.SysProcAttr { return nil }
