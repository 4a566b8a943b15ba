package automations

import (
	"context"

	"mailer/app/kit/clock"
	"mailer/db"
)

// SetChunks sets how many contacts are read and judged at a time, and how many chunks an automation reads in its turn.
func SetChunks(n, turn int) { readChunk, judgeChunk, chunksPerTurn = n, n, turn }

// Turn runs each due automation once.
func (s *Service) Turn(ctx context.Context) error {
	due, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]db.DueAutomation, error) { return r.DueAutomations(clock.Now(), duePerRound) })
	for i := 0; err == nil && i < len(due); i++ {
		err = s.turnOf(ctx, &due[i])
	}
	return err
}
