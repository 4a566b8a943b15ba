package sdktest

import "syscall"

// endWithParent has a process killed when the tests die before they stop it.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
