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

// onDemandWait is how long a request waits for its backup. A larger one continues in the
// background.
const onDemandWait = 20 * time.Second

// errRunning is the error while another backup is running.
var errRunning = app.Errorf(app.CodeConflict, "A backup is already running; try again when it is done")

// File is a backup in the directory of daily backups.
type File struct {
	Name  string
	Bytes int64
	At    time.Time // start, to the second
}

// Directory is the state of the directory of daily backups.
type Directory struct {
	Dir     string // empty: the server can't make backups
	Daily   bool   // daily backups are enabled
	Files   []File // newest first
	Running bool   // a backup is running
}

// Directory lists the backups that the server made. The directory may not exist.
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
		if errors.Is(err, os.ErrNotExist) { // removed meanwhile by retention
			continue
		}
		if err != nil {
			return out, fmt.Errorf("read the size of a backup: %w", err)
		}
		at, err := time.Parse(nameTime, s.parseTime(name))
		if err != nil {
			return out, fmt.Errorf("read the time of a backup: %w", err)
		}
		out.Files = append(out.Files, File{Name: name, Bytes: info.Size(), At: at})
	}
	return out, nil
}

// MakeNow makes a backup in the directory of daily backups, or without one in the directory
// backups beside the database. A long backup continues in the background: done is false then.
// Errors: CodeConflict without a directory or while a backup runs, CodeServiceUnavailable for a
// failed one.
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
		if refusal := (*app.Error)(nil); errors.As(o.err, &refusal) {
			return Made{}, false, refusal
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

// makeOnDemand makes a backup after begin. Success also ends the failure of a daily one.
func (s *Service) makeOnDemand(ctx context.Context) outcome {
	defer s.end()
	made, err := s.makeScheduled(ctx)
	if err == nil {
		err = s.noteFailure(ctx, nil)
	}
	return outcome{made, err}
}

// begin records that a backup is running. It returns false if one is running already.
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
