package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/delivery"
	"mailer/app/sending/mail"
	"mailer/db"
	"mailer/db/engine"
)

// restoredSetting is the setting that records a restore.
const restoredSetting = "restored"

// KeyFile returns the master key file of a database: the named one, or the default.
func KeyFile(database, named string) string { return cmp.Or(named, engine.KeyPath(database)) }

// Restoring are the options of a restore.
type Restoring struct {
	File     string
	Database string
	Schema   string // content of schema.sql
	// Fits returns an error if the master key does not fit the database.
	Fits func(context.Context, *db.DB) error
}

// Restored is the result of a restore.
type Restored struct {
	Database string  `json:"database"`
	SetAside *string `json:"set_aside"` // former database; nil: none
	Held     int64   `json:"held"`      // emails and recipients of broadcasts that were waiting in the backup
	Feeds    int64   `json:"feeds"`     // that were active, and are held
	// What is held of automations: those that dates and schedules start, open runs, and events that were not taken.
	Automations int64   `json:"automations"`
	Runs        int64   `json:"automation_runs"`
	Events      int64   `json:"automation_events"`
	BackupAt    *string `json:"backup_at"` // nil: a plain copy without this information
}

// Restore replaces a database on which no server runs by a backup. Waiting mail in it is held
// first. Errors: those of db.BeginRestore and Fits.
func Restore(ctx context.Context, in Restoring) (done Restored, err error) {
	r, err := engine.BeginRestore(ctx, in.Database, in.File, in.Schema)
	if err != nil {
		return Restored{}, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if done, err = markStaged(ctx, r.Staged(), &in); err != nil {
		return Restored{}, err
	}
	aside, err := r.Commit(ctx)
	if err != nil {
		return Restored{}, err
	}
	done.Database = r.Path()
	if whole, err := filepath.Abs(r.Path()); err == nil {
		done.Database = whole
	}
	if aside != "" {
		done.SetAside = &aside
	}
	return done, nil
}

// markStaged holds the waiting mail of the staged copy.
func markStaged(ctx context.Context, staged string, in *Restoring) (done Restored, err error) {
	store, err := db.Open(ctx, db.Options{Path: staged, Schema: in.Schema})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := in.Fits(ctx, store); err != nil {
		return done, err
	}
	err = store.WriteCritical(ctx, func(tx *db.Tx) error {
		done, err = markRestored(ctx, tx, in.File)
		return err
	})
	if err != nil {
		return done, fmt.Errorf("hold the queue of %s: %w", in.File, err)
	}
	return done, nil
}

// MarkRestored holds the waiting mail of a database that was restored by other means, and on which
// no server runs: PostgreSQL, or a copied file. Errors: those of db.Open and Fits.
func MarkRestored(ctx context.Context, in Restoring) (done Restored, err error) {
	store, err := db.Open(ctx, db.Options{Path: in.Database, Schema: in.Schema, Lock: true})
	if err != nil {
		return done, err
	}
	defer func() {
		store.Cluster().EndCleanly()
		err = errors.Join(err, store.Close())
	}()
	if err := in.Fits(ctx, store); err != nil {
		return done, err
	}
	err = store.WriteCritical(ctx, func(tx *db.Tx) error {
		done, err = markRestored(ctx, tx, engine.Name(in.Database))
		return err
	})
	if err != nil {
		return done, fmt.Errorf("hold the queue of %s: %w", engine.Name(in.Database), err)
	}
	done.Database = engine.Name(in.Database)
	return done, nil
}

// HoldRestored holds the waiting mail of a PostgreSQL database that was restored since a server
// used it. It is called before any mail is sent.
func (s *Service) HoldRestored(ctx context.Context) error {
	origin, err := db.Get(ctx, s.DB, (*db.Reader).Origin)
	if err != nil || origin == engine.OriginKnown {
		return err
	}
	var held bool
	var done Restored
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		origin, err := tx.Origin() // another server may have done it
		if held = origin == engine.OriginRestored; err != nil || origin == engine.OriginKnown {
			return err
		}
		if !held {
			return tx.NoteOrigin()
		}
		done, err = markRestored(ctx, tx, s.DB.Path())
		return err
	})
	if err != nil {
		return fmt.Errorf("look whether the database was restored: %w", err)
	}
	if held {
		s.Log.Warn("the database was restored since a server worked on it; what waited in it may have left since, and is held", "held", done.Held, "feeds", done.Feeds, "automations", done.Automations, "automation_runs", done.Runs, "automation_events", done.Events, "as_of", backupTime(done.BackupAt),
			"help", "mailer queue list --state held shows it; mailer queue release --restored or drop --restored decides")
	}
	return nil
}

