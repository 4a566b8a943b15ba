package mail

import (
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
)

// freshBytes bounds the mail that is kept in memory between its acceptance and
// its first attempt, so that sending it needs no reading back. What has no room is
// read ahead with others, which costs little more.
const freshBytes = 8 << 20

// maxFreshMail is the largest email that is kept: one with attachments of
// megabytes costs little more to read than to keep.
const maxFreshMail = 256 << 10

// freshMail holds emails that were just accepted. What an email says never
// changes after acceptance, so an entry is as good as its rows; only the first
// attempt uses it, when all those wait that waited then.
type freshMail struct {
	mu     sync.Mutex
	emails map[string]freshEmail
	bytes  int64
	shared bool      // other servers send too
	aged   time.Time // when old ones were dropped last
}

// freshFor is how long an email is kept where room is short and another server may have sent
// it.
const freshFor = time.Minute

// freshEmail is an email that is kept.
type freshEmail struct {
	*app.Email
	Fresh
	since time.Time
}

// Fresh is what an email was accepted with.
type Fresh struct {
	Open      []string // recipients but those left out
	Standings uint64   // as of which they were (see db.Tx); 0: not known
}

// put keeps an email where there is room.
func (f *freshMail) put(e *app.Email, with Fresh) {
	if e.Raw != nil { // which has them in it
		lean := *e
		lean.Attachments = nil
		e = &lean
	}
	size := e.Size()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := clock.Now()
	if f.shared && f.bytes+size > freshBytes && now.Sub(f.aged) >= freshFor {
		f.aged = now
		f.dropOld(now)
	}
	if size > maxFreshMail || f.bytes+size > freshBytes {
		return
	}
	if f.emails == nil {
		f.emails = map[string]freshEmail{}
	}
	f.emails[e.ID] = freshEmail{e, with, now}
	f.bytes += size
}

// dropOld drops those that were kept for long.
func (f *freshMail) dropOld(now time.Time) {
	for id, e := range f.emails {
		if now.Sub(e.since) >= freshFor {
			f.bytes -= e.Size()
			delete(f.emails, id)
		}
	}
}

// Forget has an email that never leaves keep no room in memory.
func (s *Service) Forget(emailID string) { s.fresh.take(emailID) }

// take returns an email and what it was accepted with, once, and forgets them; nil where
// it is not kept.
func (f *freshMail) take(id string) (*app.Email, Fresh) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.emails[id]
	if ok {
		delete(f.emails, id)
		f.bytes -= e.Size()
	}
	return e.Email, e.Fresh
}

// has reports whether an email is kept.
func (f *freshMail) has(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.emails[id]
	return ok
}

// clear drops all of them.
func (f *freshMail) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emails, f.bytes = nil, 0
}

// TakeFresh returns an email that was accepted a moment ago and what it was accepted with,
// and forgets it; nil: it has to be read.
func (s *Service) TakeFresh(id string) (*app.Email, Fresh) { return s.fresh.take(id) }

// IsFresh reports whether TakeFresh has an email.
func (s *Service) IsFresh(id string) bool { return s.fresh.has(id) }
