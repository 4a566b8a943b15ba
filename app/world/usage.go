package world

import "mailer/app/plan"

// WantToday checks what GET /usage says of the day.
func (w *World) WantToday(want int64) {
	w.T.Helper()
	if got := w.Usage().Today; got != want {
		w.T.Errorf("%d recipients counted today, want %d", got, want)
	}
}

func (w *World) Usage() plan.Usage {
	w.T.Helper()
	u, err := w.Server.Teams.Usage(w.T.Context(), w.Key)
	Must(w.T, err)
	return u
}
