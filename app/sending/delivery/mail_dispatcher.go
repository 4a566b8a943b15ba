package delivery

import (
	"context"
	"time"

	"mailer/app"
	"mailer/db"
)

// idleMail is how long a dispatcher of emails sleeps where nothing is due; it
// is woken when the database changes.
const idleMail = time.Minute

// mailDispatcher is the line of emails.
type mailDispatcher struct{ *line }

// claim takes up to room due units of emails, stores that their attempts begin,
// and hands them to the workers. It answers how long to sleep.
func (n *mailDispatcher) claim(ctx context.Context, room int) (time.Duration, error) {
	units, next, err := n.due(ctx, room)
	if err != nil || len(units) == 0 {
		return next, err
	}
	begun, err := n.begin(ctx, units)
	jobs := make([]*job, len(begun))
	for i, u := range begun {
		jobs[i] = &job{unit: u}
	}
	n.s.prefetch(ctx, jobs)
	for _, j := range jobs {
		n.send(j)
	}
	return next, err
}

// What is read ahead at one claim, so that its units share one view of the
// database, whose cost is that of several emails.
const (
	maxPrefetchMail  = 64 << 10 // a larger one costs little more by itself
	maxPrefetchBytes = 1 << 20
)

// readEmail is an email as it was read for sending, the recipients that waited and
// what keeps it from them.
type readEmail struct {
	email   *app.Email
	open    []string
	blocked app.Blocked
}

// readUnit reads what the transaction of an email's unit needs.
func (s *Service) readUnit(r *db.Reader, u app.Unit) (*readEmail, error) {
	email, open, err := r.Outgoing(u.TeamID, u.EmailID)
	if err != nil {
		return nil, err
	}
	blocked, err := s.blockedAmong(r, u, open)
	if err != nil {
		return nil, err
	}
	return &readEmail{email, open, blocked}, nil
}

// prefetch reads the emails of jobs that are claimed together, where no copy is
// left from their acceptance. It comes after their attempts began: who changes what
// is read here outdates the unit, so its dot is refused. Only a first attempt is
// read ahead, since a report may settle recipients of the others meanwhile.
func (s *Service) prefetch(ctx context.Context, jobs []*job) {
	var some []*job
	var size int64
	for _, j := range jobs {
		if j.unit.Attempts == 1 && j.unit.Size <= maxPrefetchMail && size+j.unit.Size <= maxPrefetchBytes && !s.mail.IsRecent(j.unit.EmailID) {
			some, size = append(some, j), size+j.unit.Size
		}
	}
	if len(some) < 2 {
		return
	}
	// What can't be read stays unread: its own transaction tries again and says why.
	_ = s.DB.Read(ctx, func(r *db.Reader) error {
		r.Concurrently(len(some), func(r *db.Reader, i int) {
			if read, err := s.readUnit(r, some[i].unit); err == nil {
				some[i].ahead = read
			}
		})
		return nil
	})
}
