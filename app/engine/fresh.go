package engine

import (
	"sync"

	"mailer/app"
)

// freshBytes bounds the mail that is kept in memory between its acceptance and
// its first attempt, so that sending it needs no reading back.
const freshBytes = 16 << 20

// maxFreshMail is the largest email that is kept: one with attachments of
// megabytes costs little more to read than to keep.
const maxFreshMail = 256 << 10

// freshMail holds emails that were just accepted. What an email says never
// changes after acceptance, so an entry is as good as its rows; only the first
// attempt uses it, when all recipients still wait.
type freshMail struct {
	mu     sync.Mutex
	emails map[string]*app.Email
	bytes  int64
}

// put keeps an email where there is room.
func (f *freshMail) put(e *app.Email) {
	size := e.Size()
	f.mu.Lock()
	defer f.mu.Unlock()
	if size > maxFreshMail || f.bytes+size > freshBytes {
		return
	}
	if f.emails == nil {
		f.emails = map[string]*app.Email{}
	}
	f.emails[e.ID] = e
	f.bytes += size
}

// take gives an email out, once; nil where it is not kept.
func (f *freshMail) take(id string) *app.Email {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.emails[id]
	if e != nil {
		delete(f.emails, id)
		f.bytes -= e.Size()
	}
	return e
}
