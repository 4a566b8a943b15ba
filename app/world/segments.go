package world

import (
	"fmt"

	"mailer/app"
	"mailer/db"
)

// AddContacts puts contacts into the team's audience, and counts them, as
// c0@example.net and so on. Every other one is unsubscribed.
func (w *World) AddContacts(n int) (ids []string) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		ids = nil
		for i := range n {
			email := fmt.Sprintf("c%d@example.net", i)
			c := app.Contact{ID: app.NewID(), TeamID: w.Key.TeamID, Email: email, Unsubscribed: i%2 == 0, CreatedAt: tx.Now, UpdatedAt: tx.Now,
				Hash: w.Config.Sealer.AddressHash(w.Key.TeamID, email)}
			if err := tx.InsertContact(&c); err != nil {
				return err
			}
			ids = append(ids, c.ID)
		}
		return tx.CountContacts(w.Key.TeamID, n)
	}))
	return ids
}

func Only(field, op, value string) *app.Filter {
	return &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: field, Op: op, Value: value}}}
}

func (w *World) Segment(f *app.Filter) app.Segment {
	w.T.Helper()
	s, err := w.Server.Audience.CreateSegment(w.T.Context(), w.Key, app.SegmentInput{Name: "S", Filter: f})
	Must(w.T, err)
	return s
}

func (w *World) WantContacts(segmentID string, want int, after string) {
	w.T.Helper()
	_, n, err := w.Server.Audience.GetSegment(w.T.Context(), w.Key, segmentID)
	Must(w.T, err)
	if n != want {
		w.T.Errorf("%d contacts after %s, want %d", n, after, want)
	}
}

func (w *World) Change(fn func(tx *db.Tx) error) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), fn))
}
