package db

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// userTimeout has a connection end once what was sent was not acknowledged for a while (TCP
// user timeout, RFC 5482); by itself Linux tries for a quarter of an hour.
func userTimeout(network, _ string, c syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	var set error
	err := c.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
	})
	return errors.Join(err, set)
}
