package engine

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// setUserTimeout closes a connection whose sent data stays unacknowledged for tcpUserTimeout (TCP
// user timeout, RFC 5482). The default of Linux is a quarter of an hour.
func setUserTimeout(network, _ string, c syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	var set error
	err := c.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(tcpUserTimeout.Milliseconds()))
	})
	return errors.Join(err, set)
}

// closedByPeer reports whether the peer has closed an idle connection, or has sent something
// unexpected on it.
func closedByPeer(c net.Conn) bool {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	var found error
	err = raw.Control(func(fd uintptr) {
		_, _, found = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	return err != nil || !errors.Is(found, unix.EAGAIN)
}
