package accounts

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

const (
	// failureInterval is how often a sign-in that failed is written down, of one account from one
	// address of the network.
	failureInterval = time.Minute
	// maxFailures is how many are written down within failureWindow, whoever they are of: the audit
	// log must not be filled by who tries.
	maxFailures   = 1000
	failureWindow = time.Hour
)

// How somebody tried to sign in.
const (
	byPassword = "password"
	byCode     = "code"
	byRecovery = "recovery_code"
	byPasskey  = "passkey"
	byLink     = "link"
)

// failureLog are the sign-ins that failed lately and were written down. The zero value is ready.
type failureLog struct {
	mu          sync.Mutex
	last        map[failureKey]time.Time
	windowStart time.Time // of the hour in which many counts
	count       int
}

// failureKey is what one note stands for.
type failureKey struct {
	account string
	client  netip.Prefix
}

// acquire reports whether a sign-in that failed is to be written down.
func (n *failureLog) allow(key failureKey, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if age := now.Sub(n.windowStart); age < 0 || age >= failureWindow {
		n.windowStart, n.count, n.last = now, 0, map[failureKey]time.Time{}
	}
	if age := now.Sub(n.last[key]); age >= 0 && age < failureInterval || n.count >= maxFailures {
		return false
	}
	n.last[key] = now
	n.count++
	return true
}

// signInAttempt is somebody who tries to sign in.
type signInAttempt struct {
	visitor *Visitor
	account string // what it is tried at: an address, or an id
	userID  string // whose account that is; empty: nobody's, or not known
	email   string // the address; empty: not said
	method  string
}

// recordFailure writes down in the audit log and the log of the server that a sign-in failed,
// where err says that. An account that there is and one that there is not take the same.
func (s *Service) recordFailure(ctx context.Context, a *signInAttempt, err error) {
	switch app.CodeOf(err) {
	case app.CodeInvalidCredentials:
	case app.CodeForbidden:
		if a.method != byLink {
			return
		}
	default:
		return
	}
	if !s.failures.allow(failureKey{a.account, a.visitor.Client}, clock.Now()) {
		return
	}
	after := map[string]any{"by": a.method}
	if _, err := NewUser(a.email, ""); err == nil { // else it may be a password in the wrong field
		after["email"] = a.email
	}
	s.Log.Info("a sign-in failed", "address", addressOf(a.visitor), "account", a.userID, "by", a.method)
	err = s.DB.Write(context.WithoutCancel(ctx), func(tx *db.Tx) error {
		return base.Audit(ctx, tx, "", "sign_in.fail", a.userID, nil, after)
	})
	if err != nil {
		s.LogUnlessUnavailable("a sign-in that failed is not written down", err)
	}
}
