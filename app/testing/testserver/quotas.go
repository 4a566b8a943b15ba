package testserver

import (
	"testing/synctest"
	"time"

	"mailer/app/rules/plan"
	"mailer/db"
)

// SetPlan sets the plan of the team.
func (w *Server) SetPlan(in plan.Input) {
	w.T.Helper()
	_, err := w.Services.Teams.SetPlan(w.T.Context(), w.Key.TeamID, in)
	Must(w.T, err)
}

// Elapse lets time pass and waits for due work. For hours the server is stopped until the last
// minute, which is faster than running it.
func (w *Server) Elapse(d time.Duration) {
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

// Reopen makes a closed relay accept mail again.
func (r *FakeRelay) Reopen() {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Closed, r.Done = false, make(chan struct{})
}

// backlog returns the team's backlog.
func (w *Server) backlog() (b plan.Backlog) {
	w.T.Helper()
	w.Read(func(r *db.Reader) (err error) {
		b, err = r.Backlog(w.Key.TeamID)
		return err
	})
	return b
}

// WantBacklog checks how many recipients wait for another day, and for their scheduled time.
func (w *Server) WantBacklog(late, scheduled int64) {
	w.T.Helper()
	if got := w.backlog(); got != (plan.Backlog{Delayed: late, Scheduled: scheduled}) {
		w.T.Errorf("backlog %+v, want %d late and %d scheduled", got, late, scheduled)
	}
}

// Usage returns the plan usage of the team.
func (w *Server) Usage() plan.Usage {
	w.T.Helper()
	u, err := w.Services.Teams.Usage(w.T.Context(), w.Key)
	Must(w.T, err)
	return u
}
