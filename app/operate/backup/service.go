package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
	"mailer/db/engine"
)

// lastSetting records the last backup; failedSetting the failure of the daily one.
const (
	lastSetting   = "last_backup"
	failedSetting = "failed_backup"
)

// Service makes backups.
type Service struct {
	*base.Base
	daily atomic.Pointer[Daily]

	mu      sync.Mutex
	retryAt time.Time // of a failed daily backup
	// running: a backup is being made in the directory of daily backups.
	running bool
}

// New returns a Service. Without a directory in daily no backup is made automatically.
func New(base *base.Base, daily Daily) *Service {
	s := &Service{Base: base}
	s.SetDaily(daily)
	return s
}

// SetDaily changes the settings of the daily backup. Check has validated them.
func (s *Service) SetDaily(daily Daily) { s.daily.Store(&daily) }

// Made is a completed and verified backup.
type Made struct {
	File   string `json:"file"` // "-": written to standard output
	Bytes  int64  `json:"bytes"`
	Emails int64  `json:"emails"`
	At     string `json:"at"` // everything that was accepted before this time is contained
}

// Last is the state of backups: the last one, and the failure of the daily one.
type Last struct {
	At    time.Time `json:"at"` // zero: none
	File  string    `json:"file"`
	Bytes int64     `json:"bytes"`

	FailedAt time.Time `json:"-"` // since when the daily backup has failed; zero: it has not
	Failure  string    `json:"-"` // the reason
}

// failure is the content of failedSetting.
type failure struct {
	At    time.Time `json:"at"`
	Words string    `json:"words"`
}

// Write makes a backup in file, which must not exist, and returns when it is complete, verified
// and synced. Made contains its absolute path. progress may be nil. After an error no file is
// left.
func (s *Service) Write(ctx context.Context, file string, progress func(done, all int64)) (Made, error) {
	if err := engine.OnlyFiles(s.DB.Path()); err != nil {
		return Made{}, err
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return Made{}, fmt.Errorf("back up: %w", err)
	}
	d, err := newDraft(file)
	if err != nil {
		return Made{}, err
	}
	defer d.discard()
	made, err := s.copy(ctx, d, progress)
	if err != nil {
		return Made{}, err
	}
	if err := d.publish(); err != nil {
		return Made{}, err
	}
	made.File = file
	return made, s.note(ctx, made)
}

// Stream makes a backup in the database's directory, verifies it, and then writes it to w.
func (s *Service) Stream(ctx context.Context, w io.Writer, progress func(done, all int64)) (Made, error) {
	if err := engine.OnlyFiles(s.DB.Path()); err != nil {
		return Made{}, err
	}
	d, err := newDraft(s.DB.Path() + ".backup")
	if err != nil {
		return Made{}, err
	}
	defer d.discard()
	made, err := s.copy(ctx, d, progress)
	if err != nil {
		return Made{}, err
	}
	f, err := os.Open(d.name)
	if err != nil {
		return Made{}, fmt.Errorf("read backup: %w", err)
	}
	defer f.Close()
	if _, err := io.Copy(w, f); err != nil {
		return Made{}, fmt.Errorf("write backup to standard output: %w", err)
	}
	made.File = "-"
	return made, s.note(ctx, made)
}

func (s *Service) copy(ctx context.Context, d *draft, progress func(done, all int64)) (Made, error) {
	if err := d.hasSpace(s.DB.Path()); err != nil {
		return Made{}, err
	}
	c, err := s.DB.Copy(ctx, d.name, progress)
	if errors.Is(err, db.ErrDamaged) {
		return Made{}, fmt.Errorf("the copy of %s is not sound, and was removed; mailer check says whether the database is damaged or the disk of the backup: %w", s.DB.Path(), err)
	}
	if err != nil {
		return Made{}, d.describe(err)
	}
	return Made{Bytes: c.Bytes, Emails: c.Emails, At: app.FormatTime(c.At)}, nil
}

// note records a backup for status and audit log.
func (s *Service) note(ctx context.Context, made Made) error {
	at, err := time.Parse(time.RFC3339Nano, made.At)
	if err != nil {
		return fmt.Errorf("record the backup: %w", err)
	}
	value, err := json.Marshal(Last{At: at, File: made.File, Bytes: made.Bytes})
	if err != nil {
		return fmt.Errorf("record the backup: %w", err)
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		if err := tx.SetSetting(lastSetting, value); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "backup.create", made.File, nil, map[string]any{"bytes": made.Bytes, "emails": made.Emails})
	})
	if err != nil {
		return fmt.Errorf("the backup %s is whole, but could not be noted: %w", made.File, err)
	}
	return nil
}

// Last returns the state of backups.
func (s *Service) Last(ctx context.Context) (last Last, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		var f failure
		if err := errors.Join(readSetting(r, lastSetting, &last), readSetting(r, failedSetting, &f)); err != nil {
			return err
		}
		last.FailedAt, last.Failure = f.At, f.Words
		return nil
	})
	if err != nil {
		return Last{}, fmt.Errorf("read the last backup: %w", err)
	}
	return last, nil
}

// readSetting leaves v unchanged if the setting does not exist.
func readSetting(r *db.Reader, name string, v any) error {
	value, err := r.Setting(name)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(value, v)
}
