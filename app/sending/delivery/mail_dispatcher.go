package delivery

import (
	"context"
	"time"

	"mailer/app"
	"mailer/db"
)

// idleMail is how long the mail dispatcher sleeps while nothing is due. A change of the database
// wakes it.
const idleMail = time.Minute

// mailDispatcher is the dispatcher of emails.
type mailDispatcher struct{ *dispatcher }

// claim claims up to capacity due emails, stores that their attempts begin, and hands them to the
// workers. It returns how long to sleep.
func (n *mailDispatcher) claim(ctx context.Context, capacity int) (time.Duration, error) {
	units, next, err := n.claimDue(ctx, capacity)
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
		n.enqueue(j)
	}
	return next, err
}

// Limits of what one claim prefetches. Its units share one read transaction, which costs as much
// as several emails.
const (
	maxPrefetchMail  = 64 << 10 // a larger email costs little more when it is read alone
	maxPrefetchBytes = 1 << 20
)

// readEmail is an email read for sending: the open recipients of the transaction, and those that are suppressed or
// opted out.
type readEmail struct {
	email   *app.Email
	open    []string
	blocked app.Blocked
}

// readUnit reads what the transaction of an email needs.
func (s *Service) readUnit(r *db.Reader, u app.Unit) (*readEmail, error) {
	email, open, err := r.Outgoing(u.TeamID, u.EmailID)
	if err != nil {
		return nil, err
	}
	if u.Part != "" {
		if open, err = r.TransactionRecipients(u); err != nil {
			return nil, err
		}
	}
	blocked, err := s.blockedAmong(r, u, open)
	if err != nil {
		return nil, err
	}
	return &readEmail{email, open, blocked}, nil
}

// prefetch reads the emails of jobs that were claimed together in one read transaction, except
// those in the cache of recently accepted mail. It runs after the attempts began, so a later change
// of the email outdates the unit and its commit fails. Only first attempts are prefetched, because
// a provider event may settle recipients of later ones meanwhile.
func (s *Service) prefetch(ctx context.Context, jobs []*job) {
	var some []*job
	var size int64
	for _, j := range jobs {
		if j.unit.Attempts == 1 && j.unit.Part == "" && j.unit.Size <= maxPrefetchMail && size+j.unit.Size <= maxPrefetchBytes && !s.mail.IsRecent(j.unit.EmailID) {
			some, size = append(some, j), size+j.unit.Size
		}
	}
	if len(some) < 2 {
		return
	}
	// An email that can't be read here is read again in its own transaction, which reports the error.
	_ = s.DB.Read(ctx, func(r *db.Reader) error {
		open := make([][]string, len(some))
		err := r.Prefetch(func(r *db.Reader) {
			for _, j := range some {
				_, _, _ = r.Outgoing(j.unit.TeamID, j.unit.EmailID)
				_, _ = r.OpenRecipients(j.unit)
			}
		})
		for i, j := range some {
			if err == nil {
				open[i], err = r.OpenRecipients(j.unit)
			}
		}
		if err != nil {
			return err
		}
		err = r.Prefetch(func(r *db.Reader) {
			for i, j := range some {
				_, _ = s.blockedAmong(r, j.unit, open[i])
			}
		})
		if err != nil {
			return err
		}
		for _, j := range some {
			if read, err := s.readUnit(r, j.unit); err == nil {
				j.prefetched = read
			}
		}
		return nil
	})
}
