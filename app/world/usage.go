package world

import "mailer/app"

// WantToday checks what GET /usage says of the day.
func (w *World) WantToday(want int64) {
	w.T.Helper()
	if got := w.Usage().Today; got != want {
		w.T.Errorf("%d recipients counted today, want %d", got, want)
	}
}

func (w *World) Usage() app.Usage {
	w.T.Helper()
	u, err := w.Server.Teams.Usage(w.T.Context(), w.Key)
	Must(w.T, err)
	return u
}
