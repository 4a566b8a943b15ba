package delivery

import (
	"context"

	"mailer/app"
	"mailer/db"
)

// What is read ahead at one claim, so that its units share one view of the
// database, whose cost is that of several emails.
const (
	maxAheadMail  = 64 << 10 // a larger one costs little more by itself
	maxAheadBytes = 1 << 20
)

// readEmail is an email as it was read for sending, the recipients that waited and
// what keeps it from them.
type readEmail struct {
	email   *app.Email
	open    []string
	blocked app.Blocked
}

// read reads what a unit's transaction needs.
func (l *lane) read(r *db.Reader, j *job, into *readEmail) (err error) {
	email, open, err := r.Outgoing(j.unit.TeamID, j.unit.EmailID)
	if err != nil {
		return err
	}
	if into.blocked, err = l.s.audience.BlockedAmong(r, j.unit.TeamID, j.unit.TopicID, open); err != nil {
		return err
	}
	into.email, into.open = email, open
	return nil
}

// readAhead reads the emails of jobs that are claimed together, where no copy is
// left from their acceptance. It comes after their attempts began: who changes what
// is read here outdates the unit, so hold refuses its dot. Only a first attempt is
// read ahead, since a report may settle recipients of the others meanwhile.
func (l *lane) readAhead(ctx context.Context, jobs []*job) {
	var some []*job
	var size int64
	for _, j := range jobs {
		if j.unit.Attempts == 1 && j.unit.Size <= maxAheadMail && size+j.unit.Size <= maxAheadBytes && !l.s.mail.IsFresh(j.unit.EmailID) {
			some, size = append(some, j), size+j.unit.Size
		}
	}
	if len(some) < 2 {
		return
	}
	// What can't be read stays unread: its own transaction tries again and says why.
	_ = l.s.DB.Read(ctx, func(r *db.Reader) error {
		for _, j := range some {
			read := &readEmail{}
			if err := l.read(r, j, read); err != nil {
				return err
			}
			j.ahead = read
		}
		return nil
	})
}
