package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mailer/app"
)

// onDemandWait is how long who asks for a backup waits for it; a larger one goes on.
const onDemandWait = 20 * time.Second

// errRunning says that the server makes a backup already.
var errRunning = app.Errorf(app.CodeConflict, "A backup is already running; try again when it is done")

// File is a backup in the folder of the daily ones.
type File struct {
	Name  string
	Bytes int64
	At    time.Time // when it was begun, to the second
}

// Directory is what is known of the folder of the daily backups.
type Directory struct {
	Dir     string // empty: the server can make none
	Daily   bool   // it makes one each day
	Files   []File // newest first
	Running bool   // one is being made
}

// Directory lists the backups that the server made in its folder, which may be none.
func (s *Service) Directory() (Directory, error) {
	out := Directory{Dir: s.dir(), Daily: s.daily.Load().Dir != ""}
	if out.Dir == "" {
		return out, nil
	}
	s.mu.Lock()
	out.Running = s.running
	s.mu.Unlock()
	names, err := s.listScheduled()
	if err != nil {
		return out, app.Errorf(app.CodeServiceUnavailable, "The backups can't be listed: %v", err)
	}
	for _, name := range slices.Backward(names) {
		info, err := os.Stat(filepath.Join(out.Dir, name))
		if errors.Is(err, os.ErrNotExist) { // it was old, and is removed by now
			continue
		}
		if err != nil {
			return out, fmt.Errorf("look at a backup: %w", err)
		}
		at, err := time.Parse(nameTime, s.parseTime(name))
		if err != nil {
			return out, fmt.Errorf("read the time of a backup: %w", err)
		}
		out.Files = append(out.Files, File{Name: name, Bytes: info.Size(), At: at})
	}
	return out, nil
}

// MakeNow makes a backup in the folder of the daily ones, as one of them, or without one in the folder backups
// beside the database. What takes long
// goes on in the background: done is false then. Errors: CodeConflict where there is no
// such folder or one is being made already, CodeServiceUnavailable for one that failed.
func (s *Service) MakeNow(ctx context.Context) (made Made, done bool, err error) {
	if s.dir() == "" {
		return Made{}, false, app.Errorf(app.CodeConflict, "This server makes no backups of a PostgreSQL database: use pg_dump, or the backups of its provider")
	}
	if !s.begin() {
		return Made{}, false, errRunning
	}
	actor := app.ActorOf(ctx)
	ended, left := make(chan outcome), make(chan struct{})
	defer close(left)
	s.Workers.Go(func() {
		o := s.makeOnDemand(app.WithActor(s.Claiming, func() app.Actor { return actor }))
		select {
		case ended <- o:
		case <-left:
			if o.err != nil {
				s.LogUnlessUnavailable("a backup that was asked for failed", o.err)
			}
		}
	})
	patience := time.NewTimer(onDemandWait)
	defer patience.Stop()
	select {
	case o := <-ended:
		if told := (*app.Error)(nil); errors.As(o.err, &told) {
			return Made{}, false, told
		}
		if o.err != nil {
			return Made{}, false, app.Errorf(app.CodeServiceUnavailable, "The backup failed: %v", o.err)
		}
		return o.made, true, nil
	case <-patience.C:
		return Made{}, false, nil
	case <-ctx.Done():
		return Made{}, false, ctx.Err()
	}
}

type outcome struct {
	made Made
	err  error
}

// makeOnDemand makes a backup that begin was said for. One that goes well ends what status
// says of a daily one that failed.
func (s *Service) makeOnDemand(ctx context.Context) outcome {
	defer s.end()
	made, err := s.makeScheduled(ctx)
	if err == nil {
		err = s.noteFailure(ctx, nil)
	}
	return outcome{made, err}
}

// begin notes that a backup of the server's own is being made; false: one is already.
func (s *Service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return false
	}
	s.running = true
	return true
}

func (s *Service) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
}
