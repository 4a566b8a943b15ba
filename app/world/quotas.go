package world

import (
	"fmt"
	"testing/synctest"
	"time"

	"mailer/app/mail"
	"mailer/app/plan"
	"mailer/db"
)

func (w *World) SetPlan(in plan.Input) {
	w.T.Helper()
	_, err := w.Server.Teams.SetPlan(w.T.Context(), w.Key.TeamID, in)
	Must(w.T, err)
}

// SendTo sends one email to each of persons [from, to) and returns the ids.
func (w *World) SendTo(from, to int) (ids []string) {
	w.T.Helper()
	for i := from; i < to; i++ {
		ids = append(ids, w.Send(Person(i)))
	}
	return ids
}

// TrySend returns the error of a send to n addresses.
func (w *World) TrySend(n int) error {
	w.T.Helper()
	var to []string
	for i := range n {
		to = append(to, fmt.Sprintf("t%d@example.net", i))
	}
	_, err := w.Server.Mail.SendEmail(w.T.Context(), w.Key, Letter(to...), mail.SendOptions{})
	return err
}

// Elapse lets time pass, and what is due then be done. Of hours the server sleeps
// through all but the last minute, which costs a test less than its running.
func (w *World) Elapse(d time.Duration) {
	w.T.Helper()
	if d > 2*time.Minute && w.started {
		w.Stop()
		time.Sleep(d - time.Minute)
		d = time.Minute
		for _, r := range w.Relays {
			r.Reopen()
		}
		w.Open()
		w.Start()
	}
	time.Sleep(d)
	synctest.Wait()
}

// Reopen has a relay that was closed take mail again.
func (r *FakeRelay) Reopen() {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Closed, r.Gone = false, make(chan struct{})
}

// backlog is what waits.
func (w *World) backlog() (b plan.Backlog) {
	w.T.Helper()
	w.Read(func(r *db.Reader) (err error) {
		b, err = r.Backlog(w.Key.TeamID)
		return err
	})
	return b
}

func (w *World) WantBacklog(late, scheduled int64) {
	w.T.Helper()
	if got := w.backlog(); got != (plan.Backlog{Late: late, Scheduled: scheduled}) {
		w.T.Errorf("backlog %+v, want %d late and %d scheduled", got, late, scheduled)
	}
}

// QuotaTold returns what webhooks were told of quotas.
func (w *World) QuotaTold() []string {
	w.T.Helper()
	return w.Sql(`SELECT type || ' ' || (payload ->> '$.data.period') || ' ' || (payload ->> '$.data.emails_sent') || '/' || (payload ->> '$.data.limit')
		|| ' ' || (payload ->> '$.data.resets_at') FROM happenings WHERE type LIKE 'quota%' ORDER BY id`)
}
