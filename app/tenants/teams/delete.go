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
	// purgeFirst is how many rows the first Write of a deletion removes; the next ones
	// remove as many as fit into purgeTime.
	purgeFirst = 50
	purgeMax   = base.PurgeChunk
	// purgeTime is how long others may wait behind one Write of a deletion.
	purgeTime = 4 * time.Millisecond
	// purgeYield is the least pause between two of them while callers wait.
	purgeYield = 10 * time.Millisecond
	// deletionGrace is how long the row of a deleted team stays at least: a request whose key
	// was read before may still write.
	deletionGrace = 3 * time.Second
	// purgePoll is between two looks whether another process is done with a deletion.
	purgePoll = 100 * time.Millisecond
)

// Deletion is a team that is deleted, and how much goes with it.
type Deletion struct {
	Team app.Team
	Size db.TeamSize
	Open db.OpenWork
}

// Dropped is how many emails and recipients of broadcasts are not sent because of it.
func (d *Deletion) Dropped() int64 { return d.Open.Waiting + d.Size.Unbegun }

// Rows is how much there is to delete, for whoever watches.
func (d *Deletion) Rows() int64 { return d.Size.Emails + d.Size.Contacts + d.Size.Recipients }

// PlanDeletion tells what deleting a team would do. Errors: CodeConflict for the only team,
// and for one of which mail is past its final dot.
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

// BeginDeletion ends a team at once: its keys and webhooks, and its name, which is free.
// What it has is deleted by PurgeDeleted, of this process or a server. The audit log stays.
// Errors: those of PlanDeletion, CodeNotFound.
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

// PurgeDeleted deletes what deleted teams have, in Writes that nobody waits long behind,
// those of all processes. What a kill leaves the next call goes on with.
func (s *Service) PurgeDeleted(ctx context.Context) error {
	now := s.DB.Version()
	if s.noneDeletedAt.Load() == nil || *s.noneDeletedAt.Load() != now {
		ids, err := db.Get(ctx, s.DB, (*db.Reader).DeletedTeams)
		if err != nil {
			return fmt.Errorf("look for deleted teams: %w", err)
		}
		for _, id := range ids {
			if _, err := s.purgeTeam(ctx, id); err != nil {
				return fmt.Errorf("delete the team %s: %w", id, err)
			}
		}
		if len(ids) == 0 {
			s.noneDeletedAt.Store(&now)
		}
	}
	return nil
}

// purgeTeam deletes what a team has, but for mail that may be past its final dot, and then
// the team. It reports whether all is gone.
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

// dropWaiting takes back what waits, before all else goes: nothing of it is to leave.
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

// timedWrites are Writes one after another, each as large as fits into purgeTime.
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

// FinishDeletion waits until nothing is left of a deleted team, and tells how far that is.
// Where no server does it, this process deletes what it has.
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

// purgeAll repeats remove until the team is gone.
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
