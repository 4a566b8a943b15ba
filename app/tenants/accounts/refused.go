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
	// noteEvery is how often a sign-in that failed is written down, of one account from one
	// address of the network.
	noteEvery = time.Minute
	// maxNotes is how many are written down within noteHour, whoever they are of: the audit
	// log must not be filled by who tries.
	maxNotes = 1000
	noteHour = time.Hour
)

// How somebody tried to sign in.
const (
	byPassword = "password"
	byCode     = "code"
	byRecovery = "recovery_code"
	byPasskey  = "passkey"
	byLink     = "link"
)

// noted are the sign-ins that failed lately and were written down. The zero value is ready.
type noted struct {
	mu    sync.Mutex
	last  map[noteOf]time.Time
	since time.Time // of the hour in which many counts
	many  int
}

// noteOf is what one note stands for.
type noteOf struct {
	account string
	client  netip.Prefix
}

// take reports whether a sign-in that failed is to be written down.
func (n *noted) take(of noteOf, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if age := now.Sub(n.since); age < 0 || age >= noteHour {
		n.since, n.many, n.last = now, 0, map[noteOf]time.Time{}
	}
	if age := now.Sub(n.last[of]); age >= 0 && age < noteEvery || n.many >= maxNotes {
		return false
	}
	n.last[of] = now
	n.many++
	return true
}

// attempt is somebody who tries to sign in.
type attempt struct {
	v       *Visitor
	account string // what it is tried at: an address, or an id
	userID  string // whose account that is; empty: nobody's, or not known
	email   string // the address; empty: not said
	by      string
}

// noteFailure writes down in the audit log and the log of the server that a sign-in failed,
// where err says that. An account that there is and one that there is not take the same.
func (s *Service) noteFailure(ctx context.Context, a *attempt, err error) {
	switch app.CodeOf(err) {
	case app.CodeInvalidCredentials:
	case app.CodeForbidden:
		if a.by != byLink {
			return
		}
	default:
		return
	}
	if !s.noted.take(noteOf{a.account, a.v.Client}, clock.Now()) {
		return
	}
	after := map[string]any{"by": a.by}
	if _, err := NewUser(a.email, ""); err == nil { // else it may be a password in the wrong field
		after["email"] = a.email
	}
	s.Log.Info("a sign-in failed", "address", addressOf(a.v), "account", a.userID, "by", a.by)
	err = s.DB.Write(context.WithoutCancel(ctx), func(tx *db.Tx) error {
		return base.Audit(ctx, tx, "", "sign_in.fail", a.userID, nil, after)
	})
	if err != nil {
		s.LogUnlessHindered("a sign-in that failed is not written down", err)
	}
}
