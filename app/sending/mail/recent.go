package mail

import (
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
)

// maxRecentBytes bounds the emails that are cached between acceptance and first attempt, so that
// sending them needs no read. Further ones are read in batches, which costs little more.
const maxRecentBytes = 8 << 20

// maxRecentEmail is the largest cached email. Large attachments cost little more to read than to
// cache.
const maxRecentEmail = 256 << 10

// recentCache caches emails that were just accepted. An email does not change after acceptance, so
// an entry is valid for the first attempt, while all recipients still wait that waited at
// acceptance.
type recentCache struct {
	mu         sync.Mutex
	emails     map[string]recentEmail
	bytes      int64
	shared     bool      // other servers send too
	lastExpiry time.Time // time of the last expire
}

// recentFor is how long an email stays cached while the cache is full and another server may have
// sent it.
const recentFor = time.Minute

// recentEmail is a cached email.
type recentEmail struct {
	*app.Email
	AcceptedState
	addedAt time.Time
}

// AcceptedState is what was known of an email at its acceptance.
type AcceptedState struct {
	Recipients []string // without those left out
	AsOf       uint64   // version of the suppressions that Recipients depends on (see db.Tx); 0: unknown
}

// put caches an email if there is space.
func (f *recentCache) put(e *app.Email, state AcceptedState) {
	if e.Raw != nil { // the raw message contains the attachments
		small := *e
		small.Attachments = nil
		e = &small
	}
	size := e.Size()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := clock.Now()
	if f.shared && f.bytes+size > maxRecentBytes && now.Sub(f.lastExpiry) >= recentFor {
		f.lastExpiry = now
		f.expire(now)
	}
	if size > maxRecentEmail || f.bytes+size > maxRecentBytes {
		return
	}
	if f.emails == nil {
		f.emails = map[string]recentEmail{}
	}
	f.emails[e.ID] = recentEmail{e, state, now}
	f.bytes += size
}

// expire removes old entries.
func (f *recentCache) expire(now time.Time) {
	for id, e := range f.emails {
		if now.Sub(e.addedAt) >= recentFor {
			f.bytes -= e.Size()
			delete(f.emails, id)
		}
	}
}

// ForgetRecent removes an email from the cache that will not be sent.
func (s *Service) ForgetRecent(emailID string) { s.recent.take(emailID) }

// take removes and returns an email and its state at acceptance; nil: not cached.
func (f *recentCache) take(id string) (*app.Email, AcceptedState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.emails[id]
	if ok {
		delete(f.emails, id)
		f.bytes -= e.Size()
	}
	return e.Email, e.AcceptedState
}

// has reports whether an email is cached.
func (f *recentCache) has(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.emails[id]
	return ok
}

// clear removes all entries.
func (f *recentCache) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emails, f.bytes = nil, 0
}

// TakeRecent removes and returns an email that was just accepted, and its state at acceptance; nil:
// it must be read.
func (s *Service) TakeRecent(id string) (*app.Email, AcceptedState) { return s.recent.take(id) }

// IsRecent reports whether TakeRecent would return an email.
func (s *Service) IsRecent(id string) bool { return s.recent.has(id) }
