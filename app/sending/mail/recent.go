package mail

import (
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
)

// maxRecentBytes bounds the mail that is kept in memory between its acceptance and
// its first attempt, so that sending it needs no reading back. What has no room is
// read ahead with others, which costs little more.
const maxRecentBytes = 8 << 20

// maxRecentEmail is the largest email that is kept: one with attachments of
// megabytes costs little more to read than to keep.
const maxRecentEmail = 256 << 10

// recentCache holds emails that were just accepted. What an email says never
// changes after acceptance, so an entry is as good as its rows; only the first
// attempt uses it, when all those wait that waited then.
type recentCache struct {
	mu         sync.Mutex
	emails     map[string]recentEmail
	bytes      int64
	shared     bool      // other servers send too
	lastExpiry time.Time // when old ones were dropped last
}

// recentFor is how long an email is kept where room is short and another server may have sent
// it.
const recentFor = time.Minute

// recentEmail is an email that is kept.
type recentEmail struct {
	*app.Email
	AcceptedState
	addedAt time.Time
}

// AcceptedState is what an email was accepted with.
type AcceptedState struct {
	Recipients []string // recipients but those left out
	AsOf       uint64   // as of which they were (see db.Tx); 0: not known
}

// put keeps an email where there is room.
func (f *recentCache) put(e *app.Email, state AcceptedState) {
	if e.Raw != nil { // which has them in it
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

// expire drops those that were kept for long.
func (f *recentCache) expire(now time.Time) {
	for id, e := range f.emails {
		if now.Sub(e.addedAt) >= recentFor {
			f.bytes -= e.Size()
			delete(f.emails, id)
		}
	}
}

// ForgetRecent has an email that never leaves keep no room in memory.
func (s *Service) ForgetRecent(emailID string) { s.recent.take(emailID) }

// add returns an email and what it was accepted with, once, and forgets them; nil where
// it is not kept.
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

// has reports whether an email is kept.
func (f *recentCache) has(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.emails[id]
	return ok
}

// clear drops all of them.
func (f *recentCache) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emails, f.bytes = nil, 0
}

// TakeRecent returns an email that was accepted a moment ago and what it was accepted with,
// and forgets it; nil: it has to be read.
func (s *Service) TakeRecent(id string) (*app.Email, AcceptedState) { return s.recent.take(id) }

// IsRecent reports whether TakeRecent has an email.
func (s *Service) IsRecent(id string) bool { return s.recent.has(id) }
