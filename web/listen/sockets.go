package listen

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// firstSocket is the descriptor of the first socket from a service manager.
const firstSocket = 3

// sockets are the listening sockets that a service manager opened for this process
// (sd_listen_fds(3)), so that the process needs no privilege for ports below 1024.
type sockets []socket

type socket struct {
	name     string // the flag that it is for, if the manager named it
	listener net.Listener
	taken    bool
}

// inherited returns the sockets that the environment describes; none if they are meant for another
// process.
func inherited() (all sockets, err error) {
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name) // child processes must not see them
	}
	if pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return nil, fmt.Errorf("LISTEN_FDS is no number: %q", count)
	}
	for i := range n {
		file := os.NewFile(uintptr(firstSocket+i), "socket "+strconv.Itoa(i))
		l, err := net.FileListener(file)
		err = errors.Join(err, file.Close()) // the listener has a copy
		if err != nil {
			return all, fmt.Errorf("take over socket %d of the service manager: %w", i, err)
		}
		s := socket{listener: l}
		if i < len(names) {
			s.name = names[i]
		}
		if _, ok := l.Addr().(*net.TCPAddr); !ok {
			return append(all, s), fmt.Errorf("socket %d of the service manager is not one of TCP: %s", i, l.Addr())
		}
		all = append(all, s)
	}
	return all, nil
}

// listen opens the address of a flag, or takes the inherited socket for it: preferably one with the
// flag's name and address, then with the name, then with the address. Errors name the flag.
func (s sockets) listen(flag, address string) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	var best *socket
	bestScore := 0
	for i := range s {
		score := 0
		if s[i].name == flag {
			score += 2
		}
		if sameAddress(s[i].listener.Addr(), at) {
			score += 2 - score/2
		}
		if !s[i].taken && score > bestScore {
			best, bestScore = &s[i], score
		}
	}
	if best == nil {
		l, err := net.Listen("tcp", address)
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			return nil, fmt.Errorf("--%s: %s is in use by another program: stop that, or give --%s another port (ss -ltnp names the program)", flag, address, flag)
		case errors.Is(err, syscall.EACCES):
			return nil, fmt.Errorf("--%s: this user can't listen on %s: ports below 1024 need AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit or setcap on the program; a port from 1024 on needs nothing (%w)", flag, address, err)
		case err != nil:
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		return l, nil
	}
	if at.IP.IsLoopback() && !best.listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return nil, fmt.Errorf("--%s %s is this machine's alone, and the socket that was handed over for it, %s, is not: give the flag the address of the socket", flag, address, best.listener.Addr())
	}
	best.taken = true
	return best.listener, nil
}

// sameAddress reports whether two addresses are equal; the wildcard addresses of IPv4 and IPv6 are.
func sameAddress(a net.Addr, b *net.TCPAddr) bool {
	own, ok := a.(*net.TCPAddr)
	return ok && own.Port == b.Port && plainAddr(own) == plainAddr(b)
}

func plainAddr(a *net.TCPAddr) netip.Addr {
	if len(a.IP) == 0 || a.IP.IsUnspecified() {
		return netip.Addr{}
	}
	return a.AddrPort().Addr().Unmap().WithZone("")
}

// unused returns an error for a socket that no flag took: its connections would wait forever.
func (s sockets) unused() error {
	for i := range s {
		if !s[i].taken {
			return fmt.Errorf("the service manager handed over a socket at %s, named %q, and no flag is for it: give --listen-tls, --listen-http, --smtp-listen, --smtp-receive, --metrics-listen or --listen that address", s[i].listener.Addr(), s[i].name)
		}
	}
	return nil
}

func (s sockets) close() {
	for i := range s {
		_ = s[i].listener.Close() // sockets that were taken are closed twice
	}
}
