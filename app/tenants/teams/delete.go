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
	purgeMost  = base.PurgeChunk
	// purgeTime is how long others may wait behind one Write of a deletion.
	purgeTime = 4 * time.Millisecond
	// purgeYield is the least pause between two of them while callers wait.
	purgeYield = 10 * time.Millisecond
	// settling is how long the row of a deleted team stays at least: a request whose key
	// was read before may still write.
	settling = 3 * time.Second
	// purgeLook is between two looks whether another process is done with a deletion.
	purgeLook = 100 * time.Millisecond
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

// DeletionOf tells what deleting a team would do. Errors: CodeConflict for the only team,
// and for one of which mail is past its final dot.
func (s *Service) DeletionOf(ctx context.Context, team app.Team) (d Deletion, err error) {
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
		if d.Open.Dotted > 0 {
			return app.Errorf(app.CodeConflict, "%d emails of the team %s are past their final dot, and what became of them is not known yet; try again in a minute. "+
				"Without a server they stay so: start it once. `mailer doubts` names them", d.Open.Dotted, team.Name)
		}
		d.Size, err = r.TeamSize(team.ID)
		return err
	})
	return d, base.Unavailable(err)
}

// BeginDeletion ends a team at once: its keys and webhooks, and its name, which is free.
// What it has is deleted by RemoveDeleted, of this process or a server. The audit log stays.
// Errors: those of DeletionOf, CodeNotFound.
func (s *Service) BeginDeletion(ctx context.Context, team app.Team) (d Deletion, err error) {
	if d, err = s.DeletionOf(ctx, team); err != nil {
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

// RemoveDeleted deletes what deleted teams have, in Writes that nobody waits long behind,
// those of all processes. What a kill leaves the next call goes on with.
func (s *Service) RemoveDeleted(ctx context.Context) error {
	now := s.DB.Version()
	if s.deleting.Load() == nil || *s.deleting.Load() != now {
		ids, err := db.Get(ctx, s.DB, (*db.Reader).DeletedTeams)
		if err != nil {
			return fmt.Errorf("look for deleted teams: %w", err)
		}
		for _, id := range ids {
			if _, err := s.remove(ctx, id); err != nil {
				return fmt.Errorf("delete the team %s: %w", id, err)
			}
		}
		if len(ids) == 0 {
			s.deleting.Store(&now)
		}
	}
	return nil
}

// remove deletes what a team has, but for mail that may be past its final dot, and then
// the team. It reports whether all is gone.
func (s *Service) remove(ctx context.Context, teamID string) (gone bool, err error) {
	if err := s.dropWaiting(ctx, teamID); err != nil {
		return false, err
	}
	p := pieces{s: s, limit: purgeFirst}
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
	err = s.DB.WritePatient(ctx, func(tx *db.Tx) (err error) {
		gone, err = tx.EndTeamDeletion(teamID, tx.Now.Add(-settling))
		return err
	})
	return gone, err
}

// dropWaiting takes back what waits, before all else goes: nothing of it is to leave.
func (s *Service) dropWaiting(ctx context.Context, teamID string) error {
	p := pieces{s: s, limit: purgeFirst}
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

// pieces are Writes one after another, each as large as fits into purgeTime.
type pieces struct {
	s     *Service
	limit int
}

func (p *pieces) write(ctx context.Context, fn func(tx *db.Tx, limit int) error) error {
	var took time.Duration
	err := p.s.DB.WritePatient(ctx, func(tx *db.Tx) error {
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
		p.limit = min(purgeMost, p.limit+p.limit/4+1)
	}
	rest := took
	if p.s.Load.Busy() {
		rest = max(rest, purgeYield)
	}
	base.Pause(ctx, rest, nil)
	return ctx.Err()
}

// FinishDeletion waits until nothing is left of a deleted team, and tells how far that is.
// Where no server does it, this process deletes what it has.
func (s *Service) FinishDeletion(ctx context.Context, d *Deletion, served bool, progress func(done, total int64)) error {
	work := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if served {
			<-ctx.Done()
			work <- nil
			return
		}
		work <- s.removeAll(ctx, d.Team.ID)
	}()
	for {
		size, left, err := s.leftOf(ctx, d.Team.ID)
		switch {
		case err != nil:
			return base.Unavailable(err)
		case !left:
			cancel()
			<-work
			return nil
		}
		progress(max(0, d.Rows()-size), d.Rows())
		if !base.Pause(ctx, purgeLook, nil) {
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

// removeAll repeats remove until the team is gone.
func (s *Service) removeAll(ctx context.Context, teamID string) error {
	for {
		gone, err := s.remove(ctx, teamID)
		if err != nil || gone {
			return err
		}
		if !base.Pause(ctx, purgeLook, nil) {
			return ctx.Err()
		}
	}
}

func (s *Service) leftOf(ctx context.Context, teamID string) (rows int64, left bool, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if left, err = r.TeamIsLeft(teamID); err != nil || !left {
			return err
		}
		size, err := r.TeamSize(teamID)
		rows = size.Emails + size.Contacts + size.Recipients
		return err
	})
	return rows, left, err
}
