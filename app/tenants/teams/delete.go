package teams

import (
	"context"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

const (
	// purgeFirst is how many rows the first Write of a deletion removes. The size of the next ones
	// is adapted to purgeTime.
	purgeFirst = 50
	purgeMax   = base.PurgeChunk
	// purgeTime is how long one Write of a deletion may delay other writes.
	purgeTime = 4 * time.Millisecond
	// purgeYield is the least pause between two Writes while callers wait.
	purgeYield = 10 * time.Millisecond
	// deletionGrace is the least time that the row of a deleted team stays: a request that read its
	// key before may still write.
	deletionGrace = 3 * time.Second
	// purgePoll is how often the progress of a deletion by another process is checked.
	purgePoll = 100 * time.Millisecond
)

// Deletion is the deletion of a team and how much data it removes.
type Deletion struct {
	Team app.Team
	Size db.TeamSize
	Open db.OpenWork
}

// Dropped returns how many emails and broadcast recipients are not sent because of the deletion.
func (d *Deletion) Dropped() int64 { return d.Open.Waiting + d.Size.Unbegun }

// Rows returns how much there is to delete, for a progress display.
func (d *Deletion) Rows() int64 { return d.Size.Emails + d.Size.Contacts + d.Size.Recipients }

// PlanDeletion returns what deleting a team would remove. Errors: CodeConflict for the only team,
// and for a team with mail past its final dot.
func (s *Service) PlanDeletion(ctx context.Context, team app.Team) (d Deletion, err error) {
	d.Team = team
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		teams, err := r.ListTeams()
		if err != nil {
			return err
		}
		if len(teams) < 2 {
			return app.Errorf(app.CodeConflict, "The team %s is the only one, and commands need one; add another first with `mailer teams create NAME`", team.Name)
		}
		if d.Open, err = r.OpenOf(team.ID, ""); err != nil {
			return err
		}
		if d.Open.Committed > 0 {
			return app.Errorf(app.CodeConflict, "%d emails of the team %s are past their final dot, and what became of them is not known yet; try again in a minute. "+
				"Without a server they stay so: start it once. `mailer doubts` names them", d.Open.Committed, team.Name)
		}
		d.Size, err = r.TeamSize(team.ID)
		return err
	})
	return d, base.Unavailable(err)
}

// BeginDeletion ends a team immediately: its keys and webhooks stop, and its name is free.
// PurgeDeleted of this or another process deletes its data later. The audit log stays. Errors:
// those of PlanDeletion, CodeNotFound.
func (s *Service) BeginDeletion(ctx context.Context, team app.Team) (d Deletion, err error) {
	if d, err = s.PlanDeletion(ctx, team); err != nil {
		return d, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.BeginTeamDeletion(team.ID); err != nil {
			return err
		}
		tx.AfterCommit(s.keys.Clear)
		return base.Audit(ctx, tx, team.ID, "team.delete", team.ID,
			map[string]any{"name": team.Name, "emails": d.Size.Emails, "contacts": d.Size.Contacts, "waiting": d.Dropped()}, nil)
	})
	return d, base.Lookup("team", err)
}

// PurgeDeleted deletes the data of deleted teams, in Writes that delay others only briefly. It
// includes teams that other processes deleted. left reports that a team is not gone yet, and the
// next call continues, also after a crash.
func (s *Service) PurgeDeleted(ctx context.Context) (left bool, err error) {
	ids, err := db.Get(ctx, s.DB, (*db.Reader).DeletedTeams)
	if err != nil {
		return false, fmt.Errorf("look for deleted teams: %w", err)
	}
	for _, id := range ids {
		done, err := s.purgeTeam(ctx, id)
		if err != nil {
			return true, fmt.Errorf("delete the team %s: %w", id, err)
		}
		left = left || !done
	}
	return left, nil
}

// purgeTeam deletes the data of a team, except mail that may be past its final dot, and then the
// team. It reports whether everything is deleted.
func (s *Service) purgeTeam(ctx context.Context, teamID string) (done bool, err error) {
	if err := s.dropWaiting(ctx, teamID); err != nil {
		return false, err
	}
	p := timedWrites{s: s, limit: purgeFirst}
	for step := range db.TeamTables() {
		for more := true; more; {
			err := p.write(ctx, func(tx *db.Tx, limit int) (err error) {
				more, err = tx.PurgeTeam(teamID, step, limit)
				return err
			})
			if err != nil {
				return false, err
			}
		}
	}
	err = s.DB.WriteBatched(ctx, func(tx *db.Tx) (err error) {
		done, err = tx.EndTeamDeletion(teamID, tx.Now.Add(-deletionGrace))
		return err
	})
	return done, err
}

// dropWaiting drops waiting mail before everything else, so that none of it leaves.
func (s *Service) dropWaiting(ctx context.Context, teamID string) error {
	p := timedWrites{s: s, limit: purgeFirst}
	for after := ""; ; {
		ids, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]string, error) { return r.OpenUnitsOf(teamID, after, p.limit) })
		if err != nil || len(ids) == 0 {
			return err
		}
		err = p.write(ctx, func(tx *db.Tx, _ int) error {
			for _, id := range ids {
				if err := tx.DropUnit(id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		after = ids[len(ids)-1]
	}
}

// timedWrites runs Writes one after another, each as large as fits into purgeTime.
type timedWrites struct {
	s     *Service
	limit int
}

func (p *timedWrites) write(ctx context.Context, fn func(tx *db.Tx, limit int) error) error {
	var took time.Duration
	err := p.s.DB.WriteBatched(ctx, func(tx *db.Tx) error {
		began := time.Now()
		err := fn(tx, p.limit)
		took = time.Since(began)
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case took > purgeTime:
		p.limit = max(1, p.limit/2)
	case took < purgeTime/2:
		p.limit = min(purgeMax, p.limit+p.limit/4+1)
	}
	pause := took
	if p.s.Load.Busy() {
		pause = max(pause, purgeYield)
	}
	base.Sleep(ctx, pause, nil)
	return ctx.Err()
}

// FinishDeletion waits until a deleted team is gone and reports the progress. Without a server this
// process deletes the data.
func (s *Service) FinishDeletion(ctx context.Context, d *Deletion, byServer bool, progress func(done, total int64)) error {
	work := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if byServer {
			<-ctx.Done()
			work <- nil
			return
		}
		work <- s.purgeAll(ctx, d.Team.ID)
	}()
	for {
		size, exists, err := s.remainingRows(ctx, d.Team.ID)
		switch {
		case err != nil:
			return base.Unavailable(err)
		case !exists:
			cancel()
			<-work
			return nil
		}
		progress(max(0, d.Rows()-size), d.Rows())
		if !base.Sleep(ctx, purgePoll, nil) {
			<-work
			return ctx.Err()
		}
		select {
		case err := <-work:
			if err != nil {
				return base.Unavailable(err)
			}
			work <- nil
		default:
		}
	}
}

// purgeAll repeats purgeTeam until the team is gone.
func (s *Service) purgeAll(ctx context.Context, teamID string) error {
	for {
		done, err := s.purgeTeam(ctx, teamID)
		if err != nil || done {
			return err
		}
		if !base.Sleep(ctx, purgePoll, nil) {
			return ctx.Err()
		}
	}
}

func (s *Service) remainingRows(ctx context.Context, teamID string) (rows int64, exists bool, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if exists, err = r.TeamIsLeft(teamID); err != nil || !exists {
			return err
		}
		size, err := r.TeamSize(teamID)
		rows = size.Emails + size.Contacts + size.Recipients
		return err
	})
	return rows, exists, err
}
