package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/pflag"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
	"mailer/db/engine"
)

// Daily are the flags of the automatic daily backup.
type Daily struct {
	Dir  string // empty: no daily backup
	At   string // HH:MM in the time zone of the machine
	Keep int    // how many of its files are kept

	hour, minute int
}

// defaultKeep is two weeks of daily backups.
const defaultKeep = 14

// Bind adds the flags to a command.
func (f *Daily) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.Dir, "backup-dir", "", "directory for a daily backup (default: no daily backups)")
	flags.StringVar(&f.At, "backup-at", "03:30", "time of the daily backup, in the server's time zone")
	flags.IntVar(&f.Keep, "backup-keep", defaultKeep, "number of daily backups to keep; older ones are removed")
}

// Check validates the flags.
func (f *Daily) Check() error {
	at, err := time.Parse("15:04", f.At)
	if err != nil {
		return fmt.Errorf("--backup-at must be a time like 03:30, is %q", f.At)
	}
	f.hour, f.minute = at.Hour(), at.Minute()
	if f.Keep < 1 {
		return fmt.Errorf("--backup-keep must be 1 or more, is %d", f.Keep)
	}
	if f.Dir == "" {
		return nil
	}
	if f.Dir, err = filepath.Abs(f.Dir); err != nil {
		return fmt.Errorf("--backup-dir: %w", err)
	}
	return nil
}

// defaultDir is the directory beside the database for backups on demand if the flags name none.
const defaultDir = "backups"

// dir returns the directory for the server's backups; empty: PostgreSQL, for which the server
// makes none.
func (s *Service) dir() string {
	if s.daily.Load().Dir != "" || engine.IsRemote(s.DB.Path()) {
		return s.daily.Load().Dir
	}
	path, err := filepath.Abs(s.DB.Path())
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(path), defaultDir)
}

// makeDir creates the default directory. A directory that a flag names may be a disk that is not
// mounted.
func (s *Service) makeDir() error {
	if s.daily.Load().Dir != "" {
		return nil
	}
	if err := os.MkdirAll(s.dir(), 0o700); err != nil {
		return fmt.Errorf("make the folder for backups: %w", err)
	}
	return nil
}

// lookEvery is how often the time of the daily backup is checked, and retryAfter how long a failed
// one waits.
const (
	lookEvery  = time.Minute
	retryAfter = time.Hour
)

// Start makes daily backups while they are enabled.
func (s *Service) Start() {
	s.Workers.Go(func() {
		for daily := false; ; {
			switch on := s.daily.Load().Dir != ""; {
			case on:
				s.makeDue(s.Claiming)
				daily = on
			case daily: // a failed one is not needed any more
				s.skipToday(s.Claiming)
				daily = on
			}
			if !base.Sleep(s.Claiming, lookEvery, nil) {
				return
			}
		}
	})
}

// skipToday clears the failure of the daily backup.
func (s *Service) skipToday(ctx context.Context) {
	if err := s.noteFailure(ctx, nil); err != nil && ctx.Err() == nil {
		s.LogUnlessUnavailable("that there are no daily backups any more is not stored", err)
	}
}

