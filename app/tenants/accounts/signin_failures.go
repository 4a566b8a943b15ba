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
	// failureInterval is the least time between two audit entries of failed sign-ins of one account
	// from one client network.
	failureInterval = time.Minute
	// maxFailures is how many failed sign-ins are audited within failureWindow in total, so that
	// attempts can't fill the audit log.
	maxFailures   = 1000
	failureWindow = time.Hour
)

// Sign-in methods.
const (
	byPassword = "password"
	byCode     = "code"
	byRecovery = "recovery_code"
	byPasskey  = "passkey"
	byLink     = "link"
)

// failureLog limits the audit entries of failed sign-ins. The zero value is ready to use.
type failureLog struct {
	mu          sync.Mutex
	last        map[failureKey]time.Time
	windowStart time.Time // of the window that count counts
	count       int
}

// failureKey identifies sign-ins that share audit entries.
type failureKey struct {
	account string
	client  netip.Prefix
}

// allow reports whether a failed sign-in is to be audited.
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

// signInAttempt is an attempt to sign in.
type signInAttempt struct {
	visitor *Visitor
	account string // what was tried: an address or an id
	userID  string // the user; empty: none, or unknown
	email   string // the address; empty: not given
	method  string
}

// recordFailure writes a failed sign-in to the audit log and the server log, if err is one. It
// takes the same time for accounts that exist and for those that don't.
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
	if _, err := NewUser(a.email, ""); err == nil { // otherwise it may be a password typed into the wrong field
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