// backupTime returns a time for the log.
func backupTime(at *string) string {
	if at == nil {
		return "unknown"
	}
	return *at
}

// markRestored holds waiting mail and records the restore.
func markRestored(ctx context.Context, tx *db.Tx, file string) (done Restored, err error) {
	at, err := backupAt(&tx.Reader)
	if err != nil {
		return done, err
	}
	since := tx.Now // expiry clocks have been stopped since the backup, if its time is known
	if !at.IsZero() && at.Before(since) {
		since = at
	}
	emails, err := holdEmails(tx, since)
	if err != nil {
		return done, err
	}
	recipients, err := tx.HoldOpenBroadcasts(app.HoldRestored, since)
	if err != nil {
		return done, err
	}
	optIns, err := tx.HoldDueOptIns()
	if err != nil {
		return done, err
	}
	if done.Feeds, err = tx.HoldFeeds(app.HoldRestored); err != nil {
		return done, err
	}
	held, err := tx.HoldAutomations()
	if err != nil {
		return done, err
	}
	done.Automations, done.Runs, done.Events = held.Automations, held.Runs, held.Signals
	done.Held, done.BackupAt = emails+recipients+optIns, app.FormatTimePtr(at)
	note, err := json.Marshal(map[string]any{"at": app.FormatTime(tx.Now), "backup_at": done.BackupAt, "held": done.Held})
	if err != nil {
		return done, err
	}
	return done, errors.Join(tx.ForgetCopied(), tx.NoteOrigin(), delivery.WriteCleanShutdown(tx), tx.SetSetting(restoredSetting, note),
		base.Audit(ctx, tx, "", "backup.restore", file, nil, map[string]any{"held": done.Held, "backup_at": done.BackupAt}))
}

// backupAt returns when the database was copied, or for a plain copy the last time that its server
// stored; zero: unknown.
func backupAt(r *db.Reader) (time.Time, error) {
	at, err := r.CopiedAt()
	if err != nil || !at.IsZero() {
		return at, err
	}
	noted, err := r.Setting(base.ClockSetting)
	if errors.Is(err, db.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	ms, err := strconv.ParseInt(string(noted), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the last recorded time: %w", err)
	}
	return time.UnixMilli(ms), nil
}

// holdChunk is how many units are read at a time.
const holdChunk = 1000

// holdEmails holds all units and returns how many are emails. since is recorded as the start of
// the hold. Each timeline gets the reason.
func holdEmails(tx *db.Tx, since time.Time) (emails int64, err error) {
	doubts, err := tx.CommittedUnits()
	if err != nil {
		return 0, err
	}
	for _, u := range doubts {
		if err := noteDoubt(tx, u); err != nil {
			return 0, err
		}
	}
	for after := ""; ; {
		units, err := tx.OpenUnits(after, holdChunk)
		if err != nil {
			return 0, err
		}
		for _, u := range units {
			if u.BroadcastID == "" {
				emails++
			}
			if err := base.IgnoreNotFound(delivery.InsertHeldEvent(tx, u, app.HoldRestored)); err != nil {
				return 0, err
			}
			after = u.EmailID
		}
		if len(units) < holdChunk {
			return emails, tx.HoldOpenUnits(app.HoldRestored, since)
		}
	}
}

// noteDoubt records that the relay may have accepted a unit after its final dot.
func noteDoubt(tx *db.Tx, u app.Unit) error {
	open, err := tx.TransactionRecipients(u)
	if err != nil {
		return err
	}
	if len(open) == 0 { // a provider's report came before
		if others, err := tx.OpenRecipients(u); err != nil || len(others) > 0 {
			return err
		}
		return tx.DeleteUnit(u)
	}
	if err := tx.InsertDoubt(app.Doubt{ID: app.NewID(), TeamID: u.TeamID, EmailID: u.EmailID, BroadcastID: u.BroadcastID, Recipients: open, Relay: u.Relay, CreatedAt: tx.Now}); err != nil {
		return err
	}
	return tx.InsertEvent(mail.NewEvent(tx, u, app.EventInDoubt, "", app.EventDetail{Stage: app.StageDot, Relay: u.Relay, Attempt: u.Attempts,
		Message: "The backup was made between the end of the message and the relay's reply: the relay may have accepted it"}))
}
