package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"time"
)

// reservedDescriptors is how many open files and connections there may be beside those
// of clients: the database, relays, webhooks, name servers.
const reservedDescriptors = 200

// failure tells of a connection that could not be taken, once in a while: net/http
// tries again by itself. Where descriptors are what is missing, a connection that
// stalled is cut for the next.
func (s *connections) failure(err error) {
	if errors.Is(err, net.ErrClosed) {
		return
	}
	exhausted := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
	now := time.Now()
	s.mu.Lock()
	if s.failed.IsZero() {
		s.failed = now
	}
	tell := now.Sub(s.said) >= logEvery
	if tell {
		s.said = now
	}
	var victim *conn
	if exhausted {
		if victim = s.stalledOfBusiest(); victim != nil {
			s.remove(victim)
			s.cut++
		}
	}
	open := s.open
	s.mu.Unlock()
	if victim != nil {
		victim.Conn.Close()
	}
	if !tell {
		return
	}
	if exhausted {
		s.log.Error("no connection can be taken: no file descriptors are left; raise the limit (systemd: LimitNOFILE=, a shell: ulimit -n), or lower --max-connections",
			"error", err, "connections", open, "limit", descriptorLimit())
		return
	}
	s.log.Error("no connection can be taken; it is tried again", "error", err, "connections", open)
}

// descriptorLimit is how many files the process may have open, which Go has raised as
// far as it may be; 0: not known.
func descriptorLimit() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Max
}

// warnDescriptors warns where so many connections would need more files than the
// process may have open.
func warnDescriptors(log *slog.Logger, connections int) {
	need := uint64(connections + reservedDescriptors)
	if limit := descriptorLimit(); limit > 0 && limit < need {
		log.Warn("the limit of open files is too low for --max-connections: raise it (systemd: LimitNOFILE=, a shell: ulimit -n), or lower --max-connections",
			"limit", limit, "needed", need, "connections", connections)
	}
}

// noise is net/http's own log: what clients do wrong is for debugging, and what went
// wrong here is not. Failures to accept are told by connections.
type noise struct{ log *slog.Logger }

// Write implements io.Writer.
func (n noise) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if strings.HasPrefix(text, "http: panic") {
		n.log.Error("panic while a connection was served", "error", fmt.Sprintf("%.4000s", text))
	} else {
		n.log.Debug(text)
	}
	return len(line), nil
}
