package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"mailer/app/kit/platform"
)

// reservedDescriptors is the number of open files and connections besides those of clients: the
// database, relays, webhooks, name servers.
const reservedDescriptors = 200

// acceptFailed handles an error of Accept. It logs from time to time: net/http retries
// automatically. If file descriptors ran out, a stalled connection is closed.
func (s *connections) acceptFailed(err error) {
	if errors.Is(err, net.ErrClosed) {
		return
	}
	exhausted := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
	now := time.Now()
	s.mu.Lock()
	if s.failedAt.IsZero() {
		s.failedAt = now
	}
	logNow := now.Sub(s.failureLoggedAt) >= logEvery
	if logNow {
		s.failureLoggedAt = now
	}
	var victim *conn
	if exhausted {
		var ok bool
		if victim, ok = s.open.RemoveIdle(netip.Prefix{}); ok {
			s.evicted++
		}
	}
	open, _ := s.open.Open()
	s.mu.Unlock()
	if victim != nil {
		victim.Conn.Close()
	}
	if !logNow {
		return
	}
	if exhausted {
		s.log.Error("no connection can be taken: no file descriptors are left; raise the limit (systemd: LimitNOFILE=, a shell: ulimit -n), or lower --max-connections",
			"error", err, "connections", open, "limit", descriptorLimit())
		return
	}
	s.log.Error("no connection can be taken; it is tried again", "error", err, "connections", open)
}

// descriptorLimit returns how many files the process may open; Go has raised the soft limit to the
// hard one. 0: not known.
func descriptorLimit() uint64 {
	limit, _ := platform.MaxOpenFiles() // 0 with an error
	return limit
}

// warnDescriptors logs a warning if so many connections need more files than the process may open.
func warnDescriptors(log *slog.Logger, connections int) {
	need := uint64(connections + reservedDescriptors)
	if limit := descriptorLimit(); limit > 0 && limit < need {
		log.Warn("the limit of open files is too low for --max-connections: raise it (systemd: LimitNOFILE=, a shell: ulimit -n), or lower --max-connections",
			"limit", limit, "needed", need, "connections", connections)
	}
}

// httpLog is net/http's own log. Client errors are logged at debug, panics at error. Failures of
// Accept are logged by connections.
type httpLog struct{ log *slog.Logger }

// Write implements io.Writer.
func (n httpLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if strings.HasPrefix(text, "http: panic") {
		n.log.Error("panic while a connection was served", "error", fmt.Sprintf("%.4000s", text))
	} else {
		n.log.Debug(text)
	}
	return len(line), nil
}
