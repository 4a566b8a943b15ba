package world

import (
	"strconv"
	"time"

	"mailer/app/upkeep"
	"mailer/db"
)

// Ahead writes into the database what a server with a clock that was ahead leaves
// there: units to be tried at a time of that clock, and the clock itself.
func (w *World) Ahead(by time.Duration, ids ...string) {
	w.T.Helper()
	for _, id := range ids {
		u := *w.Unit(id)
		Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.RequeueUnit(u, u.Attempts, tx.Now.Add(by)) }))
	}
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		return tx.SetSetting(upkeep.ClockSetting, strconv.AppendInt(nil, tx.Now.Add(by).UnixMilli(), 10))
	}))
}