// makeDue makes the backup of the day if it is due. A failure is logged each time and retried.
func (s *Service) makeDue(ctx context.Context) {
	due, err := s.due(clock.Now())
	if err == nil && !due {
		return
	}
	if err == nil {
		err = s.makeDaily(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.mu.Lock()
		s.retryAt = clock.Now().Add(retryAfter)
		s.mu.Unlock()
		s.Log.Error("the daily backup failed", "dir", s.daily.Load().Dir, "err", err, "next_try", retryAfter, "help", "fix this problem, then test it with mailer backup "+filepath.Join(s.daily.Load().Dir, "now.db")+" proves it")
	}
	if err := s.noteFailure(ctx, err); err != nil {
		s.LogUnlessUnavailable("how the daily backup went is not stored", err)
	}
}

// due reports whether no backup was made since the last scheduled time.
func (s *Service) due(now time.Time) (bool, error) {
	s.mu.Lock()
	retryAt := s.retryAt
	s.mu.Unlock()
	if now.Before(retryAt) {
		return false, nil
	}
	names, err := s.listScheduled()
	if err != nil || len(names) == 0 {
		return err == nil, err
	}
	last, err := time.Parse(nameTime, s.parseTime(names[len(names)-1]))
	if err != nil {
		return false, fmt.Errorf("read the time of the last backup: %w", err)
	}
	return last.Before(s.daily.Load().before(now)), nil
}

// before returns the last scheduled time.
func (f *Daily) before(now time.Time) time.Time {
	at := time.Date(now.Year(), now.Month(), now.Day(), f.hour, f.minute, 0, 0, now.Location())
	if at.After(now) {
		at = time.Date(now.Year(), now.Month(), now.Day()-1, f.hour, f.minute, 0, 0, now.Location())
	}
	return at
}

// makeDaily makes the backup of the day, unless another backup is running, which serves as well.
func (s *Service) makeDaily(ctx context.Context) error {
	if !s.begin() {
		return nil
	}
	defer s.end()
	_, err := s.makeScheduled(ctx)
	return err
}

// makeScheduled makes a backup in the directory of daily backups and removes old ones. Error:
// app.CodeConflict for a second one within a second, which would have the same name.
func (s *Service) makeScheduled(ctx context.Context) (Made, error) {
	if err := s.makeDir(); err != nil {
		return Made{}, err
	}
	name := filepath.Join(s.dir(), s.prefix()+clock.Now().UTC().Format(nameTime)+".db")
	if _, err := os.Lstat(name); err == nil {
		return Made{}, app.Errorf(app.CodeConflict, "A backup of this second is there already")
	}
	made, err := s.Write(ctx, name, nil)
	if err != nil {
		return made, err
	}
	s.Log.Info("backup made", "file", made.File, "bytes", made.Bytes, "emails", made.Emails)
	return made, s.removeOld()
}

// nameTime is the layout of the time in the name of a daily backup, in UTC.
const nameTime = "2006-01-02T150405Z"

var scheduledName = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d{6}Z\.db$`)

// prefix returns the beginning of the names of a database's backups.
func (s *Service) prefix() string {
	return strings.TrimSuffix(filepath.Base(s.DB.Path()), ".db") + "-"
}

func (s *Service) parseTime(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, s.prefix()), ".db")
}

// listScheduled returns the names of the backups that the server made in its directory, oldest
// first.
func (s *Service) listScheduled() ([]string, error) {
	entries, err := os.ReadDir(s.dir())
	if errors.Is(err, os.ErrNotExist) && s.daily.Load().Dir == "" {
		return nil, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s is not there; make it with mkdir -p %s, or is a disk not mounted?", s.daily.Load().Dir, s.daily.Load().Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("look for backups: %w", err)
	}
	var names []string
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), s.prefix()); ok && scheduledName.MatchString(rest) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// removeOld removes the oldest backups beyond Keep.
func (s *Service) removeOld() error {
	names, err := s.listScheduled()
	if err != nil {
		return err
	}
	for len(names) > cmp.Or(s.daily.Load().Keep, defaultKeep) {
		if err := os.Remove(filepath.Join(s.dir(), names[0])); err != nil {
			return fmt.Errorf("remove an old backup: %w", err)
		}
		names = names[1:]
	}
	return nil
}

// noteFailure records since when and why the daily backup has failed; nil: it has not.
func (s *Service) noteFailure(ctx context.Context, why error) error {
	return s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		var f failure
		if err := readSetting(&tx.Reader, failedSetting, &f); err != nil {
			return err
		}
		if why == nil {
			return tx.SetSetting(failedSetting, []byte("{}"))
		}
		if f.At.IsZero() {
			f.At = tx.Now
		}
		f.Words = why.Error()
		value, err := json.Marshal(f)
		if err != nil {
			return fmt.Errorf("encode why the backup failed: %w", err)
		}
		return tx.SetSetting(failedSetting, value)
	})
}
