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

// lastSetting is the name under which the last backup is noted; failedSetting that of
// the daily one, while it fails.
const (
	lastSetting   = "last_backup"
	failedSetting = "failed_backup"
)

// Service makes backups.
type Service struct {
	*base.Base
	daily atomic.Pointer[Daily]

	mu      sync.Mutex
	retryAt time.Time // of the daily backup, after it failed
	// running: one is being made in the folder of the daily ones.
	running bool
}

// New makes a Service. Without a folder in daily no backup is made unasked.
func New(base *base.Base, daily Daily) *Service {
	s := &Service{Base: base}
	s.SetDaily(daily)
	return s
}

// SetDaily changes when and where the daily backup is made, which Check has accepted.
func (s *Service) SetDaily(daily Daily) { s.daily.Store(&daily) }

// Made is a backup that was made, and checked.
type Made struct {
	File   string `json:"file"` // "-": it went to standard output
	Bytes  int64  `json:"bytes"`
	Emails int64  `json:"emails"`
	At     string `json:"at"` // all that was accepted until then is in it
}

// Last is what is known of backups: the last one, and why the daily one fails.
type Last struct {
	At    time.Time `json:"at"` // zero: none was made
	File  string    `json:"file"`
	Bytes int64     `json:"bytes"`

	FailedAt time.Time `json:"-"` // since when the daily one fails; zero: it does not
	Failure  string    `json:"-"` // why, in words
}

// failure is what failedSetting holds.
type failure struct {
	At    time.Time `json:"at"`
	Words string    `json:"words"`
}

// Write makes a backup in file, which must not be there, and returns once it is whole,
// checked and on the disk. Its name is absolute in the answer. progress may be nil.
// Where it fails nothing of it stays behind.
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

// Stream makes a backup beside the database, checks it, and only then writes it to w.
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

// note keeps what is known of a backup, for status and the audit log.
func (s *Service) note(ctx context.Context, made Made) error {
	at, err := time.Parse(time.RFC3339Nano, made.At)
	if err != nil {
		return fmt.Errorf("note backup: %w", err)
	}
	value, err := json.Marshal(Last{At: at, File: made.File, Bytes: made.Bytes})
	if err != nil {
		return fmt.Errorf("note backup: %w", err)
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

// Last returns what is known of backups.
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
		return Last{}, fmt.Errorf("read of the last backup: %w", err)
	}
	return last, nil
}

// readSetting leaves v as it is where nothing is noted.
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
